"""Cost oracles: batches, losses of every make, constraints, chunks, refusals, cancellation."""

import pickle
import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import FsmeuError, InputError, LossFileError, SizeLimitError
from fsmeu.expectation.expect import ENGINES
from fsmeu.losses.language.read import read
from fsmeu.losses.loss import library
from fsmeu.searn import CostOracle, CostOracles
from tests import shelf
from tests.losses.meaning import World
from tests.searn.stubs import optimal_tag, reachable, well_formed
from tests.support.nightly import every_third

NOT_MONOTONIC = """utility f labels 0 1
count tp when z == 1 and y == 1
count hyp when z == 1
value abs(2 * tp - hyp)"""

KINDS = {
    "counted": lambda: shelf.load("chunk_fscore"),
    "counted_not_linear": lambda: shelf.load("jaccard"),
    "summed": lambda: fsmeu.load("cost_matrix", cost=[[0.0, 0.1], [0.7, 0.2]]),
    "listed": lambda: fsmeu.loads(NOT_MONOTONIC),
    "states": lambda: shelf.load("zero_one"),
}


def corpus(loss, lengths, seed=0):
    rng = random.Random(seed)
    return [rng.choices(loss.labels, k=n) for n in lengths]


@pytest.mark.parametrize("kind", KINDS)
def test_batches_equal_single_oracles(kind):
    loss, rng = KINDS[kind](), np.random.default_rng(1)
    ys = corpus(loss, [5, 0, 3, 5, 1, 6])
    oracles = CostOracles(loss, ys)
    assert (len(oracles), oracles.lengths.tolist()) == (6, [5, 0, 3, 5, 1, 6])
    sentences = np.array([0, 2, 3, 5, 5, 4, 0])
    states, prefixes = oracles.start(sentences), [[] for _ in sentences]
    for t in range(6):
        held = oracles.lengths[sentences] > t
        sentences, states = sentences[held], states[held]
        prefixes = [z for z, here in zip(prefixes, held, strict=True) if here]
        costs, values = (
            oracles.costs_at(sentences, states),
            oracles.values_at(sentences, states),
        )
        for k, z in enumerate(prefixes):
            for one in (CostOracle(loss, ys[sentences[k]]), oracles.oracle(sentences[k])):
                np.testing.assert_array_equal(costs[k], one.costs(z))
                assert values[k] == one.value(z)
            assert one.state(z) == tuple(states[k].tolist())
        labels = rng.integers(0, len(loss.labels), len(sentences))
        states = oracles.step(sentences, states, labels)
        for z, label in zip(prefixes, labels, strict=True):
            z.append(loss.labels[label])


class LongestRun:
    def start(self):
        return (0, 0)

    def step(self, state, z, y):
        run = state[0] + 1 if z == y else 0
        return (run, max(state[1], run))

    def value(self, state):
        return float(state[1])


CELLS = fsmeu.load("cost_matrix", labels="abc", cost=[[0.1, 0.2, 0.3]] * 3)
TINY = fsmeu.loads("loss f labels 0 1 count c by 1e-17 when z != y value c")
LATE = fsmeu.loads("loss f labels 0 1 count c when z != y and 2 * i > n value c")
RUN = fsmeu.function_loss(LongestRun(), labels="abc", kind="utility")
CHUNK = fsmeu.load("chunk_fscore", types=["X"])
LONG = [0, 1, 1, 0] * 100


