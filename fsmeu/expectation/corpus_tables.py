"""Expectations of a corpus from the joint distribution of all counts that read the references.

For values that are not linear in what reads both tapes, such as roots and correlations, or whose
other registers read both. The joint distribution of the counts of a sentence is that of a loss
which is the number of their tuple, in mixed radix; those of sentences are convolved in a tree. The
table of the corpus has a cell for every tuple of totals: this serves small corpora, and is refused
where it would be large.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, SizeLimitError, message
from fsmeu.expectation.corpus_query import Corpus
from fsmeu.expectation.expect import expect
from fsmeu.expectation.result import Expectation, Levels, check_finite, level_sets
from fsmeu.losses.algebra.split import starts_of
from fsmeu.losses.evaluate import sentence_counts, value_of_totals
from fsmeu.losses.language.syntax import Binary, Expr, Name, Number, names_read, tapes
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.semantics.domains import Pool, domain_of
from fsmeu.models import Model
from fsmeu.trellis.roundings import relative_error

__all__ = ["expectation_of_tables"]

MOST_CORPUS_TABLE = 4_000_000  # tuples of totals of a corpus whose distribution is tabled: 32 MB

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FFT_UNITS = 16 * float(np.finfo(np.float64).eps)
"""The error of the transforms of a convolution, for each doubling of its size, as a part of the
sum of the norms of both tables."""


@dataclass(frozen=True, eq=False)
class _Table:
    """A joint distribution of counts, with an axis for each.

    Attributes:
        chances: the probability of each tuple, the least of each count at 0.
        possible: which tuples occur; others have probability 0 in spite of transforms.
        error: a bound on the norm of the error.
    """

    chances: Floats
    possible: NDArray[np.bool_]
    error: float


def expectation_of_tables(corpus: Corpus, zs: Sequence[Ints]) -> Expectation:
    """The expected value of a corpus, from the joint distribution of its counts.

    Raises:
        InputError: a count has no bounds, or does not grow by whole numbers.
        SizeLimitError: there are too many tuples of totals.
    """
    bound, n = corpus.loss.bound, corpus.n
    read, reach = names_read(bound.spec.value), tapes(bound.spec)
    names = [r.name for r in bound.spec.registers if r.name in read]
    random = [name for name in names if "y" in reach[name]]
    sentences = list(zip(corpus.losses, zs, corpus.models, strict=True))
    spans: list[dict[str, _Span]] = []
    sizes = dict.fromkeys(random, 1)
    for loss, z, model in sentences:
        spans.append(_spans(loss, z, model, random))
        sizes = {name: size + spans[-1][name].size - 1 for name, size in sizes.items()}
        _guard(sizes.values())
    tables = [_sentence(*one, random, span) for one, span in zip(sentences, spans, strict=True)]
    whole = _sum_of_all(tables, len(random))
    places = np.flatnonzero(whole.possible)
    lanes = len(places)
    added: dict[str, Floats] = {}
    for name, axis in zip(random, np.unravel_index(places, whole.chances.shape), strict=True):
        least = sum(one[name].low - one[name].start for one in spans)
        added[name] = axis.astype(np.float64) + least
    fixed = _given_counts(corpus, zs, [name for name in names if name not in random])
    added |= {name: np.full(lanes, each) for name, each in fixed.items()}
    values = value_of_totals(bound, n, added, lanes)
    chances = whole.chances.ravel()[places]
    value = float(values @ chances)
    check_finite("expect_corpus", value)
    error = whole.error * float(np.linalg.norm(values))
    error += relative_error(lanes + 8) * float(np.abs(values) @ chances)
    kept = float(chances.sum())
    lower, upper = value - error, value + error
    return Expectation(value, lower, upper, kept, lambda: level_sets(values, chances))


class _Span(NamedTuple):
    """The values of a count in one sentence: the least, how many there are, and the first."""

    low: int
    size: int
    start: float


def _spans(loss: SpecLoss, z: Ints, model: Model, names: Sequence[str]) -> dict[str, _Span]:
    """The values of each count in one sentence: those of its domain, or that it reaches.

    Raises:
        InputError: a count does not grow by whole numbers.
    """
    found, starts = {}, starts_of(loss.bound, names, len(z))
    for register in loss.bound.spec.registers:
        name = register.name
        if name in names:
            domain = domain_of(loss.bound, register, len(z))
            low, size = domain.low, domain.size
            if isinstance(domain, Pool):
                low, size = _reached(_levels(loss, z, model, Name(name)).values, name)
            found[name] = _Span(low, size, starts[name])
    return found


def _reached(values: Floats, name: str) -> tuple[int, int]:
    """The least value of a count, and how many there are up to the greatest."""
    if (values != np.floor(values)).any():
        must = f"{name} must grow by whole numbers, for its distribution to be tabled"
        got = f"the value {values[values != np.floor(values)][0]:g}"
        raise InputError(message("expect_corpus", must, got))
    return int(values.min()), int(values.max() - values.min()) + 1


def _levels(loss: SpecLoss, z: Ints, model: Model, value: Expr) -> Levels:
    """The distribution of another value of the registers of a loss."""
    other = replace(loss, spec=replace(loss.spec, value=value, range=None, examples=()))
    return expect(other, loss.alphabet.decode(z), model).levels


def _guard(sizes: Iterable[int]) -> None:
    cells = math.prod(sizes)
    if cells > MOST_CORPUS_TABLE:
        must = f"the counts of the corpus may have up to {MOST_CORPUS_TABLE:,} tuples of totals"
        remedy = "Use fewer sentences, or a value that is linear in what reads both sequences"
        raise SizeLimitError(message("expect_corpus", must, f"{cells:,}", remedy))


def _sentence(
    loss: SpecLoss, z: Ints, model: Model, names: Sequence[str], span: dict[str, _Span]
) -> _Table:
    """The joint distribution of the counts of one sentence."""
    shape = [span[name].size for name in names]
    number: Expr = Number(0.0)
    for name in names:
        place = Binary("-", Name(name), Number(float(span[name].low)))
        number = Binary("+", Binary("*", number, Number(float(span[name].size))), place)
    levels = _levels(loss, z, model, number)
    chances = np.zeros(math.prod(shape))
    chances[levels.values.astype(np.int64)] = levels.probabilities
    error = relative_error(len(z) * (len(loss.alphabet) ** 2 + 8) + 8)
    table = chances.reshape(shape)
    return _Table(table, table > 0, error * float(np.linalg.norm(chances)))


def _given_counts(corpus: Corpus, zs: Sequence[Ints], names: Sequence[str]) -> dict[str, float]:
    """The totals of counts that do not read the references."""
    found = dict.fromkeys(names, 0.0)
    for loss, z in zip(corpus.losses, zs, strict=True):
        counts = sentence_counts(loss.bound, [(z, z)]) if names else {}
        for name in names:
            found[name] += float(counts[name][0])
    return found


def _sum_of_all(tables: Sequence[_Table], axes: int) -> _Table:
    """The joint distribution of the totals, by a product tree."""
    parts = list(tables) or [_Table(np.ones((1,) * axes), np.ones((1,) * axes, bool), 0.0)]
    while len(parts) > 1:
        pairs = [_plus(a, b) for a, b in zip(parts[0::2], parts[1::2], strict=False)]
        parts = pairs + parts[len(parts) - len(parts) % 2 :]
    return parts[0]


def _plus(left: _Table, right: _Table) -> _Table:
    error = left.error + right.error
    if not left.chances.ndim:
        return _Table(left.chances * right.chances, left.possible & right.possible, error)
    possible = _convolved(left.possible.astype(np.float64), right.possible) > 0.5
    chances = np.where(possible, _convolved(left.chances, right.chances), 0.0)
    # A transform errs by a part of the norm, and is multiplied by numbers up to the other's sum, 1.
    sides = sum(float(np.linalg.norm(one.chances)) for one in (left, right))
    error += _FFT_UNITS * math.log2(2 + chances.size) * sides
    return _Table(np.maximum(chances, 0.0), possible, error)


def _convolved(left: Floats, right: NDArray[Any]) -> Floats:
    """The convolution over all axes, by Fourier transforms."""
    shape = [a + b - 1 for a, b in zip(left.shape, right.shape, strict=True)]
    axes = tuple(range(left.ndim))
    product = np.fft.rfftn(left, shape, axes) * np.fft.rfftn(right, shape, axes)
    return np.fft.irfftn(product, shape, axes)
