"""Long sequences of two labels: fractions, many digits, dynamic programs over counts."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import fsmeu
from fsmeu import limits
from fsmeu.models import Markov
from tests.support.ratios import loaded
from tests.support.values import count_weights
from tests.trellis import long_values
from tests.trellis.long_values import CHAINS, CHANCES, RATIOS

WAYS = {"long": limits.LONG, "independent": {"LONG_SEQUENCE": 2}}


@pytest.mark.thirds
@pytest.mark.parametrize("kind", [*CHAINS, *CHANCES])
@pytest.mark.parametrize(("name", "params"), RATIOS)
def test_values_are_those_of_counts(name, params, kind):
    """Whatever the way; values of labels that no reference has among them."""
    n, random, loss = 20, np.random.default_rng(4), loaded(name, params)
    tables, model = long_values.tables(kind, random, n)
    for share in (0.0, 0.5):
        z = (random.random(n) < share).astype(int).tolist()
        want = pytest.approx(long_values.expected(loss, z, *tables), rel=1e-12, abs=1e-13)
        assert fsmeu.expect(loss, z, model).value == want
        for way in WAYS.values():
            with limits.lowered(way):
                assert fsmeu.expect(loss, z, model).value == want


@pytest.mark.parametrize("name", ["fscore", "mcc", "kappa", "hamming"])
def test_distributions_of_long_sequences(name):
    """Levels are the values of tables, with their probabilities; so is the variance."""
    n, random, loss = 30, np.random.default_rng(5), fsmeu.load(name)
    tables, model = long_values.tables("uniform", random, n)
    z = (random.random(n) < 0.4).astype(int).tolist()
    chances, values = long_values.counted(z, *tables), long_values.table_values(loss, z)
    mean = (chances * values).sum()
    with limits.lowered():
        found = fsmeu.expect(loss, z, model)
        assert found.levels.mean == pytest.approx(mean, rel=1e-12)
        assert found.variance == pytest.approx((chances * (values - mean) ** 2).sum(), rel=1e-9)
        half = chances[values <= found.quantile(0.5) + 1e-12].sum()
        assert half + 1e-12 >= 0.5
        assert chances[values < found.quantile(0.5) - 1e-12].sum() <= 0.5 + 1e-12


def test_expected_fscore_without_rounding():
    """Probabilities are eighths, so that everything is a whole number until the last division."""
    n, random = 1000, np.random.default_rng(3)
    eighths, z = random.integers(0, 9, size=n), random.integers(0, 2, size=n)
    first, last = (count_weights([(8 - p, p) for p in eighths[z == k].tolist()]) for k in (1, 0))
    hyp, whole = int(z.sum()), 8**n
    hits, terms = first * np.arange(len(first)), []
    for ref in range(n + 1):
        low, high = max(0, ref - len(last) + 1), min(ref, len(first) - 1)
        if low <= high:
            met = (hits[low : high + 1] * last[ref - high : ref - low + 1][::-1]).sum()
            terms.append(float(Fraction(2 * int(met), (hyp + ref) * whole)))
    found = fsmeu.expect(fsmeu.load("fscore"), z, eighths / 8)
    assert found.value == pytest.approx(math.fsum(terms), rel=1e-13)
    assert found.kept == pytest.approx(1.0, abs=1e-12)


def powered_f1(up, stay, first, periods):
    """E[2 tp / (k + ref)] of z = 0 0 1 0 0 1 ..., by powers of matrices in 40 digits.

    1 / D is the integral of exp(-s D) over s > 0: the sum at Gauss and Laguerre's 24 nodes.
    """
    nodes, weights = np.polynomial.laguerre.laggauss(24)
    n, k = 3 * periods, periods
    stationary = up / (up + 1 - stay)
    centre = k + n * stationary
    total = mpmath.mpf(0)
    with mpmath.workdps(40):
        for s, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
            t = mpmath.exp(-mpmath.mpf(s) / centre)
            plain = mpmath.matrix([[1 - mpmath.mpf(up), up * t], [1 - mpmath.mpf(stay), stay * t]])
            step, hit = mpmath.zeros(4), mpmath.zeros(4)  # masses, and masses times tp
            for a, b in itertools.product((0, 1), repeat=2):
                for matrix in (step, hit):
                    matrix[a, b] = matrix[2 + a, 2 + b] = plain[a, b]
            for a in (0, 1):
                hit[a, 3] = plain[a, 1]
            begin = mpmath.matrix([[1 - mpmath.mpf(first), first * t, 0, 0]])
            end = begin * step * hit * (step * step * hit) ** (periods - 1)
            at_k = mpmath.exp(mpmath.mpf(s) * (1 - mpmath.mpf(k) / centre))
            total += 2 * weight * at_k / centre * (end[2] + end[3])
        return float(total)


@pytest.mark.parametrize(
    ("up", "stay", "periods"),
    [(0.125, 0.75, 2**12), (0.5, 0.5, 2**12), (0.25, 0.0, 333_333), (2**-10, 1 - 2**-10, 2**12)],
)
def test_expected_fscore_of_chains_of_a_million_labels(up, stay, periods):
    model = Markov([0.5, 0.5], [[1 - up, up], [1 - stay, stay]], n=3 * periods)
    found = fsmeu.expect("fscore", np.arange(3 * periods) % 3 // 2, model)
    assert found.value == pytest.approx(powered_f1(up, stay, 0.5, periods), rel=1e-12)


def test_a_million_labels_of_which_one_in_five_sequences_has_a_one():
    """By symmetry, half of the ones are in the first half: E[tp / ref] = P(ref > 0) / 2."""
    n, p = 10**6, 2e-7
    found = fsmeu.expect(fsmeu.load("recall", empty=0), np.repeat([1, 0], n // 2), np.full(n, p))
    assert found.value == pytest.approx(-math.expm1(n * math.log1p(-p)) / 2, rel=1e-12)


def test_labels_nobody_expects():
    """The value is a tiny number; without ones in z there is none."""
    loss = fsmeu.load("fscore", empty=0)
    model = Markov([1.0, 1e-100], [[1.0, 1e-100], [0.5, 0.5]], n=1_200)
    found = fsmeu.expect(loss, [0, 1] * 600, model)
    assert found.value == pytest.approx(2e-100 * 1200 / 601, rel=1e-2)
    assert fsmeu.expect(loss, [0] * 1_200, model).value == 0.0


def test_a_chain_that_forgets_at_once_is_independent_labels():
    n, p, loss = 20_000, 0.3, fsmeu.load("fscore")
    chain, z = Markov([1 - p, p], [[1 - p, p]] * 2, n=n), [1, 0, 0, 1] * (n // 4)
    wanted = fsmeu.expect(loss, z, np.full(n, p)).value
    assert fsmeu.expect(loss, z, chain).value == pytest.approx(wanted, rel=1e-12)
    decided = fsmeu.decode(loss, chain)
    assert (decided.method, decided.exact, sum(decided.labels)) == ("lanes", True, n)
