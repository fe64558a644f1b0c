
// The picture: drawn from places that were computed beforehand; moved, zoomed, searched.

const SVG = "http://www.w3.org/2000/svg";

function make(name, attributes, parent, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.appendChild(element);
  return element;
}

class Graph {
  constructor(stage, told) {
    this.stage = stage;
    this.told = told;
    this.nodes = [];
    this.edges = [];
    this.chosen = -1;
    this.svg = stage.querySelector("svg") || make("svg", { role: "img" }, stage);
    this.listen();
  }

  show(machine) {
    this.machine = machine;
    this.svg.replaceChildren();
    this.svg.setAttribute("aria-label", machine.title);
    this.edges = machine.edges.map((edge) => this.edge(edge));
    if (machine.entry) this.edge(machine.entry).classList.add("start");
    this.nodes = machine.nodes.map((node, k) => this.node(node, k));
    machine.edges.forEach((edge, k) => this.label(edge, this.edges[k]));
    for (const { x, y, text, anchor } of machine.above) {
      make("text", { class: "above", x, y: y + 3.9, "text-anchor": anchor }, this.svg, text);
    }
    this.chosen = -1;
    this.begin();
  }

  // Everything, if it can be read then; else a part that can, from which steps are followed.
  begin() {
    this.fit();
    const box = this.svg.getBoundingClientRect();
    const least = 1 / 0.62;
    this.close = this.scale() > least && box.width > 0;
    if (!this.close) return;
    const { width, height, top } = this.machine;
    this.view.width = Math.min(box.width * 1.2, width);
    this.view.height = Math.min(box.height * 1.2, height - top);
    this.look();
  }

  // Moves the picture so that a state can be seen, unless all of it is to be seen.
  follow(k) {
    if (!this.close || k === undefined) return;
    const { x, y, width, height } = this.machine.nodes[k];
    const view = this.view;
    const inside = x - width > view.x && x + width < view.x + view.width
      && y - height > view.y && y + height < view.y + view.height;
    if (inside) return;
    view.x = x - Math.min(view.width / 2, width + 20);
    view.y = y - view.height / 2;
    this.look();
  }

  // What a search may look like: the words of some state.
  example() {
    const { nodes } = this.machine;
    return nodes.length ? nodes[Math.floor(nodes.length / 2)].lines.join(" ") : "";
  }

  edge(edge) {
    const group = make("g", { class: "edge" }, this.svg);
    make("title", {}, group, edge.tip);
    const path = make("path", { d: edge.path }, group);
    make("polygon", { points: edge.head }, group);
    if (edge.line) path.style.setProperty("--flow", edge.line);
    if (edge.marked) group.classList.add("route");
    return group;
  }

  // Labels lie above the states, so that no state hides them.
  label(edge, group) {
    const label = make("g", { class: group.getAttribute("class") }, this.svg);
    const height = 13.75;
    const top = edge.at[1] - ((edge.lines.length - 1) * height) / 2;
    edge.lines.forEach((line, k) => {
      const y = top + k * height;
      const width = edge.widths[k];
      make("rect", { class: "plate", x: edge.at[0] - width / 2, y: y - 6.6, width, height: 13.2 }, label);
      make("text", { x: edge.at[0], y: y + 3.9 }, label, line);
    });
    group.words = label;
  }

  node(node, k) {
    const group = make("g", { class: "node", "data-state": k }, this.svg);
    make("title", {}, group, node.tip);
    const box = (inset, name) =>
      make("rect", {
        class: name,
        x: node.x - node.width / 2 + inset,
        y: node.y - node.height / 2 + inset,
        width: node.width - 2 * inset,
        height: node.height - 2 * inset,
        rx: node.height / 2 - inset,
      }, group);
    box(0, "ground");
    group.mass = box(0, "mass");
    box(0, "outline");
    if (node.mass) group.mass.style.fillOpacity = Math.sqrt(node.mass);
    if (node.ending) box(2.8, "outline inner");
    if (node.marked) group.classList.add("route");
    const rows = node.value ? [...node.lines, node.value] : node.lines;
    rows.forEach((line, row) => {
      const y = node.y - ((rows.length - 1) * 15) / 2 + row * 15 + 4.2;
      const kind = row === node.lines.length ? "value" : "words";
      make("text", { x: node.x, y, class: kind }, group, line);
    });
    group.addEventListener("pointerenter", () => this.told(k));
    group.addEventListener("click", () => this.choose(k, false));
    return group;
  }

  // Shading by probability: of being in a state at some time, of taking an arc at some time.
  shade(masses, flows) {
    this.nodes.forEach((node, k) => {
      node.mass.style.fillOpacity = Math.sqrt(Math.min(1, masses[k]));
    });
    this.edges.forEach((edge, k) => {
      edge.querySelector("path").style.setProperty("--flow", 0.7 + 3.3 * Math.min(1, flows[k]));
    });
  }

