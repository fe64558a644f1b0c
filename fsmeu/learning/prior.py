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

from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.errors import InputError

_HALVINGS = 60  # of the interval from 0 to 1 that holds the estimate: as far as doubles go
_HALF_QUANTILE = 1.92  # half of the .95 quantile of chi-squared with one degree of freedom


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


def estimated_prior(p: Floats, before: float, where: str) -> float:
    """The most likely share of positives among rows, from 0 to 1.

    Args:
        p: P(positive | row) at the share of training, (rows,).
        before: that share, between 0 and 1.
        where: the caller, in messages.

    Raises:
        InputError: the rows do not tell: there is none, or neither a share of 0 nor one of 1 is
            less likely than the best by what a test at the level .05 would notice.
    """
    remedy = "Give prior=VALUE if it is known, prior=None for that of training, or more rows"
    must = "the rows must tell how frequent the positive class is among them"
    if not len(p):
        raise InputError(where, must, given="no rows", remedy=remedy)
    ratios = _ratios(p, before)
    low = 0.0
    high = 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _slope(ratios, middle) > 0.0:
            low = middle
        else:
            high = middle
    best = 0.0 if _slope(ratios, 0.0) <= 0.0 else 1.0 if _slope(ratios, 1.0) >= 0.0 else low
    height = _log_likelihood(ratios, best)
    ends = [height - _log_likelihood(ratios, end) for end in (0.0, 1.0)]
    if max(ends) <= _HALF_QUANTILE or np.ptp(p) == 0.0:
        got = f"{len(p):,} rows, of which none and all may be positive as well"
        if np.ptp(p) == 0.0:
            got = f"the probability {float(p[0]):.6g} for each of {len(p):,}"
        raise InputError(where, must, given=got, remedy=remedy)
    return best


def farthest_share(p: Floats, before: float, best: float) -> float:
    """The share farthest from the most likely one, 0 or 1, that rows do not exclude.

    It is less likely by no more than what a test at the level .05 would notice.

    Args:
        p: P(positive | row) at the share of training, (rows,).
        before: that share, between 0 and 1.
        best: the most likely share, 0 or 1.
    """
    ratios = _ratios(p, before)
    least = _log_likelihood(ratios, best) - _HALF_QUANTILE
    near = best
    far = 1.0 - best
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        if _log_likelihood(ratios, middle) >= least:
            near = middle
        else:
            far = middle
    return near


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
