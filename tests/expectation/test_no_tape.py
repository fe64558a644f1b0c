"""Registers that read no tape, and memories that leave their bounds, in every query."""

import math

import pytest

import fsmeu
from fsmeu.errors import LossFileError
from fsmeu.losses.language.read import read
from tests.losses.meaning import World

Z, PROBS = (1, 0, 1, 1, 0, 1, 1), (0.3, 0.6, 0.5, 0.2, 0.9, 0.4, 0.7)
ENGINES = ("lattice", "openfst")


def expected(text):
    """The mean by listing every reference."""
    values = World(read(text), (0, 1), len(Z)).every_y(Z)
    chances = {
        y: math.prod(p if b else 1 - p for p, b in zip(PROBS, y, strict=True)) for y in values
    }
    return math.fsum(float(values[y]) * chances[y] for y in values)


def queries(loss):
    """The expected value by every way to ask for it."""
    model = fsmeu.models.Bernoulli(PROBS)
    certain = fsmeu.models.Bernoulli([float(a) for a in Z])
    for engine in ENGINES:
        for z in (Z, certain):
            yield lambda z=z, e=engine: fsmeu.expect(loss, z, model, engine=e).value
        yield lambda e=engine: fsmeu.expect(loss, Z, model, engine=e).levels.mean
        yield lambda e=engine: fsmeu.value_and_gradient(loss, Z, model, engine=e)[0]
        yield lambda e=engine: fsmeu.expect(loss, Z, model, engine=e, keep=10**6).value
    yield lambda: fsmeu.expect_many(loss, [Z], [PROBS])[0]
    yield lambda: fsmeu.compose(loss, Z, model, minimize=True).total


@pytest.mark.parametrize(
    "body",
    [
        "memory m of 1 + z + 2 * y in 0..1 last 6 count c by sum(m) when i >= 6 value c",
        "memory m of 2 * y in 0..1 last 6 count c by tally(m, 1) when i >= 6 value c",
        "memory m of 2 * y in 0..1 last 2 count c by sum(m) value c ^ 2",
        "memory m of 1 + z in 0..1 last 2 count c by sum(m) * y value c",
        "memory m of 1 + z in 0..1 last 2 count c when z != y value c",
        "memory m of 1 + i in 0..1 last 2 count c when z != y value c",
        "memory m of i in 0..6 last 2 count c by sum(m) when z != y value c",
        "memory m of y / 2 in 0..1 last 6 count c by sum(m) when i >= 6 value c",
        "memory q of y last 6 memory m of 2 * y in 0..1 last 6 count c by sum(q) when i >= 6 "
        "value c",
    ],
)
def test_memories_that_leave_their_bounds_are_refused(body):
    loss = fsmeu.loads(f"loss f labels 0 1 {body}")
    words = "the remembered value is outside the declared bounds"
    n = len(Z)
    for ask in (
        *queries(loss),
        lambda: loss(Z, (1,) * n),
        lambda: loss.compile(n),
        lambda: loss.compile(n, minimize=True),
        lambda: fsmeu.compile_summed(loss, n),
        lambda: fsmeu.compile_summed(loss, n, Z),
        lambda: fsmeu.decode(loss, fsmeu.models.Bernoulli(PROBS)),
    ):
        with pytest.raises(LossFileError, match=words):
            ask()


@pytest.mark.parametrize("engine", ENGINES)
def test_rare_great_windows_leave_the_digits_of_others(engine):
    """Windows of 7 that are worth -(512^sum): the mean is that of a product, exactly known."""
    text = "loss f labels 0 1 memory a of y last 7 count c by -(2^(9 * sum(a))) when i >= 7 value c"
    p, n = 2.0**-10, 8
    wanted = -2 * (1 - p + 512 * p) ** 7
    loss, certain = fsmeu.loads(text), fsmeu.models.Bernoulli([0.0] * n)
    model = fsmeu.models.Bernoulli([p] * n)
    for z in ([0] * n, certain):
        assert fsmeu.expect(loss, z, model, engine=engine).value == pytest.approx(wanted, rel=1e-12)
