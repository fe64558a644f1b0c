"""The loss-augmented argmax: the sequence with the greatest log-probability plus loss against y.

    argmax over z of  log p(z) + loss(z, y)                    (Daumé et al. 2009, section 3.4.1)

y being known, this is what margin methods ask for in each step of training (max-margin Markov
networks, structured SVMs): the hypothesis that the model likes and the loss does not. A utility is
subtracted instead. The normalisation of p does not matter.

It is a best path through the composition of the model, whose weights are logarithms, with the
machine of the loss for a given y. Registers in which the value is linear are no part of its
states: they pay on arcs, by slopes that are known where the machine ends. Ends with the same slopes
are a kind (Hamming loss has one, F1 one for each number of items of z). A sweep with the slopes of
a kind finds its best path, and bounds those of all others: with t the sums of the registers on a
path that ends in kind j,

    score + s_j t  <=  max over such paths of (score + s_k t)  +  max over such t of (s_j - s_k) t.

Kinds are swept in the order of their bounds, until no bound is above the best path.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.decision import Decision
from fsmeu.decoding.problem import Problem
from fsmeu.errors import EmptyError, InputError
from fsmeu.fst.compose import guard_arcs
from fsmeu.fst.constraint import restricted
from fsmeu.fst.layers import Layer, LogLayered, in_logs
from fsmeu.losses.machine.view import LossAutomaton
from fsmeu.trellis.estimate import PROMISED

WHY = "the best path of the model's logarithms and the loss against the given reference"


def decide_augmented(problem: Problem, y: Ints) -> Decision:
    """The decision for log p(z) plus the loss of z against y, or minus the utility.

    Args:
        problem: a loss, a model of which no two paths read the same labels, and what is allowed.
        y: the label indices of the reference, (n,).

    Raises:
        InputError: two paths of the model read the same labels, so that log p is no sum over arcs.
        EmptyError: every allowed sequence has probability 0.
        SizeLimitError: the composition is too large.
    """
    composed = _composed(problem, y)
    best = _best_path(composed)
    if best.value == -np.inf:
        must = "some allowed sequence must have a probability above 0"
        raise EmptyError("decode with augment", must, remedy="Loosen the constraint")
    reach = PROMISED * abs(best.value)
    return Decision(
        labels=problem.model.alphabet.decode(best.labels),
        value=best.value,
        lower=best.value - reach,
        upper=best.value + reach,
        exact=True,
        method="augmented",
        why=WHY,
    )


class _Arcs(NamedTuple):
    """The arcs of one position of the composition, sorted by their targets."""

    source: Ints  # states before the position, (arcs,)
    label: Ints  # of z, (arcs,)
    weight: Floats  # logarithms of the model, (arcs,)
    gains: Floats  # of the registers in the weights, (arcs, registers)
    begins: Ints  # where the arcs into each state after the position begin, (states,)


@dataclass(frozen=True, eq=False)
class _Composed:
    """The model and the loss against a reference, whose states are pairs of their states.

    Where no path has a probability above 0 there are no ends, and so no kinds of them.
    """

    start: Floats  # the logarithm of the model's weight of each first state, (states,)
    arcs: list[_Arcs]  # of each position
    ends: Floats  # what ending in each state adds, (states,)
    kind: Ints  # the kind of end of each state, (states,)
    slopes: Floats  # what a unit of each register pays, by kind of end, (registers, kinds)

    def sums(self, kind: int) -> list[Floats]:
        """The greatest sums after positions 0, ..., n by the slopes of a kind, (states,) each."""
        found = [self.start]
        for arcs in self.arcs:
            paid = found[-1][arcs.source] + arcs.weight + arcs.gains @ self.slopes[:, kind]
            found.append(np.maximum.reduceat(paid, arcs.begins))
        return found

    def by_kind(self, last: Floats) -> Floats:
        """The greatest of the last sums, endings added, of each kind, (kinds,)."""
        best = np.full(self.slopes.shape[1], -np.inf)
        np.maximum.at(best, self.kind, last + self.ends)
        return best

    def traced(self, sums: list[Floats], kind: int) -> Ints:
        """The labels of the best path that ends in a kind, given sums by its slopes, (n,)."""
        totals = np.where(self.kind == kind, sums[-1] + self.ends, -np.inf)
        state = int(totals.argmax())
        labels = np.zeros(len(self.arcs), np.int64)
        for i in reversed(range(len(self.arcs))):
            arcs = self.arcs[i]
            ends = np.append(arcs.begins[1:], len(arcs.source))
            into = slice(int(arcs.begins[state]), int(ends[state]))
            source = arcs.source[into]
            paid = arcs.weight[into] + arcs.gains[into] @ self.slopes[:, kind]
            arc = int((sums[i][source] + paid).argmax())
            labels[i] = arcs.label[into][arc]
            state = int(source[arc])
        return labels

    @cached_property
    def gained(self) -> tuple[Floats, Floats]:
        """The least and the greatest sum of each register on paths to each kind of end.

        Both are (registers, kinds).
        """
        least = np.zeros((len(self.start), len(self.slopes)))
        greatest = least
        for arcs in self.arcs:
            least = np.minimum.reduceat(least[arcs.source] + arcs.gains, arcs.begins, axis=0)
            greatest = np.maximum.reduceat(greatest[arcs.source] + arcs.gains, arcs.begins, axis=0)
        low = np.full(self.slopes.T.shape, np.inf)
        high = np.full(self.slopes.T.shape, -np.inf)
        np.minimum.at(low, self.kind, least)
        np.maximum.at(high, self.kind, greatest)
        return low.T, high.T

    def more_than_with(self, kind: int) -> Floats:
        """The most that the slopes of each kind can pay beyond those of one kind, (kinds,)."""
        steeper = self.slopes - self.slopes[:, kind : kind + 1]
        low, high = self.gained
        most: Floats = np.maximum(steeper * low, steeper * high).sum(axis=0)
        return most


class _Path(NamedTuple):
    """A best path: the sum that it has, -inf where there is none, and its labels."""

    value: float
    labels: Ints


def _best_path(composed: _Composed) -> _Path:
    """The best path to an end of any kind; kinds whose bounds are below it are not swept."""
    kinds = composed.slopes.shape[1]
    best = _Path(-np.inf, np.zeros(0, np.int64))
    bounds = np.full(kinds, np.inf)
    kind = kinds // 2
    while kinds and bounds[kind] > best.value:
        sums = composed.sums(kind)
        ends = composed.by_kind(sums[-1])
        if ends[kind] > best.value:
            best = _Path(float(ends[kind]), composed.traced(sums, kind))
        bounds = np.minimum(bounds, ends + composed.more_than_with(kind))
        bounds[kind] = -np.inf
        kind = int(bounds.argmax())
    return best


def _scores(problem: Problem) -> LogLayered:
    """The allowed part of the model, with logarithms."""
    layered = problem.model.layered()
    if not layered.unambiguous:
        must = "no two paths of the model may read the same labels"
        remedy = "Use a chain, a conditional random field or a list of sequences"
        raise InputError("decode with augment", must, remedy=remedy)
    if problem.constraint is not None:
        layered = restricted(layered, problem.constraint)
    return in_logs(layered)


def _composed(problem: Problem, y: Ints) -> _Composed:
    """The composition of the model with the loss against a reference, of what can be reached."""
    scores = _scores(problem)
    view = problem.loss.against(y, max(scores.widths))
    where = f"{problem.loss.kind} {problem.loss.name}, against a reference"
    first = np.flatnonzero(scores.start > -np.inf)
    states = _States(np.array([view.start], np.int64), np.zeros(len(first), np.int64), first)
    every = []
    count = 0
    for i, layer in enumerate(scores.layers):
        arcs, states = _advanced(view, i, states, layer)
        count += len(arcs.source)
        guard_arcs(where, count, least=True)
        every.append(arcs)
    values, slopes = view.values(states.codes)
    kinds, kind = np.unique(slopes, axis=1, return_inverse=True)
    pays = -problem.sign
    ends = pays * values[states.row] + scores.final[states.state]
    own = kind.ravel()[states.row]
    return _Composed(scores.start[first], every, ends, own, pays * kinds)


class _States(NamedTuple):
    """The states of the composition after a position."""

    codes: Ints  # the states of the loss, sorted, (reached,)
    row: Ints  # the row of that of each state, (states,)
    state: Ints  # the state of the model of each, (states,)


def _advanced(view: LossAutomaton, i: int, before: _States, layer: Layer) -> tuple[_Arcs, _States]:
    """The arcs of position i, counted from 0, and the states behind it."""
    targets, gained = view.advance(i + 1, before.codes)
    gains = np.zeros((0, *targets.shape)) if gained is None else gained
    source, arc = _arcs_from(before.state, layer)
    code = targets[before.row[source], layer.label[arc]]
    taken = np.flatnonzero(code >= 0)
    codes, row = np.unique(code[taken], return_inverse=True)
    key = row * layer.width + layer.target[arc[taken]]
    order = np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.diff(key[order], prepend=-1))
    source = source[taken[order]]
    arc = arc[taken[order]]
    gain = gains[:, before.row[source], layer.label[arc]].T  # (arcs, registers)
    arcs = _Arcs(source, layer.label[arc], layer.weight[arc], gain, begins)
    reached = key[order][begins]
    return arcs, _States(codes, reached // layer.width, reached % layer.width)


def _arcs_from(states: Ints, layer: Layer) -> tuple[Ints, Ints]:
    """For each arc of a model that leaves one of these states: the place of the state, the arc."""
    possible = np.flatnonzero(layer.weight > -np.inf)
    order = possible[np.argsort(layer.source[possible], kind="stable")]
    leaving = layer.source[order]
    begin = np.searchsorted(leaving, states, side="left")
    count = np.searchsorted(leaving, states, side="right") - begin
    place = np.repeat(np.arange(len(states)), count)
    within = np.arange(len(place)) - np.repeat(np.cumsum(count) - count, count)
    return place, order[np.repeat(begin, count) + within]
