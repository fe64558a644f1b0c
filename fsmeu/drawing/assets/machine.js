// What the page computes: the same recurrences as in Python, over the same tables. A machine has
// states 0..S-1; next[(state * L + z) * L + y] is the state after a pair of labels, -1 if none.

function walk(machine, size, z, y) {
  const path = [machine.start];
  for (let i = 0; i < Math.min(z.length, y.length); i++) {
    const target = machine.next[(path[i] * size + z[i]) * size + y[i]];
    if (target < 0) break;
    path.push(target);
  }
  return path;
}

// The masses of the next layer; each flow along an arc is told on the way.
function advance(machine, size, mass, label, chances, tell) {
  const after = new Float64Array(mass.length);
  for (let state = 0; state < mass.length; state++) {
    for (let y = 0; y < size && mass[state] > 0; y++) {
      const flow = mass[state] * chances[y];
      const target = machine.next[(state * size + label) * size + y];
      if (flow > 0) after[target] += flow;
      if (flow > 0 && tell) tell(`${state},${target}`, flow);
    }
  }
  return after;
}

// When the labels of y are independent and z is given: the masses of the last layer, and how
// probable it is to meet each state, and to take each arc, at any time: at most one, because what
// is met twice counts by its likeliest time.
function passing(machine, size, z, chances) {
  let last = new Float64Array(machine.values.length);
  last[machine.start] = 1;
  const masses = last.slice();
  const flows = new Map();
  z.forEach((label, i) => {
    const now = new Map();
    const tell = (arc, flow) => now.set(arc, (now.get(arc) || 0) + flow);
    last = advance(machine, size, last, label, chances[i], tell);
    for (const [arc, flow] of now) flows.set(arc, Math.max(flows.get(arc) || 0, flow));
    last.forEach((mass, state) => {
      masses[state] = Math.max(masses[state], mass);
    });
  });
  return { masses, flows, last };
}

function mean({ values }, mass) {
  return mass.reduce((total, m, state) => (m > 0 ? total + m * values[state] : total), 0);
}

// Values that differ by rounding only are one level.
function levels({ values }, mass) {
  const ends = [...mass.keys()].filter((state) => mass[state] > 0);
  ends.sort((a, b) => values[a] - values[b]);
  const merged = [];
  let before = -Infinity;
  for (const state of ends) {
    const value = values[state];
    if (value - before > 1e-12 * Math.max(1, Math.abs(value))) merged.push({ value, probability: 0 });
    merged[merged.length - 1].probability += mass[state];
    before = value;
  }
  return merged;
}

// The hypotheses of greatest expected utility (least expected loss), by trying all of them;
// hypotheses with a common beginning share its masses.
function decide(machine, size, chances, sign) {
  let best = -Infinity;
  let ties = [];
  const start = new Float64Array(machine.values.length);
  start[machine.start] = 1;
  (function extend(z, mass) {
    if (z.length < chances.length) {
      for (let label = 0; label < size; label++) {
        extend([...z, label], advance(machine, size, mass, label, chances[z.length]));
      }
      return;
    }
    const value = sign * mean(machine, mass);
    const close = 1e-12 * Math.max(1, Math.abs(value));
    if (value > best + close) {
      best = value;
      ties = [];
    }
    if (value >= best - close) ties.push(z);
  })([], start);
  return { value: sign * best, ties };
}
