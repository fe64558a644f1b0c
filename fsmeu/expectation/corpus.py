"""The expected value of a corpus: counts summed over sentences, the value taken once at the end.

Sentences are independent given the model. What ``evaluate_corpus`` says of counts and of ``n``
holds here: ``expect_corpus`` is its expectation over the references.

Where the loss splits by tape and looks at one count of each, the expectation comes from a product
tree over sentences of polynomials in the reference's count (``trellis/windows.py``), or from
moments of all counts (``corpus_moments``), whose bounds are tighter. Independent labels of two
kinds are one sequence, for any value of their confusion table. Other values (roots, correlations,
or registers that read both tapes) need the joint distribution of all counts, whose size is guarded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import InputError, SizeLimitError, message
from fsmeu.expectation import corpus_moments
from fsmeu.expectation.corpus_query import Corpus, corpus_of, sentence_structure
from fsmeu.expectation.expect import expect
from fsmeu.expectation.query import encoded, paired
from fsmeu.expectation.result import Expectation, Levels, check_finite, level_sets
from fsmeu.fst.compose import guard_size, guard_work
from fsmeu.limits import CELLS_PER_STATE, LONG_SEQUENCE
from fsmeu.losses.algebra.split import starts_of
from fsmeu.losses.evaluate import sentence_counts, value_of_totals
from fsmeu.losses.language.syntax import Binary, Expr, Name, Number, names_read, tapes
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.domains import Pool, check_range, declared_range, domain_of
from fsmeu.models import Model, arc_weights_many
from fsmeu.trellis.roundings import relative_error
from fsmeu.trellis.tapes import UncountableError, values_at
from fsmeu.trellis.windows import Window, sum_of_all

MOST_CORPUS_TABLE = 4_000_000  # tuples of totals of a corpus whose distribution is tabled: 32 MB

_FFT_UNITS = 16 * float(np.finfo(np.float64).eps)
"""The error of the transforms of a convolution, for each doubling of its size, as a part of the
sum of the norms of both tables."""

_CUT = 1e-22
"""What each end of a window may lose at each product; a corpus has thousands of them."""


def expect_corpus(loss: Loss, zs: Iterable[Any], models: Iterable[Any]) -> Expectation:
    """The expected value of a corpus of independent sentences, the hypotheses given.

    Args:
        loss: a loss or utility of a file, whose value looks at counts alone.
        zs: the hypotheses, a label sequence for each sentence.
        models: the label models of the references, one for each sentence; vectors of probabilities
            stand for ``Bernoulli``.

    Raises:
        InputError: the value looks at something that cannot be summed, or parts do not fit.
        SizeLimitError: the distribution of the counts is too large.
    """
    hypotheses, models = paired(zs, models, "expect_corpus")
    corpus, given = corpus_of(loss, models, "expect_corpus", hypotheses), []
    for row, (z, model) in enumerate(zip(hypotheses, corpus.models, strict=True)):
        name = f"expect_corpus, zs[{row}]"
        given.append(encoded(z, model, name, name))
    form, one = corpus.loss.split, corpus.as_one()
    is_short = one is None or corpus.n < LONG_SEQUENCE
    if form is not None and form.counted and is_short:
        with suppress(UncountableError):
            return linear_expectation(corpus, given)
    if one is not None:
        return expect(corpus.loss, one.alphabet.decode(np.concatenate(given)), one)
    return _by_tables(corpus, given)


def mass_to_cut(corpus: Corpus) -> float:
    """What each end of a window may lose: nothing where the file declares no finite range."""
    sides = declared_range(corpus.loss.bound, corpus.n)
    return _CUT if all(map(math.isfinite, sides)) else 0.0


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def linear_expectation(corpus: Corpus, zs: Sequence[Ints]) -> Expectation:
    """The expected value where the loss splits by tape, with a counter of each at most.

    Raises:
        UncountableError: a counter does not grow by whole numbers.
        SizeLimitError: the sweeps would take too much room.
    """
    loss, n = corpus.loss, corpus.n
    assert loss.split is not None

    def levels() -> Levels:  # these need the distribution of all counts together
        return _by_tables(corpus, zs).levels

    known = corpus_moments.moment_value(corpus, zs)
    if known is not None:
        value, error = known
        check_range(loss.bound, n, np.array([value]))
        return Expectation(value, value - error, value + error, 1.0, levels)
    counts = len(loss.split.joint_counts)
    windows, hyp, cancelled = dict[int, Window](), 0, np.zeros(counts)
    for rows in corpus.alike():
        structure, length = sentence_structure(corpus, rows[0]), corpus.models[rows[0]].n
        cells = (1 + counts) * int(structure.r.columns[length] * structure.r.width[length])
        guard_size("expect_corpus", cells // CELLS_PER_STATE)
        guard_work("expect_corpus", length * cells)
        weights = arc_weights_many([corpus.models[row] for row in rows])
        ending, hyps = structure.sums(weights, [zs[row] for row in rows])
        hyp += int(hyps.sum())
        # Bounds on what joint counts gain, signs aside, where something is taken from them.
        takes = structure.amounts.signs(counts)[0]
        cancelled += len(rows) * np.where(takes, structure.greatest(length), 0.0)
        for row, tables in zip(rows, ending, strict=True):
            windows[row] = Window(0, tables, 0.0, structure.roundings(length))
    parts = [windows[row] for row in range(len(zs))]
    whole = sum_of_all(parts, mass_to_cut(corpus), 1 + counts)
    masses, *expected = whole.tables
    slopes, offset = values_at(loss.split, n, hyp, whole.counts, masses > 0)
    value, size = float(masses @ offset), float(masses @ np.abs(offset))
    for one, slope, lost in zip(expected, slopes, cancelled, strict=True):
        value += float(one @ slope)
        size += float((np.abs(one) + lost * masses) @ np.abs(slope))
    check_finite("expect_corpus", value)
    kept = float(masses.sum())
    check_range(loss.bound, n, np.array([value / kept]))
    rounding = relative_error(whole.operations + masses.size + 8) * size
    low, high = declared_range(loss.bound, n) if whole.lost else (0.0, 0.0)
    lower = value + whole.lost * min(0.0, low) - rounding
    upper = value + whole.lost * max(0.0, high) + rounding
    return Expectation(value, lower, upper, kept, levels)


# -- the joint distribution of all counts ----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Table:
    """A joint distribution of counts, with an axis for each.

    Attributes:
        chances: the probability of each tuple, the least of each count at 0.
        possible: which tuples occur; others have probability 0 in spite of transforms.
        error: a bound on the norm of the error.
    """

    chances: Floats
    possible: Bools
    error: float


def _by_tables(corpus: Corpus, zs: Sequence[Ints]) -> Expectation:
    """The expected value from the joint distribution of all counts that read the references.

    That of a sentence is the distribution of a loss which is the number of the tuple of counts, in
    mixed radix; those of sentences are convolved in a tree. The table of the corpus has a cell for
    every tuple of totals: this serves small corpora.

    Raises:
        InputError: a count has no bounds, or does not grow by whole numbers.
        SizeLimitError: there are too many tuples of totals.
    """
    bound, reach = corpus.loss.bound, tapes(corpus.loss.bound.spec)
    read = names_read(bound.spec.value)
    names = [r.name for r in bound.spec.registers if r.name in read]
    random = [name for name in names if "y" in reach[name]]
    sentences = list(zip(corpus.losses, zs, corpus.models, strict=True))
    spans: list[dict[str, _Span]] = []
    sizes = dict.fromkeys(random, 1)
    for sentence in sentences:
        spans.append(_spans(*sentence, random))
        sizes = {name: size + spans[-1][name].size - 1 for name, size in sizes.items()}
        cells = math.prod(sizes.values())
        if cells > MOST_CORPUS_TABLE:
            must = f"the counts of the corpus may have up to {MOST_CORPUS_TABLE:,} tuples of totals"
            remedy = "Use fewer sentences, or a value that is linear in what reads both sequences"
            raise SizeLimitError(message("expect_corpus", must, f"{cells:,}", remedy))
    none = np.ones((1,) * len(random))
    parts = [_sentence(*one, span) for one, span in zip(sentences, spans, strict=True)]
    parts = parts or [_Table(none, none > 0, 0.0)]
    while len(parts) > 1:
        pairs = [_plus(*pair) for pair in zip(parts[0::2], parts[1::2], strict=False)]
        parts = pairs + parts[len(parts) - len(parts) % 2 :]
    [whole] = parts
    places = np.flatnonzero(whole.possible)
    axes = dict(zip(random, np.unravel_index(places, whole.chances.shape), strict=True))
    added: dict[str, Floats] = {}
    for name in names:
        if name in axes:
            least = sum(one[name].low - one[name].start for one in spans)
            added[name] = axes[name].astype(np.float64) + least
        else:
            each = (sentence_counts(loss.bound, [(z, z)])[name][0] for loss, z, _ in sentences)
            added[name] = np.full(len(places), sum(map(float, each)))
    values = value_of_totals(bound, corpus.n, added, len(places))
    chances = whole.chances.ravel()[places]
    value = float(values @ chances)
    check_finite("expect_corpus", value)
    error = whole.error * float(np.linalg.norm(values))
    error += relative_error(len(places) + 8) * float(np.abs(values) @ chances)
    kept, levels = float(chances.sum()), partial(level_sets, values, chances)
    return Expectation(value, value - error, value + error, kept, levels)


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
        if name not in names:
            continue
        domain = domain_of(loss.bound, register, len(z))
        low, size = domain.low, domain.size
        if isinstance(domain, Pool):
            values = _levels_of(loss, z, model, Name(name)).values
            broken = values[values != np.floor(values)]
            if len(broken):
                must = f"{name} must grow by whole numbers, for its distribution to be tabled"
                raise InputError(message("expect_corpus", must, f"the value {broken[0]:g}"))
            low, size = int(values.min()), int(values.max() - values.min()) + 1
        found[name] = _Span(low, size, starts[name])
    return {name: found[name] for name in names}


def _levels_of(loss: SpecLoss, z: Ints, model: Model, value: Expr) -> Levels:
    """The distribution of another value of the registers of a loss."""
    other = replace(loss, spec=replace(loss.spec, value=value, range=None, examples=()))
    return expect(other, loss.alphabet.decode(z), model).levels


def _sentence(loss: SpecLoss, z: Ints, model: Model, spans: dict[str, _Span]) -> _Table:
    """The joint distribution of the counts of one sentence."""
    number: Expr = Number(0.0)
    for name, span in spans.items():
        place = Binary("-", Name(name), Number(float(span.low)))
        number = Binary("+", Binary("*", number, Number(float(span.size))), place)
    levels = _levels_of(loss, z, model, number)
    chances = np.zeros([span.size for span in spans.values()])
    chances.reshape(-1)[levels.values.astype(np.int64)] = levels.probabilities
    error = relative_error(len(z) * (len(loss.alphabet) ** 2 + 8) + 8)
    return _Table(chances, chances > 0, error * float(np.linalg.norm(chances)))


def _plus(left: _Table, right: _Table) -> _Table:
    """The joint distribution of the totals of two parts, by Fourier transforms."""
    error = left.error + right.error
    if not left.chances.ndim:
        return _Table(left.chances * right.chances, left.possible & right.possible, error)
    possible = _convolved(left.possible, right.possible) > 0.5
    chances = np.where(possible, _convolved(left.chances, right.chances), 0.0)
    # A transform errs by a part of the norm, and is multiplied by numbers up to the other's sum, 1.
    sides = sum(float(np.linalg.norm(one.chances)) for one in (left, right))
    error += _FFT_UNITS * math.log2(2 + chances.size) * sides
    return _Table(np.maximum(chances, 0.0), possible, error)


def _convolved(left: NDArray[Any], right: NDArray[Any]) -> Floats:
    """The convolution over all axes."""
    shape = [a + b - 1 for a, b in zip(left.shape, right.shape, strict=True)]
    axes = tuple(range(left.ndim))
    product = np.fft.rfftn(left, shape, axes) * np.fft.rfftn(right, shape, axes)
    return np.fft.irfftn(product, shape, axes)
