"""Expectations of sums over windows: counting instead of remembering changes no number."""

import re

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import LossFileError
from fsmeu.losses import sum_over_paths
from tests import brute_force
from tests.expectation.checks import ENGINES, close, engines, scale_of
from tests.losses.meaning import Undefined, World
from tests.support.tables import by_message


@pytest.fixture(autouse=True)
def _windows_of_any_length(lowered):
    lowered(MUCH_TO_REMEMBER=0)


SUMS = (
    "count c by abs(tally(a, 1) - tally(b, 1)) when i >= 6 value c",
    "count c when i >= 6 and tally(a, 1) > tally(b, 0) value 3 - 2 * c / n",
    "register s in 0..6 start 0 next min(s + 1, 6) count c by sum(a) when s == 6 value c",
    "count c by sum(a) when i >= 6 count d by sum(b) ^ 2 when i >= 6 value c - d",
    "count c by if i < 6 then 0 else tally(a, 1) value c",
)
OTHERS = (
    "count c when i >= 6 and a[5] == 1 value c",  # looks at one entry
    "count c when tally(a, 1) > 2 value c",  # gains before the first whole window
    "count c by i * tally(a, 1) when i >= 6 value c",  # gains differ from window to window
    "count c by tally(a, 1) when i >= 6 and z == 1 value c",  # looks at the tape as well
    "count c by tally(a, 1) when i >= 6 value c ^ 2",  # not linear
    "count c by tally(a, 1) when i >= 6 value c + tally(a, 1)",  # the end matters by itself
    "flag f when z == 1 count c by tally(a, 1) when i >= 6 and f value c",  # looks further back
    "age g since y == 1 up to 5 count c when i > 5 and tally(a, 1) > g value c",
    "age g since y == 1 up to 7 count c by tally(a, 1) * g when i >= 6 value c",
    "memory d of z last 5 count c by tally(a, 1) * tally(d, 1) when i >= 6 value c",
    "count c by tally(a, z) when i >= 6 value c",
    "age g since y == 1 up to 6 count c by tally(a, 1) when i >= 6 and old g < 2 value c",
    "register r in 0..9 start 0 next r + z count c by tally(a, 1) when i >= 6 value c",
    "count c when i >= 6 and z == y value c",
    # what else the file does may have no answer, and has to be looked at
    "memory m of 1 + z in 0..1 last 6 count c by sum(m) when i >= 6 value c",
    "memory m of 1 + z in 0..1 last 6 count c by sum(a) when i >= 6 value c",
    "age g since 1 / z > 0 up to 3 count c by sum(a) when i >= 6 value c",
    "count d by 1 / z when i >= 6 count c by sum(a) when i >= 6 value c + 0 * d",
    "memory t of i % 2 in 0..1 last 6 count c by sum(a) * sum(t) when i >= 6 value c",
)
"""Files that are nearly sums over windows."""


@pytest.mark.parametrize("body", [*SUMS, *OTHERS])
def test_files_that_are_nearly_sums_over_windows(body):
    """The expectation or the refusal is that of the second reading, whatever is found."""
    loss = fsmeu.loads(f"loss f labels 0 1 memory a of z last 6 memory b of y last 6 {body}")
    assert body in OTHERS or sum_over_paths.window_sum(loss, 8) is not None
    p = (0.3, 0.6, 0.5, 0.2, 0.9, 0.4, 0.7, 0.1)
    for z in ((1, 0, 1, 1, 0, 1, 1, 1), (1,) * 8):
        try:
            pairs = brute_force.joint(
                World(loss.spec, (0, 1), 8).every_y(z), brute_force.bernoulli(p)
            )
        except Undefined:
            with pytest.raises(LossFileError):
                fsmeu.expect(loss, z, p)
        else:
            known = fsmeu.expect(loss, z, p)
            assert known.value == close(brute_force.mean(pairs), scale_of(pairs))


@pytest.mark.parametrize(("name", "k"), [("pk", 12), ("windowdiff", 12), ("windowdiff", 33)])
def test_long_windows(name, k):
    """Labels are independent, so each window is a sum that can be worked out alone."""
    rng, n = np.random.default_rng(k), 200
    p, z, wrong = rng.uniform(0.01, 0.2, n), (rng.random(n) < 0.1).astype(int), []
    for i in range(n - k + 1):
        chance, count = np.ones(1), z[i : i + k].sum()
        for one in p[i : i + k]:
            chance = np.convolve(chance, [1 - one, one])
        differs = chance[0] if count else 1 - chance[0]
        wrong.append(differs if name == "pk" else 1 - chance[count])
    for engine in ENGINES if k == 12 else ENGINES[:1]:
        known = fsmeu.expect(fsmeu.load(name, k=k), z, p, engine=engine).value
        assert known == pytest.approx(np.mean(wrong), rel=1e-11)  # one of them by logarithms


