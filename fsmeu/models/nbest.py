"""N-best lists: a few sequences with weights, as a trie."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fsmeu.errors import EmptyError, InputError, sentence
from fsmeu.fst.alphabet import BINARY, Alphabet, Label
from fsmeu.fst.layers import Floats, Ints, Layer, Layered
from fsmeu.fst.sequences import listed, plain
from fsmeu.models.base import Model
from fsmeu.models.checks import check_arcs, first_index, frozen, index_text, real_array
from fsmeu.models.distances import group_sums
from fsmeu.models.independent import labels_of

__all__ = ["MAX_WEIGHT", "NBest"]

MAX_WEIGHT = 1e300
"""Greatest weight of a sequence in a list, so that no sum of them overflows."""


@dataclass(frozen=True, eq=False, repr=False)
class NBest(Model):
    """A list of sequences with weights; other sequences are impossible.

    The probability of a sequence is its weight divided by the sum of all. Sequences that are listed
    more than once are merged and their weights added.

    Attributes:
        indices: the distinct sequences as label indices, in alphabetical order, shape (N, n).
        weights: their weights before normalisation, shape (N,).
        labels: the labels; unless given those that occur, or (0, 1) if no other occurs.
        n: the length of every sequence.
    """

    indices: Ints
    weights: Floats
    labels: tuple[Label, ...]
    n: int

    def __init__(
        self,
        sequences: Iterable[Iterable[object]],
        weights: ArrayLike,
        labels: Sequence[Label] | None = None,
        log: bool = False,
    ) -> None:
        """Checks and merges the list.

        Args:
            sequences: label sequences of equal length; a str is read character by character.
            weights: one number per sequence, at least 0; they need not sum to 1.
            labels: the alphabet.
            log: whether the weights are logarithms (of any base scale; -inf is weight 0).
        """
        given = _sequences(sequences)
        numbers = _weights(weights, len(given), log)
        flat = list(chain.from_iterable(given))
        alphabet = _seen(flat) if labels is None else labels_of(labels, "NBest labels")
        n = len(given[0])
        rows = _encoded(flat, alphabet).reshape(len(given), n)
        distinct, group = _merged(rows)
        merged = group_sums(group, numbers, len(distinct))
        distinct.setflags(write=False)
        self._keep(indices=distinct, weights=frozen(merged), labels=alphabet.labels, n=n)

    @property
    def probabilities(self) -> Floats:
        """The probability of each sequence, shape (N,)."""
        scaled = self.weights / self.weights.max()
        shares: Floats = scaled / scaled.sum()
        return shares

    def _build(self) -> Layered:
        possible = self.probabilities > 0
        return _trie(self.alphabet, self.indices[possible], self.probabilities[possible])

    @property
    def title(self) -> str:
        """What kind of distribution it is, in words."""
        return f"list of {len(self.indices):,} sequences"

    def to_json(self) -> dict[str, Any]:
        """The model as plain lists and numbers."""
        names = np.array(self.labels, dtype=object)
        return {
            "model": "nbest",
            "sequences": names[self.indices].tolist(),
            "weights": self.weights.tolist(),
            "labels": list(self.labels),
        }


def _sequences(sequences: Iterable[Iterable[object]]) -> list[list[object]]:
    where = "NBest sequences"
    must = "must be a list of label sequences"
    if isinstance(sequences, str):
        raise InputError(sentence(where, must, sequences))
    found: list[list[object]] = []
    for number, one in enumerate(listed(sequences, where, must, rows=True)):
        found.append(listed(one, where, f"sequence {number + 1} must be a sequence of labels"))
        if len(found[-1]) != len(found[0]):
            got = f"lengths {len(found[0])} (sequence 1) and {len(found[-1])} ({number + 1})"
            raise InputError(sentence(where, "all sequences must have the same length", got))
    if not found:
        raise EmptyError(sentence(where, "must list at least one sequence", "an empty list"))
    check_arcs("NBest", len(found) * len(found[0]))
    return found


def _weights(weights: ArrayLike, size: int, log: bool) -> Floats:
    where = "NBest weights"
    if not isinstance(log, bool):
        raise InputError(sentence("NBest log", "must be True or False", log))
    array = real_array(weights, where)
    if array.shape != (size,):
        must = f"there must be {size} weights, one per sequence"
        raise InputError(sentence(where, must, f"shape {array.shape}"))
    good = array < np.inf if log else (array >= 0) & (array <= MAX_WEIGHT)
    if not good.all():
        at = first_index(~good)
        allowed = "finite or -inf" if log else f"from 0 to {MAX_WEIGHT:g}"
        got = f"{float(array[at])!r} at {index_text(at)}"
        raise InputError(sentence(where, f"each weight must be {allowed}", got))
    top = array.max()
    if top == (-np.inf if log else 0.0):
        raise EmptyError(sentence(where, "at least one weight must be positive"))
    with np.errstate(over="ignore"):  # a difference that no double holds is a weight of 0
        return np.exp(array - top) if log else array


def _seen(flat: list[object]) -> Alphabet:
    """The alphabet of the labels that occur, numbers before texts, each in order."""
    must = "each label must be an int or a string"
    try:
        distinct = {_plain(x) for x in _once(flat)}
    except Exception:  # whatever a strange label raises
        raise InputError(sentence("NBest sequences", must)) from None
    odd = [x for x in distinct if not isinstance(x, int | str)]
    if odd:
        raise InputError(sentence("NBest sequences", must, odd[0]))
    if distinct <= {0, 1, "0", "1"}:
        return BINARY
    return Alphabet(tuple(sorted(distinct, key=lambda x: (isinstance(x, str), x))))


def _once(flat: list[object]) -> Iterable[object]:
    """The labels, each once where that can be told."""
    try:
        return set(flat)
    except Exception:  # whatever a strange label raises
        return flat


def _plain(label: object) -> Any:
    """The label as an int or a str; other things are left for ``Alphabet`` to refuse."""
    value = plain(label)
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value


def _encoded(flat: list[object], alphabet: Alphabet) -> Ints:
    """Label indices by one look-up each; the slower ``encode`` words the error if one fails."""
    try:
        return np.array([alphabet.index[x] for x in flat], np.int64)  # type: ignore[index]
    except Exception:  # not there, or whatever a strange label raises
        return alphabet.encode(flat, "NBest sequences, one after the other")


def _merged(rows: Ints) -> tuple[Ints, Ints]:
    """The distinct rows in alphabetical order, and the number of each given row among them."""
    order = np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))
    ordered = rows[order]
    new = np.ones(len(rows), bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    group = np.empty(len(rows), np.int64)
    group[order] = np.cumsum(new) - 1
    return ordered[new], group


def _trie(alphabet: Alphabet, rows: Ints, probabilities: Floats) -> Layered:
    """The trie of distinct rows in alphabetical order; a state is a prefix."""
    new = np.zeros(len(rows), bool)
    new[0] = True
    prefix, mass = np.zeros(len(rows), np.int64), np.ones(1)
    layers = []
    for column in rows.T:
        new[1:] |= column[1:] != column[:-1]
        longer = np.cumsum(new) - 1
        longer_mass = group_sums(longer, probabilities, int(longer[-1]) + 1)
        source = prefix[new]
        shares = longer_mass / mass[source]
        shares /= group_sums(source, shares, len(mass))[source]
        layers.append(Layer(source, column[new], longer[new], shares, len(longer_mass)))
        prefix, mass = longer, longer_mass
    ends = np.ones(len(mass))
    return Layered(alphabet, np.ones(1), tuple(layers), ends, unambiguous=True)