@pytest.mark.parametrize(
    ("loss", "y", "prefix", "costs", "value"),
    [
        *((CELLS, "abcabcabc", z, [0, 0, 0], 0.2) for z in ("", "abc", "ccccb")),  # .1 + .2 + .3
        (TINY, [0, 1], [], [0, 1e-17], 0),  # small costs are no ties
        (fsmeu.load("zero_one", labels="abc"), "acb", "b", [0, 0, 0], 1),  # all is lost
        (RUN, "abca", "", [0, 1, 1], 4),
        (RUN, "abca", "b", [1, 0, 1], 3),  # one more miss leaves two of four
        (RUN, "abca", "acc", [0, 1, 1], 2),
        (LATE, [0] * 4, [0], [0, 0], 0),  # a step that looks at n
        (LATE, [0] * 2, [0], [0, 1], 0),
        (fsmeu.load("fscore"), LONG, [0, 1], [1 - 2 * 199 / (199 + 200), 0], 1),
        (fsmeu.load("hamming"), LONG * 20, [1], [1 / 8000, 0], 1 / 8000),
        (CHUNK, ["B-X", "O", "B-X"], ["O", "O"], [2 / 3, 0, 0], 2 / 3),  # one of two is missed
        (CHUNK, ["I-X", "O"], [], [1, 0, 0], 1),  # gold that opens with I counts
    ],
)
def test_costs_by_hand(loss, y, prefix, costs, value):
    """The best label is that of the reference if it costs nothing, else the first that does."""
    oracle, own = CostOracle(loss, y), y[len(prefix)]
    assert oracle.costs(prefix).tolist() == pytest.approx(costs, rel=1e-12, abs=0)
    assert oracle.value(prefix) == pytest.approx(value)
    best = [label for label, cost in zip(oracle.labels, costs, strict=True) if cost == 0]
    assert oracle.best_all(prefix) == tuple(best)
    assert oracle.best(prefix) == (own if own in best else best[0])


BOUNDED = """register a in 0..max(n - 2, 2) start 0 next if z == 1 then a + 1 else 0
count c when z != y value c"""  # bounds are those of the reference's own length


@pytest.mark.parametrize(
    ("text", "good", "bad", "says"),
    [
        (BOUNDED, "00", "000000", "bounds"),
        ("count c when z == 1 value 1 / (3 - c)", "00", "0000", "division by zero"),
        ("count c when z == 1 value c range 0 .. 2", "00", "000", "range"),
    ],
)
def test_undefined_completions_are_refused(text, good, bad, says):
    loss = fsmeu.loads(f"loss f labels 0 1 {text}")
    with pytest.raises(LossFileError, match=says):
        CostOracle(loss, bad)
    assert CostOracle(loss, good).value("") == pytest.approx(1 / 3 if "/" in text else 0.0)


def test_memory_is_guarded(monkeypatch):
    monkeypatch.setenv("FSMEU_MAX_STATES", "1000")
    for loss in (fsmeu.load("fscore"), fsmeu.loads(NOT_MONOTONIC)):
        with pytest.raises(SizeLimitError, match="FSMEU_MAX_STATES"):
            CostOracle(loss, [0, 1] * 400)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_refused(kind):
    loss = KINDS[kind]()
    y = corpus(loss, [3])[0]
    oracle, oracles = CostOracle(loss, y), CostOracles(loss, [y, y[:1]])
    first, start = oracle.start, oracles.start([0, 1])
    ended = oracles.step([1], oracles.start([1]), [0])
    strange = [
        (CostOracle, 3, y),
        (CostOracle, "fsocre", y),
        (CostOracle, loss, 5),
        (CostOracle, loss, [object()]),
    ]
    strange += [(CostOracles, loss, 5), (oracle.best, y), (oracle.value_at, 10**15)]
    strange += [(oracle.costs, z) for z in ([*y, y[0]], ["?"], y)]
    strange += [(oracle.step, first, label) for label in (len(loss.labels), -1, "0")]
    strange += [(oracle.costs_at, state) for state in (10**9, -1, "state", first[:3])]
    strange += [(oracles.start, sentences) for sentences in ([2], [-1], 0, [0.5])]
    strange += [(oracles.step, [0, 1], start, labels) for labels in ([0], [0, 99])]
    strange += [(oracles.step, [0], start, [0]), (oracles.costs_at, [0], start)]
    strange += [(oracles.costs_at, [1], ended), (oracles.costs_at, [0, 1], start + 10**12)]
    for ask, *words in strange:
        with pytest.raises(FsmeuError):
            ask(*words)


def test_what_is_kept_may_be_forgotten(lowered):
    """Layers that are too many to keep are found again, and stay in a pickle."""
    ys = corpus(loss := KINDS["counted"](), [6] * 5)
    kept = [CostOracle(loss, y).costs("") for y in ys]
    lowered(KEPT_ORACLE_CELLS=10)
    again = pickle.loads(pickle.dumps(CostOracles(KINDS["counted"](), ys)))
    np.testing.assert_array_equal(again.costs_at(np.arange(5), again.start(np.arange(5))), kept)


