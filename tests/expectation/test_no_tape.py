"""Registers that read no tape, and memories that leave their bounds, in every query."""

import math

import pytest

import fsmeu
from fsmeu.errors import LossFileError
from fsmeu.losses.language.read import read
from tests.expectation.checks import close
from tests.losses.meaning import Undefined, World
from tests.support.nightly import every_third

Z, PROBS = (1, 0, 1, 1, 0, 1, 1), (0.3, 0.6, 0.5, 0.2, 0.9, 0.4, 0.7)
ENGINES = ("lattice", "openfst")

REGISTERS = {
    "memory of the position": ("memory t of i % 2 in 0..1 last 2", "sum(t)"),
    "entry of such a memory": ("memory t of i % 2 in 0..1 last 2", "(t[1] == 1)"),
    "old entry of such a memory": ("memory t of i % 2 in 0..1 last 2", "(old t[0] == 1)"),
    "memory of a condition": ("memory t of (i > 2) last 6", "tally(t, 1)"),
    "memory of the length": ("memory t of n in 0..10 last 2", "sum(t)"),
    "memory of a constant": ("memory t of 1 in 0..1 last 6", "sum(t)"),
    "two memories": ("memory t of (i < 2) last 2 memory s of (i % 3 == 1) last 2", "(t == s)"),
    "age": ("age t since i % 3 == 1 up to 4", "old t"),
    "age of the length": ("age t since n == 4 up to 4", "t"),
    "flag": ("flag t when i > 2", "t"),
    "register": ("register t in 0..9 start 1 next (t * 3 + i) % 7", "t"),
    "register of the length": ("register t in 0..20 start n next n", "t"),
    "state": ("state A B arc A -> B when i > 2 arc A -> A otherwise arc B -> A", "(at B)"),
    "state that reads nothing": ("state A B arc A -> B arc B -> A", "(at B)"),
    "count": ("count t by i", "t"),
}
BODIES = (
    "count bad by {} when z != y value bad",
    "count bad by {} when z != y and i >= 6 value bad ^ 2",
    "memory q of (z != y) last 6 count bad by {} * sum(q) when i >= 6 value bad",
)


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


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("name", every_third(REGISTERS))
def test_registers_that_read_no_tape(name, body):
    declared, read_as = REGISTERS[name]
    text = f"loss f labels 0 1 {declared} {body.format(read_as)}"
    loss, wanted = fsmeu.loads(text), expected(text)
    for ask in queries(loss):
        assert ask() == close(wanted, abs(wanted))
    assert fsmeu.compile_summed(loss, len(Z)).states > 0
    if body is BODIES[0]:
        assert fsmeu.decode(loss, PROBS[:4]).value <= fsmeu.expect(loss, Z[:4], PROBS[:4]).value


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


def test_the_second_reading_knows_bounds_of_memories():
    spec = read("loss f labels 0 1 memory m of 1 + z in 0..1 last 2 count c by sum(m) value c")
    with pytest.raises(Undefined):
        World(spec, (0, 1), 2).run((1, 1), (0, 0))


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
