
// The panels: a pair of sequences, probabilities, and what follows from them.

const $ = (id) => document.getElementById(id);

function cell(row, text, name) {
  const made = document.createElement(name || "td");
  made.textContent = text;
  row.appendChild(made);
  return made;
}

function shown(value) {
  return String(Number(value.toPrecision(8)));
}

function tell(output, value) {
  output.textContent = shown(value);
  output.dataset.value = String(value);
}

class Page {
  constructor(data) {
    this.data = data;
    this.size = data.labels ? data.labels.length : 0;
    this.sign = data.kind === "loss" ? -1 : 1;
    this.graph = new Graph($("stage"), (k) => this.about(k));
    this.search = listenToSearch(this.graph, $("find"), $("found"));
    this.waiting = false;
    this.buttons();
    if (data.kind === "picture") {
      this.machine = data.machines[0];
      this.graph.show(this.machine);
      this.search();
      return;
    }
    this.panels();
    this.choose(data.machines.length - 1);
  }

  buttons() {
    $("larger").addEventListener("click", () => this.graph.zoom(0.8));
    $("smaller").addEventListener("click", () => this.graph.zoom(1.25));
    $("fit").addEventListener("click", () => this.graph.fit());
  }

  panels() {
    this.data.machines.forEach((machine, k) => {
      const option = document.createElement("option");
      option.textContent = String(machine.n);
      option.value = String(k);
      $("length").appendChild(option);
    });
    $("kind").textContent = this.data.kind;
    $("length").addEventListener("change", () => this.choose(Number($("length").value)));
    this.typed = { z: false, y: false };
    for (const tape of ["z", "y"]) {
      $(tape).addEventListener("input", () => {
        this.typed[tape] = true;
        this.read(Infinity);
      });
    }
    $("first").addEventListener("click", () => this.go(0));
    $("back").addEventListener("click", () => this.go(this.step - 1));
    $("on").addEventListener("click", () => this.go(this.step + 1));
    $("last").addEventListener("click", () => this.go(Infinity));
    $("take").addEventListener("click", () => {
      $("z").value = this.write(this.ties[0]);
      this.typed.z = true;
      this.read(Infinity);
    });
  }

  choose(k) {
    $("length").value = String(k);
    this.machine = this.data.machines[k];
    const machine = this.machine;
    this.edgeOf = new Map(machine.edges.map((edge, e) => [`${edge.source},${edge.target}`, e]));
    this.stepped = machine.plain || machine;
    $("note").textContent = machine.note || "";
    this.graph.show(machine);
    this.search();
    $("z").value = this.write(this.first("z"));
    $("y").value = this.write(this.first("y"));
    this.sliders();
    this.read(this.graph.close ? 0 : Infinity);
  }

  // What was typed before as far as it goes; else a pair that is well-formed for the labels.
  first(tape) {
    const { n, first } = this.machine;
    if (!this.typed[tape]) return first[tape];
    return Array.from({ length: n }, (_, i) => this[tape][i] ?? this.data.more);
  }

  write(labels) {
    const texts = labels.map((k) => this.data.shown[k]);
    return texts.join(this.data.shown.every((x) => Array.from(x).length === 1) ? "" : " ");
  }

  parse(text) {
    const index = (word) => {
      const found = this.data.labels.indexOf(word);
      return found >= 0 ? found : this.data.shown.indexOf(word);
    };
    let words = text.replace(/,/g, " ").trim().split(/\s+/).filter(Boolean);
    if (words.length === 1 && index(words[0]) < 0) words = Array.from(words[0]);
    const strange = words.find((word) => index(word) < 0);
    if (strange === undefined) return { labels: words.map(index) };
    const labels = this.cut(text);
    return labels ? { labels } : { labels: [], strange };
  }

  // Labels that have blanks or commas inside: the longest one that fits is taken, again and again.
  cut(text) {
    const forms = [...this.data.labels, ...this.data.shown].map((form, k) => [form, k % this.size]);
    forms.sort((a, b) => b[0].length - a[0].length);
    const labels = [];
    let rest = text;
    while (rest) {
      const fits = ([form]) => rest.startsWith(form) && /^(?:[\s,]|$)/.test(rest.slice(form.length));
      const found = forms.find(fits);
      if (found) {
        labels.push(found[1]);
        rest = rest.slice(found[0].length);
      } else if (/^[\s,]/.test(rest)) {
        rest = rest.slice(1);
      } else {
        return null;
      }
    }
    return labels;
  }

