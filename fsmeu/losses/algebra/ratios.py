"""Values that are sums of ratios N / D^a of counts, a = 1 or 1/2, derived from the expression tree.

Two labels; z has k ones. With A ones of y among the positions where z has one and B among the
others, every register of a confusion table is affine in (1, A, B), with coefficients that depend on
k and n, and so are N and D: F-scores, recall, Jaccard, kappa (D is affine given k), balanced
accuracy (two ratios), tp / sqrt(hyp * ref). An affine function on the tables of one k is bounded by
its values at the vertices of 0 <= A <= k, 0 <= B <= n - k, 1 <= A + B <= n - 1, so that signs of
denominators, conditions, bounds of ratios and monotonicity are decided there. The two tables
without and with nothing but ones of y stand apart: what the file answers there is compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fsmeu.arrays import Bools, Floats
from fsmeu.errors import LossFileError
from fsmeu.losses.algebra.confusion import Confusion, Form, NoFormError, form_of, value_of_counts
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.semantics.evaluator import BoundLoss, Scope

_CLEAR = 1e-9  # a sum is not 0 if it is more than this part of its terms without signs


@dataclass(frozen=True, eq=False)
class CountPolytope:
    """The vertices of what two counts can be, (vertices, ks), and which ks have them.

    Where not ``a_known``, no function of the first count has a value.
    """

    a: Floats
    b: Floats
    inside: Bools
    a_known: bool = True

    def values(self, affine: Floats) -> tuple[Floats, Bools]:
        """An affine function at the vertices, 0 where a k has not got one, and if it is clear."""
        if not self.a_known and affine[1].any():
            raise NoFormError
        values = np.where(self.inside, _value(affine, self.a, self.b), 0.0)
        clear = np.abs(values) > _CLEAR * np.abs(_value(np.abs(affine), self.a, self.b))
        return values, clear | ~self.inside


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


@dataclass(frozen=True, eq=False)
class _AffineSum(Form):
    """An affine function of two random counts plus ratios of such, for several ks.

    ``affine`` has its coefficients on 1 and both counts, (3, ks), ``ratios`` numerators and
    denominators, both (3, ks), and powers. If ``rooted``, the square root of the affine function is
    meant; ``scale`` is what of that is a factor which depends on k alone.
    """

    affine: Floats
    places: CountPolytope
    ratios: tuple[tuple[Floats, Floats, float], ...] = ()
    rooted: bool = False
    scale: Floats | float = 1.0

    @property
    def of_k(self) -> bool:
        """True when it depends on k alone."""
        return not self.ratios and not self.rooted and not self.affine[1:].any()

    def scaled(self, factor: Floats) -> _AffineSum:
        """The product with a number for each k."""
        ratios = tuple((factor * top, below, power) for top, below, power in self.ratios)
        affine, scale = factor * self.affine, factor * self.scale
        return replace(self, affine=affine, ratios=ratios, scale=scale)

    def lifted(self, number: float) -> _AffineSum:
        affine = np.zeros_like(self.affine)
        affine[0] = number
        return _AffineSum(affine, self.places)

    def plus(self, other: _AffineSum) -> _AffineSum:
        if self.rooted and not other.ratios and not other.affine.any():
            return self
        if self.rooted or other.rooted:
            raise NoFormError
        return _AffineSum(self.affine + other.affine, self.places, self.ratios + other.ratios)

    def times(self, other: _AffineSum) -> _AffineSum:
        factor, total = (self, other) if self.of_k else (other, self)
        if not factor.of_k or total.rooted:
            raise NoFormError
        return total.scaled(factor.affine[0])

    def over(self, other: _AffineSum) -> _AffineSum:
        if other.of_k and other.affine[0].all():
            return self.scaled(1 / other.affine[0])
        if other.ratios or self.ratios or self.rooted or not np.all(other.scale > 0):
            raise NoFormError
        power = 0.5 if other.rooted else 1.0
        ratio = (self.affine / other.scale**power, other.affine / other.scale, power)
        return _AffineSum(np.zeros_like(self.affine), self.places, (ratio,))

    def root(self) -> _AffineSum:
        if self.of_k and (self.affine[0] >= 0).all():
            return _AffineSum(np.sqrt(self.affine), self.places)
        return replace(self, rooted=True)

    def is_zero(self) -> bool | None:
        if self.ratios:
            return None
        values, clear = self.places.values(self.affine)
        one_sign = (values >= 0).all(axis=0) | (values <= 0).all(axis=0)
        if clear.all() and one_sign.all():
            return False
        return None if self.affine.any() else True


def _value(affine: Floats, a: Floats, b: Floats | float) -> Floats:
    """The affine function of two counts, (ks,)."""
    return np.asarray(affine[0] + affine[1] * a + affine[2] * b)


def _ratios(
    bound: BoundLoss, n: int, places: CountPolytope, registers: Mapping[str, Floats]
) -> list[tuple[Floats, Floats, float]]:
    """Numerators, denominators, powers of ratios whose sum the value is; registers are (3, ks)."""
    zero = _AffineSum(np.zeros((3, len(places.a[0]))), places)
    forms = {name: _AffineSum(affine, places) for name, affine in registers.items()}
    total: _AffineSum = form_of(
        bound.spec.value, forms, zero, Scope(bound, {"n": float(n)}, {}, {})
    )
    if total.rooted:
        raise NoFormError
    if total.ratios and not total.affine.any():
        return list(total.ratios)
    return [(total.affine, zero.lifted(1.0).affine, 1.0), *total.ratios]


def sum_of_ratios(form: Confusion, n: int, ks: Floats) -> RatioSum | None:
    """The value as a sum of ratios where z has k of n ones, for every k of ks; None if it is none.

    Requires n >= 2. Conditions must be the same for all ks: 0, n and the numbers between them are
    given one after the other.

    Proven: the value of every table with one of these k is the sum of the ratios and of what is
    added at the two tables that stand apart, up to roundings of the file's own arithmetic.
    """
    zero, one, rest = np.zeros_like(ks), np.ones_like(ks), n - ks
    corners = [(one, zero), (zero, one), (ks, zero), (zero, rest), (ks, rest - 1), (ks - 1, rest)]
    a, b = (np.stack(side) for side in zip(*corners, strict=True))
    inside = (a >= 0) & (a <= ks) & (b >= 0) & (b <= rest) & (a + b >= 1) & (a + b < n)
    places = CountPolytope(a, b, inside)
    registers = {}
    for name, start in form.bound.at(n).starts.items():
        (tn, fn), (fp, tp) = form.amounts[name]
        base = start + fp * ks + tn * rest
        registers[name] = np.stack([base, one * (tp - fp), one * (fn - tn)])
    apart = (zero, zero), (ks, rest)
    try:
        parts = _ratios(form.bound, n, places, registers)
        ratios = [_bounded(places, apart, *part) for part in parts]
        no_ones, all_ones = (_apart(form, n, ks, ratios, *table) for table in apart)
    except (NoFormError, LossFileError):
        return None
    slopes = []  # affine functions with the sign of what one more true positive does, ref given
    for ratio in ratios:
        more, deeper = (side[1] - side[2] for side in (ratio.top, ratio.below))
        slopes.append(places.values(more * ratio.below - ratio.power * deeper * ratio.top)[0])
    rises, falls = all((x >= 0).all() for x in slopes), all((x <= 0).all() for x in slopes)
    return RatioSum(ratios, no_ones, all_ones, rises, falls)


def _bounded(
    places: CountPolytope,
    apart: Iterable[tuple[Floats, Floats]],
    top: Floats,
    below: Floats,
    power: float,
) -> Ratio:
    """The ratio with its bounds; a NoFormError where D is not above 0 at some table."""
    values, clear = places.values(below)
    tops = np.abs(places.values(top)[0])
    ends = [(_value(below, *table), np.abs(_value(top, *table))) for table in apart]
    if not clear.all() or (values < 0).any() or any((end < 0).any() for end, _ in ends):
        raise NoFormError
    values = np.concatenate([values, [end for end, _ in ends]])
    tops = np.concatenate([tops, [end for _, end in ends]])
    used = values > 0
    most = np.where(used, tops / np.where(used, values, 1.0), 0.0).max(axis=0)
    if power != 1.0:
        most = most * np.sqrt(values.max(axis=0))
    return Ratio(top, below, power, most, float(values[used].min()), float(values.max()))


def _apart(
    form: Confusion, n: int, ks: Floats, ratios: list[Ratio], a: Floats, b: Floats
) -> Floats:
    """The value minus the sum of the ratios at one table of each k, (ks,)."""
    answers = value_of_counts(form, n, a, ks, a + b)
    for ratio in ratios:
        top, below = _value(ratio.top, a, b), _value(ratio.below, a, b)
        if (top[below <= 0] != 0).any():
            raise NoFormError
        answers = answers - top * np.where(below > 0, below, np.inf) ** -ratio.power
    return answers


def ratio_of_totals(form: Split, n: int, ks: Floats, most: float) -> Ratio | None:
    """The value as b T / D^power, T being the joint count and D affine in the count of y; or None.

    Coefficients are on 1, T and the count of y, which is at most ``most``, for counts ks of z; D is
    above 0. Nothing is known of T: conditions and denominators must not look at it.
    """
    if not form.counted or len(form.joint_counts) != 1:
        return None
    joint = form.joint_counts[0].register
    registers = {joint: np.zeros((3, len(ks)))}
    registers[joint][0] = form.bound.at(n).starts[joint]
    registers[joint][1] = 1.0
    for name, column in ((form.z.counter, 0), (form.y.counter, 2)):
        if name is not None:
            registers[name] = np.zeros((3, len(ks)))
            registers[name][column] = 1.0 if column else ks
    zero = np.zeros((2, len(ks)))
    b = zero + np.array([[0.0], [most]])
    places = CountPolytope(zero, b, zero == 0, a_known=False)
    try:
        (top, below, power), *others = _ratios(form.bound, n, places, registers)
        values, clear = places.values(below)
    except (NoFormError, LossFileError):
        return None
    if others or top[0].any() or top[2].any() or not clear.all() or (values < 0).any():
        return None
    return Ratio(top, below, power, np.full(len(ks), np.inf), values.min(), values.max())
