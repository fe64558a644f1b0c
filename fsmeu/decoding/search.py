"""Search for a good sequence when no algebra helps: a beam, then coordinate ascent. Not proven.

The value of every single-label change of a sequence comes from one forward and one backward pass
over the machine with the hypothesis free: forward mass before a position, times what the rest of
the sequence is worth after it, for each label that could stand there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.problem import Answer, Problem, refuse
from fsmeu.expectation.input import model_input
from fsmeu.expectation.transfer import Transfer, make_transfer, pull, push
from fsmeu.fst.compose import guard_size
from fsmeu.losses.view import View

__all__ = ["change_values", "search"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_STARTS = 8
_ROUNDS = 100
_WIDTH = 4
_SMALL = 1024


def search(problem: Problem) -> Answer:
    """The best of several local optima under single-label changes.

    Starts from a beam over prefixes, the most probable sequences, the most probable labels, and
    ranked sequences.
    """
    starts = _starts(problem)
    if not starts:
        must = "a sequence must satisfy the constraint"
        refuse("search", must)
    best, best_value, valued = starts[0], -np.inf, 0
    seen: set[bytes] = set()
    for indices in starts:
        found, value, tried = _climb(problem, indices, seen)
        valued += tried
        if value > best_value:
            best, best_value = found, value
    why = f"a local optimum: no single label change improves it, from {len(starts)} starts"
    return Answer(best, False, why, valued)


def _starts(problem: Problem) -> list[Ints]:
    alphabet, n = problem.loss.alphabet, problem.n
    some = problem.some_sequence()
    if some is None:
        return []
    marginals = problem.model.marginals()
    candidates = [some, *problem.most_probable(_STARTS // 2), marginals.argmax(axis=1)]
    candidates += _beam(problem, some)
    for share in (0.25, 0.5, 0.75):
        order = np.argsort(marginals[:, 0], kind="stable")
        changed = np.zeros(n, np.int64)
        chosen = order[: round(share * n)]
        if len(alphabet) > 1:
            changed[chosen] = 1 + marginals[chosen, 1:].argmax(axis=1)
        candidates.append(changed)
    distinct = {z.tobytes(): z.astype(np.int64) for z in candidates if problem.allows(z)}
    return list(distinct.values())


def _beam(problem: Problem, rest: Ints) -> list[Ints]:
    """The best prefixes, extended position by position; the rest is that of the given sequence.

    Only where many candidates can be valued at once: elsewhere each would cost a walk of its own.
    """
    size, n = len(problem.loss.alphabet), problem.n
    space = problem.loss.view(n, rest, weights=True).space
    if space is None or space > _SMALL or n * _WIDTH * size > problem.budget:
        return []
    beam = [rest]
    for i in range(n):
        extended: dict[bytes, Ints] = {}
        for indices in beam:
            for label in range(size):
                changed = indices.copy()
                changed[i] = label
                if problem.allows(changed):
                    extended[changed.tobytes()] = changed
        candidates = list(extended.values()) or beam
        order = np.argsort(-problem.sign * problem.values(candidates), kind="stable")
        beam = [candidates[k] for k in order[:_WIDTH]]
    return beam


def _climb(problem: Problem, indices: Ints, seen: set[bytes]) -> tuple[Ints, float, int]:
    """Takes the best allowed single-label change while there is one that improves."""
    current, tried = indices.copy(), 0
    value = -np.inf
    for _ in range(_ROUNDS):
        if current.tobytes() in seen:
            break
        seen.add(current.tobytes())
        table = problem.sign * change_values(problem, current)
        tried += table.size
        if not table.size:
            return current, problem.sign * problem.value(current), 1
        value = float(table[0, current[0]])
        order = np.argsort(-table, axis=None, kind="stable")
        step = _first_allowed(problem, current, table, order, value)
        if step is None:
            break
        current = step
    return current, value, tried


def _first_allowed(
    problem: Problem, current: Ints, table: Floats, order: Ints, value: float
) -> Ints | None:
    for flat in order.tolist():
        position, label = divmod(flat, table.shape[1])
        if table[position, label] <= value + 1e-12 * max(1.0, abs(value)):
            return None
        changed: Ints = current.copy()
        changed[position] = label
        if problem.allows(changed):
            return changed
    return None


def change_values(problem: Problem, indices: Ints) -> Floats:
    """Expected value of the sequence with the label at i replaced by a, for every (i, a)."""
    view = problem.loss.view(problem.n, None, weights=True)
    source = model_input(problem.model)
    size, n = len(problem.loss.alphabet), problem.n
    layers, steps = _layers(view, indices, size, len(source.start))
    mass = np.zeros((1 + view.linear, len(source.start), 1))
    mass[0, :, 0] = source.start
    masses = [mass]
    for i in range(n):
        masses.append(push(steps[i][indices[i]], masses[-1], source.factors(i)))
    ending, slopes = view.values(layers[-1])
    worth = np.concatenate([ending[None], slopes])[:, None, :] * source.final[:, None]
    table = np.empty((n, size))
    for i in range(n - 1, -1, -1):
        factors = source.factors(i)
        pulled = [pull(steps[i][label], worth, factors)[0] for label in range(size)]
        for label, before in enumerate(pulled):
            table[i, label] = float((masses[i] * before).sum())
        worth = pulled[indices[i]]
    return table


def _layers(
    view: View, indices: Ints, size: int, width: int
) -> tuple[list[Ints], list[list[Transfer]]]:
    """States that one change can reach, layer by layer, and the steps of each label of z."""
    kept = changed = np.array([view.start], np.int64)
    layers, raw = [kept], []
    for i, label in enumerate(indices, start=1):
        codes = layers[-1]
        targets, gains = view.advance(i, codes)
        raw.append((targets, gains))
        columns = slice(label * size, (label + 1) * size)
        on_path = targets[np.isin(codes, kept)]
        kept = np.unique(on_path[:, columns])
        changed = np.union1d(on_path, targets[:, columns])
        layers.append(changed[changed >= 0])
        kept = kept[kept >= 0]
        guard_size("search", len(layers[-1]) * width)
    steps = []
    for (targets, gains), after in zip(raw, layers[1:], strict=True):
        place = np.minimum(np.searchsorted(after, targets), len(after) - 1)
        numbers = np.where(after[place] == targets, place, -1)
        parts = []
        for label in range(size):
            columns = slice(label * size, (label + 1) * size)
            shown = None if gains is None else gains[:, :, columns]
            parts.append(make_transfer(numbers[:, columns], shown, len(after)))
        steps.append(parts)
    return layers, steps
