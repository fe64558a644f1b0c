"""Constraints on label sequences: a deterministic acceptor over labels."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Bools, Ints
from fsmeu.errors import EmptyError, FsmeuError, InputError
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.compose import guard_size
from fsmeu.fst.layers import Layer, Layered
from fsmeu.fst.openfst import Fst
from fsmeu.fst.regex import Constraint as Constraint
from fsmeu.fst.regex import acceptor_table, regex_acceptor


class MakesConstraint(Protocol):
    """What makes a constraint for labels, as what ``fsmeu.constraints`` has does."""

    def over(self, alphabet: Alphabet, /) -> Constraint:
        """The acceptor over these labels."""


ConstraintLike: TypeAlias = str | Constraint | MakesConstraint | Fst
"""A regular expression over labels, one of ``fsmeu.constraints``, or an acceptor of OpenFst."""


@dataclass(frozen=True, eq=False)
class ConstraintLayers:
    """A constraint position by position: states that an allowed sequence of length n can be in."""

    next: tuple[Ints, ...]  # of each position, the state after a label, (states, labels), or -1
    widths: tuple[int, ...]  # the number of states before each position, and at the end
    ends: Ints  # states in which a sequence may end: all at the end, where others were left out


def constraint_layers(constraint: Constraint | None, labels: int, n: int) -> ConstraintLayers:
    """The states of each position; state 0 is the start, and the only one without a constraint."""
    if constraint is None:
        constraint = Constraint(np.zeros((1, labels), np.int64), 0, np.zeros(1, np.int64))
    positions = _Positions(constraint.next)
    reached = [np.array([constraint.start], np.int64)]
    for _ in range(n):
        reached.append(positions.cached(positions.reached, reached[-1]))
    live = [np.intersect1d(reached[-1], constraint.accepting)]
    for states in reached[-2::-1]:
        live.append(positions.cached(positions.live, states, live[-1]))
    live.reverse()
    steps = [
        positions.cached(positions.steps, before, after)
        for before, after in itertools.pairwise(live)
    ]
    return ConstraintLayers(tuple(steps), tuple(map(len, live)), np.arange(len(live[-1])))


class _Positions:
    """Sets of states of a constraint at single positions; most positions are like others."""

    def __init__(self, following: Ints) -> None:
        self._following = following  # the state after a label, (states, labels), or -1
        self._same: dict[tuple[tuple[int, ...], bytes], Ints] = {}  # one array for equal ones
        self._found: dict[tuple[object, ...], Ints] = {}

    def cached(self, derive: Callable[..., Ints], *sets: Ints) -> Ints:
        """What is derived of these sets, once for all positions that have the same."""
        key = (derive.__name__, *map(id, sets))
        found = self._found.get(key)
        if found is None:
            found = derive(*sets)
            found = self._same.setdefault((found.shape, found.tobytes()), found)
            self._found[key] = found
        return found

    def _marked(self, states: Ints) -> Bools:
        """Which states are in a set, (states + 1,); the last, -1, stands for no state."""
        marked = np.zeros(len(self._following) + 1, bool)
        marked[states] = True
        return marked

    def reached(self, before: Ints) -> Ints:
        """The states after those before a position."""
        return np.flatnonzero(self._marked(self._following[before])[:-1])

    def live(self, before: Ints, after: Ints) -> Ints:
        """The states before a position that lead to some of those after it."""
        return before[self._marked(after)[self._following[before]].any(axis=1)]

    def steps(self, before: Ints, after: Ints) -> Ints:
        """The place among the states after a position of what a label leads to, or -1."""
        place = np.full(len(self._following) + 1, -1)
        place[after] = np.arange(len(after))
        return place[self._following[before]]


def intersection(first: Constraint, second: Constraint) -> Constraint:
    """The acceptor of the sequences that both allow."""
    width = second.states
    begin = first.start * width + second.start
    found = np.array([begin], np.int64)  # pairs of states, as first * width + second
    rows = list[Ints]()
    done = 0
    while done < len(found):
        guard_size("constraint", len(found))
        one = first.next[found[done:] // width]
        other = second.next[found[done:] % width]
        after = np.where((one >= 0) & (other >= 0), one * width + other, -1)
        rows.append(after)
        done = len(found)
        found = np.concatenate([found, np.setdiff1d(after[after >= 0], found)])
    following = np.concatenate(rows)
    order = np.argsort(found)
    place = order[np.searchsorted(found[order], following) % len(found)]
    ends = np.isin(found // width, first.accepting) & np.isin(found % width, second.accepting)
    return Constraint(np.where(following < 0, -1, place), 0, np.flatnonzero(ends))


def all_but(sequences: Sequence[Ints], labels: int) -> Constraint:
    """The acceptor of all sequences but these, which are label indices.

    State 0 is that of having left them; the others are their prefixes, of which 1 is the empty one.
    """
    following = [[0] * labels, [0] * labels]
    whole = set[int]()
    for sequence in sequences:
        state = 1
        for label in sequence.tolist():
            if not following[state][label]:
                following[state][label] = len(following)
                following.append([0] * labels)
            state = following[state][label]
        whole.add(state)
    ends = [state for state in range(len(following)) if state not in whole]
    return Constraint(np.array(following, np.int64), 1, np.array(ends, np.int64))


def neighbours(constraint: Constraint) -> tuple[Bools, Bools, Bools] | None:
    """Which labels may be first, (L,), follow which, (L, L), and be last, (L,).

    None where the state tells more than neighbouring labels do: where a label leads to two states.
    """
    following = constraint.next
    state = following.max(axis=0)
    if ((following >= 0) & (following != state)).any():
        return None
    used = state >= 0
    first = following[constraint.start] >= 0
    pairs = used[:, None] & (following[state] >= 0)
    return first, pairs, used & np.isin(state, constraint.accepting)


def as_constraint(
    allowed: ConstraintLike | None,
    alphabet: Alphabet,
    n: int | None = None,
    where: str = "constraint",
) -> Constraint | None:
    """A constraint from a regular expression over labels, an acceptor, or a constraint.

    An object whose method ``over(alphabet)`` makes one will do, too. With n, the constraint is
    right for sequences of this length alone, and must allow at least one.

    >>> from fsmeu.fst.alphabet import BINARY
    >>> as_constraint("0* 1? 0*", BINARY).accepts([0, 1, 0])
    True
    """
    constraint: Any = allowed
    must = "a constraint must be a regular expression over labels or an acceptor"
    if callable(getattr(allowed, "over", None)) and not isinstance(allowed, type):
        constraint = _over(allowed, alphabet)
        if not isinstance(constraint, Constraint):  # a loss has such a method, too
            raise InputError(where, must, given=type(allowed).__name__)
    elif isinstance(allowed, Fst):
        constraint = acceptor_table(allowed, alphabet, n)
    elif isinstance(allowed, str):
        constraint = regex_acceptor(allowed, alphabet, n)
    elif not isinstance(allowed, Constraint | None):
        raise InputError(where, must, given=type(allowed).__name__)
    if (
        constraint
        and n is not None
        and not len(constraint_layers(constraint, len(alphabet), n).ends)
    ):
        raise EmptyError(where, f"it must allow at least one sequence of length {n}")
    return constraint  # type: ignore[no-any-return]


def _over(allowed: Any, alphabet: Alphabet) -> Any:
    """What the method ``over`` of an object makes for these labels; None where it cannot."""
    try:
        return allowed.over(alphabet)
    except FsmeuError:
        raise
    except Exception:  # whatever a method of another meaning raises
        return None


def is_within(layered: Layered, constraint: Constraint) -> bool:
    """True when the constraint allows every sequence of a path of positive weight."""
    ends = np.zeros(constraint.states, bool)
    ends[constraint.accepting] = True
    # By position, the states from which a path of positive weight goes to the end.
    live: list[Bools] = [layered.final > 0]
    for layer, width in zip(layered.layers[::-1], layered.widths[-2::-1], strict=True):
        before = np.zeros(width, bool)
        used = (layer.weight > 0) & live[-1][layer.target]
        before[layer.source[used]] = True
        live.append(before)
    live.reverse()
    pairs = np.zeros((len(live[0]), constraint.states), bool)  # states that are reached together
    pairs[:, constraint.start] = (layered.start > 0) & live[0]
    for layer, after in zip(layered.layers, live[1:], strict=True):
        arcs = np.flatnonzero((layer.weight > 0) & after[layer.target])
        arc, state = np.nonzero(pairs[layer.source[arcs]])
        following = constraint.next[state, layer.label[arcs[arc]]]
        if (following < 0).any():
            return False
        pairs = np.zeros((len(after), constraint.states), bool)
        pairs[layer.target[arcs[arc]], following] = True
    return not pairs[:, ~ends].any()


def restricted(layered: Layered, constraint: Constraint, where: str = "decode") -> Layered:
    """The part of a layered acceptor that the constraint allows, weights as they were."""
    allowed = constraint_layers(constraint, len(layered.alphabet), layered.n)
    guard_size(where, int(np.dot(layered.widths, allowed.widths)))
    made = dict[tuple[int, int, int], Layer]()  # positions that are alike share their arcs
    layers = []
    for layer, steps, size in zip(layered.layers, allowed.next, allowed.widths[1:], strict=True):
        key = (id(layer), id(steps), size)
        if key not in made:
            guard_size(where, len(layer.label) * len(steps) // limits.ARCS_PER_STATE)
            made[key] = _restricted_layer(layer, steps, size)
        layers.append(made[key])
    start = np.repeat(layered.start, allowed.widths[0])
    final = np.repeat(layered.final, allowed.widths[-1])
    return replace(layered, start=start, layers=tuple(layers), final=final)


def _restricted_layer(layer: Layer, steps: Ints, size: int) -> Layer:
    """The arcs of a position that lead to one of ``size`` states of a constraint."""
    after = steps[:, layer.label]
    state, arc = np.nonzero(after >= 0)
    source = layer.source[arc] * len(steps) + state
    target = layer.target[arc] * size + after[state, arc]
    return Layer(source, layer.label[arc], target, layer.weight[arc], layer.width * size)
