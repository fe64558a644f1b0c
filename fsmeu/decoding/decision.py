"""Decisions: what was decided on, what it is worth, and what is proven of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from fsmeu.errors import InputError, shorten, visible
from fsmeu.fst.alphabet import Label
from fsmeu.losses.protocol import Loss
from fsmeu.trellis.estimate import PROMISED, scale_of

PRECISION = PROMISED
"""What is claimed to be best is so up to this part of its scale."""

_ROOM = 1.001  # times what is promised: a reach that is just that is rounded


@dataclass(frozen=True, eq=False, kw_only=True)
class Decided:
    """What decisions for a sequence and for a corpus have in common.

    Attributes:
        value: the expected value of what was decided on.
        lower: the best expected value of all that is allowed is at least this.
        upper: the best expected value of all that is allowed is at most this.
        exact: True when it is proven that nothing that is allowed is better, beyond rounding.
        method: the method that found it.
        why: which property chose the method and makes it exact, or why it is not, in words.
        candidates: how many candidates were compared: sequences, or for a corpus totals of counts;
            0 when that is not how it was found.
    """

    value: float
    lower: float
    upper: float
    exact: bool
    method: str
    why: str
    candidates: int = 0

    @property
    def gap(self) -> float:
        """How far apart the bounds of the best expected value are."""
        return self.upper - self.lower

    def _repr_html_(self) -> str:
        """A card of one screen; a notebook calls this."""
        return f"<div><code>{escape(repr(self))}</code><p>{escape(visible(self.why))}</p></div>"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Decision(Decided):
    """The label sequence that was decided on: ``labels``."""

    labels: list[Label]

    def __repr__(self) -> str:
        """Labels, value and method."""
        labels = shorten(" ".join(map(str, self.labels)))
        proven = "proven best under the model" if self.exact else "not proven best"
        return f"<decision {labels}: {self.value:.6g}, by {self.method}, {proven}>"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CorpusDecision(Decided):
    """The hypotheses that were decided on for a corpus: ``labels``, one for each sentence."""

    labels: list[list[Label]]

    def __repr__(self) -> str:
        """Names the number of sentences, the value and what is proven of it."""
        proven = "proven best under the model" if self.exact else f"best within {self.gap:.2g}"
        return f"<decision for {len(self.labels):,} sentences: {self.value:.6g}, {proven}>"


class Bounds(NamedTuple):
    """Bounds of the best expected value."""

    lower: float
    upper: float


class ReachedValue(NamedTuple):
    """The expected value of what was decided on, and what is known of the best one."""

    value: float
    reach: float = 0.0  # how far it may be off, if that is more than is promised
    gap: float = math.inf  # nothing is better by more than this; infinite where that is not known
    exact: bool = False  # whether nothing is better than is promised


class SecondLook(NamedTuple):
    """What the expectation of a decision's labels shows."""

    is_closed: bool  # nothing is better by more than is promised
    is_same: bool  # the expectation is the value that was found
    has_digits: bool  # terms of both signs cancel no digits that are promised

    @property
    def exact(self) -> bool:
        """Whether the decision is proven."""
        return self.is_closed and self.is_same and self.has_digits


def second_look(found: float, again: ReachedValue, width: float) -> SecondLook:
    """What the expectation ``again`` of a decision's labels shows, given the value that was found.

    Args:
        found: the value that the method found.
        again: the expectation, and the gap that the method left.
        width: of the range that the loss declares.
    """
    promised = PRECISION * float(scale_of(again.value, width))
    return SecondLook(
        is_closed=again.gap <= promised,
        is_same=abs(found - again.value) <= again.reach,
        has_digits=again.reach <= _ROOM * promised,
    )


def bounds_of_best(loss: Loss, n: int, reached: ReachedValue) -> Bounds:
    """Bounds of the best expected value of a loss at length n, given the value that was reached."""
    value = reached.value
    declared = loss.value_range(n)
    reach = max(reached.reach, PRECISION * float(scale_of(value, declared.width)))
    better = worse = reach
    if not reached.exact and reached.gap == math.inf:
        better = math.inf
    elif reached.gap < math.inf:
        better += reached.gap
    if loss.kind == "utility":
        return Bounds(value - worse, max(value, min(value + better, declared.high)))
    return Bounds(min(value, max(value - better, declared.low)), value + worse)


def explain(decision: Decision | CorpusDecision) -> str:
    """A decision in words: which property chose which method, and what that proves.

    What is proven, is so under the model: whether the model is right is another question.
    """
    if not isinstance(decision, Decided):
        must = "a decision is needed, as decode and decode_corpus make it"
        raise InputError("explain", must, given=decision)
    of_corpus = isinstance(decision, CorpusDecision)
    proof = "This is not proven to be best"
    if decision.exact:
        what = "no allowed hypotheses have" if of_corpus else "no allowed sequence has"
        proof = f"Proven: under this model, {what} a better expected value"
    if decision.exact and of_corpus:
        proof = proof.replace("this model", "these models")
    tried = f" {decision.candidates:,} candidates were compared." if decision.candidates else ""
    return f"Decided by {decision.method}: {decision.why}.{tried} {proof}."
