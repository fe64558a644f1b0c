"""The result of a query: the expected value, its bounds, and its distribution on demand.

The distribution is that of level sets and their probabilities (Jansche 2007, section 3.2); bounds
are those of rounding errors, and of what was left out by ``keep``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from fsmeu.arrays import Floats
from fsmeu.display import Distribution, Text
from fsmeu.errors import Argument, InputError, SizeLimitError, wording
from fsmeu.expectation.query import Query
from fsmeu.fst.distinct import same_up_to_rounding
from fsmeu.fst.layers import pair_layers
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.at_length import ValueRange
from fsmeu.trellis.estimate import Estimate, one_estimate

_SHOWN = 8  # values in a representation
_ROUNDING = 1e-12  # of probabilities: a product of some thousand factors


@dataclass(frozen=True, eq=False)
class Levels(Text):
    """The values that occur and how probable each is."""

    values: Floats  # of positive probability, ascending; those that differ by rounding are one
    probabilities: Floats  # of each
    ungrouped: Floats  # both for every value as it was computed, (2, values): mean and more are its

    def __repr__(self) -> str:
        most = np.sort(np.argsort(-self.probabilities, kind="stable")[:_SHOWN])
        pairs = [f"{self.values[k]:.6g}: {self.probabilities[k]:.4g}" for k in most.tolist()]
        more = len(self.values) - len(pairs)
        suffix = f"; {more:,} less probable values" if more else ""
        return f"<levels {', '.join(pairs)}{suffix}>"

    @property
    def mean(self) -> float:
        """The expectation."""
        values, probabilities = self.ungrouped
        return float(values @ probabilities)

    @property
    def variance(self) -> float:
        """The variance, around the mean of what was kept."""
        values, probabilities = self.ungrouped
        mass = probabilities.sum()
        if not mass:
            return 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            away = values - values[probabilities.argmax()]  # exact for values near each other
            centre = away - away @ probabilities / mass
            variance = float(centre**2 @ probabilities / mass)
        return math.inf if math.isnan(variance) else variance

    def quantile(self, q: float) -> float:
        """The least value that is not exceeded with probability q.

        Probabilities are summed from the nearer end, so that small ones there are not lost.
        """
        if not isinstance(q, Real) or not 0.0 <= q <= 1.0:
            raise InputError("quantile", "q must lie in 0..1", given=q)
        if not len(self.values):
            must = "some probability must have been kept to speak of quantiles"
            raise InputError("quantile", must, remedy=wording("Raise ", Argument("keep")))
        values, probabilities = self.ungrouped
        if q <= 0.5:
            up_to = np.cumsum(probabilities)
            place = int(np.searchsorted(up_to, q * up_to[-1] * (1.0 - _ROUNDING)))
        else:
            from_here = np.cumsum(probabilities[::-1])
            above = (1.0 - q) * from_here[-1] * (1.0 + _ROUNDING)
            place = len(values) - 1 - int(np.searchsorted(from_here, above, side="right"))
        return float(values[min(max(place, 0), len(values) - 1)])


def level_sets(values: Floats, probabilities: Floats) -> Levels:
    """The distribution of values that occur with these probabilities, equal values as one."""
    possible = probabilities > 0
    values, place = np.unique(values[possible], return_inverse=True)
    probabilities = np.bincount(place, probabilities[possible], len(values)).astype(np.float64)
    numbers = same_up_to_rounding(values)
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    grouped = np.add.reduceat(probabilities, starts) if len(starts) else probabilities
    return Levels(values[starts], grouped, np.stack([values, probabilities]))


@dataclass(frozen=True, eq=False)
class Expectation(Distribution):
    """The expected value of a loss or utility, its bounds, distribution and further outputs."""

    value: float  # the expectation; with ``keep``, the part of it that was kept
    lower: float  # the truth is at least this
    upper: float  # the truth is at most this
    kept: float  # the probability mass that was kept; 1 without ``keep``
    _levels: Callable[[], Levels] = field(repr=False)
    _outputs: Callable[[], dict[str, float]] = field(repr=False, default=dict)

    def __float__(self) -> float:
        return self.value

    @cached_property
    def levels(self) -> Levels:
        """The distribution of the utility, ascending: ``.values`` and ``.probabilities``."""
        return self._levels()

    @cached_property
    def outputs(self) -> dict[str, float]:
        """The expectations of the further outputs that the loss's file names, by name."""
        return self._outputs()

    @property
    def variance(self) -> float:
        """The variance of the utility."""
        return self.levels.variance

    def quantile(self, q: float) -> float:
        """The least value that is not exceeded with probability q."""
        return self.levels.quantile(q)


