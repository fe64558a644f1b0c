// The picture: the SVG as it was drawn; moved, zoomed and searched, its states and arcs marked.

class Picture {
  constructor(stage, told) {
    this.stage = stage;
    this.told = told;
    this.listen();
  }

  // Shows one of the pictures of the page.
  show(number) {
    const { content } = document.querySelectorAll("template")[number];
    this.stage.replaceChildren(content.cloneNode(true));
    this.svg = this.stage.querySelector("svg");
    this.size = this.svg.getAttribute("viewBox").split(" ").slice(2).map(Number);
    this.chosen = -1;
    this.nodes = [...this.svg.querySelectorAll(".node")];
    this.tips = this.nodes.map((node) => node.querySelector("title").textContent);
    this.nodes.forEach((node, k) => {
      if (node.dataset.shade) node.style.setProperty("--shade", node.dataset.shade);
      node.addEventListener("pointerenter", () => this.told(this.tips[k]));
      node.addEventListener("click", () => this.choose(k, false));
    });
    this.edges = [...this.svg.querySelectorAll(".edge[data-from]")];
    this.begin();
  }

  // Everything, if it can be read then; else a part that can, from which steps are followed.
  begin() {
    this.fit();
    const box = this.svg.getBoundingClientRect();
    this.close = this.scale() > 1 / 0.62 && box.width > 0;
    if (!this.close) return;
    this.view.width = Math.min(box.width * 1.2, this.size[0]);
    this.view.height = Math.min(box.height * 1.2, this.size[1]);
    this.look();
  }

  // Moves the picture so that a state can be seen, unless all of it is to be seen.
  follow(k) {
    if (!this.close || k === undefined) return;
    const { x, y, width, height } = this.nodes[k].getBBox();
    const view = this.view;
    const inside = x - width / 2 > view.x && x + 1.5 * width < view.x + view.width
      && y - height / 2 > view.y && y + 1.5 * height < view.y + view.height;
    if (inside) return;
    view.x = x + width / 2 - Math.min(view.width / 2, width + 20);
    view.y = y + height / 2 - view.height / 2;
    this.look();
  }

  // Shading by probability: of being in a state, of taking an arc, at some time.
  shade(masses, flows) {
    this.nodes.forEach((node, k) => {
      node.style.setProperty("--shade", Math.sqrt(Math.min(1, masses[k])));
    });
    for (const edge of this.edges) {
      const flow = flows.get(`${edge.dataset.from},${edge.dataset.to}`) || 0;
      edge.style.setProperty("--flow", 0.7 + 3.3 * Math.min(1, flow));
    }
  }

  mark(states, arcs, here) {
    this.nodes.forEach((node, k) => {
      node.classList.toggle("route", states.has(k));
      node.classList.toggle("here", k === here);
    });
    for (const edge of this.edges) {
      edge.classList.toggle("route", arcs.has(`${edge.dataset.from},${edge.dataset.to}`));
    }
  }

  choose(k, centre) {
    if (this.chosen >= 0) this.nodes[this.chosen].classList.remove("chosen");
    this.chosen = k;
    this.nodes[k].classList.add("chosen");
    this.told(this.tips[k]);
    if (!centre) return;
    const { x, y, width, height } = this.nodes[k].getBBox();
    this.view.x = x + (width - this.view.width) / 2;
    this.view.y = y + (height - this.view.height) / 2;
    this.look();
  }

  dim(kept) {
    this.nodes.forEach((node, k) => node.classList.toggle("dim", !kept(k)));
    for (const edge of this.edges) {
      const away = !kept(Number(edge.dataset.from)) && !kept(Number(edge.dataset.to));
      edge.classList.toggle("dim", away);
    }
  }

  fit() {
    this.close = false;
    this.view = { x: 0, y: 0, width: this.size[0], height: this.size[1] };
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
    const width = view.width * factor;
    if (width < 40 || width > 4 * Math.max(...this.size)) return;
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

  listen() {
    this.stage.addEventListener("wheel", (event) => {
      event.preventDefault();
      const place = new DOMPoint(event.clientX, event.clientY);
      const at = place.matrixTransform(this.svg.getScreenCTM().inverse());
      this.zoom(Math.exp(event.deltaY * 0.0015), at);
    }, { passive: false });
    let held = null;
    this.stage.addEventListener("pointerdown", (event) => {
      if (event.button === 0) held = { x: event.clientX, y: event.clientY };
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
    const turn = (k) => count && this.choose(k % count, true);
    const keys = {
      ArrowLeft: () => this.move(-step, 0),
      ArrowRight: () => this.move(step, 0),
      ArrowUp: () => this.move(0, -step),
      ArrowDown: () => this.move(0, step),
      "+": () => this.zoom(0.8),
      "=": () => this.zoom(0.8),
      "-": () => this.zoom(1.25),
      0: () => this.fit(),
      n: () => turn(this.chosen + 1),
      p: () => turn(Math.max(this.chosen, 0) + count - 1),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }
}

// The search box: every word must occur in what is told of a state; Enter goes through the hits.
function listenToSearch(picture, find, found) {
  let hits = [];
  let at = -1;
  const search = () => {
    const { tips, nodes } = picture;
    const middle = nodes[Math.floor(nodes.length / 2)];
    const shown = middle ? [...middle.querySelectorAll("text:not([font-weight])")] : [];
    find.placeholder = shown.map((text) => text.textContent).join(" ");
    const words = find.value.trim().split(/\s+/).filter(Boolean);
    const parts = tips.map((tip) => tip.split(", ").map((part) => part.replace(/^state /, "")));
    const states = [...tips.keys()];
    const exact = states.filter((k) => words.every((word) => parts[k].includes(word)));
    hits = exact.length ? exact : states.filter((k) => words.every((word) => tips[k].includes(word)));
    at = -1;
    picture.dim((k) => hits.includes(k));
    found.textContent = !words.length ? "" : hits.length === 1 ? "1 state" : `${hits.length} states`;
  };
  find.addEventListener("input", search);
  find.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !find.value.trim() || !hits.length) return;
    at = (at + 1) % hits.length;
    picture.choose(hits[at], true);
  });
  return search;
}
