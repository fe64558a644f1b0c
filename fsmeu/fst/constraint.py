"""Constraints on label sequences: a deterministic acceptor over labels."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fsmeu.arrays import Bools, Ints
from fsmeu.errors import EmptyError, FsmeuError, InputError, message
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.compose import guard_size
from fsmeu.fst.image import Fst
from fsmeu.fst.layers import Layer, Layered
from fsmeu.fst.regex import Constraint as Constraint
from fsmeu.fst.regex import acceptor_table, regex_acceptor
from fsmeu.limits import ARCS_PER_STATE


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
    reached = [np.array([constraint.start], np.int64)]
    for _ in range(n):
        marked = np.zeros(constraint.states + 1, bool)  # the last, -1, stands for no state
        marked[constraint.next[reached[-1]]] = True
        reached.append(np.flatnonzero(marked[:-1]))
    live = [np.intersect1d(reached[-1], constraint.accepting)]
    for states in reached[-2::-1]:
        marked = np.zeros(constraint.states + 1, bool)
        marked[live[-1]] = True
        live.append(states[marked[constraint.next[states]].any(axis=1)])
    live.reverse()
    steps = list[Ints]()
    cache = dict[tuple[bytes, bytes], Ints]()
    for before, after in itertools.pairwise(live):
        key = before.tobytes(), after.tobytes()
        if key not in cache:
            place = np.full(constraint.states + 1, -1)
            place[after] = np.arange(len(after))
            cache[key] = place[constraint.next[before]]
        steps.append(cache[key])
    return ConstraintLayers(tuple(steps), tuple(map(len, live)), np.arange(len(live[-1])))


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
    allowed: Any, alphabet: Alphabet, n: int | None = None, where: str = "constraint"
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
            raise InputError(message(where, must, type(allowed).__name__))
    elif isinstance(allowed, Fst):
        constraint = acceptor_table(allowed, alphabet, n)
    elif isinstance(allowed, str):
        constraint = regex_acceptor(allowed, alphabet, n)
    elif not isinstance(allowed, Constraint | None):
        raise InputError(message(where, must, type(allowed).__name__))
    if (
        constraint
        and n is not None
        and not len(constraint_layers(constraint, len(alphabet), n).ends)
    ):
        raise EmptyError(message(where, f"it must allow at least one sequence of length {n}"))
    return constraint  # type: ignore[no-any-return]


def _over(allowed: Any, alphabet: Alphabet) -> Any:
    """What the method ``over`` of an object makes for these labels; None where it cannot."""
    try:
        return allowed.over(alphabet)
    except FsmeuError:
        raise
    except Exception:  # whatever a method of another meaning raises
        return None


def restricted(layered: Layered, constraint: Constraint, where: str = "decode") -> Layered:
    """The part of a layered acceptor that the constraint allows, weights as they were."""
    allowed = constraint_layers(constraint, len(layered.alphabet), layered.n)
    guard_size(where, int(np.dot(layered.widths, allowed.widths)))
    layers = []
    for layer, steps, size in zip(layered.layers, allowed.next, allowed.widths[1:], strict=True):
        guard_size(where, len(layer.label) * len(steps) // ARCS_PER_STATE)
        after = steps[:, layer.label]
        state, arc = np.nonzero(after >= 0)
        source = layer.source[arc] * len(steps) + state
        target = layer.target[arc] * size + after[state, arc]
        label = layer.label[arc]
        weight = layer.weight[arc]
        layers.append(Layer(source, label, target, weight, layer.width * size))
    start = np.repeat(layered.start, allowed.widths[0])
    final = np.repeat(layered.final, allowed.widths[-1])
    return replace(layered, start=start, layers=tuple(layers), final=final)
