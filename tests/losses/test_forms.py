"""Values as functions of counts: what the evaluator makes of sums of counts in place of numbers."""

import itertools
import random

import numpy as np
import pytest

import fsmeu
from fsmeu.losses.algebra.confusion import fractional
from fsmeu.losses.algebra.ratios import ratio_of_totals, sum_of_ratios
from tests.losses.meaning import Undefined, World

COUNTS = "count tp when z == 1 and y == 1 count hyp when z == 1 count ref when y == 1"
F1 = {
    "2 * tp / (hyp + ref) or 1 when hyp + ref == 0": True,
    "if not ref + hyp == 0 then (tp + tp) / (ref + hyp) else 1": True,
    "4 / 2 * tp / (0.5 * (2 * hyp + ref + ref)) or 1 when (n == 0 or hyp + ref == 0)": True,
    "if ref == 0 and hyp == 0 then 1 else 2 * tp / (ref + hyp)": False,
    "if hyp != 0 or ref != 0 then 2 * tp / (ref + hyp) else 1": False,
}
"""F1 in several words, and whether each condition by itself holds only where the ratio is 0/0."""


def loss(value):
    return fsmeu.loads(f"utility f labels 0 1 {COUNTS} value {value}")


@pytest.mark.parametrize("value", F1)
def test_f1_is_one_ratio_however_it_is_written(value):
    form, n = loss(value).confusion, 5
    for ratio in (fractional(form), fractional(form, n)):
        assert (ratio is not None) == F1[value]
        if ratio is not None:
            scale = float(ratio.denominator[2])
            assert [float(c) / scale for c in ratio.denominator] == [0, 0, 1, 1]
            assert [float(c) / scale for c in ratio.numerator] == [0, 2, 0, 0]
    for k in range(1, n + 1):
        (ratio,) = sum_of_ratios(form, n, np.array([float(k)])).ratios
        for tp in range(k + 1):
            for missed in range(n - k + 1):
                top, below = (c[0] + c[1] * tp + c[2] * missed for c in (ratio.top, ratio.below))
                assert top / below == pytest.approx(2 * tp / (k + tp + missed), rel=1e-15)
    assert ratio_of_totals(loss(value).split, n, np.arange(1.0, n), float(n)) is not None


def test_sums_whose_digits_are_lost_are_not_trusted():
    assert fractional(loss("(tp + 0.1 + 1e15 - 1e15) / (hyp + ref + n)").confusion, 5) is None
    assert fractional(loss("(tp + 0.5 + 16 - 16) / (hyp + ref + n)").confusion, 5) is not None


def number(rng, depth):
    """A random expression of counts."""
    if depth == 0 or rng.random() < 0.25:
        return rng.choice(("tp", "hyp", "ref", "n", "1", "2", "0.5", "n - ref", "hyp - tp", "0"))
    one, two = (number(rng, depth - 1) for _ in range(2))
    test = condition(rng, depth - 1)
    plain = [f"({one} {sign} {two})" for sign in "++--**/"]
    other = [f"(if {test} then {one} else {two})", f"({test})", f"max({one}, {two})", f"({one})^2"]
    other += [f"{name}({one})" for name in ("sqrt", "abs", "floor", "exp")]
    return rng.choice(plain * 3 + other + [f"(-{one})", f"({one} % 3)"])


def condition(rng, depth):
    if depth < 1 or rng.random() < 0.6:
        sign = rng.choice(("==", "==", "==", "!=", "<", ">="))
        return f"{number(rng, max(0, depth - 1))} {sign} {rng.choice(('0', 'tp', '1'))}"
    one, two = (condition(rng, depth - 1) for _ in range(2))
    return rng.choice((f"({one}) and ({two})", f"({one}) or ({two})", f"not ({one})"))


@pytest.mark.parametrize("seed", range(20))
def test_random_values_that_are_ratios_have_the_value_of_the_ratios(seed):
    rng, n = random.Random(seed), 3
    for _ in range(4):
        made = loss(f"{number(rng, 2)} / {number(rng, 2)} or 1 when ({condition(rng, 1)})")
        world, form = World(made.spec, (0, 1), n), made.confusion
        sums = {k: sum_of_ratios(form, n, np.array([float(k)])) for k in range(n + 1)}
        ratio = fractional(form, n)
        for z, y in itertools.product(itertools.product((0, 1), repeat=n), repeat=2):
            try:
                truth = float(world.run(z, y))
            except Undefined:
                truth = None
            hits, k = sum(a * b for a, b in zip(z, y, strict=True)), sum(z)
            if ratio is not None:
                counts = np.array([n, hits, k, sum(y)], float)
                parts = (ratio.numerator, ratio.denominator)
                top, below = (np.array(part, float) @ counts for part in parts)
                assert not below or top / below == pytest.approx(truth, rel=1e-9, abs=1e-12)
            if (found := sums[k]) is not None:
                apart = {0: found.no_ones[0], n: found.all_ones[0]}.get(sum(y), 0.0)
                for one in found.ratios:
                    top, below = (c[:, 0] @ [1, hits, sum(y) - hits] for c in (one.top, one.below))
                    apart += top / below**one.power if below > 0 else 0.0
                assert apart == pytest.approx(truth, rel=1e-9, abs=1e-12)