  mark(states, edges, here) {
    this.nodes.forEach((node, k) => {
      node.classList.toggle("route", states.has(k));
      node.classList.toggle("here", k === here);
    });
    this.edges.forEach((edge, k) => {
      edge.classList.toggle("route", edges.has(k));
      edge.words.classList.toggle("route", edges.has(k));
    });
  }

  choose(k, centre) {
    if (this.chosen >= 0) this.nodes[this.chosen].classList.remove("chosen");
    this.chosen = k;
    if (k < 0) return;
    this.nodes[k].classList.add("chosen");
    this.told(k);
    if (centre) {
      const { x, y } = this.machine.nodes[k];
      this.view.x = x - this.view.width / 2;
      this.view.y = y - this.view.height / 2;
      this.look();
    }
  }

  dim(kept) {
    this.nodes.forEach((node, k) => node.classList.toggle("dim", kept !== null && !kept.has(k)));
    this.edges.forEach((edge, k) => {
      const { source, target } = this.machine.edges[k];
      const away = kept !== null && !(kept.has(source) || kept.has(target));
      edge.classList.toggle("dim", away);
      edge.words.classList.toggle("dim", away);
    });
  }

  fit() {
    this.close = false;
    const { width, height, top } = this.machine;
    this.view = { x: 0, y: top, width, height: height - top };
    this.look();
  }

  look() {
    const { x, y, width, height } = this.view;
    this.svg.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
  }

  scale() {
    const box = this.svg.getBoundingClientRect();
    return Math.max(this.view.width / box.width, this.view.height / box.height) || 1;
  }

  zoom(factor, at) {
    const view = this.view;
    const largest = 4 * Math.max(this.machine.width, this.machine.height);
    const width = view.width * factor;
    if (width < 40 || width > largest) return;
    const centre = at || { x: view.x + view.width / 2, y: view.y + view.height / 2 };
    view.x = centre.x - (centre.x - view.x) * factor;
    view.y = centre.y - (centre.y - view.y) * factor;
    view.width = width;
    view.height *= factor;
    this.look();
  }

  move(dx, dy) {
    this.view.x += dx;
    this.view.y += dy;
    this.look();
  }

  place(event) {
    const matrix = this.svg.getScreenCTM();
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
  }

  listen() {
    this.stage.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY * 0.0015), this.place(event));
    }, { passive: false });
    let held = null;
    this.stage.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      held = { x: event.clientX, y: event.clientY };
    });
    window.addEventListener("pointermove", (event) => {
      if (!held) return;
      const scale = this.scale();
      this.stage.classList.add("moving");
      this.move((held.x - event.clientX) * scale, (held.y - event.clientY) * scale);
      held = { x: event.clientX, y: event.clientY };
    });
    window.addEventListener("pointerup", () => {
      held = null;
      this.stage.classList.remove("moving");
    });
    this.stage.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = this.view.width * 0.1;
    const count = this.nodes.length;
    const keys = {
      ArrowLeft: () => this.move(-step, 0),
      ArrowRight: () => this.move(step, 0),
      ArrowUp: () => this.move(0, -step),
      ArrowDown: () => this.move(0, step),
      "+": () => this.zoom(0.8),
      "=": () => this.zoom(0.8),
      "-": () => this.zoom(1.25),
      0: () => this.fit(),
      n: () => this.choose((this.chosen + 1) % count, true),
      p: () => this.choose((Math.max(this.chosen, 0) + count - 1) % count, true),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }
}

// The search box: every word must occur in what a state shows; Enter goes through what was found.
function listenToSearch(graph, find, found) {
  let hits = [];
  let at = -1;
  const search = () => {
    find.placeholder = graph.example();
    const words = find.value.trim().split(/\s+/).filter(Boolean);
    if (!words.length) {
      graph.dim(null);
      found.textContent = "";
      hits = [];
      return;
    }
    hits = [];
    graph.machine.nodes.forEach((node, k) => {
      const parts = node.words;
      const holds = (word) => parts.some((part) => part === word) || node.tip.includes(word);
      if (words.every(holds)) hits.push(k);
    });
    const exact = hits.filter((k) => words.every((w) => graph.machine.nodes[k].words.includes(w)));
    if (exact.length) hits = exact;
    at = -1;
    graph.dim(new Set(hits));
    found.textContent = hits.length === 1 ? "1 state" : `${hits.length} states`;
  };
  find.addEventListener("input", search);
  find.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !hits.length) return;
    at = (at + 1) % hits.length;
    graph.choose(hits[at], true);
  });
  return search;
}
