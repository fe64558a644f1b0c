// The panels: a pair of sequences, probabilities, and what follows from them.

const $ = (id) => document.getElementById(id);

function make(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const shown = (value) => String(Number(value.toPrecision(8)));

// Shows a number, and keeps all of its digits; null clears it.
function tell(output, value, text) {
  output.textContent = text ?? (value === null ? "" : shown(value));
  if (value === null) delete output.dataset.value;
  else output.dataset.value = String(value);
}

class Page {
  constructor(data) {
    this.data = data;
    this.picture = new Picture($("stage"), (tip) => {
      $("about").textContent = tip;
    });
    this.search = listenToSearch(this.picture, $("find"), $("found"));
    $("larger").addEventListener("click", () => this.picture.zoom(0.8));
    $("smaller").addEventListener("click", () => this.picture.zoom(1.25));
    $("fit").addEventListener("click", () => this.picture.fit());
    this.picture.show(0);
    if (data.machines) this.panels();
    else if (this.picture.nodes.length) this.search();
    else for (const id of ["searching", "about"]) $(id).remove();
  }

  panels() {
    const { kind, labels, machines } = this.data;
    this.size = labels.length;
    this.sign = kind === "loss" ? -1 : 1;
    this.waiting = false;
    this.typed = { z: false, y: false };
    $("stage").classList.add("live");
    $("kind").textContent = kind;
    $("length").append(...machines.map(({ n }, value) => make("option", { value }, String(n))));
    $("length").addEventListener("change", () => this.choose(Number($("length").value)));
    for (const tape of ["z", "y"]) {
      $(tape).addEventListener("input", () => {
        this.typed[tape] = true;
        this.read(Infinity);
      });
    }
    const steps = { first: () => 0, back: () => this.step - 1, on: () => this.step + 1, last: () => Infinity };
    for (const [id, step] of Object.entries(steps)) {
      $(id).addEventListener("click", () => this.go(step()));
    }
    $("take").addEventListener("click", () => {
      $("z").value = this.write(this.ties[0]);
      this.typed.z = true;
      this.read(Infinity);
    });
    this.choose(machines.length - 1);
  }

  choose(k) {
    $("length").value = String(k);
    this.machine = this.data.machines[k];
    this.stepped = this.machine.plain || this.machine;
    $("note").textContent = this.machine.note || "";
    this.picture.show(k);
    this.search();
    for (const tape of ["z", "y"]) $(tape).value = this.write(this.first(tape));
    this.sliders();
    this.read(this.picture.close ? 0 : Infinity);
  }

  // What was typed before as far as it goes; else a pair that is well-formed for the labels.
  first(tape) {
    const { n, first } = this.machine;
    if (!this.typed[tape]) return first[tape];
    return Array.from({ length: n }, (_, i) => this[tape][i] ?? this.data.more);
  }

  write(labels) {
    const short = this.data.shown.every((x) => Array.from(x).length === 1);
    return labels.map((k) => this.data.shown[k]).join(short ? "" : " ");
  }

  // The longest label that fits is taken, again and again: labels may have blanks or commas inside.
  // Without any, labels stand next to each other.
  parse(text) {
    const apart = /[\s,]/.test(text.trim());
    const ends = (rest) => !apart || /^(?:[\s,]|$)/.test(rest);
    const forms = [...this.data.labels, ...this.data.shown].map((form, k) => [form, k % this.size]);
    forms.sort((a, b) => b[0].length - a[0].length);
    const labels = [];
    let rest = text;
    while (rest) {
      const match = forms.find(([form]) => form && rest.startsWith(form) && ends(rest.slice(form.length)));
      if (match) labels.push(match[1]);
      else if (!/^[\s,]/.test(rest)) {
        return { labels: [], strange: apart ? rest.split(/[\s,]/)[0] : Array.from(rest)[0] };
      }
      rest = rest.slice(match ? match[0].length : 1);
    }
    return { labels };
  }

  // Reads both sequences; what is wrong is said, what can be shown is shown.
  read(step) {
    const n = this.machine.n;
    this.problems = [];
    for (const tape of ["z", "y"]) {
      const { labels, strange } = this.parse($(tape).value);
      const wrong = strange !== undefined
        ? `${tape}: ${strange} is no label. The labels are ${this.data.shown.join(", ")}.`
        : labels.length !== n ? `${tape} has ${labels.length} labels, ${n} are needed.` : "";
      $(tape).setAttribute("aria-invalid", String(Boolean(wrong)));
      if (wrong) this.problems.push(wrong);
      this[tape] = labels.slice(0, n);
      this[`${tape}Good`] = !wrong;
    }
    this.complain();
    this.path = walk(this.machine, this.size, this.z, this.y);
    this.trace(walk(this.stepped, this.size, this.z, this.y));
    this.go(step);
    this.expect();
  }

  trace(states) {
    const { n, registers, held, values } = this.machine;
    const row = (kind, texts) => make("tr", {}, ...texts.map((text) => make(kind, {}, text)));
    $("trace").tHead.replaceChildren(row("th", ["i", "z", "y", ...registers, "value"]));
    const rows = states.map((state, i) => {
      const labels = [this.z, this.y].map((tape) => (i ? this.data.shown[tape[i - 1]] : ""));
      const value = this.stepped.values[state];
      const made = row("td", [String(i), ...labels, ...held[state], value === null ? "" : shown(value)]);
      made.addEventListener("click", () => this.go(i));
      return made;
    });
    $("trace").tBodies[0].replaceChildren(...rows);
    const whole = this.zGood && this.yGood && this.path.length === n + 1;
    tell($("value"), whole ? values[this.path[n]] : null);
  }

  go(step) {
    const last = this.path.length - 1;
    this.step = Math.max(0, Math.min(step, last));
    const walked = this.path.slice(0, this.step + 1);
    const here = walked[this.step];
    this.picture.mark(new Set(walked), new Set(walked.slice(1).map((s, i) => `${walked[i]},${s}`)), here);
    this.picture.follow(here);
    [...$("trace").tBodies[0].rows].forEach((row, i) => {
      if (i === this.step) row.setAttribute("aria-current", "step");
      else row.removeAttribute("aria-current");
    });
    $("step").textContent = `step ${this.step} of ${last}`;
    $("first").disabled = $("back").disabled = this.step === 0;
    $("last").disabled = $("on").disabled = this.step === last;
    $("about").textContent = this.picture.tips[here];
  }

  // One slider for two labels, else one for each label if there are several; their sum is 1.
  sliders() {
    const old = this.weights || [];
    const first = (i) => this.data.weights[i % this.data.weights.length].slice();
    this.weights = Array.from({ length: this.machine.n }, (_, i) => old[i] || first(i));
    const label = (k) => this.data.shown[this.size === 2 ? 1 : k];
    const rows = this.weights.flatMap((weights, i) =>
      this.size === 1 ? [] : weights.map((_, k) => this.slider(i, k, `P(y${i + 1} = ${label(k)})`)));
    $("chances").replaceChildren(...rows);
  }

  slider(i, k, name) {
    const [range, number] = ["range", "number"].map((type) => {
      const step = type === "range" ? "0.01" : "any";
      const value = shown(this.weights[i][k]);
      const input = make("input", { type, min: "0", max: "1", step, value, id: `${type}-${i}-${k}` });
      input.setAttribute("aria-label", name);
      return input;
    });
    const set = (from, to) => from.addEventListener("input", () => {
      const given = Number(from.value);
      const good = from.value !== "" && given >= 0 && given <= 1;
      from.setAttribute("aria-invalid", String(!good));
      const must = `${name} must be a number from 0 to 1; it stays ${shown(this.weights[i][k])}.`;
      this.complain(good ? "" : must);
      if (!good) return;
      this.share(i, k, given);
      to.value = from.value;
      to.setAttribute("aria-invalid", "false");
      this.later();
    });
    set(range, number);
    set(number, range);
    const label = make("label", { title: name, htmlFor: range.id }, name);
    return make("div", { className: "chance" }, label, range, number);
  }

  // One probability is set; the others of its position keep their proportions and fill up to 1.
  share(i, k, given) {
    const weights = this.weights[i];
    const others = weights.reduce((sum, w, j) => (j === k ? sum : sum + w), 0);
    weights.forEach((w, j) => {
      weights[j] = j === k ? given : (1 - given) * (others > 0 ? w / others : 1 / (weights.length - 1));
      if (j === k) return;
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

  expect() {
    const chances = this.size === 2 ? this.weights.map(([p]) => [1 - p, p]) : this.weights;
    this.decision(chances);
    if (!this.zGood) {
      tell($("expected"), null);
      $("levels").tBodies[0].replaceChildren();
      return;
    }
    const { masses, flows, last } = passing(this.machine, this.size, this.z, chances);
    tell($("expected"), mean(this.machine, last));
    this.picture.shade(masses, flows);
    const distribution = levels(this.machine, last);
    const most = Math.max(...distribution.map((level) => level.probability));
    $("levels").tBodies[0].replaceChildren(...distribution.map((level) => this.level(level, most)));
  }

  level({ value, probability }, most) {
    const bar = make("div", { className: "bar" });
    bar.style.width = `${(100 * probability) / most}%`;
    const row = make("tr", {}, ...[shown(value), shown(probability), bar].map((x) => make("td", {}, x)));
    Object.assign(row.dataset, { value, probability });
    return row;
  }

  decision(chances) {
    const few = this.size ** this.machine.n <= this.data.mostTried;
    $("take").disabled = !few;
    if (!few) {
      const most = `not looked for, there are more than ${this.data.mostTried} hypotheses`;
      tell($("best"), null, most);
      return;
    }
    const { value, ties } = decide(this.machine, this.size, chances, this.sign);
    this.ties = ties;
    const more = ties.length > 1 ? ` and ${ties.length - 1} as good` : "";
    const labels = this.write(ties[0]);
    tell($("best"), value, `${labels}, expected ${shown(value)}${more}`);
    $("best").dataset.labels = labels;
  }
}

new Page(JSON.parse($("data").textContent));