# A loss that requires something of hypotheses has no costs of prefixes.
SERVED = [name for name in library() if not shelf.load(name, 3).requirement]


@pytest.mark.parametrize("name", every_third(SERVED))
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


def test_a_small_count_is_told_from_none():
    """A value that asks whether a count is 0: where nothing was counted, nothing was rounded."""
    text = "loss f\nlabels 0 1\ncount hyp by 1e-6 when z == 1\nvalue 1 or 0.75 when hyp == 0\n"
    oracle = CostOracle(fsmeu.loads(text), [0, 0])
    assert oracle.costs([]).tolist() == [0.0, 0.25]
    assert oracle.costs([1]).tolist() == [0.0, 0.0]


# -- where not every label may follow every other -------------------------------------------------


def drawn(labels, rng):
    """A table of which label may follow which, and what each stands for."""
    may = np.array([[rng.random() < 0.6 for _ in range(labels)] for _ in range(labels + 1)])
    may[range(labels + 1), [rng.randrange(labels) for _ in range(labels + 1)]] = True
    fallback_labels = np.empty((labels + 1, labels), np.int64)
    for row, table in zip(may, fallback_labels, strict=True):
        table[:] = [k if row[k] else rng.choice(np.flatnonzero(row)) for k in range(labels)]
    return may, fallback_labels


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SERVED)
@pytest.mark.thirds
def test_costs_are_those_of_allowed_completions(name, engine):
    case, loss = shelf.case(name, 2), shelf.load(name, 2)
    rng = random.Random(f"{name} fallback_labels")
    places = {label: k for k, label in enumerate(case.labels)}
    may, fallback_labels = drawn(len(case.labels), rng)
    n = 3 if len(case.labels) > 3 else 5
    y, best = tuple(rng.choices(case.labels, k=n)), max if loss.kind == "utility" else min
    every = {
        z: float(v) for z, v in reachable(case.world(n), y, best is max).items() if len(z) == n
    }
    lasts = {z: [-1, *(places[label] for label in z)] for z in every}
    every = {z: v for z, v in every.items() if all(may[a, b] for a, b in pairwise(lasts[z]))}
    oracle = CostOracles(loss, [y], fallback_labels=fallback_labels, engine=engine).oracle(0)
    for prefix in {z[: rng.randrange(n)] for z in rng.sample(sorted(every), min(8, len(every)))}:
        costs, found = oracle.costs(prefix), {}
        for label in case.labels:
            ahead = [v for z, v in every.items() if z[: len(prefix) + 1] == (*prefix, label)]
            if ahead:
                found[label] = best(ahead)
        ideal = best(found.values())
        assert oracle.value(prefix) == pytest.approx(ideal, rel=1e-12, abs=1e-12)
        for label, value in found.items():
            scale = max(1.0, abs(ideal))
            assert costs[places[label]] == pytest.approx(abs(value - ideal), abs=1e-12 * scale)
        row = fallback_labels[places[prefix[-1]] if prefix else -1]
        assert costs.tolist() == costs[row].tolist()  # what may not come next is said of its other


RAGGED, FRACTIONS, UNSTABLE = [[0, 1], [0]], [[0.0, 1.0]] * 3, [[1, 0]] * 3
TABLES = [[[0, 1], [0, 1]], [[0, 1], [0, 1], [0, 2]], FRACTIONS, UNSTABLE, "ab", RAGGED]


@pytest.mark.parametrize("fallback_labels", TABLES)
def test_other_tables_are_refused(fallback_labels):
    with pytest.raises(InputError, match="fallback_labels must be a table of 3 rows and 2 columns"):
        CostOracles(fsmeu.load("fscore"), [[0, 1]], fallback_labels=fallback_labels)


# -- chunks: the policy that the paper writes by hand, also at full size --------------------------

TYPES = tuple(f"T{k}" for k in range(11))


