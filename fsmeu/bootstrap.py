"""Corpora drawn from the sentences of one, with replacement (Efron and Tibshirani 1993).

The percentile interval of a statistic holds the middle 95 of 100 of its values for such corpora.
All statistics are taken of the same draws, so that differences of two are paired.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats


@dataclass(frozen=True)
class IntervalEstimate:
    """A value, with the interval that holds 95 of 100 of drawn corpora; None without draws."""

    value: float
    low: float | None = None
    high: float | None = None


def drawn_weights(sentences: int, draws: int, seed: int) -> Iterator[Floats]:
    """How often each sentence is in each drawn corpus, (some draws, sentences) at a time."""
    random = np.random.default_rng(seed)
    size = max(1, limits.DRAWN_CELLS // max(1, sentences))
    for begin in range(0, draws, size):
        rows = min(size, draws - begin)
        chosen = random.integers(0, sentences, (rows, sentences))
        chosen += sentences * np.arange(rows)[:, None]
        counts = np.bincount(chosen.ravel(), minlength=rows * sentences)
        yield counts.reshape(rows, sentences).astype(np.float64)


def estimate(value: float, drawn: Floats) -> IntervalEstimate:
    """The value of a corpus with the percentile interval of its draws, (draws,)."""
    return IntervalEstimate(value, *percentiles(drawn)) if len(drawn) else IntervalEstimate(value)


def percentiles(drawn: Floats) -> tuple[float, float]:
    """The ends of the interval that holds the middle 95 of 100 of these values, (draws,)."""
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)
