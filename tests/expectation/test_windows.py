"""Expectations of sums over windows: counting instead of remembering changes no number."""

import re

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import LossFileError
from tests import brute_force
from tests.expectation.checks import ENGINES, close, engines, scale_of
from tests.losses.meaning import Undefined, World

BODIES = (
    "count c by abs(tally(a, 1) - tally(b, 1)) when i >= 4 value c",
    "count c when i >= 4 and tally(a, 1) > tally(b, 0) value 3 - 2 * c / n",
    "register s in 0..4 start 0 next min(s + 1, 4) count c by sum(a) when s == 4 value c",
    "count c by if i < 4 then 0 else tally(a, 1) value c",
    # nearly sums over windows: what matters is that nothing is taken for one that is none
    "count c when i >= 4 and a[3] == 1 value c",  # looks at one entry
    "count c when tally(a, 1) > 2 value c",  # gains before the first whole window
    "count c by i * tally(a, 1) when i >= 4 value c",  # gains differ from window to window
    "count c by tally(a, 1) when i >= 4 and z == 1 value c",  # looks at the tape as well
    "count c by tally(a, 1) when i >= 4 value c ^ 2",  # not linear
    "count c by tally(a, 1) when i >= 4 value c + tally(a, 1)",  # the end matters by itself
    "flag f when z == 1 count c by tally(a, 1) when i >= 4 and f value c",  # looks further back
    "age g since y == 1 up to 5 count c by tally(a, 1) * g when i >= 4 value c",
    "register r in 0..9 start 0 next r + z count c by tally(a, 1) when i >= 4 value c",
    # what else the file does may have no answer, and has to be looked at
    "memory m of 1 + z in 0..1 last 4 count c by sum(a) when i >= 4 value c",
    "age g since 1 / z > 0 up to 3 count c by sum(a) when i >= 4 value c",
    "count d by 1 / z when i >= 4 count c by sum(a) when i >= 4 value c + 0 * d",
)


@pytest.mark.parametrize("body", BODIES)
def test_files_that_are_nearly_sums_over_windows(body, lowered):
    """The expectation or the refusal is that of the second reading, whatever is found."""
    lowered(MUCH_TO_REMEMBER=0)
    loss = fsmeu.loads(f"loss f labels 0 1 memory a of z last 4 memory b of y last 4 {body}")
    p = (0.3, 0.6, 0.5, 0.2, 0.9, 0.4)
    for z in ((1, 0, 1, 1, 0, 1), (1,) * 6):
        values = World(loss.spec, (0, 1), 6)
        try:
            pairs = brute_force.joint(values.every_y(z), brute_force.bernoulli(p))
        except Undefined:
            with pytest.raises(LossFileError):
                fsmeu.expect(loss, z, p)
        else:
            assert fsmeu.expect(loss, z, p).value == close(brute_force.mean(pairs), scale_of(pairs))


@pytest.mark.parametrize(("name", "k"), [("pk", 12), ("windowdiff", 12), ("windowdiff", 33)])
def test_long_windows(name, k):
    """Labels are independent, so each window is a sum that can be worked out alone."""
    rng, n = np.random.default_rng(k), 100
    p, z, wrong = rng.uniform(0.01, 0.2, n), (rng.random(n) < 0.1).astype(int), []
    for i in range(n - k + 1):
        chance, count = np.ones(1), z[i : i + k].sum()
        for one in p[i : i + k]:
            chance = np.convolve(chance, [1 - one, one])
        differs = chance[0] if count else 1 - chance[0]
        wrong.append(differs if name == "pk" else 1 - chance[count])
    for engine in ENGINES if (name, k) == ("pk", 12) else ENGINES[:1]:
        known = fsmeu.expect(fsmeu.load(name, k=k), z, p, engine=engine).value
        assert known == pytest.approx(np.mean(wrong), rel=1e-11)  # one of them by logarithms


@engines
def test_rare_great_windows_leave_the_digits_of_others(engine):
    """Windows of 7 that are worth -(512^sum): the mean is that of a product, exactly known."""
    text = "loss f labels 0 1 memory a of y last 7 count c by -(2^(9 * sum(a))) when i >= 7 value c"
    p, loss = 2.0**-10, fsmeu.loads(text)
    certain, model = (fsmeu.models.Bernoulli([x] * 8) for x in (0.0, p))
    for z in ([0] * 8, certain):
        found = fsmeu.expect(loss, z, model, engine=engine).value
        assert found == pytest.approx(-2 * (1 - p + 512 * p) ** 7, rel=1e-12)


# -- faults of a file are seen by every query ------------------------------------------------------

Z, PROBS = (1, 0, 1, 1, 0, 1), (0.3, 0.6, 0.5, 0.2, 0.9, 0.4)
OUTSIDE = "the remembered value is outside the declared bounds"
GREAT = "c passes 2^53, where whole numbers are not told apart"
FAULTS = [
    (OUTSIDE, "memory m of 1 + z + 2 * y in 0..1 last 6 count c by sum(m) when i >= 6 value c"),
    (OUTSIDE, "memory m of 2 * y in 0..1 last 2 count c by sum(m) value c ^ 2"),
    (OUTSIDE, "memory m of 1 + i in 0..1 last 2 count c when z != y value c"),
    (OUTSIDE, "memory q of y last 6 memory m of 2 * y in 0..1 last 6 count c by sum(q) value c"),
    ("c leaves its bounds", "register c in 0..1 start 0 next c + (y == 1) value c"),
    (GREAT, "count c by if i == 1 then 2^53 else y value (c - 2^53)^2"),
    (GREAT, "count c by if i == 1 then 2^53 else z value (c - 2^53)^2"),
    ("the declared range 0 .. 1", "count c when y == 1 value 5 * c range 0 .. 1"),
    ("the declared range 0 .. 1", "memory a of y last 3 count c by sum(a) value c range 0 .. 1"),
]


def all_queries(loss):
    """Every way to ask, by name."""
    model, certain = fsmeu.models.Bernoulli(PROBS), fsmeu.models.Bernoulli([float(a) for a in Z])
    for engine in ENGINES:
        options = {"engine": engine}
        for z in (Z, certain):
            yield "expect", lambda z=z, o=options: fsmeu.expect(loss, z, model, **o).value
        yield "levels", lambda o=options: fsmeu.expect(loss, Z, model, **o).levels
        yield f"gradient, {engine}", lambda o=options: fsmeu.gradient(loss, Z, model, **o)
        yield "keep", lambda o=options: fsmeu.expect(loss, Z, model, keep=10**6, **o).value
    yield "expect_many", lambda: fsmeu.expect_many(loss, [Z], [PROBS])
    yield "compose", lambda: fsmeu.compose(loss, Z, model, minimize=True)
    yield "decode", lambda: fsmeu.decode(loss, model)
    yield "a pair", lambda: loss(Z, (1,) * len(Z))
    yield "compile", lambda: loss.compile(len(Z))
    for z in (None, Z):
        yield "compile_summed", lambda z=z: fsmeu.compile_summed(loss, len(Z), z)


@pytest.mark.parametrize(("words", "body"), FAULTS)
def test_faults_of_a_file_are_seen_by_every_query(words, body):
    """Values outside the range are not seen by what does not compute values."""
    valueless = ("gradient, auto", "compile_summed") if "range" in body else ()
    for name, ask in all_queries(fsmeu.loads(f"loss f labels 0 1 {body}")):
        if name not in valueless:
            with pytest.raises(LossFileError, match=re.escape(words)):
                ask()
