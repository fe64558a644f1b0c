"""The best path through the hypothesis tape, for each end of its counter."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.constraint import Constraint, Walk, walk
from fsmeu.decoding.meeting import Worth
from fsmeu.decoding.tape import Step
from fsmeu.errors import InputError, sentence
from fsmeu.fst.compose import guard_size

__all__ = ["best_path"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def best_path(worth: Worth, constraint: Constraint | None) -> tuple[Ints, int, Floats]:
    """Label indices of the path of greatest worth, its end of the counter, the worth at every end.

    Args:
        worth: what steps are worth for every end of the counter; greater is better.
        constraint: the sequences that are allowed, if not all.
    """
    plain = constraint is None and all(count == 1 for count in worth.z.states)
    if plain and all(step.counted.max(initial=0) <= 1 for step in worth.z.steps):
        return _select(worth)
    return _search(worth, constraint)


def _select(worth: Worth) -> tuple[Ints, int, Floats]:
    """With no state but the counter: at each end k, the k positions that gain most by counting."""
    n, most = len(worth.z.steps), worth.z.most
    without, with_one = np.full((2, n, most + 1), -np.inf)
    labels = np.zeros((2, n, most + 1), np.int64)
    for i, step in enumerate(worth.z.steps):
        scores = worth.steps[i][step.features[:, 0]]
        for counted, table in ((0, without), (1, with_one)):
            among = np.flatnonzero(step.counted[:, 0] == counted)
            if len(among):
                best = scores[among].argmax(axis=0)
                labels[counted, i] = among[best]
                table[i] = scores[among[best], np.arange(most + 1)]
    gain = _difference(with_one, without)
    order = np.argsort(-gain, axis=0, kind="stable")
    totals = np.full(most + 1, -np.inf)
    for k in range(most + 1):
        chosen, others = order[:k, k], order[k:, k]
        totals[k] = with_one[chosen, k].sum() + without[others, k].sum() + worth.ends[k]
    k = int(totals.argmax())
    path = labels[0, :, k].copy()
    path[order[:k, k]] = labels[1, order[:k, k], k]
    return path, k, totals


def _difference(with_one: Floats, without: Floats) -> Floats:
    """What counting gains; impossible choices come last, forced ones first."""
    gain = np.zeros(with_one.shape)
    both = np.isfinite(with_one) & np.isfinite(without)
    gain[both] = with_one[both] - without[both]
    gain[np.isneginf(with_one)] = -np.inf
    gain[np.isneginf(without) & np.isfinite(with_one)] = np.inf
    return gain


def _search(worth: Worth, constraint: Constraint | None) -> tuple[Ints, int, Floats]:
    """Dynamic programming over (counter, tape state, constraint state), for every end at once."""
    most = worth.z.most
    ends = np.arange(most + 1)
    steps = worth.z.steps
    allowed = walk(constraint, len(steps[0].targets) if steps else 0, len(steps))
    totals = _values(worth, allowed, ends) + worth.ends
    k = int(totals.argmax())
    if not np.isfinite(totals[k]):
        raise InputError(sentence("decode", "a sequence must satisfy the constraint"))
    return _trace(worth, allowed, k), k, totals


def _values(worth: Worth, allowed: Walk, ends: Ints) -> Floats:
    """The best worth of a path whose counter ends at k, for every k."""
    counts = worth.z.most + 1
    most = max(map(math.prod, zip(worth.z.states, allowed.widths, strict=True)))
    guard_size("decode", most * counts * len(ends) // 8)
    value = np.full((worth.z.states[0], allowed.widths[0], counts, len(ends)), -np.inf)
    value[0, :1, 0] = 0.0
    for i, step in enumerate(worth.z.steps):
        shape = (worth.z.states[i + 1], allowed.widths[i + 1], *value.shape[2:])
        after = np.full(shape, -np.inf)
        for label, state, target, goes in _moves(step, allowed, i):
            gain = worth.steps[i][step.features[label, state]][:, ends]
            counted = step.counted[label, state]
            for before, then in goes:
                moved = value[state, before] + gain[:, None, :]
                _raise_to(after, target, then, moved, counted)
        value = after
    best: Floats = value[:, allowed.ends].max(axis=(0, 1), initial=-np.inf)
    found: Floats = best[ends, np.arange(len(ends))]
    return found


def _moves(
    step: Step, allowed: Walk, i: int
) -> list[tuple[int, Ints, Ints, tuple[tuple[int, int], ...]]]:
    """For each label the tape states that can read it, where they lead, and constraint moves."""
    moves = []
    for label, goes in enumerate(allowed.moves[i]):
        state = np.flatnonzero(step.targets[label] >= 0)
        if len(state) and goes:
            moves.append((label, state, step.targets[label, state], goes))
    return moves


def _raise_to(after: Floats, target: Ints, then: int, moved: Floats, counted: Ints) -> None:
    """Raises the values of targets to those of the moves that lead there."""
    for amount in np.unique(counted):
        lanes = counted == amount
        block = moved[lanes]
        if amount:
            shifted = np.full_like(block, -np.inf)
            shifted[:, amount:] = block[:, : block.shape[1] - amount]
            block = shifted
        order = np.argsort(target[lanes], kind="stable")
        found, starts = np.unique(target[lanes][order], return_index=True)
        best = np.maximum.reduceat(block[order], starts, axis=0)
        after[found, then] = np.maximum(after[found, then], best)


def _trace(worth: Worth, allowed: Walk, k: int) -> Ints:
    """The best path whose counter ends at k: values again for this end alone, then backwards."""
    values = _layers(worth, allowed, k)
    final = values[-1][:, allowed.ends, k]
    state, last = divmod(int(final.argmax()), final.shape[1])
    place = int(allowed.ends[last])
    count, path = k, np.empty(len(worth.z.steps), np.int64)
    for i in range(len(worth.z.steps) - 1, -1, -1):
        step, best = worth.z.steps[i], (-np.inf, 0, 0, 0, 0)
        for label, states, targets, goes in _moves(step, allowed, i):
            here = states[targets == state]
            counted = step.counted[label, here]
            fits = here[counted <= count]
            counted = counted[counted <= count]
            for before, then in goes:
                if then == place and len(fits):
                    gain = worth.steps[i][step.features[label, fits], k]
                    reach = values[i][fits, before, count - counted] + gain
                    at = int(reach.argmax())
                    if reach[at] > best[0]:
                        found = (label, int(fits[at]), before, int(counted[at]))
                        best = (float(reach[at]), *found)
        path[i], state, place, count = best[1], best[2], best[3], count - best[4]
    return path


def _layers(worth: Worth, allowed: Walk, k: int) -> list[Floats]:
    """The best worth of reaching each (tape state, constraint state, count), layer by layer."""
    counts = k + 1
    cells = sum(map(math.prod, zip(worth.z.states, allowed.widths, strict=True)))
    guard_size("decode", cells * counts // 8)
    value = np.full((worth.z.states[0], allowed.widths[0], counts), -np.inf)
    value[0, :1, 0] = 0.0
    layers = [value]
    for i, step in enumerate(worth.z.steps):
        after = np.full((worth.z.states[i + 1], allowed.widths[i + 1], counts), -np.inf)
        for label, state, target, goes in _moves(step, allowed, i):
            gain = worth.steps[i][step.features[label, state], k]
            for before, then in goes:
                moved = layers[-1][state, before] + gain[:, None]
                _raise_to(after, target, then, moved, step.counted[label, state])
        layers.append(after)
    return layers
