
// What the page computes: the same recurrences as in Python, over the same tables. A machine has
// states 0..S-1; next[(state * L + z) * L + y] is the state after a pair of labels, -1 if none.

function walk(machine, size, z, y, length) {
  const path = [machine.start];
  for (let i = 0; i < length; i++) {
    const target = machine.next[(path[i] * size + z[i]) * size + y[i]];
    if (target < 0) break;
    path.push(target);
  }
  return path;
}

// Forward masses of every layer when y is independent of position to position, and z is given.
function forward(machine, size, z, chances) {
  const layers = [new Float64Array(machine.values.length)];
  layers[0][machine.start] = 1;
  for (let i = 0; i < z.length; i++) layers.push(advance(machine, size, layers[i], z[i], chances[i]));
  return layers;
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
  let before = null;
  for (const [value, chance] of ends) {
    const same = before !== null && value - before <= 1e-12 * Math.max(1, Math.abs(value));
    if (same) found[found.length - 1].probability += chance;
    else found.push({ value, probability: chance });
    before = value;
  }
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
