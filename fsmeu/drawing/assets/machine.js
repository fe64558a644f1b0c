
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
    last.forEach((mass, state) => {
      chances[i].forEach((chance, y) => {
        const arc = `${state},${machine.next[(state * size + label) * size + y]}`;
        if (mass * chance > 0) now.set(arc, (now.get(arc) || 0) + mass * chance);
      });
    });
    for (const [arc, flow] of now) flows.set(arc, Math.max(flows.get(arc) || 0, flow));
    last = advance(machine, size, last, label, chances[i]);
    last.forEach((mass, state) => {
      masses[state] = Math.max(masses[state], mass);
    });
  });
  return { masses, flows, last };
}

function advance(machine, size, mass, label, chance) {
  const after = new Float64Array(mass.length);
  for (let state = 0; state < mass.length; state++) {
    if (mass[state] === 0) continue;
    const row = (state * size + label) * size;
    for (let y = 0; y < size; y++) {
      if (chance[y] > 0) after[machine.next[row + y]] += mass[state] * chance[y];
    }
  }
  return after;
}

function mean(machine, mass) {
  let total = 0;
  for (let state = 0; state < mass.length; state++) {
    if (mass[state] > 0) total += mass[state] * machine.values[state];
  }
  return total;
}

// Values that differ by rounding only are one level.
function levels(machine, mass) {
  const ends = [];
  for (let state = 0; state < mass.length; state++) {
    if (mass[state] > 0) ends.push([machine.values[state], mass[state]]);
  }
  ends.sort((a, b) => a[0] - b[0]);
  const found = [];
  ends.forEach(([value, probability], k) => {
    const same = k && value - ends[k - 1][0] <= 1e-12 * Math.max(1, Math.abs(value));
    if (same) found[found.length - 1].probability += probability;
    else found.push({ value, probability });
  });
  return found;
}

// The hypotheses of greatest expected utility (least expected loss), by trying all of them;
// hypotheses with a common beginning share its masses.
function decide(machine, size, chances, sign) {
  const n = chances.length;
  let best = -Infinity;
  let ties = [];
  const z = new Array(n).fill(0);
  const first = new Float64Array(machine.values.length);
  first[machine.start] = 1;
  (function extend(position, mass) {
    if (position === n) {
      const value = sign * mean(machine, mass);
      const close = 1e-12 * Math.max(1, Math.abs(value));
      if (value > best + close) {
        best = value;
        ties = [z.slice()];
      } else if (value >= best - close) {
        ties.push(z.slice());
      }
      return;
    }
    for (let label = 0; label < size; label++) {
      z[position] = label;
      extend(position + 1, advance(machine, size, mass, label, chances[position]));
    }
  })(0, first);
  return { value: sign * best, ties };
}
