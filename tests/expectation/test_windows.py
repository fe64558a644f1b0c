"""Expectations of sums over windows: counting instead of remembering changes no number."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import LossFileError
from fsmeu.expectation import composition
from fsmeu.losses import sum_over_paths
from tests import brute_force
from tests.expectation.checks import ENGINES, close, engines, scale_of
from tests.losses.meaning import Undefined, World
from tests.strategies import model_cases

LABELS = [(0, 1), (0, 1, 2), ("a", "b")]
GATES = ["i >= k", "seen == k", "i > k - 1 and seen == k"]


@pytest.fixture(autouse=True)
def _windows_of_any_length(monkeypatch):
    monkeypatch.setattr(composition, "MUCH_TO_REMEMBER", 0)


@st.composite
def texts(draw, labels):
    """A file whose value is a sum over windows of length k."""
    numeric = isinstance(labels[0], int)
    one = labels[1] if numeric else f'"{labels[1]}"'
    entries = ["z", "y", "(z == y)"] + (["z - y in -2..2", "z + 2 * y in 0..6"] if numeric else [])
    lines, terms = [], ["1"]
    for name in draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True)):
        entry = draw(st.sampled_from(entries))
        lines.append(f"memory {name} of {entry} last k")
        is_label = entry in ("z", "y")
        terms.append(f"tally({name}, {one if is_label else 1})")
        if numeric or not is_label:
            terms.append(f"sum({name})")
    if draw(st.booleans()):
        lines.append(f"age g since y == {one} up to k")
        terms.append("g")
    term = st.sampled_from(terms)
    forms = st.sampled_from(["{} - {}", "abs({} - 2 * {})", "({} > {}) * 3", "min({}, {}) ^ 2"])
    for name in ("total", "other"):
        amount = draw(forms).format(draw(term), draw(term))
        lines.append(f"count {name} by {amount} when {draw(st.sampled_from(GATES))}")
    value = draw(
        st.sampled_from(["total / n", "2 - total", "total - other / 3", "(other + 1) * k"])
    )
    seen = "register seen in 0..k start 0 next min(seen + 1, k)"
    return "\n".join(["loss f(k: int)", "labels any", seen, *lines, f"value {value}"])


@st.composite
def questions(draw):
    labels = draw(st.sampled_from(LABELS))
    n = draw(st.integers(1, 7 if len(labels) == 2 else 4))
    z = draw(st.lists(st.sampled_from(labels), min_size=n, max_size=n))
    return draw(texts(labels)), labels, draw(st.integers(1, 5)), z, draw(model_cases(labels, n))


@settings(max_examples=150, deadline=None)
@given(questions())
def test_windows_equal_enumeration(asked):
    text, labels, k, z, model = asked
    loss = fsmeu.loads(text, labels=labels, k=k)
    values = World(loss.spec, labels, len(z), k=k).every_y(z)
    pairs = brute_force.joint(values, model.distribution)
    known = fsmeu.expect(loss, z, model.model)
    assert known.value == close(brute_force.mean(pairs), scale_of(pairs))
    assert known.kept == close(1.0)


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
    assert body in OTHERS or sum_over_paths.windows(loss, 8) is not None
    for z in ((1, 0, 1, 1, 0, 1, 1, 1), (1,) * 8):
        chances = brute_force.bernoulli((0.3, 0.6, 0.5, 0.2, 0.9, 0.4, 0.7, 0.1))
        try:
            pairs = brute_force.joint(World(loss.spec, (0, 1), 8).every_y(z), chances)
        except Undefined:
            with pytest.raises(LossFileError):
                fsmeu.expect(loss, z, [0.3, 0.6, 0.5, 0.2, 0.9, 0.4, 0.7, 0.1])
        else:
            known = fsmeu.expect(loss, z, [0.3, 0.6, 0.5, 0.2, 0.9, 0.4, 0.7, 0.1])
            assert known.value == close(brute_force.mean(pairs), scale_of(pairs))


@pytest.mark.parametrize("k", [7, 12])
def test_windows_equal_states(k, monkeypatch):
    """The same expectation with memories as states, for a chain of order 2."""
    rng = np.random.default_rng(k)
    first, then = rng.dirichlet(np.ones(4)).reshape(2, 2), rng.dirichlet(np.ones(2), (2, 2))
    model = fsmeu.models.Markov(first, then, n=30)
    z = rng.integers(0, 2, 30)
    summed = fsmeu.expect(fsmeu.load("windowdiff", k=k), z, model).value
    monkeypatch.setattr(composition, "MUCH_TO_REMEMBER", 2**60)
    assert summed == close(fsmeu.expect(fsmeu.load("windowdiff", k=k), z, model).value)


@pytest.mark.parametrize("k", [12, 33])
def test_windows_of_independent_labels(k):
    """z has no boundary: a window is bad unless y has none there either."""
    n = 200
    p = np.random.default_rng(k).uniform(0, 0.2, n)
    good = [np.prod(1 - p[i : i + k]) for i in range(n - k + 1)]
    known = fsmeu.expect(fsmeu.load("windowdiff", k=k), [0] * n, p).value
    assert known == pytest.approx(1 - np.mean(good), rel=1e-12)


def test_a_range_is_checked_there_too():
    text = (
        "loss f labels 0 1 memory a of y last 3 count c by sum(a) when i > 2 value c range 0 .. 1"
    )
    with pytest.raises(LossFileError, match=r"the declared range is 0 \.\. 1"):
        fsmeu.expect(fsmeu.loads(text), "00000", [0.9] * 5)


# -- memories that leave their bounds, in every query ----------------------------------------------

Z, PROBS = (1, 0, 1, 1, 0, 1, 1), (0.3, 0.6, 0.5, 0.2, 0.9, 0.4, 0.7)


def all_queries(loss):
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
def test_memories_that_leave_their_bounds_are_refused(body, monkeypatch):
    monkeypatch.undo()
    loss = fsmeu.loads(f"loss f labels 0 1 {body}")
    words = "the remembered value is outside the declared bounds"
    n = len(Z)
    for ask in (
        *all_queries(loss),
        lambda: loss(Z, (1,) * n),
        lambda: loss.compile(n),
        lambda: loss.compile(n, minimize=True),
        lambda: fsmeu.compile_summed(loss, n),
        lambda: fsmeu.compile_summed(loss, n, Z),
        lambda: fsmeu.decode(loss, fsmeu.models.Bernoulli(PROBS)),
    ):
        with pytest.raises(LossFileError, match=words):
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
