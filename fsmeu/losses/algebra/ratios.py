"""Values that are sums of ratios N / D^a of counts, a = 1 or 1/2, derived from the expression tree.

Two labels; z has k ones. With A ones of y among the positions where z has one and B among the
others, every register of a confusion table is affine in (1, A, B), with coefficients that depend on
k and n, and so are N and D: F-scores, recall, Jaccard, kappa (D is affine given k), balanced
accuracy (two ratios), tp / sqrt(hyp * ref). An affine function on the tables of one k is bounded by
its values at the vertices of 0 <= A <= k, 0 <= B <= n - k, 1 <= A + B <= n - 1, so that signs of
denominators, conditions, bounds of ratios and monotonicity are decided there. The two tables
without and with nothing but ones of y stand apart: what the file answers there is compared.

Coefficients are functions of k, mostly polynomials. They are looked at for given k, or as intervals
that hold them for all k of a block: then what is decided holds for every k of the block, and ten
million k are decided as fast as a thousand (``ratio_family.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Bools, Floats
from fsmeu.errors import LossFileError
from fsmeu.losses.algebra.confusion import Confusion, Form, NoFormError, form_of, value_of_counts
from fsmeu.losses.algebra.functions import (
    Combined,
    Function,
    Interval,
    Polynomial,
    Power,
    UndecidedError,
    constant,
    known,
    rows_at,
    without_zero_powers,
)
from fsmeu.losses.language.syntax import Expr
from fsmeu.losses.semantics.evaluator import Scope

_CLEAR = 1e-9  # a sum is not 0 if it is more than this part of its terms without signs


# -- what holds at all tables ----------------------------------------------------------------------


class Corners(NamedTuple):
    """Vertices of what two counts can be, A = a + a_k k and B = b + b_k k, (vertices, 1) each."""

    a: Floats
    a_k: Floats
    b: Floats
    b_k: Floats

    def values(self, affine: Interval, ks: Interval) -> Interval:
        """An affine function of two counts at the vertices, (vertices, ks)."""
        start = affine[0] + affine[1] * known(self.a) + affine[2] * known(self.b)
        return start + (affine[1] * known(self.a_k) + affine[2] * known(self.b_k)) * ks

    def sizes(self, affine: Interval, ks: Interval) -> Floats:
        """Bounds on the terms of the function at the vertices without signs, (vertices, ks)."""
        a = (known(self.a) + known(self.a_k) * ks).size
        b = (known(self.b) + known(self.b_k) * ks).size
        size: Floats = affine.size[0] + affine.size[1] * a + affine.size[2] * b
        return size


def _corners(*rows: tuple[float, float, float, float]) -> Corners:
    """Vertices by a, a_k, b and b_k."""
    columns = np.array(rows, np.float64).T[:, :, None]
    return Corners(columns[0], columns[1], columns[2], columns[3])


@dataclass(frozen=True, eq=False)
class CountPolytope:
    """The vertices of what two counts can be, for several k or blocks of k.

    Attributes:
        ks: numbers of ones of z, (ks,).
        corners: the vertices.
        inside: which of them which k has, (vertices, ks).
        a_known: where not, no function of the first count has a value.
    """

    ks: Interval
    corners: Corners
    inside: Bools
    a_known: bool = True

    def values(self, affine: Function) -> tuple[Interval, Bools]:
        """An affine function at the vertices, 0 where a k has not got one, and if it is clear."""
        if not self.a_known and not affine.zero_rows()[1]:
            raise NoFormError
        rows = affine.at(self.ks)
        values = self.corners.values(rows, self.ks)
        low = np.where(self.inside, values.low, 0.0)
        high = low if values.is_known else np.where(self.inside, values.high, 0.0)
        room = _CLEAR * self.corners.sizes(rows, self.ks)
        return Interval(low, high), (low > room) | (high < -room) | ~self.inside

    def zero(self, affine: Function) -> bool | None:
        """Whether a function is 0 at all tables; False where it is at none, else None."""
        values, clear = self.values(affine)
        one_sign = (values.low >= 0).all(axis=0) | (values.high <= 0).all(axis=0)
        unclear = np.logical_not(clear.all(axis=0) & one_sign)
        if not unclear.any():
            return False
        if affine.zero_rows().all() or not (values.low.any() or values.high.any()):
            return True
        self.refine(unclear)
        return None

    def has_one_sign(self, function: Function) -> bool:
        """Whether a function of k alone is nowhere 0."""
        numbers = function.at(self.ks)
        doubtful = ((numbers.low <= 0) & (numbers.high >= 0))[0]
        doubtful = np.broadcast_to(doubtful, self.ks.low.shape)
        self.refine(doubtful)
        return not doubtful.any()

    def refine(self, blocks: Bools) -> None:
        """An UndecidedError if none of these blocks is a single k, for which it is decided."""
        wide = self.ks.high > self.ks.low
        if blocks.any() and not (blocks & ~wide).any():
            raise UndecidedError(blocks)


@dataclass(frozen=True, eq=False)
class Ratio:
    """N / D^power for several numbers k of ones of z, power being 1 or 1/2.

    ``top`` and ``below`` are coefficients of N and D on 1, A and B, (3, ks), ``most`` bounds on the
    absolute value of the ratio, (ks,); of all D that are not 0, one is the least, one the greatest.
    """

    top: Floats
    below: Floats
    power: float
    most: Floats
    least_below: float
    most_below: float


@dataclass(frozen=True, eq=False)
class RatioSum:
    """The value as a sum of ratios, for several numbers k of ones of z; one whose D is 0 is 0.

    ``no_ones`` and ``all_ones``, (ks,), are what the value adds to their sum where y has no ones or
    nothing else. It ``rises`` or ``falls`` if it never does the other with true positives, the
    number of ones of y given.
    """

    ratios: list[Ratio]
    no_ones: Floats
    all_ones: Floats
    rises: bool
    falls: bool


class Part(NamedTuple):
    """A ratio N / D^power: coefficients of N and D on 1, A and B, as functions of k."""

    top: Function
    below: Function
    power: float

    def linear_sides(self) -> tuple[Floats, Floats] | None:
        """N and D as sums of 1, tp, hyp and ref, (4,) each; None where they are no such sums.

        A factor that depends on k alone may stand below: tp / hyp.
        """
        if self.power != 1.0:
            return None
        sides: tuple[Function, Function]
        match self.top, self.below:
            case Polynomial() as top, Polynomial() as below:
                sides = (top, below)
            case Combined("product", Polynomial() as top, Power(base, -1.0)), Polynomial() as below:
                divisor = Polynomial(np.array([[1.0], [0.0], [0.0]])) * base
                if not below.zero_rows()[1:].all() or below.coefficients.shape[1] > 1:
                    return None
                sides = (top, divisor * constant(float(below.coefficients[0, 0])))
            case _:
                return None
        linear = [_linear(side) for side in sides]
        return None if linear[0] is None or linear[1] is None else (linear[0], linear[1])


def _linear(side: Function) -> Floats | None:
    """A function of k, A and B as a sum of 1, tp, hyp and ref, (4,), if it is one."""
    if not isinstance(side, Polynomial) or side.coefficients.shape[1] > 2:
        return None
    rows = np.zeros((3, 2))
    rows[:, : side.coefficients.shape[1]] = side.coefficients
    if rows[1:, 1].any():
        return None
    return np.array([rows[0, 0], rows[1, 0] - rows[2, 0], rows[0, 1], rows[2, 0]])


_ONE = constant(1.0)


@dataclass(frozen=True, eq=False)
class _AffineSum(Form):
    """An affine function of two random counts plus ratios of such.

    ``affine`` has its coefficients on 1 and both counts. If ``rooted``, the square root of the
    affine function is meant; ``scale`` is what of that is a factor which depends on k alone.
    """

    affine: Function
    places: CountPolytope
    parts: tuple[Part, ...] = ()
    rooted: bool = False
    scale: Function = _ONE

    @property
    def of_k(self) -> bool:
        """True when it depends on k alone."""
        return not self.parts and not self.rooted and bool(self.affine.zero_rows()[1:].all())

    def scaled(self, factor: Function) -> _AffineSum:
        """The product with a function of k."""
        parts = tuple(Part(part.top * factor, part.below, part.power) for part in self.parts)
        affine = self.affine * factor
        return replace(self, affine=affine, parts=parts, scale=self.scale * factor)

    def lifted(self, number: float) -> _AffineSum:
        return _AffineSum(Polynomial(np.array([[number], [0.0], [0.0]])), self.places)

    def plus(self, other: _AffineSum) -> _AffineSum:
        if self.rooted and not other.parts and other.affine.zero_rows().all():
            return self
        if self.rooted or other.rooted:
            raise NoFormError
        return _AffineSum(self.affine + other.affine, self.places, self.parts + other.parts)

    def times(self, other: _AffineSum) -> _AffineSum:
        factor = self if self.of_k else other
        total = other if self.of_k else self
        if not factor.of_k or total.rooted:
            raise NoFormError
        return total.scaled(factor.affine.row(0))

    def over(self, other: _AffineSum) -> _AffineSum:
        if other.of_k and self.places.has_one_sign(other.affine.row(0)):
            return self.scaled(other.affine.row(0).power(-1.0))
        if other.parts or self.parts or self.rooted:
            raise NoFormError
        if not (other.scale.at(self.places.ks).low > 0).all():
            raise NoFormError
        power = 0.5 if other.rooted else 1.0
        below = other.affine
        top = self.affine
        if other.scale is not _ONE:
            below = below * other.scale.power(-1.0)
            top = top * other.scale.power(-power)
        return _AffineSum(self.lifted(0.0).affine, self.places, (Part(top, below, power),))

    def root(self) -> _AffineSum:
        if self.of_k and (self.affine.row(0).at(self.places.ks).low >= 0).all():
            return _AffineSum(self.affine.power(0.5), self.places)
        return replace(self, rooted=True)

    def is_zero(self) -> bool | None:
        return None if self.parts else self.places.zero(self.affine)


def parts_of(
    expr: Expr, scope: Scope, places: CountPolytope, registers: Mapping[str, Function]
) -> list[Part]:
    """The ratios whose sum an expression is; registers are affine functions of both counts."""
    zero = _AffineSum(Polynomial(np.zeros((3, 1))), places)
    forms = {name: _AffineSum(affine, places) for name, affine in registers.items()}
    total: _AffineSum = form_of(expr, forms, zero, scope)
    if total.rooted:
        raise NoFormError
    if total.parts and total.affine.zero_rows().all():
        return list(total.parts)
    return [Part(total.affine, zero.lifted(1.0).affine, 1.0), *total.parts]


def _registers(form: Confusion, n: int) -> dict[str, Function]:
    """The registers at the end as affine functions of both counts, by name."""
    registers: dict[str, Function] = {}
    for register in form.bound.spec.registers:
        (tn, fn), (fp, tp) = form.amounts[register.name]
        start = form.bound.at(n).starts[register.name] + tn * n
        rows = np.array([[start, fp - tn], [tp - fp, 0.0], [fn - tn, 0.0]])
        registers[register.name] = without_zero_powers(rows)
    return registers


def count_polytope(n: int, ks: Interval) -> CountPolytope:
    """The tables with so many ones of z, without the two that stand apart."""
    corners = _corners(
        (1, 0, 0, 0),
        (0, 0, 1, 0),
        (0, 1, 0, 0),
        (0, 0, n, -1),
        (0, 1, n - 1, -1),
        (-1, 1, n, -1),
    )
    a = corners.a + corners.a_k * ks.low  # what is inside, is so for all k of a block
    b = corners.b + corners.b_k * ks.low
    inside = (a >= 0) & (a <= ks.low) & (b >= 0) & (b <= n - ks.low) & (a + b >= 1) & (a + b < n)
    return CountPolytope(ks, corners, inside)


def second_count(ks: Interval, least: float, most: float) -> CountPolytope:
    """What the second count can be, from least to most, where nothing is known of the first."""
    corners = _corners((0, 0, least, 0), (0, 0, most, 0))
    return CountPolytope(ks, corners, np.ones((2, len(ks.low)), bool), a_known=False)


def degenerate_corners(n: int) -> Corners:
    """The tables without ones of y, and with nothing else."""
    return _corners((0, 0, 0, 0), (0, 1, n, -1))


@dataclass(frozen=True, eq=False)
class RatioBounds:
    """Bounds on a ratio for several k or blocks of k."""

    most: Floats  # on its absolute value, (ks,)
    least: Floats  # on the D that are not 0, from below, (ks,)
    greatest: Floats  # on D, (ks,)


def sum_of_ratios(form: Confusion, n: int, ks: Floats) -> RatioSum | None:
    """The value as a sum of ratios where z has k of n ones, for every k of ks; None if it is none.

    Conditions must be the same for all ks: 0, n and the numbers between them are given one after
    the other. A sequence of one label has no tables but those that stand apart.

    Proven: the value of every table with one of these k is the sum of the ratios and of what is
    added at the two tables that stand apart, up to roundings of the file's own arithmetic.
    """
    at_ks = known(ks)
    try:
        derived = derive_ratios(form, n, at_ks)
        parts = derived.parts
        no_ones, all_ones = degenerate_values(form, n, ks, parts)  # one row each
    except (NoFormError, LossFileError):
        return None
    ratios = [
        Ratio(
            rows_at(part.top, ks),
            rows_at(part.below, ks),
            part.power,
            bounds.most,
            float(bounds.least.min()),
            float(bounds.greatest.max()),
        )
        for part, bounds in zip(parts, derived.bounds, strict=True)
    ]
    return RatioSum(ratios, no_ones, all_ones, derived.rises, derived.falls)


def ratios_of_number(form: Confusion, n: int, k: float) -> RatioSum | None:
    """The value as a sum of ratios where z has k of n ones; None if it is none. It is kept."""
    return form.derived.get(("ratios", n, k), lambda: sum_of_ratios(form, n, np.array([k])))


class DerivedRatios(NamedTuple):
    """The ratios whose sum the value is, and what holds for several k or blocks of k."""

    parts: list[Part]
    bounds: list[RatioBounds]
    rises: bool
    falls: bool


@np.errstate(over="ignore", invalid="ignore")  # what is not finite is refused later
def derive_ratios(form: Confusion, n: int, ks: Interval) -> DerivedRatios:
    """The ratios whose sum the value is; a NoFormError if there are none."""
    if n == 1:
        return DerivedRatios([], [], True, True)
    places = count_polytope(n, ks)
    scope = Scope(form.bound, {"n": float(n)}, {}, {})
    parts = parts_of(form.bound.spec.value, scope, places, _registers(form, n))
    bounds = [_bounds(places, n, part) for part in parts]
    slopes = []  # affine functions with the sign of what one more true positive does, ref given
    for part in parts:
        more = part.top.row(1) - part.top.row(2)
        deeper = part.below.row(1) - part.below.row(2)
        slope = part.below * more - part.top * (deeper * constant(part.power))
        slopes.append(places.values(slope)[0])
    rises = _is_never_below_zero(places, slopes)
    falls = _is_never_below_zero(places, [-slope for slope in slopes])
    return DerivedRatios(parts, bounds, rises, falls)


def _is_never_below_zero(places: CountPolytope, slopes: list[Interval]) -> bool:
    """Whether no slope, (vertices, ks), is below 0 at any table."""
    if any((slope.high < 0).any() for slope in slopes):
        return False
    below = np.zeros(len(places.ks.low), bool)
    for slope in slopes:
        below |= (slope.low < 0).any(axis=0)
    places.refine(below)
    return not below.any()


def _bounds(places: CountPolytope, n: int, part: Part) -> RatioBounds:
    """Bounds on a ratio; a NoFormError where D is not above 0 at some table."""
    values, clear = places.values(part.below)
    faults = ~clear.all(axis=0) | (values.low < 0).any(axis=0)
    ends = degenerate_corners(n)
    below = ends.values(part.below.at(places.ks), places.ks)
    # A D that may be 0 or not, in a wide block, has no bound from below.
    faults |= ((below.low < 0) | ((below.low == 0) & (below.high > 0))).any(axis=0)
    if faults.any():
        places.refine(faults)
        raise NoFormError
    is_zero = below.high <= 0  # where D is 0 for all of a block, N is looked at at three k
    for k in (places.ks.low, (places.ks.low + places.ks.high) / 2, places.ks.high):
        if is_zero.any() and (ends.values(part.top.at(known(k)), known(k)).low[is_zero] != 0).any():
            raise NoFormError
    tops = places.values(part.top)[0].size
    size = np.concatenate([tops, ends.values(part.top.at(places.ks), places.ks).size])
    low = np.concatenate([values.low, below.low])
    high = np.concatenate([values.high, below.high])
    used = low > 0
    most = np.where(used, size * np.where(used, low, 1.0) ** -part.power, 0.0).max(axis=0)
    greatest = high.max(axis=0)
    if part.power != 1.0:  # N / D^a is the greatest of |N| / D times D^(1 - a)
        most = np.where(used, size / np.where(used, low, 1.0), 0.0).max(axis=0) * np.sqrt(greatest)
    least = np.where(used, low, np.inf).min(axis=0)
    return RatioBounds(most, least, greatest)


def degenerate_values(form: Confusion, n: int, ks: Floats, parts: Sequence[Part]) -> Floats:
    """The value minus the sum of ratios where y has no ones, and nothing else, (2, ks)."""
    corners = degenerate_corners(n)
    a = corners.a + corners.a_k * ks
    b = corners.b + corners.b_k * ks
    answers = value_of_counts(form, n, a, ks, a + b)
    at_ks = known(ks)
    for part in parts:
        top = corners.values(part.top.at(at_ks), at_ks).low
        below = corners.values(part.below.at(at_ks), at_ks).low
        if (top[below <= 0] != 0).any():
            raise NoFormError
        answers = answers - top * np.where(below > 0, below, np.inf) ** -part.power
    return answers
