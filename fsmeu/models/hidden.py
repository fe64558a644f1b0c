"""Hidden Markov models: the distribution of the hidden labels once the observations are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from fsmeu.errors import EmptyError, InputError, sentence, shorten
from fsmeu.fst.alphabet import Label
from fsmeu.fst.layers import Floats, Ints
from fsmeu.fst.sequences import listed, plain
from fsmeu.models.chain import first_impossible
from fsmeu.models.checks import check_arcs, check_rows, count, probability_array
from fsmeu.models.distances import logarithm
from fsmeu.models.independent import alphabet_of
from fsmeu.models.potentials import Potentials

__all__ = ["checked_rows", "hmm", "posterior"]


def hmm(
    initial: ArrayLike,
    transition: ArrayLike,
    emission: ArrayLike,
    observations: Iterable[int],
    labels: Sequence[Label] | None = None,
) -> Potentials:
    """The posterior of the hidden labels of a hidden Markov model.

    Args:
        initial: P(y_1), shape (L,).
        transition: P(y_{i+1} | y_i), shape (L, L) or (n - 1, L, L).
        emission: P(x_i | y_i), shape (L, V).
        observations: the n observed symbols, each from 0 to V - 1.
        labels: the L labels, 0, ..., L - 1 unless given.

    Raises:
        EmptyError: the observations have probability 0; the message says from where on.
    """
    first = checked_rows(initial, "hmm initial", 1)
    size = len(first)
    links = checked_rows(transition, "hmm transition")
    output = checked_rows(emission, "hmm emission", 2)
    seen = _observations(observations, output.shape[1])
    steps = max(0, len(seen) - 1)
    check_arcs("hmm", size + steps * size * size)
    if links.size == 0:
        links = links.reshape(0, size, size)
    for array, shapes, where in (
        (links, ((size, size), (steps, size, size)), "hmm transition"),
        (output, ((size, output.shape[1]),), "hmm emission"),
    ):
        if array.shape not in shapes:
            must = f"must have shape {' or '.join(map(str, shapes))}"
            raise InputError(sentence(where, must, f"shape {array.shape}"))
    alphabet = alphabet_of(labels, size, "hmm labels")
    unary = logarithm(output[:, seen].T)
    unary[:1] += logarithm(first)
    pairwise = logarithm(links)
    _check_possible(unary, pairwise, seen)
    return posterior(Potentials(unary, pairwise, alphabet.labels))


def posterior(model: Potentials) -> Potentials:
    """The same model, which says of itself that it is one of hidden labels, given observations."""
    model._keep(_origin="hidden Markov model, given its observations")
    return model


def checked_rows(value: ArrayLike, where: str, ndim: int | None = None) -> Floats:
    """Probabilities whose rows sum to 1, with this many axes if that is said."""
    array = probability_array(value, where)
    if array.ndim != ndim and ndim is not None:
        raise InputError(sentence(where, f"must have {ndim} axes", f"shape {array.shape}"))
    if array.ndim == 0:
        raise InputError(sentence(where, "must be an array", "a single number"))
    if array.size or ndim is not None:
        return check_rows(array, where, given=value)
    return array


def _observations(observations: Iterable[int], symbols: int) -> Ints:
    where = "hmm observations"
    given = listed(observations, where, "must be a sequence of whole numbers")
    seen = [count(plain(x), f"{where}, position {k + 1}") for k, x in enumerate(given)]
    for k, x in enumerate(seen):
        if x >= symbols:
            must = f"must be from 0 to {symbols - 1}, as emission has {symbols} columns"
            raise InputError(sentence(where, must, f"{shorten(x)} at position {k + 1}"))
    return np.array(seen, np.int64)


def _check_possible(unary: Floats, pairwise: Floats, seen: Ints) -> None:
    at = first_impossible(unary, pairwise)
    if at is not None:
        what = f"symbol {seen[at]} at position {at + 1} is impossible after those before it"
        must = f"must have positive probability, but {what}"
        raise EmptyError(sentence("hmm observations", must))