@pytest.mark.parametrize(("types", "n", "cases"), [(TYPES[:2], 7, 40), (TYPES, 25, 25)])
def test_equation_18(types, n, cases):
    """Its label costs nothing, and following it to the end reaches the oracle's value."""
    rng = random.Random(n)
    loss = fsmeu.load("chunk_fscore", types=types)
    for _ in range(cases):
        y = well_formed(rng, types, n)
        oracle = CostOracle(loss, y)
        z = [rng.choice(loss.labels) if rng.random() < 0.3 else a for a in y[: rng.randrange(n)]]
        costs = dict(zip(oracle.labels, oracle.costs(z), strict=True))
        assert costs[optimal_tag(y, z)] == 0.0
        value = oracle.value(z)
        while len(z) < n:
            z.append(optimal_tag(y, z))
        assert loss(z, y) == pytest.approx(value, rel=1e-12)
    assert optimal_tag(["I-X", "O"], []) == "O"  # it loses a chunk that opens with I


# -- great amounts that cancel do not swallow small ones, or it is told how much they may ---------

SUMS = """{kind} f labels 0 1
count a by {great} when z == 1
count b by {great} when z == 0
count e by {small} when z != y
value {value}"""

LENT = """{kind} f labels 0 1
memory m of z last 1
count a by {great} when z == 1
count b by {great} when i > 1 and old m[0] == 1
count c by {great} when i == n and z == 1
count e by {small} when z != y and y == 1
count f by {small} when z == 1 and m[0] != z
value {value}"""

VALUES = {
    SUMS: ("a + b - {great} * n + e", "e + a + b - {great} * n", "b + e - {great} * n + a"),
    LENT: ("a - b - c + e + f", "e + a - c + f - b"),
}


def oracles(loss, y):
    """An oracle of one reference, and one of many with a table of labels that may follow."""
    return [
        CostOracle(loss, y),
        CostOracles(loss, [[0], y], fallback_labels=[[0, 1]] * 3).oracle(1),
    ]


@st.composite
def cases(draw, great, small):
    text = draw(st.sampled_from(list(VALUES)))
    words = {
        "kind": draw(st.sampled_from(["loss", "utility"])),
        "great": draw(st.sampled_from(great)),
        "small": draw(st.sampled_from(small)),
    }
    value = draw(st.sampled_from(VALUES[text]))
    text = text.format(**words, value=value.format(**words))
    return text, draw(st.lists(st.integers(0, 1), min_size=1, max_size=6)), draw(st.integers(0, 99))


def explicit(loss, y):
    """The oracle of the explicit engine."""
    return [CostOracle(loss, y, engine="openfst")]


def answers(case, oracles=oracles):
    """Oracles of a case, after some prefixes: the true costs, the oracle's, and both values."""
    (text, y, seed) = case
    rng = random.Random(seed)
    loss = fsmeu.loads(text)
    found = reachable(World(read(text), (0, 1), len(y)), tuple(y), loss.kind == "utility")
    drawn = [tuple(rng.choices((0, 1), k=rng.randrange(len(y)))) for _ in range(8)]
    for oracle in oracles(loss, y):
        for prefix in {(), *drawn}:
            truth = [abs(found[prefix] - found[(*prefix, a)]) for a in (0, 1)]
            values = (oracle.value(prefix), float(found[prefix]))
            yield oracle, truth, oracle.costs(prefix).tolist(), values


def test_labels_that_differ_by_one_beside_ten_to_the_sixteenth():
    text = SUMS.format(kind="loss", great="10^16", small="1", value=VALUES[SUMS][0])
    loss = fsmeu.loads(text.format(great="10^16"))
    for oracle in [*oracles(loss, [1, 0, 1]), CostOracle(loss, [1, 0, 1], engine="openfst")]:
        assert oracle.costs([]).tolist() == [1.0, 0.0]
        assert oracle.costs([0]).tolist() == [0.0, 1.0]
        assert oracle.value([0]) == 1.0
        assert 0.0 <= oracle.rounding < 1e-12


@settings(max_examples=40)
@given(case=cases(["1", "10^8", "10^16", "2^70", "3 * 10^17"], ["1", "3", "1/8", "2^20"]))
def test_whole_amounts_are_exact(case):
    """Additive losses of every core: costs are those of fractions, bit for bit."""
    for _, truth, costs, (value, want) in answers(case):
        assert costs == truth
        assert abs(value - want) <= 1e-12 * abs(want)


