"""Numbers that know their rounding: an exact value, and what doubles can promise of it.

Beside its value a number carries the sum of the sizes of all terms that went into it, so that
``UNIT`` times this size bounds, up to a small factor, what any order of adding them loses. Where a
comparison turns on rounding, or a result leaves the doubles, there is no telling what a file means,
and ``Unsure`` is raised.
"""

import math
import operator
import sys
from fractions import Fraction
from numbers import Number

from tests.losses.meaning import Undefined, World, function, power

UNIT = sys.float_info.epsilon / 2
SURE = 64  # operations that a comparison may have gone through
_LARGE, _SMALL = 1e290, 1e-290
_MOST_POWER = 2000


class Unsure(Exception):
    """What a file says here depends on rounding."""


class Rounded(Number):
    """A number.

    Attributes:
        value: its exact value, an int or a fraction.
        size: the sizes of the terms that it is made of, summed.
        plain: True when doubles hold it, and all that it was made of, exactly.
    """

    __slots__ = ("plain", "size", "value")
    __hash__ = None

    def __init__(self, value, size=None, plain=True):
        if type(value) is float:
            value = Fraction(value)
        if type(value) is Fraction and value.denominator == 1:
            value = value.numerator
        self.value = value
        self.size = float(abs(value)) if size is None else size
        self.plain = plain and _held(value)

    @property
    def slack(self):
        """How far a result in doubles may be off."""
        return 0.0 if self.plain else UNIT * self.size

    def _told_apart(self, other):
        """The other number as one of these, where it is known which of both is greater."""
        other = as_rounded(other)
        if not (self.plain and other.plain):
            apart = float(abs(self.value - other.value))
            if apart <= SURE * UNIT * (self.size + other.size):
                raise Unsure("a comparison turns on rounding")
        return other

    def __eq__(self, other):
        if type(other) is not Rounded and not isinstance(other, Number):
            return NotImplemented
        return self.value == self._told_apart(other).value

    def __lt__(self, other):
        return self.value < self._told_apart(other).value

    def __le__(self, other):
        return self.value <= self._told_apart(other).value

    def __gt__(self, other):
        return self.value > self._told_apart(other).value

    def __ge__(self, other):
        return self.value >= self._told_apart(other).value

    def __add__(self, other):
        other = as_rounded(other)
        return _made(self.value + other.value, self.size + other.size, self, other)

    def __sub__(self, other):
        return self + -as_rounded(other)

    def __mul__(self, other):
        other = as_rounded(other)
        return _made(self.value * other.value, self.size * other.size, self, other)

    def __truediv__(self, other):
        other = as_rounded(other)
        if other == 0:
            raise Undefined("division by zero")
        below = float(abs(other.value))
        size = self.size / below * (other.size / below)
        return _made(Fraction(self.value) / other.value, size, self, other)

    def __mod__(self, other):
        other = as_rounded(other)
        if other.value == 1 and other.plain and self.plain:
            whole = math.floor(self.value)  # most remainders ask whether a number is whole
            return Rounded(self.value - whole, self.size + abs(whole))
        return self - other * math.floor(self / other)

    def __pow__(self, other):
        return _power(self, as_rounded(other))

    def __neg__(self):
        return Rounded(-self.value, self.size, self.plain)

    def __abs__(self):
        return Rounded(abs(self.value), self.size, self.plain)

    def __floor__(self):
        near = round(self.value)
        if not self.plain and abs(self.value - near) <= SURE * UNIT * self.size:
            raise Unsure("a whole number turns on rounding")
        return math.floor(self.value)

    def __ceil__(self):
        return -math.floor(-self)

    def __int__(self):
        return int(self.value)

    def __float__(self):
        return float(self.value)


def _reflected(name):
    return lambda self, other: getattr(operator, name)(as_rounded(other), self)


for _name in ("add", "sub", "mul", "truediv", "mod", "pow"):
    setattr(Rounded, f"__r{_name}__", _reflected(_name))


def as_rounded(value):
    """The number as one that knows its rounding."""
    return value if type(value) is Rounded else Rounded(value)


def _held(value):
    """True when a double holds the number."""
    if type(value) is int:
        return abs(value) <= 2**53
    below = value.denominator
    return below & (below - 1) == 0 and abs(value.numerator) <= 2**53


def _made(value, size, *parts):
    """The number of this value and of a size that is no smaller, made of these parts."""
    if size > _LARGE:
        if abs(value) > sys.float_info.max:
            raise Undefined("too large")
        raise Unsure("at the ends of the doubles")
    if type(value) is not int and value and abs(float(value)) < _SMALL:
        raise Unsure("at the ends of the doubles")
    return Rounded(value, size, all(part.plain for part in parts))


def _power(base, exponent):
    whole = type(exponent.value) is int
    if whole and abs(exponent.value) > _MOST_POWER and abs(base.value) not in (0, 1):
        raise Unsure("a power beyond the doubles")
    if not base.plain:
        base != 0  # noqa: B015  (unsure, where it may be 0)
    ratio = base.size / float(abs(base.value)) if base.value else 1.0
    if whole:
        value = power(Fraction(base.value), exponent.value)
        grows = 1 + abs(exponent.value) * ratio
        size = float(abs(value)) * grows if abs(value) < _LARGE else math.inf
        return _made(value, size, base, exponent)
    if base < 0:
        raise Undefined("a fractional power of a negative number")
    value = power(float(base), float(exponent))
    grows = abs(float(exponent)) * ratio + abs(math.log(float(base) or 1.0)) * exponent.size
    return _inexact(value, abs(value) * (2 + grows))


def _inexact(value, size):
    found = _made(Fraction(value), size)
    found.plain = value in (0.0, 1.0)
    return found


class RoundedWorld(World):
    """A file whose numbers know their rounding."""

    def __init__(self, spec, labels, n, **given):
        self._known = {}
        super().__init__(spec, labels, n, **given)

    def exact(self, value):
        if value not in self._known:
            self._known[value] = Rounded(Fraction(value)) if math.isfinite(value) else value
        return self._known[value]

    def function(self, name, given):
        given = [as_rounded(x) for x in given]
        x = given[0]
        if name not in ("exp", "sqrt", "log"):
            return as_rounded(function(name, given))
        if name != "exp":
            x == 0  # noqa: B015  (unsure, where it may be 0)
        try:
            value = function(name, [float(x)])
        except OverflowError:
            raise Undefined("too large") from None
        if not x.plain and name == "sqrt":
            return _inexact(value, value + x.size / value if value else 0.0)
        grows = {"exp": value * x.size, "sqrt": 0.0, "log": x.size / abs(float(x) or 1.0)}[name]
        return _inexact(value, abs(value) + grows)
