"""Constraints on how far apart labels stand, and how long runs of them last.

``min_gap`` and ``min_duration`` are made for the labels of a model when they are used, and
``all_of`` is what several constraints allow together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fsmeu.errors import InputError, check_int, shorten
from fsmeu.fst.alphabet import Alphabet, Label, plain
from fsmeu.fst.constraint import Constraint, ConstraintLike, as_constraint, intersection


@dataclass(frozen=True)
class MinGap:
    """The sequences in which positions of a label differ by a number or more."""

    k: int
    label: Label

    def over(self, alphabet: Alphabet) -> Constraint:
        """The acceptor: state s, below the last, where the label was read s + 1 positions back."""
        event = _index(alphabet, self.label, "min_gap")
        last = self.k - 1
        following = np.empty((self.k, len(alphabet)), np.int64)
        following[:] = np.minimum(np.arange(self.k) + 1, last)[:, None]
        following[:, event] = -1
        following[last, event] = 0
        return Constraint(following, last, np.arange(self.k))


@dataclass(frozen=True)
class MinDuration:
    """The sequences in which each run of these labels, of all if none, lasts so long or longer."""

    k: int
    labels: tuple[Label, ...]

    def over(self, alphabet: Alphabet) -> Constraint:
        """The acceptor: state 0 outside of such runs, else one for each label and length up to k.

        The lengths of the first of these labels are states 1 to k, and so on.
        """
        size = len(alphabet)
        kept = [_index(alphabet, label, "min_duration") for label in self.labels] or range(size)
        first = np.zeros(size, np.int64)  # the state after the first of a run, by label
        first[list(kept)] = 1 + self.k * np.arange(len(kept))
        following = np.full((1 + self.k * len(kept), size), -1, np.int64)
        following[0] = first
        for label in kept:
            begin = int(first[label])
            last = begin + self.k - 1
            following[last] = first  # long enough: whatever comes next
            following[begin : last + 1, label] = np.minimum(np.arange(begin, last + 1) + 1, last)
        ends = np.append(0, self.k * np.arange(1, len(kept) + 1))
        return Constraint(following, 0, ends)


@dataclass(frozen=True)
class AllOf:
    """The sequences that several constraints allow, each given as ``decode`` takes it."""

    parts: tuple[Any, ...]

    def over(self, alphabet: Alphabet) -> Constraint:
        """The acceptor of the sequences that all allow."""
        size = len(alphabet)
        every = Constraint(np.zeros((1, size), np.int64), 0, np.zeros(1, np.int64))
        for part in self.parts:
            made = as_constraint(part, alphabet, where="all_of")
            if made is not None:
                every = intersection(every, made)
        return every


def _index(alphabet: Alphabet, label: Label, where: str) -> int:
    """The place of a label, which must be one of the alphabet's."""
    if label not in alphabet.index:
        must = f"the label must be one of {shorten(alphabet.labels)}"
        raise InputError(f"constraint {where}", must, given=repr(label))
    return alphabet.index[label]


def _label(label: Any, where: str) -> Label:
    """A label that was given: a whole number or a text."""
    known = plain(label)
    if isinstance(known, bool) or not isinstance(known, int | str):
        raise InputError(where, "a label must be a whole number or a text", given=label)
    return known


def min_gap(k: int, label: Label = 1) -> MinGap:
    """Sequences in which two positions of a label differ by k or more.

    >>> from fsmeu.fst.alphabet import BINARY
    >>> [min_gap(3).over(BINARY).accepts(BINARY.encode(z)) for z in ("1001", "1010")]
    [True, False]
    """
    return MinGap(check_int("min_gap", "k", k), _label(label, "min_gap"))


def min_duration(k: int, *labels: Label) -> MinDuration:
    """Sequences in which each run of these labels lasts k positions or more.

    Without labels, each run of any label does. The first and the last run are runs as well.

    >>> from fsmeu.fst.alphabet import BINARY
    >>> [min_duration(2, 1).over(BINARY).accepts(BINARY.encode(z)) for z in ("0110", "0100")]
    [True, False]
    """
    known = dict.fromkeys(_label(label, "min_duration") for label in labels)
    return MinDuration(check_int("min_duration", "k", k), tuple(known))


def all_of(*constraints: ConstraintLike) -> AllOf:
    """Sequences that all of these constraints allow, each as ``decode`` takes it."""
    if not constraints:
        raise InputError("all_of", "there must be a constraint")
    return AllOf(constraints)