  // Reads both sequences; what is wrong is said, what can be shown is shown.
  read(step) {
    const n = this.machine.n;
    const problems = [];
    for (const tape of ["z", "y"]) {
      const { labels, strange } = this.parse($(tape).value);
      const wrong = strange !== undefined
        ? `${tape}: ${strange} is no label. The labels are ${this.data.shown.join(", ")}.`
        : labels.length !== n ? `${tape} has ${labels.length} labels, ${n} are needed.` : "";
      $(tape).setAttribute("aria-invalid", wrong ? "true" : "false");
      if (wrong) problems.push(wrong);
      this[tape] = strange === undefined ? labels.slice(0, n) : [];
      this[`${tape}Good`] = !wrong;
    }
    this.problems = problems;
    this.complain();
    const length = Math.min(this.z.length, this.y.length);
    this.path = walk(this.machine, this.size, this.z, this.y, length);
    this.steps = walk(this.stepped, this.size, this.z, this.y, length);
    this.trace();
    this.go(step);
    this.expect();
  }

  trace() {
    const head = document.createElement("tr");
    for (const name of ["i", "z", "y", ...this.machine.registers, "value"]) cell(head, name, "th");
    $("trace").tHead.replaceChildren(head);
    const rows = this.steps.map((state, i) => {
      const row = document.createElement("tr");
      const label = (tape) => (i ? this.data.shown[tape[i - 1]] : "");
      const value = this.stepped.values[state];
      const held = this.machine.held[state];
      const cells = [String(i), label(this.z), label(this.y), ...held, value === null ? "" : shown(value)];
      for (const text of cells) cell(row, text);
      row.addEventListener("click", () => this.go(i));
      return row;
    });
    $("trace").tBodies[0].replaceChildren(...rows);
    const whole = this.zGood && this.yGood && this.path.length === this.machine.n + 1;
    const value = whole ? this.machine.values[this.path[this.machine.n]] : null;
    if (value === null) {
      $("value").textContent = "";
      delete $("value").dataset.value;
    } else {
      tell($("value"), value);
    }
  }

  go(step) {
    this.step = Math.max(0, Math.min(step, this.path.length - 1));
    const states = new Set(this.path.slice(0, this.step + 1));
    const edges = new Set();
    for (let i = 0; i < this.step; i++) edges.add(this.edgeOf.get(`${this.path[i]},${this.path[i + 1]}`));
    const here = this.path[this.step];
    this.graph.mark(states, edges, here);
    this.graph.follow(here);
    [...$("trace").tBodies[0].rows].forEach((row, i) => {
      if (i === this.step) row.setAttribute("aria-current", "step");
      else row.removeAttribute("aria-current");
    });
    $("step").textContent = `step ${this.step} of ${this.path.length - 1}`;
    $("first").disabled = $("back").disabled = this.step === 0;
    $("last").disabled = $("on").disabled = this.step === this.path.length - 1;
    this.about(here);
  }

  about(k) {
    $("about").textContent = this.machine.nodes[k].tip;
  }

  // One slider for two labels, else one for each label; those of a position sum to 1.
  sliders() {
    const n = this.machine.n;
    const binary = this.size === 2;
    const old = this.weights || [];
    const first = (i) => this.data.weights[i % this.data.weights.length].slice();
    this.weights = Array.from({ length: n }, (_, i) => old[i] || first(i));
    const rows = [];
    for (let i = 0; i < n; i++) {
      this.weights[i].forEach((_, k) => rows.push(this.slider(i, k, binary ? 1 : k, binary)));
    }
    $("chances").replaceChildren(...rows);
  }

  slider(i, k, label, binary) {
    const row = document.createElement("div");
    row.className = "chance";
    const name = document.createElement("label");
    name.textContent = `P(y${i + 1} = ${this.data.shown[label]})`;
    name.title = name.textContent;
    const [range, number] = ["range", "number"].map((type) => {
      const input = document.createElement("input");
      Object.assign(input, { type, min: "0", max: "1", step: type === "range" ? "0.01" : "any" });
      input.value = shown(this.weights[i][k]);
      input.setAttribute("aria-label", name.textContent);
      input.id = `${type}-${i}-${k}`;
      return input;
    });
    name.htmlFor = range.id;
    const set = (from, to) => from.addEventListener("input", () => {
      const given = Number(from.value);
      const good = from.value !== "" && given >= 0 && given <= 1;
      from.setAttribute("aria-invalid", good ? "false" : "true");
      const must = `${name.textContent} must be a number from 0 to 1; it stays ${shown(this.weights[i][k])}.`;
      this.complain(good ? "" : must);
      if (!good) return;
      this.share(i, k, given);
      to.value = from.value;
      to.setAttribute("aria-invalid", "false");
      this.later();
    });
    set(range, number);
    set(number, range);
    row.append(name, range, number);
    return row;
  }