@dataclass(frozen=True, eq=False)
class Expectations:
    """Expected values of many hypotheses with their bounds, arrays of shape (hypotheses,).

    numpy takes it as the array of its values.
    """

    values: Floats  # the expectations; with ``keep``, the parts of them that were kept
    lower: Floats  # the truth is at least this
    upper: Floats  # the truth is at most this
    kept: Floats  # the probability masses that were kept; 1 without ``keep``

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Floats:
        found = np.asarray(self.values, dtype)
        return found.copy() if copy else found

    def __repr__(self) -> str:
        many = f"{len(self):,} expectations"
        if not len(self):
            return f"<{many}>"
        low = self.values.min()
        high = self.values.max()
        return f"<{many}: mean {self.values.mean():.6g}, from {low:.6g} to {high:.6g}>"


def check_finite(where: str, numbers: float | Floats) -> None:
    """Refuses results that doubles cannot hold."""
    if not np.isfinite(numbers).all():
        must = "the expected value must not overflow doubles: values of the loss are too large"
        raise InputError(where, must, remedy="Scale the loss down")


def estimated_expectations(
    queries: Sequence[Query], estimate: Estimate, levels: Callable[[Query], Levels]
) -> list[Expectation]:
    """The expectation of each query, with bounds as far apart as values may be off."""
    first = queries[0]
    check_finite(first.where, estimate.values)
    width = first.loss.value_range(first.n).width
    reach = estimate.reach(width) if first.n else 0.0 * estimate.values  # one pair has one value
    columns = (estimate.values, reach, estimate.masses)
    rows = zip(queries, *map(np.ndarray.tolist, columns), strict=True)
    return [
        Expectation(value, value - off, value + off, mass, partial(levels, query))
        for query, value, off, mass in rows
    ]


class LossyValue(NamedTuple):
    """An expected value, and bounds on what was left out of it."""

    value: float
    size: float  # the same sum without signs
    mass: float = 1.0  # of which it is the expectation
    lost: float = 0.0  # a bound on the mass that is missing
    escaped: float = 0.0  # a bound on what the value may be off by besides


def ranged_expectation(
    loss: Loss, n: int, where: str, found: LossyValue, levels: Callable[[], Levels]
) -> Expectation:
    """The expectation from a value of which a part may be missing.

    Values of the mass lost lie in the range that the file declares, which is finite then.
    """
    value = found.value
    check_finite(where, value)
    loss.check_range(n, np.array([value / found.mass]))
    low, high = loss.value_range(n) if found.lost else (0.0, 0.0)
    width = loss.value_range(n).width
    off = float(one_estimate(value, found.size).reach(width)[0]) + found.escaped
    lower = value + found.lost * min(0.0, low) - off
    upper = value + found.lost * max(0.0, high) + off
    return Expectation(value, lower, upper, found.mass, levels)


def kept_expectation(query: Query, levels: Levels) -> Expectation:
    """The expectation of what pruning kept, with bounds that include what it dropped."""
    values, probabilities = levels.ungrouped
    size = float(np.abs(values) @ probabilities)
    estimate = one_estimate(levels.mean, size, float(probabilities.sum()))
    [pruned] = estimated_expectations([query], estimate, lambda query: levels)
    lost = max(0.0, float(query.model.total_mass()) - pruned.kept)
    low, high = _value_range(query)
    if lost == 0.0 and math.isinf(high - low):
        return replace(pruned, _levels=partial(replace, levels))
    unseen = _ROUNDING if math.isfinite(high - low) else 0.0  # a part of the mass
    return replace(
        pruned,
        lower=pruned.lower + (lost + unseen) * min(low, 0.0) + lost * max(low, 0.0),
        upper=pruned.upper + (lost + unseen) * max(high, 0.0) + lost * min(high, 0.0),
        _levels=partial(replace, levels),
    )


def _value_range(query: Query) -> ValueRange:
    """The declared range of the value; infinite sides from the machine, if it can be built."""
    declared = query.loss.value_range(query.n)
    if declared.finite:
        return declared
    try:
        pairs = pair_layers(query.hypothesis, query.model.layered())
        values = query.loss.compile(query.n, query.labels, pairs=pairs).values
    except SizeLimitError:
        return declared
    low = max(declared.low, float(np.nanmin(values)))
    high = min(declared.high, float(np.nanmax(values)))
    return ValueRange(low, high)
