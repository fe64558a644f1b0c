"""Means with intervals over repeated runs, and tables of them as Markdown text.

An interval is that of Student's t with 95% over seeds, splits or shuffles, or, where a mean is over
classes, the middle 95% of 10,000 bootstrap draws of classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

DRAWS = 10_000


class Interval(NamedTuple):
    """A mean with the ends of its interval; both ends are NaN where there is one value only."""

    mean: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Of a difference: "more", "less", or "even" where 0 is inside."""
        return "more" if self.low > 0 else "less" if self.high < 0 else "even"

    def __str__(self) -> str:
        ends = "" if np.isnan(self.low) else f" ({short(self.low)} to {short(self.high)})"
        return short(self.mean) + ends


def short(value: float, digits: int = 4) -> str:
    """A number without the 0 before its point, and with a true minus sign."""
    text = f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")
    return text.replace("0.", ".", 1) if abs(value) < 1 and digits else text


def t_interval(values: ArrayLike) -> Interval:
    """The mean of independent repetitions, (repetitions,), and where it is with 95%."""
    given = np.asarray(values, np.float64)
    mean = float(given.mean())
    if len(given) < 2:
        return Interval(mean, np.nan, np.nan)
    half = student.ppf(0.975, len(given) - 1) * float(given.std(ddof=1)) / len(given) ** 0.5
    return Interval(mean, mean - half, mean + half)


def bootstrap_interval(values: ArrayLike, seed: int = 0) -> Interval:
    """The mean of values, (items,), and the middle 95% of the means of as many drawn items."""
    given = np.asarray(values, np.float64)
    mean = float(given.mean())
    if len(given) < 2:
        return Interval(mean, np.nan, np.nan)
    chosen = np.random.default_rng(seed).integers(len(given), size=(DRAWS, len(given)))
    low, high = np.quantile(given[chosen].mean(axis=1), [0.025, 0.975])
    return Interval(mean, float(low), float(high))


def share_interval(hits: int, trials: int) -> Interval:
    """A share and its interval with 95% by Wilson's formula."""
    z = 1.959964
    middle = (hits + z * z / 2) / (trials + z * z)
    half = z / (trials + z * z) * (hits * (trials - hits) / trials + z * z / 4) ** 0.5
    return Interval(hits / trials, middle - half, middle + half)


def markdown(title: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table with its title above; numbers with a fraction have four digits after the point."""
    body = markdown_table([*map(_cell, heads)], (map(_cell, row) for row in rows))
    return f"**{title}**\n\n{body}\n"


def markdown_table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """The lines of a table whose cells are texts."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    return short(value) if type(value) is float else str(value).replace("|", "\\|")