# -- faults of a file are seen by every query ------------------------------------------------------

Z, PROBS = (1, 0, 1, 1, 0, 1, 1), (0.3, 0.6, 0.5, 0.2, 0.9, 0.4, 0.7)
FAULTS = """
the remembered value is outside the declared bounds
    memory m of 1 + z + 2 * y in 0..1 last 6 count c by sum(m) when i >= 6 value c |
    memory m of 2 * y in 0..1 last 6 count c by tally(m, 1) when i >= 6 value c |
    memory m of 2 * y in 0..1 last 2 count c by sum(m) value c ^ 2 |
    memory m of 1 + z in 0..1 last 2 count c by sum(m) * y value c |
    memory m of 1 + z in 0..1 last 2 count c when z != y value c |
    memory m of 1 + i in 0..1 last 2 count c when z != y value c |
    memory m of i in 0..6 last 2 count c by sum(m) when z != y value c |
    memory m of y / 2 in 0..1 last 6 count c by sum(m) when i >= 6 value c |
    memory q of y last 6 memory m of 2 * y in 0..1 last 6 count c by sum(q) when i >= 6 value c |
c leaves its bounds
    register c in 0..1 start 0 next c + (y == 1) value c |
    register c in 0..n start 0 next c + 2 * (y == 1) value c |
c passes 2^53, where whole numbers are not told apart
    count c by if i == 1 then 2^53 else y value (c - 2^53)^2 |
    count c by if i == 1 then 2^53 else z value (c - 2^53)^2 |
the declared range 0 .. 1
    count c when y == 1 value 5 * c range 0 .. 1 |
    memory a of y last 3 count c by sum(a) when i > 2 value c range 0 .. 1 |
the declared range 0 .. 1e-12
    count c when y == 1 value c * 1e-10 range 0 .. 1e-12 |
"""


def all_queries(loss):
    """Every way to ask, by name."""
    n, model = len(Z), fsmeu.models.Bernoulli(PROBS)
    certain = fsmeu.models.Bernoulli([float(a) for a in Z])
    for engine in ENGINES:
        for z in (Z, certain):
            yield "expect", lambda z=z, e=engine: fsmeu.expect(loss, z, model, engine=e).value
        yield "levels", lambda e=engine: fsmeu.expect(loss, Z, model, engine=e).levels
        yield f"gradient, {engine}", lambda e=engine: fsmeu.gradient(loss, Z, model, engine=e)
        yield "keep", lambda e=engine: fsmeu.expect(loss, Z, model, engine=e, keep=10**6).value
    yield "expect_many", lambda: fsmeu.expect_many(loss, [Z], [PROBS])
    yield "compose", lambda: fsmeu.compose(loss, Z, model, minimize=True)
    yield "decode", lambda: fsmeu.decode(loss, model)
    yield "a pair", lambda: loss(Z, (1,) * n)
    for least in (False, True):
        yield "compile", lambda least=least: loss.compile(n, minimize=least)
    for z in (None, Z):
        yield "compile_summed", lambda z=z: fsmeu.compile_summed(loss, n, z)


@pytest.mark.parametrize(("words", "text"), by_message(FAULTS, {"": "loss f labels 0 1 "}))
def test_faults_of_a_file_are_seen_by_every_query(words, text, lowered):
    """Values outside the range are not seen by what does not compute values."""
    lowered(MUCH_TO_REMEMBER=64)
    valueless = ("gradient, auto", "compile_summed") if "range" in text else ()
    for name, ask in all_queries(fsmeu.loads(text)):
        if name not in valueless:
            with pytest.raises(LossFileError, match=re.escape(words)):
                ask()


@engines
def test_rare_great_windows_leave_the_digits_of_others(engine):
    """Windows of 7 that are worth -(512^sum): the mean is that of a product, exactly known."""
    text = "loss f labels 0 1 memory a of y last 7 count c by -(2^(9 * sum(a))) when i >= 7 value c"
    p, n = 2.0**-10, 8
    wanted = -2 * (1 - p + 512 * p) ** 7
    loss, certain = fsmeu.loads(text), fsmeu.models.Bernoulli([0.0] * n)
    model = fsmeu.models.Bernoulli([p] * n)
    for z in ([0] * n, certain):
        assert fsmeu.expect(loss, z, model, engine=engine).value == pytest.approx(wanted, rel=1e-12)
