"""Batches, walking state by state, losses of every make, and what is refused."""

import random

import numpy as np
import pytest

import fsmeu
from fsmeu import limits
from fsmeu.errors import FsmeuError, InputError, LossFileError, SizeLimitError
from fsmeu.losses.loss import library
from fsmeu.searn import CostOracle, CostOracles
from tests import shelf
from tests.support.nightly import every_third

KINDS = {
    "counted": ("chunk_fscore", {}),
    "counted_not_linear": ("jaccard", {}),
    "summed": ("cost_matrix", {"cost": [[0.0, 0.1], [0.7, 0.2]]}),
    "listed": (None, {}),
    "states": ("zero_one", {}),
}


NOT_MONOTONIC = """utility f labels 0 1
count tp when z == 1 and y == 1
count hyp when z == 1
value abs(2 * tp - hyp)"""


def load(kind):
    name, given = KINDS[kind]
    if name is None:
        return fsmeu.loads(NOT_MONOTONIC)
    return fsmeu.load(name, **given) if given else shelf.load(name)


def corpus(loss, lengths, seed=0):
    rng = random.Random(seed)
    return [rng.choices(loss.labels, k=n) for n in lengths]


@pytest.mark.parametrize("kind", KINDS)
def test_batches_equal_single_oracles(kind):
    loss, rng = load(kind), np.random.default_rng(1)
    ys = corpus(loss, [5, 0, 3, 5, 1, 6])
    oracles = CostOracles(loss, ys)
    assert len(oracles) == 6
    assert oracles.lengths.tolist() == [5, 0, 3, 5, 1, 6]
    sentences = np.array([0, 2, 3, 5, 5, 4, 0])
    states, prefixes = oracles.start(sentences), [[] for _ in sentences]
    singles = [CostOracle(loss, ys[k]) for k in sentences]
    for t in range(6):
        held = oracles.lengths[sentences] > t
        sentences, states = sentences[held], states[held]
        prefixes = [z for z, here in zip(prefixes, held, strict=True) if here]
        singles = [one for one, here in zip(singles, held, strict=True) if here]
        costs, values = oracles.costs_at(sentences, states), oracles.values_at(sentences, states)
        for k, (one, z) in enumerate(zip(singles, prefixes, strict=True)):
            np.testing.assert_array_equal(costs[k], one.costs(z))
            assert values[k] == one.value(z)
            assert values[k] == oracles.oracle(sentences[k]).value(z)
        labels = rng.integers(0, len(loss.labels), len(sentences))
        states = oracles.step(sentences, states, labels)
        for z, label in zip(prefixes, labels, strict=True):
            z.append(loss.labels[label])


@pytest.mark.parametrize("kind", KINDS)
def test_walking_equals_asking_for_prefixes(kind):
    loss = load(kind)
    y, z = corpus(loss, [6, 6], seed=3)
    oracle = CostOracle(loss, y)
    state = oracle.start
    for t, label in enumerate(z):
        np.testing.assert_array_equal(oracle.costs_at(state), oracle.costs(z[:t]))
        assert oracle.value_at(state) == oracle.value(z[:t])
        assert hash(state) == hash(oracle.state(z[:t]))
        state = oracle.step(state, oracle.labels.index(label))
    assert oracle.value_at(state) == pytest.approx(loss(z, y), rel=1e-12)


def test_sums_of_decimal_fractions_tie():
    """0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 in doubles; both cost the same."""
    loss = fsmeu.load("cost_matrix", labels="abc", cost=[[0.1, 0.2, 0.3]] * 3)
    oracle = CostOracle(loss, "abcabcabc")
    for prefix in ("", "abc", "ccccb"):
        assert oracle.costs(prefix).tolist() == [0.0, 0.0, 0.0]


def test_small_costs_are_not_rounded_away():
    loss = fsmeu.loads("loss f labels 0 1 count c by 1e-17 when z != y value c")
    assert CostOracle(loss, "01").costs("").tolist() == [0.0, 1e-17]


def test_loss_in_python():
    class LongestRun:
        """The longest run of agreement; best when long."""

        def start(self):
            return (0, 0)

        def step(self, state, z, y):
            run = state[0] + 1 if z == y else 0
            return (run, max(state[1], run))

        def value(self, state):
            return float(state[1])

    loss = fsmeu.function_loss(LongestRun(), labels="abc", kind="utility")
    oracle = CostOracle(loss, "abca")
    assert oracle.costs("").tolist() == [0.0, 1.0, 1.0]
    assert oracle.costs("b").tolist() == [1.0, 0.0, 1.0]  # one more miss leaves two of four
    assert oracle.value("ab") == 4.0
    assert oracle.value("acc") == 2.0


def test_labels_are_given_where_they_are_open():
    oracle = CostOracle(fsmeu.load("hamming"), "cab", labels="abc")
    assert oracle.labels == ("a", "b", "c")
    assert oracle.best("") == "c"
    with pytest.raises(InputError, match="must have the same labels"):
        CostOracle(fsmeu.load("fscore"), [0, 1], labels="ab")


def test_ties_go_to_the_reference():
    """After a wrong first label, zero-one loss is lost whatever follows."""
    oracle = CostOracle(fsmeu.load("zero_one", labels="abc"), "acb")
    assert oracle.best_all("b") == ("a", "b", "c")
    assert oracle.best("b") == "c"


