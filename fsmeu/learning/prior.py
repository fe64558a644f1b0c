"""Probabilities for rows among which the positive class is more or less frequent than in training.

Saerens, M., Latinne, P., Decaestecker, C. (2002), Adjusting the outputs of a classifier to new a
priori probabilities: a simple procedure, Neural Computation 14.

It is assumed that rows of each class are distributed as in training, and their shares alone differ.
With p = P(positive | row) where the share of positives is q, that of a share r is

    p r / q / (p r / q + (1 - p) (1 - r) / (1 - q)),

and the likelihood of r is the product of these denominators over the rows. Its logarithm is concave
in r. The paper climbs it by expectation maximisation, whose limit is the greatest; here that is
found where the derivative changes its sign.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from fsmeu.arrays import Floats
from fsmeu.errors import InputError

_HALVINGS = 60  # of the interval from 0 to 1 that holds the estimate: as far as doubles go
_HALF_QUANTILE = 1.92  # half of the .95 quantile of chi-squared with one degree of freedom
_FEWEST = 10  # rows of which a share is estimated
_WIDEST = 0.5  # the widest interval of shares that is no refusal
_UNDETERMINED = 4.0  # a greater ratio of the odds at both ends of the interval is warned of
_BINS = 8  # of the scores of each class
_RARE = 1e-3  # how rarely a test may warn of rows that are as they should be
_MISFIT = 0.1  # rows in other bins, of all, that are always tolerated


class ShareWarning(UserWarning):
    """The share of positives that decisions assume is in doubt, or not that of the rows."""


class _Ratios(NamedTuple):
    """Of each row, how probable it is in a class beside how probable it was in training."""

    positive: Floats  # p / q, (rows,)
    negative: Floats  # (1 - p) / (1 - q), (rows,)


def _ratios(p: Floats, before: float) -> _Ratios:
    return _Ratios(p / before, (1.0 - p) / (1.0 - before))


def adapted(p: Floats, before: float, after: float) -> Floats:
    """P(positive | row) where the share of positives is ``after``, (rows,).

    Args:
        p: the same where it is ``before``, (rows,).
        before: the share of positives in training, between 0 and 1.
        after: that among the new rows, from 0 to 1.
    """
    ratios = _ratios(p, before)
    positive = after * ratios.positive
    both = positive + (1.0 - after) * ratios.negative
    # Where both are 0, a share of 0 or 1 contradicts a probability of 1 or 0, which stays.
    result: Floats = p.copy()
    np.divide(positive, both, out=result, where=both > 0.0)
    return result


class Estimate(NamedTuple):
    """The most likely share of positives among rows, and those that rows do not exclude.

    These are less likely by no more than what a test at the level .05 would notice.
    """

    share: float
    low: float
    high: float


def estimated_prior(p: Floats, before: float, where: str) -> Estimate:
    """The most likely share of positives among rows, from 0 to 1.

    Args:
        p: P(positive | row) at the share of training, (rows,).
        before: that share, between 0 and 1.
        where: the caller, in messages.

    Raises:
        InputError: the rows do not tell: they are few, have all the same probability, or leave
            open more than half of all shares.
    """
    remedy = "Give prior=VALUE if it is known, prior=None for that of training, or more rows"
    must = "the rows must tell how frequent the positive class is among them"
    found = None
    got = f"{len(p):,} rows, fewer than {_FEWEST}" if len(p) else "no rows"
    if len(p) and np.ptp(p) == 0.0:
        got = f"the probability {float(p[0]):.6g} for each of {len(p):,}"
    elif len(p) >= _FEWEST:
        found = _most_likely(_ratios(p, before))
        got = (
            f"{len(p):,} rows, for which any share from {found.low:.2g} to {found.high:.2g} will do"
        )
    if found is None or found.high - found.low > _WIDEST:
        raise InputError(where, must, given=got, remedy=remedy)
    return found


def _most_likely(ratios: _Ratios) -> Estimate:
    """The share of the greatest likelihood, and the interval around it."""
    best = _crossing(lambda share: _slope(ratios, share), 0.0, 1.0)
    best = 0.0 if _slope(ratios, 0.0) <= 0.0 else 1.0 if _slope(ratios, 1.0) >= 0.0 else best
    least = _log_likelihood(ratios, best) - _HALF_QUANTILE
    low, high = (
        _crossing(lambda share: _log_likelihood(ratios, share) - least, best, end)
        if _log_likelihood(ratios, end) < least
        else end
        for end in (0.0, 1.0)
    )
    return Estimate(best, low, high)


def _crossing(function: Callable[[float], float], near: float, far: float) -> float:
    """Where a function stops being above 0, on the way from one share to another."""
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        if function(middle) > 0.0:
            near = middle
        else:
            far = middle
    return near


def doubts(estimate: Estimate) -> list[str]:
    """What speaks against an estimate, in words: it is at an end, or many shares are as likely."""
    share, low, high = estimate
    if share in (0.0, 1.0):
        what = "no positives at all are" if share == 0.0 else "positives alone are"
        far = high if share == 0.0 else low
        why = "to which probabilities that are off lead"
        return [f"{what} most likely, {why}; {far:.2g} is not excluded"]
    if low == 0.0 or high == 1.0 or high * (1 - low) > _UNDETERMINED * low * (1 - high):
        return [f"the rows hardly determine it: any share from {low:.2g} to {high:.2g} will do"]
    return []


def depend_on_class(weights: Floats, positive: Floats) -> bool:
    """Whether rows of one class, 1 or 0, weigh more than the others: by a tenth, and no chance."""
    of_class = [weights[positive == c] for c in (0, 1)]
    means = [float(part.mean()) for part in of_class]
    error = float(np.sqrt(sum(part.var() / len(part) for part in of_class)))
    apart = abs(means[0] - means[1])
    return apart > 0.1 * min(means) and apart > 3.0 * error


def _slope(ratios: _Ratios, share: float) -> float:
    """The derivative of the log-likelihood at a share, infinite where a row excludes it."""
    with np.errstate(divide="ignore"):
        terms = (ratios.positive - ratios.negative) / (
            share * ratios.positive + (1.0 - share) * ratios.negative
        )
    return float(terms.sum())


def _log_likelihood(ratios: _Ratios, share: float) -> float:
    """The log-likelihood of a share, up to a constant; -inf where a row excludes it."""
    with np.errstate(divide="ignore"):
        return float(np.log(share * ratios.positive + (1.0 - share) * ratios.negative).sum())


class ClassBins(NamedTuple):
    """How scores of held-out training rows are distributed in each class.

    Those of new rows must be a mixture of both distributions.
    """

    edges: Floats  # inner ones, rising, (bins - 1,)
    parts: Floats  # the part of each class in each bin, negative class first, (2, bins)
    sizes: Floats  # the rows of each class, fewer where weights differ, (2,)

    @classmethod
    def of(cls, scores: Floats, positive: Floats, weights: Floats | None) -> ClassBins:
        """The distributions of scores, (rows,), of rows with labels 1 and 0 and weights."""
        w = np.ones(len(scores)) if weights is None else weights
        inside = np.linspace(0, 1, _BINS + 1)[1:-1]
        edges = np.unique([np.quantile(scores[(positive == c) & (w > 0)], inside) for c in (0, 1)])
        bins = np.searchsorted(edges, scores)
        counts = [np.bincount(bins, w * (positive == c), len(edges) + 1) for c in (0, 1)]
        sums = np.array([w[positive == c].sum() for c in (0, 1)])
        squares = np.array([(w[positive == c] ** 2).sum() for c in (0, 1)])
        return cls(edges, np.array(counts) / sums[:, None], sums**2 / squares)

    def misfit(self, scores: Floats, share: float) -> float:
        """The part of new rows that would have to have other scores to be a mixture, else 0.

        It is 0 where chance explains it, by a chi-squared test that knows how uncertain the bins of
        both classes are, too; and where it is small, as the estimator is fitted to more rows than
        those that made the distributions.
        """
        size = len(scores)
        bins = np.searchsorted(self.edges, scores)
        found = np.bincount(bins, minlength=len(self.edges) + 1) / size
        weights = np.array([1.0 - share, share])
        expected = weights @ self.parts
        terms = [(1.0, expected, size), *zip(weights**2, self.parts, self.sizes, strict=True)]
        covariance = sum(w / n * (np.diag(part) - np.outer(part, part)) for w, part, n in terms)
        off = found - expected
        statistic = float(off @ np.linalg.pinv(covariance, hermitian=True) @ off)
        moved = float(np.abs(off).sum()) / 2
        rare = chi2.sf(statistic, max(1, len(self.edges) - 1)) < _RARE
        return moved if rare and moved > _MISFIT else 0.0
