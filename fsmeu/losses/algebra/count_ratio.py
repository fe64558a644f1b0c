"""Values as functions of one count alone, offset + gain (k + shift)^-power, and of totals.

Where one sequence is given, the counts of that sequence are numbers, and what is left of F-scores,
precision or Jaccard is a function of the one count that looks at the other sequence. Values of
totals are ratios of a joint count, of which nothing is known, and of a count of each tape.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.errors import LossFileError
from fsmeu.losses.algebra.confusion import NoFormError
from fsmeu.losses.algebra.functions import Function, Polynomial, known, rows_at, without_zero_powers
from fsmeu.losses.algebra.ratios import Part, parts_of, second_count
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.language.syntax import Expr
from fsmeu.losses.semantics.evaluator import Scope

_MOST_CANCELLED = 64.0  # how many times the function its offset may be


class CountRatio(NamedTuple):
    """A function offset + gain (k + shift)^-power of a count k."""

    offset: float
    gain: float
    shift: float
    power: float


class Count(NamedTuple):
    """A register that counts: its value is ``start`` + k, and k lies between two numbers."""

    name: str
    start: float
    least: float
    most: float


def ratio_of_count(expr: Expr, scope: Scope, count: Count) -> CountRatio | None:
    """An expression as a function of one count, everything else being known; None if it is none.

    Proven for every k in the range of the count: conditions hold at all of them or at none, and
    k + shift is above 0. None as well where offset and ratio are far greater than their sum, in
    which digits would be lost.
    """
    places = second_count(known(np.zeros(1)), count.least, count.most)
    own = Polynomial(np.array([[count.start], [0.0], [1.0]]))
    try:
        parts = parts_of(expr, scope, places, {count.name: own})
        denominators = [places.values(part.below) for part in parts]
    except (NoFormError, LossFileError):
        return None
    if not all(clear.all() and (values.low > 0).all() for values, clear in denominators):
        return None
    total = CountRatio(0.0, 0.0, 1.0 - count.least, 1.0)
    for part in parts:
        one = _one_ratio(rows_at(part.top, np.zeros(1)), rows_at(part.below, np.zeros(1)), part)
        joined = None if one is None else _joined(total, one)
        if joined is None:
            return None
        total = joined
    return None if _cancels(total, count) else total


def _cancels(ratio: CountRatio, count: Count) -> bool:
    """Whether the offset is far greater than the function, which is monotone, is anywhere."""
    ends = (count.least, count.most)
    values = [ratio.offset + ratio.gain * (k + ratio.shift) ** -ratio.power for k in ends]
    return bool(abs(ratio.offset) > _MOST_CANCELLED * max(map(abs, values)))


def _one_ratio(top: Floats, below: Floats, part: Part) -> CountRatio | None:
    """One ratio of affine functions of a count, coefficients (3, 1), if it has the form."""
    constant_top = float(top[0, 0])
    steep_top = float(top[2, 0])
    fixed = float(below[0, 0])
    steep = float(below[2, 0])
    if steep < 0 or (steep_top and (steep == 0 or part.power != 1.0)):
        return None
    if steep == 0:
        return CountRatio(constant_top / fixed**part.power, 0.0, 0.0, part.power)
    multiple = steep_top / steep
    gain = (constant_top - multiple * fixed) / steep**part.power
    return CountRatio(multiple, gain, fixed / steep, part.power)


def _joined(left: CountRatio, right: CountRatio) -> CountRatio | None:
    """The sum of two functions, of which one has no gain or whose denominators are the same."""
    if left.gain and right.gain and (left.shift, left.power) != (right.shift, right.power):
        return None
    owner = left if left.gain else right
    if not owner.gain:
        owner = left
    return owner._replace(offset=left.offset + right.offset, gain=left.gain + right.gain)


# -- totals of a corpus ----------------------------------------------------------------------------


class TotalsRatio(NamedTuple):
    """The value as gain T D^-power + offset, D = fixed + steep S, by the count of z, (ks,) each.

    T is the joint count, S the count of y.
    """

    gain: Floats
    fixed: Floats
    steep: Floats
    power: float
    offset: Floats


def ratio_of_totals(
    form: Split, n: int, ks: Floats, least: float, most: float
) -> TotalsRatio | None:
    """The value for counts ks of z, those of y being from ``least`` to ``most``; or None.

    D is above 0. Nothing is known of T: conditions and denominators must not look at it. Terms
    N / D in which N is a multiple of D, the multiple depending on the count of z alone, are offset.
    """
    if not form.counted or len(form.joint_counts) != 1:
        return None
    joint = form.joint_counts[0].register
    start = float(form.bound.at(n).starts[joint])
    registers: dict[str, Function] = {joint: Polynomial(np.array([[start], [1.0], [0.0]]))}
    for name, column in ((form.z.counter, 0), (form.y.counter, 2)):
        if name is not None:
            rows = np.zeros((3, 2))
            rows[column] = (1.0, 0.0) if column else (0.0, 1.0)
            registers[name] = without_zero_powers(rows)
    places = second_count(known(ks), least, most)
    try:
        scope = Scope(form.bound, {"n": float(n)}, {}, {})
        parts = parts_of(form.bound.spec.value, scope, places, registers)
        denominators = [places.values(part.below) for part in parts]
    except (NoFormError, LossFileError):
        return None
    if not all(clear.all() and (values.low >= 0).all() for values, clear in denominators):
        return None
    offset = np.zeros(len(ks))
    ratios = []
    for part in parts:
        top = rows_at(part.top, ks)
        below = rows_at(part.below, ks)
        column = 2 if below[2].all() else 0
        multiple = top[column] / below[column]
        if (top[::2] != multiple * below[::2]).any() or (multiple.any() and part.power != 1.0):
            return None
        offset += multiple
        if top[1].any():
            ratios.append((top[1], below, part.power))
    if len(ratios) != 1:
        return None
    gain, below, power = ratios[0]
    return TotalsRatio(gain, below[0], below[2], power, offset)