def test_length_in_a_step():
    """A step that looks at n: oracles of each length are made anew."""
    text = "loss f labels 0 1 count c when z != y and 2 * i > n value c"
    loss = fsmeu.loads(text)
    oracles = CostOracles(loss, ["0000", "00"])
    assert oracles.costs_at([0, 1], oracles.start([0, 1])).tolist() == [[0, 0], [0, 0]]
    states = oracles.step([0, 1], oracles.start([0, 1]), [0, 0])
    assert oracles.costs_at([0, 1], states).tolist() == [[0, 0], [0, 1]]


def test_bounds_of_another_length():
    """Registers are held to the bounds of the reference's own length, long ones asked first."""
    text = """loss f labels 0 1
register a in 0..max(n - 2, 2) start 0 next if z == 1 then a + 1 else 0
count c when z != y
value c"""
    loss = fsmeu.loads(text)
    with pytest.raises(LossFileError, match="bounds"):
        CostOracle(loss, "000000")
    assert CostOracle(loss, "00").value("") == 0.0


def test_undefined_completions_are_refused():
    loss = fsmeu.loads("loss f labels 0 1 count c when z == 1 value 1 / (3 - c)")
    assert CostOracle(loss, "00").value("") == pytest.approx(1 / 3)
    with pytest.raises(LossFileError, match="division by zero"):
        CostOracle(loss, "0000")


def test_value_outside_the_declared_range_is_refused():
    loss = fsmeu.loads("loss f labels 0 1 count c when z == 1 value c range 0 .. 2")
    assert CostOracle(loss, "00").value("") == 0.0
    with pytest.raises(LossFileError, match="range"):
        CostOracle(loss, "000")


def test_memory_is_guarded(monkeypatch):
    monkeypatch.setenv("FSMEU_MAX_STATES", "1000")
    loss = fsmeu.load("fscore")
    with pytest.raises(SizeLimitError, match="FSMEU_MAX_STATES"):
        CostOracle(loss, [0, 1] * 400)
    with pytest.raises(SizeLimitError):
        CostOracle(fsmeu.loads(NOT_MONOTONIC), [0, 1] * 400)


def test_long_references():
    """Hamming has one number for a position, F1 as many as there may be positives."""
    y = [0, 1, 1, 0] * 100
    oracle = CostOracle(fsmeu.load("fscore"), y)
    assert oracle.value([0, 1]) == 1.0
    assert oracle.costs([0, 1])[0] == pytest.approx(1 - 2 * 199 / (199 + 200), rel=1e-12)
    assert CostOracle(fsmeu.load("hamming"), y * 20).value([1]) == pytest.approx(1 / 8000)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_refused(kind):
    loss = load(kind)
    y = corpus(loss, [3])[0]
    oracle, oracles = CostOracle(loss, y), CostOracles(loss, [y, y[:1]])
    start = oracles.start([0, 1])
    ended = oracles.step([1], oracles.start([1]), [0])
    strange = [
        lambda: CostOracle("fscore", y),
        lambda: CostOracle(loss, 5),
        lambda: CostOracle(loss, [object()]),
        lambda: CostOracles(loss, 5),
        lambda: oracle.costs([*y, y[0]]),
        lambda: oracle.costs(["?"]),
        lambda: oracle.costs(y),
        lambda: oracle.best(y),
        lambda: oracle.step(oracle.start, len(loss.labels)),
        lambda: oracle.step(oracle.start, -1),
        lambda: oracle.step(oracle.start, "0"),
        lambda: oracle.costs_at(10**9),
        lambda: oracle.costs_at(-1),
        lambda: oracle.costs_at("state"),
        lambda: oracle.value_at(10**15),
        lambda: oracles.start([2]),
        lambda: oracles.start([-1]),
        lambda: oracles.start(0),
        lambda: oracles.start([0.5]),
        lambda: oracles.step([0, 1], start, [0]),
        lambda: oracles.step([0, 1], start, [0, 99]),
        lambda: oracles.step([0], start, [0]),
        lambda: oracles.costs_at([0], start),
        lambda: oracles.costs_at([1], ended),
        lambda: oracles.costs_at([0, 1], start + 10**12),
    ]
    for ask in strange:
        with pytest.raises(FsmeuError):
            ask()


def test_what_is_kept_may_be_forgotten(monkeypatch):
    """Layers that are too many to keep are found again."""
    loss = load("counted")
    ys = corpus(loss, [6] * 5)
    kept = [CostOracle(loss, y).costs("") for y in ys]
    monkeypatch.setattr(limits, "KEPT_ORACLE_CELLS", 10)
    fresh = load("counted")
    again = CostOracles(fresh, ys)
    np.testing.assert_array_equal(again.costs_at(np.arange(5), again.start(np.arange(5))), kept)


@pytest.mark.parametrize("name", every_third(library()))
def test_values_are_attained_in_long_sequences(name):
    """Labels that cost nothing lead to the value; no other completion that is tried does better."""
    loss, rng = shelf.load(name, 3), random.Random(name)
    sign = 1.0 if loss.kind == "utility" else -1.0
    for n in (20, 9, 40 if name == "chunk_fscore" else 12):
        y = rng.choices(loss.labels, k=n)
        oracle = CostOracle(loss, y)
        prefix = [rng.choice(loss.labels) if rng.random() < 0.4 else a for a in y[: n // 2]]
        value, z = oracle.value(prefix), list(prefix)
        while len(z) < n:
            z.append(rng.choice(oracle.best_all(z)))
        assert loss(z, y) == pytest.approx(value, rel=1e-12, abs=1e-15)
        for _ in range(5):
            other = prefix + [rng.choice((a, rng.choice(loss.labels))) for a in y[len(prefix) :]]
            assert sign * loss(other, y) <= sign * value + 1e-12
