"""Sums of exponentials for D^-a, and what they leave out.

    D^-a = sum over m of  w_m exp(-x_m D)  +  R(D),    w_m > 0,  x_m > 0,  a > 0

turns the expectation of a ratio N / D^a of counts into one of N exp(-x_m D) for each *node* x_m:
there, every item that D counts is a factor exp(-x_m), and independent parts are a product.

**One-sided rule.** Let s_m, v_m be Gauss's rule of order M for s^(a-1) exp(-s) on (0, inf), and
x_m = s_m / d, w_m = v_m exp(s_m) / (Gamma(a) d^a) for a *centre* d. Write D = d (1 + u). Then

    (i)   R(D) >= 0 for all D > 0,
    (ii)  R falls on (0, d],
    (iii) d^a R(D) <= c u^(2M) for D >= d,  c = M! Gamma(M + a) / ((2M)! Gamma(a)), about 4^-M.

Proof. d^a D^-a = (1 / Gamma(a)) int s^(a-1) exp(-s) f(s) ds with f(s) = exp(-s u), and the rule is
Gauss's for that integral. Gauss's remainder is f^(2M)(xi) M! Gamma(M + a) / ((2M)! Gamma(a)) for
some xi > 0, and f^(2M)(s) = u^(2M) exp(-s u) > 0: (i). For u >= 0 it is at most u^(2M): (iii). For
u < 0, f is a power series in s with coefficients of one sign, and Gauss's remainder of every s^j is
at least 0, so that (i) holds there although f grows. (ii): -dR/du belongs to f(s) = s exp(-s u),
whose derivative of order 2M, (s u^(2M) - 2M u^(2M-1)) exp(-s u), is positive for u < 0.

So the greatest R on an interval is the greater of R at its lower end, which is just evaluated, and
of (iii) at its upper end. The integral is classical (Chao and Strawderman 1972).

**Wide rule.** Where the greatest D is many times the least, the trapezoidal rule in log x is nearly
best; its error is a part of D^-a, of either sign (``wide_rule``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from math import ceil, exp, factorial, floor, lgamma, log, pi, sqrt

import numpy as np

from fsmeu.arrays import Floats

MOST_NODES = 24  # of a one-sided rule: where more would be needed, the wide rule has fewer
_WIDEST = 5.0  # the greatest quotient of two D for which a one-sided rule is tried
_EVALUATED = 1e-14  # a remainder below this part of D^-a is hidden by rounding
_BLOCKS = 512  # in which remainders of many intervals are bounded
_MOST_GAUSS_NODES = 9  # of the small nodes of the wide rule


@dataclass(frozen=True, eq=False)
class Rule:
    """A sum of exponentials for D^-power.

    Attributes:
        nodes: x_m, (M,), all above 0.
        weights: w_m, (M,), all above 0.
        power: a.
        centre: d of a one-sided rule; 0 for a wide one.
        off: a bound on |R(D)| D^power where the rule serves; 0 for a one-sided rule.
    """

    nodes: Floats
    weights: Floats
    power: float
    centre: float = 0.0
    off: float = 0.0

    @property
    def is_one_sided(self) -> bool:
        """Whether R is at least 0 for all D > 0."""
        return self.centre > 0.0

    def value(self, denominators: Floats) -> Floats:
        """The sum of exponentials at each D, in the shape of ``denominators``."""
        values: Floats = np.exp(-np.multiply.outer(denominators, self.nodes)) @ self.weights
        return values

    def remainder(self, low: Floats, high: Floats) -> Floats:
        """Bounds on |R(D)| over low <= D <= high, low > 0, elementwise.

        A wide rule must have been made for an interval that holds these.
        """
        low = np.asarray(low, np.float64)
        high = np.asarray(high, np.float64)
        if not self.is_one_sided:
            return self.off * low**-self.power
        scale = self.centre**-self.power
        below = np.maximum(low**-self.power - self.value(low), 0.0)
        below = np.where(low < self.centre, below, 0.0)
        reach = np.maximum(high / self.centre - 1.0, 0.0)
        order = len(self.nodes)
        with np.errstate(divide="ignore", over="ignore"):  # log(0) is no reach: exp(-inf) is 0
            bound = np.exp(log(_constant(order, self.power)) + 2 * order * np.log(reach))
        # R is D^-power at most, and that is at most d^-power above the centre.
        above = scale * np.minimum(bound, 1.0)
        greatest: Floats = np.maximum(below, above)
        return greatest

    def remainders(self, low: Floats, high: Floats) -> Floats:
        """Bounds on |R(D)| over many intervals, (k,), the same for all of a block of these.

        Intervals that are next to each other should be alike.
        """
        starts = np.arange(0, len(low), -(-len(low) // _BLOCKS))
        bounds = self.remainder(np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts))
        return np.repeat(bounds, np.diff(np.append(starts, len(low))))


def _constant(order: int, power: float) -> float:
    """c of (iii)."""
    logs = lgamma(order + 1) + lgamma(order + power) - lgamma(2 * order + 1) - lgamma(power)
    return exp(logs)


@lru_cache(maxsize=256)
def _laguerre(order: int, power: float) -> tuple[Floats, Floats]:
    """s_m and v_m exp(s_m) / Gamma(a), (M,) each; SciPy's takes a third of a second to load.

    Nodes are the eigenvalues of Jacobi's matrix (Golub and Welsch 1969) after steps of Newton's;
    weights are those of the polynomial of the next order, whose digits do not suffer from small
    v_m.
    """
    k = np.arange(1.0, order)
    off = np.sqrt(k * (k + power - 1))
    jacobi = np.diag(2 * np.arange(order) + power) + np.diag(off, 1) + np.diag(off, -1)
    nodes = np.linalg.eigvalsh(jacobi)
    for _ in range(2):
        value, rise = _laguerre_polynomial(order, power, nodes)
        nodes = nodes - nodes * value / (order * rise)  # the slope at s is order rise / s
    after, _ = _laguerre_polynomial(order + 1, power, nodes)
    parts = nodes / after**2
    weights: Floats = parts / parts.sum() * np.exp(nodes)
    return nodes, weights


def _laguerre_polynomial(order: int, power: float, x: Floats) -> tuple[Floats, Floats]:
    """Laguerre's polynomial for x^(power-1) exp(-x), 1 at 0, and its difference to the one before.

    Both at x, (M,) each. Sums of differences keep digits that the recursion of three terms loses.
    """
    rise = np.zeros_like(x)
    value = np.ones_like(x)
    for k in range(order):
        rise = (k * rise - x * value) / (k + power)
        value = value + rise
    return value, rise


def one_sided_rule(order: int, centre: float, power: float = 1.0) -> Rule:
    """The one-sided rule of so many nodes at a centre d > 0."""
    nodes, weights = _laguerre(order, power)
    return Rule(nodes / centre, weights / centre**power, power, centre)


def rule_for(
    low: float, high: float, centre: float, power: float = 1.0, eps: float = 1e-14
) -> Rule:
    """A rule with few nodes whose |R| is at most about ``eps`` centre^-power on [low, high].

    One-sided where the interval is narrow enough for few nodes; then the remainder is bounded
    outside of the interval as well. Otherwise the wide rule of the interval.

    Args:
        low: the least D, above 0.
        high: the greatest D.
        centre: a D between them, about where most of the mass is.
        power: a.
        eps: how much may be left out.
    """
    if high < _WIDEST * low:
        reach = max(high / centre - 1.0, 1.0 - low / centre)
        for order in range(2, MOST_NODES + 1):
            if _constant(order, power) * reach ** (2 * order) > eps:
                continue
            rule = one_sided_rule(order, centre, power)
            left_out = float(rule.remainder(np.float64(low), np.float64(high))) * centre**power
            if left_out <= max(eps, _EVALUATED * (centre / low) ** power):
                return rule
    return wide_rule(low, high, power, eps)


def wide_rule(low: float, high: float, power: float = 1.0, eps: float = 1e-14) -> Rule:
    """A rule whose error is at most a part ``off`` of D^-power on [low, high]; power 1 or 1/2.

    D^-a = int exp(a r - D e^r) dr / Gamma(a). The trapezoidal rule of step h is off, relatively, by
    at most 2 sum over l of |Gamma(a + 2 pi i l / h)| / Gamma(a) (Poisson's summation), and that is
    known for a = 1 and 1/2. The integral is cut where D e^r is small, and where exp(-D e^r) is. The
    many terms with x high <= 1 become a Gauss rule of their discrete measure (Lanczos): moments up
    to 2 m - 1 agree for m nodes, and exp(-x D) there is a polynomial of that degree but for
    2 (1/4)^(2 m) / (2 m)!.
    """
    step = 1.0
    while _trapezoidal_error(power, step) > eps:
        step *= 0.98
    left = (log(eps) + lgamma(1 + power)) / power - log(high)
    right = log((log(1 / eps) + 4) / low)
    logs = np.arange(floor(left / step), ceil(right / step) + 1) * step
    nodes = np.exp(logs)
    weights = step * np.exp(power * logs - lgamma(power))
    small = nodes * high <= 1
    mass = high**power * float(weights[small].sum())
    size = next(m for m in count(2) if m == _MOST_GAUSS_NODES or mass * _gauss_error(m) <= eps)
    few, their_weights = _gauss(nodes[small] * high, weights[small], size)
    off = _trapezoidal_error(power, step) + 3 * eps + mass * _gauss_error(size)
    all_nodes = np.append(few / high, nodes[~small])
    all_weights = np.append(their_weights, weights[~small])
    return Rule(all_nodes, all_weights, power, off=off)


def _trapezoidal_error(power: float, step: float) -> float:
    """2 sum over l of |Gamma(a + 2 pi i l / h)| / Gamma(a), a = 1 or 1/2."""
    y = 2 * pi / step
    size = sqrt(2 * pi * y) if power == 1 else sqrt(2.0)
    return 2.1 * size * exp(-pi * y / 2)


def _gauss_error(size: int) -> float:
    """What Gauss's rule of so many nodes leaves out of exp(-x) for x in [0, 1], of a mass of 1."""
    return 4 * 0.25 ** (2 * size) / factorial(2 * size)


def _gauss(places: Floats, weights: Floats, most: int) -> tuple[Floats, Floats]:
    """The Gauss rule of a discrete measure, by Lanczos's recursion with full orthogonalization."""
    total = float(weights.sum())
    size = min(most, len(places))
    basis = np.zeros((size + 1, len(places)))
    diagonal = np.zeros(size)
    off = np.zeros(size)
    basis[0] = np.sqrt(weights / total)
    for row in range(size):
        moved = places * basis[row]
        diagonal[row] = moved @ basis[row]
        for _ in range(2):
            moved -= (basis[: row + 1] @ moved) @ basis[: row + 1]
        off[row] = np.linalg.norm(moved)
        basis[row + 1] = moved / off[row] if off[row] else 0.0
    matrix = np.diag(diagonal) + np.diag(off[:-1], 1) + np.diag(off[:-1], -1)
    nodes, vectors = np.linalg.eigh(matrix)
    return nodes, total * vectors[0] ** 2