@settings(max_examples=40)
@given(case=cases(["1/3", "10^9/7", "10^16/3", "10^200/3"], ["1", "1/3", "1/10"]))
def test_rounding_bounds_what_is_lost(case):
    """Amounts that doubles do not hold: costs are right up to what the oracle says."""
    for answer in answers(case):
        holds_up_to_rounding(*answer)


@settings(max_examples=40, deadline=None)
@given(case=cases(["1", "1/3", "10^9/7", "10^16/3"], ["1", "1/3", "1/10"]))
def test_rounding_bounds_what_the_explicit_engine_loses(case):
    for answer in answers(case, explicit):
        holds_up_to_rounding(*answer)


CURVED = ("(e + a + b - {great} * n + 1)^2", "abs(e - (a + b - {great} * n)) * (a + 1)")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("value", CURVED)
@pytest.mark.parametrize("great", ["1/3", "10^9/7"])
def test_rounding_bounds_what_values_lose_that_are_not_linear(value, great, engine):
    words = {"kind": "loss", "great": great, "small": "1/10"}
    text = SUMS.format(**words, value=value.format(**words))
    for seed, y in enumerate(([1, 0, 1], [0, 0], [1, 1, 0, 1])):
        asked = (lambda loss, y: [CostOracle(loss, y, engine=engine)],)
        for oracle, *answer in answers((text, y, seed), *asked):
            holds_up_to_rounding(oracle, *answer)
            assert oracle.rounding < (1e-12 if great == "1/3" else 1e3)


NONE_COUNTED = """{kind} f labels 0 1
count a by 0.421 when z == 1 and y == 1
count b by 0.421 when z == 1
value a / b or 0 when b == 0"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["loss", "utility"])
def test_a_sum_of_nothing_is_0_whatever_is_added_elsewhere(kind, engine):
    """Rounding is that of the sums that were added, so that a test of b is decided."""
    asked = (lambda loss, y: [CostOracle(loss, y, engine=engine)],)
    for seed, y in enumerate(([1, 0, 1, 0], [0, 1, 1], [0, 0, 0, 0, 0])):
        for oracle, *answer in answers((NONE_COUNTED.format(kind=kind), y, seed), *asked):
            holds_up_to_rounding(oracle, *answer)
            assert oracle.rounding < 1e-14


@pytest.mark.parametrize("engine", ENGINES)
def test_values_that_rounding_decides_are_refused(engine):
    text = """loss f labels 0 1
    count a by 0.421 when z == 1
    count b by 0.421 when y == 1
    value a / (a - b) or 0 when a == b"""
    with pytest.raises(InputError, match=r"rounding must not decide.*reference 0.*whole numbers"):
        CostOracle(fsmeu.loads(text), [1] * 4, engine=engine)


def holds_up_to_rounding(oracle, truth, costs, values):
    bound = Fraction(oracle.rounding)
    for cost, answer in zip(truth, costs, strict=True):
        if answer == 0.0:
            assert cost <= 2 * bound
        else:
            assert answer > oracle.rounding
            assert abs(Fraction(answer) - cost) <= bound + cost / 2**52


@pytest.mark.parametrize("name", ["fscore", "zero_one", "hamming"])
@pytest.mark.parametrize("engine", ENGINES)
def test_ordinary_values_are_hardly_rounded(name, engine):
    loss = shelf.load(name)
    oracle = CostOracle(loss, [*loss.labels] * 2, engine=engine)
    assert 0.0 <= oracle.rounding < 1e-15


def test_nothing_gained_is_worth_nothing():
    """What the best sequence gains is lost again, to the last digit."""
    rng = random.Random(1)
    for _ in range(30):
        gains = [[0.0] * 3, *([-round(rng.random(), 2) for _ in range(3)] for _ in range(2))]
        y = rng.choices("abc", k=rng.randint(1, 9))
        loss = fsmeu.load("cost_matrix", labels="abc", cost=gains)
        assert CostOracle(loss, y).value("a" * len(y)) == 0.0
