"""The expected value of a corpus: counts summed over sentences, the value taken once at the end.

Sentences are independent given the model. What ``evaluate_corpus`` says of counts and of ``n``
holds here: ``expect_corpus`` is its expectation over the references.

Where the loss splits by tape and looks at one count of each, the expectation comes from a product
tree over sentences of polynomials in the reference's count (``sentence_sums``), or from moments of
all counts. Independent labels of two kinds are one sequence, for any value of their confusion
table. Other values need the joint distribution of all counts (``corpus_tables``), whose size is
guarded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.expectation.corpus_query import Corpus, encoded_corpus
from fsmeu.expectation.expect import expect
from fsmeu.expectation.result import Expectation, Levels, check_finite
from fsmeu.limits import LONG_SEQUENCE
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.domains import check_range, declared_range

__all__ = ["expect_corpus", "linear_expectation", "mass_to_cut"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

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
    corpus, given = encoded_corpus(loss, zs, models, "expect_corpus")
    form, one = corpus.loss.split, corpus.as_one()
    is_short = one is None or corpus.n < LONG_SEQUENCE
    if form is not None and form.counted and is_short:
        from fsmeu.trellis.tapes import UncountableError

        try:
            return linear_expectation(corpus, given)
        except UncountableError:
            pass
    if one is not None:
        return expect(corpus.loss, one.alphabet.decode(np.concatenate(given)), one)
    from fsmeu.expectation.corpus_tables import expectation_of_tables

    return expectation_of_tables(corpus, given)


def mass_to_cut(corpus: Corpus) -> float:
    """What each end of a window may lose: nothing where the file declares no finite range."""
    sides = declared_range(corpus.loss.bound, corpus.n)
    return _CUT if all(map(math.isfinite, sides)) else 0.0


def linear_expectation(corpus: Corpus, zs: list[Ints]) -> Expectation:
    """The expected value where the loss splits by tape, with a counter of each at most.

    Raises:
        UncountableError: a counter does not grow by whole numbers.
    """
    from fsmeu.expectation.corpus_moments import moment_value
    from fsmeu.expectation.corpus_query import sentence_sums
    from fsmeu.trellis.roundings import relative_error
    from fsmeu.trellis.tapes import values_at
    from fsmeu.trellis.windows import sum_of_all

    loss, n = corpus.loss, corpus.n
    assert loss.split is not None
    known = moment_value(corpus, zs)
    if known is not None:
        value, error = known
        check_range(loss.bound, n, np.array([value]))
        return Expectation(value, value - error, value + error, 1.0, lambda: _levels(corpus, zs))
    sums = sentence_sums(corpus, zs)
    whole = sum_of_all(sums.windows, mass_to_cut(corpus), 1 + len(loss.split.joint_counts))
    masses, *expected = whole.tables
    slopes, offset = values_at(loss.split, n, int(sums.hyp.sum()), whole.counts, masses > 0)
    pairs = zip(expected, slopes, strict=True)
    value = float(masses @ offset) + sum(float(one @ slope) for one, slope in pairs)
    check_finite("expect_corpus", value)
    kept = float(masses.sum())
    check_range(loss.bound, n, np.array([value / kept]))
    size = float(masses @ np.abs(offset))
    for one, slope, lost in zip(expected, slopes, sums.cancelled.sum(axis=0), strict=True):
        size += float((np.abs(one) + lost * masses) @ np.abs(slope))
    rounding = relative_error(whole.operations + masses.size + 8) * size
    low, high = declared_range(loss.bound, n) if whole.lost else (0.0, 0.0)
    lower = value + whole.lost * min(0.0, low) - rounding
    upper = value + whole.lost * max(0.0, high) + rounding
    return Expectation(value, lower, upper, kept, lambda: _levels(corpus, zs))


def _levels(corpus: Corpus, zs: list[Ints]) -> Levels:
    """The distribution of the value, which needs that of all counts together."""
    from fsmeu.expectation.corpus_tables import expectation_of_tables

    return expectation_of_tables(corpus, zs).levels