  // One probability is set; the others of its position keep their proportions and fill up to 1.
  share(i, k, given) {
    const weights = this.weights[i];
    const others = weights.reduce((sum, w, j) => (j === k ? sum : sum + w), 0);
    weights.forEach((w, j) => {
      if (j === k) {
        weights[j] = given;
        return;
      }
      weights[j] = (1 - given) * (others > 0 ? w / others : 1 / (weights.length - 1));
      for (const type of ["range", "number"]) $(`${type}-${i}-${j}`).value = shown(weights[j]);
    });
  }

  // What is wrong with the sequences, and with the number that was typed last.
  complain(more = "") {
    $("problem").textContent = [...this.problems, more].join(" ").trim();
  }

  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.expect();
    });
  }

  chances() {
    return this.weights.map((weights) => {
      if (this.size === 2) return [1 - weights[0], weights[0]];
      const total = weights.reduce((a, b) => a + b, 0);
      return weights.map((w) => (total > 0 ? w / total : 1 / weights.length));
    });
  }

  expect() {
    const chances = this.chances();
    this.decision(chances);
    const rows = [];
    if (this.zGood) {
      const layers = forward(this.machine, this.size, this.z, chances);
      const last = layers[this.machine.n];
      tell($("expected"), mean(this.machine, last));
      const found = levels(this.machine, last);
      const most = Math.max(...found.map((level) => level.probability));
      for (const level of found) rows.push(this.level(level, most));
      this.shade(layers, chances);
    } else {
      $("expected").textContent = "";
      delete $("expected").dataset.value;
    }
    $("levels").tBodies[0].replaceChildren(...rows);
  }

  level({ value, probability }, most) {
    const row = document.createElement("tr");
    row.dataset.value = String(value);
    row.dataset.probability = String(probability);
    cell(row, shown(value));
    cell(row, shown(probability));
    const bar = document.createElement("div");
    bar.className = "bar";
    bar.style.width = `${(100 * probability) / most}%`;
    cell(row, "").appendChild(bar);
    return row;
  }

  decision(chances) {
    if (this.size ** this.machine.n > this.data.mostTried) {
      $("best").textContent = `not looked for, there are more than ${this.data.mostTried} hypotheses`;
      delete $("best").dataset.value;
      $("take").disabled = true;
      return;
    }
    const { value, ties } = decide(this.machine, this.size, chances, this.sign);
    this.ties = ties;
    const more = ties.length > 1 ? ` and ${ties.length - 1} as good` : "";
    const text = ties[0].map((k) => this.data.shown[k]);
    const joint = text.every((x) => Array.from(x).length === 1) ? "" : " ";
    $("best").textContent = `${text.join(joint)}, expected ${shown(value)}${more}`;
    $("best").dataset.value = String(value);
    $("best").dataset.labels = this.write(ties[0]);
    $("take").disabled = false;
  }

  // The probability of meeting a state, or of taking an arc, at any time: at most one, because
  // what is met twice counts by its likeliest time.
  shade(layers, chances) {
    const masses = layers[0].map((_, k) => Math.max(...layers.map((layer) => layer[k])));
    const flows = new Array(this.machine.edges.length).fill(0);
    for (let i = 0; i < this.z.length; i++) {
      const now = new Array(flows.length).fill(0);
      for (let state = 0; state < masses.length; state++) {
        if (layers[i][state] === 0) continue;
        for (let y = 0; y < this.size; y++) {
          if (chances[i][y] === 0) continue;
          const target = this.machine.next[(state * this.size + this.z[i]) * this.size + y];
          now[this.edgeOf.get(`${state},${target}`)] += layers[i][state] * chances[i][y];
        }
      }
      now.forEach((flow, e) => {
        flows[e] = Math.max(flows[e], flow);
      });
    }
    this.graph.shade(masses, flows);
  }
}

function begin() {
  const data = JSON.parse($("data").textContent);
  if (data.kind === "picture" || data.kind === "still") {
    $("panels").remove();
    $("lengths").remove();
    document.querySelector("main").classList.add("alone");
  }
  if (data.kind === "still") {
    $("tools").remove();
    $("about").remove();
    return;
  }
  new Page(data);
}

begin();
