"""Expectations of ratios of counts of long chains: central moments, and sums of exponentials.

Let N and D be sums over many labels, d = E[D], x = D - d, J even. Then, for a = 1 or 1/2,

    D^-a = sum over j < J of  C(-a, j) x^j / d^(a + j)  +  R,    0 <= R <= D^-a (x / d)^J.

For a = 1 this is the geometric series; for a = 1/2 integrate it over t in
D^(-1/2) = (1/pi) int t^(-1/2) / (D + t) dt: the rest of 1 / (D + t) is that of the series at d + t,
and (d + t)^J >= d^J. So the expectation of N / D^a is a sum of mixed moments E[N x^j], and what is
left out is at most  max |N / D^a|  E[x^J] / d^J. A count over many labels is concentrated, and
x / d falls as one over the root of the length.

Where labels are rare, counts are small and the remainder is not. Then

    D^-a = sum over m of  w_m exp(-t_m D)   up to a relative error on an interval (``exponentials``)

and E[N exp(-t D)] is a product over labels: no concentration is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, comb, exp, factorial, floor, fsum, lgamma, log, pi, prod, sqrt

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.losses.algebra.confusion import Confusion
from fsmeu.losses.algebra.ratios import Ratio, RatioSum, sum_of_ratios
from fsmeu.trellis.compiled import load_compiled
from fsmeu.trellis.independent import UnfitError
from fsmeu.trellis.roundings import relative_error
from fsmeu.twofold import UNIT

MOST_ORDER = 20  # the highest order of moments: where it does not suffice, counts are small
PROMISED = 1e-12  # an error that is this part of the value needs no higher order
_BLOCK = 1 << 16  # candidates whose ratios are tabled at once

_NO_RATIOS = "the value must be a sum of ratios of counts"
_WORSE = "more true positives must never make it worse"

BINOMIAL = np.array(
    [[float(comb(j, i)) for i in range(MOST_ORDER + 2)] for j in range(MOST_ORDER + 2)]
)

Chances = tuple[tuple[float, float], tuple[float, float]]
"""The probabilities that no label is a one, and that all are, each with a bound on its error."""


@lru_cache(maxsize=8)  # many sequences of one length ask for the same
def _derived(form: Confusion, n: int, ks: range, sign: float) -> RatioSum:
    """The value as a sum of ratios in which true positives never make it worse."""
    ratios = sum_of_ratios(form, n, np.arange(ks.start, ks.stop, ks.step, dtype=float))
    if ratios is None:
        raise UnfitError(_NO_RATIOS)
    if not (ratios.rises if sign > 0 else ratios.falls):
        raise UnfitError(_WORSE)
    return ratios


def parts_of(form: Confusion, n: int, sign: float) -> Iterator[tuple[slice, RatioSum]]:
    """The value where z has no ones, some (in blocks), and nothing else, by numbers of ones."""
    for begin in (0, *range(1, n, _BLOCK), n):
        end = min(begin + _BLOCK, n) if 0 < begin < n else begin + 1
        yield slice(begin, end), _derived(form, n, range(begin, end), sign)


def needed_order(spread: float, enough: float = 1e-13, least: int = 6) -> int:
    """The least even order J with (J - 1)!! spread^J small; more than the greatest if none has."""
    for order in range(least, MOST_ORDER + 1, 2) if spread < 1 else ():
        if prod(range(order - 1, 0, -2)) * spread**order <= enough:
            return order
    return MOST_ORDER + 2


def jet_order(needed: int) -> int:
    """The least multiple of 4 that is no less: loops over jets are compiled for each order."""
    return -(-needed // 4) * 4


def central_moments(cumulants: Floats) -> Floats:
    """Central moments from cumulants, (J + 1, ...); those of orders 0 and 1 are not looked at."""
    moments = [np.ones_like(cumulants[0]), np.zeros_like(cumulants[0])]
    for r in range(1, len(cumulants) - 1):
        terms = (BINOMIAL[r, i] * cumulants[i + 1] * moments[r - i] for i in range(1, r + 1))
        moments.append(sum(terms, start=np.zeros_like(cumulants[0])))
    return np.array(moments)


def cumulants_of(moments: Floats) -> Floats:
    """Cumulants from central moments, (J + 1, ...); those of orders 0 and 1 are 0."""
    cumulants = [np.zeros_like(moments[0]), np.zeros_like(moments[0])]
    for r in range(1, len(moments) - 1):
        terms = (BINOMIAL[r, i] * cumulants[i + 1] * moments[r - i] for i in range(1, r))
        cumulants.append(moments[r + 1] - sum(terms, start=np.zeros_like(moments[0])))
    return np.array(cumulants)


def add_apart(part: RatioSum, chances: Chances, values: Floats, errors: Floats) -> None:
    """Adds what the value is more where y has no ones, or nothing else."""
    for (chance, error), more in zip(chances, (part.no_ones, part.all_ones), strict=True):
        values += chance * more
        errors += error * np.abs(more)


def product(factors: Floats) -> tuple[float, float]:
    """The product of numbers of at most 1, and a bound on its error."""
    with np.errstate(divide="ignore"):
        total = float(np.log(factors).sum())  # numpy adds up in pairs
    value = exp(total)
    return value, 64 * UNIT * (1.0 + abs(total)) * value if value else 0.0


def exponentials(
    power: float, low: float, high: float, eps: float = 1e-14, most: int = 9
) -> tuple[Floats, Floats, float]:
    """Nodes t, weights w and a bound: |s^power sum of w exp(-t s) - 1| <= bound on [low, high].

    s^-a = int exp(a r - s e^r) dr / Gamma(a). The trapezoidal rule of step h is off, relatively, by
    at most 2 sum over l of |Gamma(a + 2 pi i l / h)| / Gamma(a) (Poisson's summation), and that is
    known for a = 1 and 1/2. The integral is cut where s e^r is small, and where exp(-s e^r) is. The
    many terms with t high <= 1 become a Gauss rule of their discrete measure (Lanczos): moments up
    to 2 m - 1 agree for m nodes, and exp(-t s) there is a polynomial of that degree but for
    2 (1/4)^(2 m) / (2 m)!.
    """
    step = 1.0
    while _trapezoidal_error(power, step) > eps:
        step *= 0.98
    left = (log(eps) + lgamma(1 + power)) / power - log(high)
    right = log((log(1 / eps) + 4) / low)
    r = np.arange(floor(left / step), ceil(right / step) + 1) * step
    t, w = np.exp(r), step * np.exp(power * r - lgamma(power))
    small = t * high <= 1
    nodes, weights = _gauss(t[small] * high, w[small], most)
    degree = 2 * most
    gauss = high**power * float(w[small].sum()) * 4 * 0.25**degree / factorial(degree)
    bound = _trapezoidal_error(power, step) + 3 * eps + gauss + 64 * UNIT
    return np.append(nodes / high, t[~small]), np.append(weights, w[~small]), bound


def _trapezoidal_error(power: float, step: float) -> float:
    """2 sum over l of |Gamma(a + 2 pi i l / h)| / Gamma(a), a = 1 or 1/2."""
    y = 2 * pi / step
    size = sqrt(2 * pi * y) if power == 1 else sqrt(2.0)
    return 2.1 * size * exp(-pi * y / 2)


def _gauss(places: Floats, weights: Floats, most: int) -> tuple[Floats, Floats]:
    """The Gauss rule of a discrete measure, by Lanczos's recursion with full orthogonalization."""
    total, size = float(weights.sum()), min(most, len(places))
    basis, diagonal, off = np.zeros((size + 1, len(places))), np.zeros(size), np.zeros(size)
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


# -- one hypothesis --------------------------------------------------------------------------------


def chain_value(form: Confusion, z: Ints, chain: Chain) -> tuple[float, float, float] | None:
    """The expected value of z under a chain, a bound on its error, and its size: jets forward.

    The size is the sum of its terms without signs. None where the value is no sum of ratios.

    Roundings: what is rounded at a step is a part g = (J + 12) u of jets, and reaches the end
    multiplied by what follows, so that E[x^j] is off by n g E[(|x so far| + |x to come|)^j] or
    less, and both are bounded by three times the greatest norm of x so far (Minkowski, Lyapunov).
    """
    n = len(z)
    part = sum_of_ratios(form, n, np.array([float(z.sum())]))
    if part is None:
        return None
    means = [fsum(chain.marginals[z == label]) for label in (1, 0)]
    value, error, size = np.zeros(1), np.zeros(1), 0.0
    for ratio in part.ratios:
        for order in range(6, MOST_ORDER + 1, 4):
            estimate = _chain_ratio(ratio, z, chain, means, order)
            if estimate[1] <= PROMISED * estimate[2]:
                break
        else:
            estimate = min(estimate, _chain_exponentials(ratio, z, chain), key=lambda one: one[1])
        value, error, size = value + estimate[0], error + estimate[1], size + estimate[2]
    ratios = value.copy()
    add_apart(part, chain.apart, value, error)
    error += relative_error(n * chain.behind) * np.abs(value - ratios)
    return float(value[0]), float(error[0]), size + abs(float(value[0]))


@dataclass(frozen=True, eq=False)
class Chain:
    """A chain of two labels, as ``moment_kernels.py`` has it; labels before the first are 0."""

    steps: Floats  # P(next label | last m), (n, 2^m, 2), 0 where a state is not reached
    marginals: Floats  # P(y_i = 1), (n,)
    off: float  # a bound on the errors of these
    apart: Chances  # the probabilities of no ones and of ones only
    behind: float  # a bound on the roundings behind each step


def chain_of(first: Floats, steps: Floats, roundings: int = 0) -> Chain:
    """The chain with P(first m labels), (2^m,), and P(next label | last m), (n - m, 2^m, 2).

    ``roundings`` bounds those behind the product of these over all positions, which share them.
    """
    states, m = len(first), len(first).bit_length() - 1
    table = np.concatenate([np.zeros((m, states, 2)), steps])
    for i in range(m):
        table[i, : 2**i] = first.reshape(2**i, 2, -1).sum(axis=2)
    sums = table[:, :, :1] + table[:, :, 1:]
    table /= np.where(sums > 0, sums, 1.0)  # states that are not reached have no steps
    place, marginals = np.arange(len(table)), np.zeros(len(table))
    off = load_compiled("moment_kernels").chain_marginals(table, marginals)
    ones = table[place, 2 ** np.minimum(place, m) - 1, 1]
    behind = roundings / len(table)
    off *= 1.0 + behind / (2 * states + 8)  # which are counted for a step
    return Chain(table, marginals, off, (product(table[:, 0, 0]), product(ones)), behind)


@np.errstate(all="ignore")  # powers of d may be 0 or infinite
def _chain_ratio(
    ratio: Ratio, z: Ints, chain: Chain, means: Sequence[float], order: int
) -> tuple[float, float, float]:
    """The expectation of a ratio by moments up to an order, a bound on its error, and its size."""
    n, (top, below) = len(z), (ratio.top[:, 0], ratio.below[:, 0])
    mean, d = (count[0] + count[1] * means[0] + count[2] * means[1] for count in (top, below))
    if not d:  # nor is D, which is never negative, and then the ratio is 0
        return 0.0, 0.0, 0.0
    jets, amounts = np.zeros((2, order + 1)), np.stack([below[:0:-1], top[:0:-1]])
    spread = load_compiled("moment_kernels").chain_jets(
        chain.steps, chain.marginals, z, amounts, order, BINOMIAL, jets
    )
    jets[0, 1] = jets[1, 0] = 0.0  # both sums are centred
    series = series_of(ratio.power, d, order)
    value = float(series @ (mean * jets[0, :order] + jets[1, :order]))
    rest = float(ratio.most[0]) * abs(jets[0, order]) * (1.0 + 1e-6) / d**order
    size = abs(top[0]) + abs(top[1]) * means[0] + abs(top[2]) * means[1]
    wide = abs(below[0]) + abs(below[1]) * means[0] + abs(below[2]) * means[1]
    used = [(z == 1).any(), (z == 0).any()]
    steep, deep = (float((np.abs(count[1:]) * used).max()) for count in (top, below))
    reach = 2.0 + (3 * spread ** (1 / order) / deep if deep else 0.0)  # of centred counts
    off = (size + steep * reach) * (deep * reach) ** np.arange(order)
    off[:2] = 0.0, steep * reach * deep * reach
    off *= 2 * n * (order + 12 + chain.behind) * UNIT
    far = chain.off * n + 8 * UNIT * sum(means)  # of the means
    rounding = float(np.abs(series) @ off) + 16 * UNIT * abs(value)
    rounding += abs(series[0]) * (steep * far + UNIT * 8 * size)
    rounding += abs(value) * (deep * far + UNIT * 8 * wide) / d
    if not np.isfinite([value, rest + rounding]).all():
        return 0.0, np.inf, 0.0
    return value, rest + rounding, abs(series[0]) * size


def _chain_exponentials(ratio: Ratio, z: Ints, chain: Chain) -> tuple[float, float, float]:
    """The same by a sum of exponentials: its denominator must not fall with a one of y."""
    n, (top, below) = len(z), (ratio.top[:, 0], ratio.below[:, 0])
    if (below[1:] < 0).any() or not below[1:].any():
        return 0.0, np.inf, 0.0
    nodes, weights, off = exponentials(ratio.power, ratio.least_below, ratio.most_below)
    logs, shares, gains = np.zeros(len(nodes)), np.zeros((len(nodes), n)), np.where(z, *top[1:])
    amounts, run = below[:0:-1].copy(), load_compiled("moment_kernels")
    far = run.tilted_chain(chain.steps, z, amounts, nodes, logs, shares)
    far *= behind_tilted(chain)
    masses = weights * np.exp(logs - nodes * below[0])
    value = float(masses @ (top[0] + shares @ gains))
    sizes = masses * (abs(top[0]) + shares @ np.abs(gains))
    digits = off + far + (2 * far + 32 * UNIT) * np.abs(logs) + 32 * UNIT * (1.0 + nodes * below[0])
    return value, float(digits @ sizes) + n * UNIT * float(sizes.sum()), float(sizes.sum())


def behind_tilted(chain: Chain) -> float:
    """What errors of a tilted chain are multiplied by for those behind its steps."""
    states = int(chain.steps.shape[1])
    return 1.0 + chain.behind / (2 * states + 12)  # which are counted for a step


def series_of(power: float, d: float, order: int) -> Floats:
    """The coefficients of (d + x)^-power on x^0, ..., x^(order - 1)."""
    factors = np.append(d**-power, -(power + np.arange(order - 1)) / np.arange(1, order) / d)
    return np.cumprod(factors)
