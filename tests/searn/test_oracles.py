"""Cost oracles of known references: enumeration, the paper's policy, batches, rounding, threads."""

import pickle
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.expectation.expect import ENGINES
from fsmeu.losses.language.read import read
from fsmeu.searn import CostOracle, CostOracles
from tests import shelf
from tests.losses.meaning import World
from tests.searn.stubs import best_ahead, listed, well_formed
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
# A loss that requires something of hypotheses has no costs of prefixes.
SERVED = [name for name in fsmeu.library() if not shelf.load(name, 3).requirement]


def fallback_table(labels, rng):
    """For each last label (none at the end) what each next one stands for, drawn."""
    may = np.array([[rng.random() < 0.6 for _ in range(labels)] for _ in range(labels + 1)])
    may[range(labels + 1), [rng.randrange(labels) for _ in range(labels + 1)]] = True
    others = [[rng.choice(np.flatnonzero(row)) for _ in row] for row in may]
    return np.where(may, np.arange(labels), others)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("is_limited", [False, True])
@pytest.mark.parametrize("name", SERVED)
@pytest.mark.thirds
def test_costs_are_those_of_enumeration(name, is_limited, engine):
    """Of all completions, and of those that a table of labels that may follow leaves."""
    case, loss, rng = shelf.case(name), shelf.load(name), random.Random(f"{name} {engine}")
    labels, count = case.labels, len(case.labels)
    table = fallback_table(count, rng) if is_limited else np.tile(range(count), (count + 1, 1))
    n = 3 if count > 3 else 5
    y = tuple(rng.choices(labels, k=n))

    def following(prefix):
        """What each label stands for after a prefix."""
        return [labels[k] for k in table[labels.index(prefix[-1]) if prefix else -1]]

    def is_allowed(z):
        return all(z[t] in following(z[:t]) for t in range(n))

    every = {z: v for z, v in listed(case.world(n), {y: 1}).items() if is_allowed(z)}
    prefixes = {z[: rng.randrange(n)] for z in rng.sample(sorted(every), min(8, len(every)))}
    oracles = CostOracles(loss, [y[:1], y], fallback_labels=table, engine=engine)
    for oracle in [oracles.oracle(1)] + [CostOracle(loss, y, engine=engine)] * (not is_limited):
        for prefix in prefixes:
            ideal, costs = best_ahead(every, prefix, following(prefix), loss.kind)
            near = 1e-12 * max(1.0, abs(ideal))
            assert oracle.costs(prefix) == pytest.approx(list(map(float, costs)), abs=near)
            assert oracle.value(prefix) == pytest.approx(float(ideal), abs=near)
        assert 0.0 <= oracle.rounding < 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_batches_equal_single_oracles(kind):
    loss, rng = KINDS[kind](), random.Random(1)
    ys = [rng.choices(loss.labels, k=n) for n in (5, 0, 3, 5, 1, 6)]
    oracles = pickle.loads(pickle.dumps(CostOracles(loss, ys)))
    assert (len(oracles), oracles.lengths.tolist()) == (6, [5, 0, 3, 5, 1, 6])
    sentences = np.array([0, 2, 3, 5, 5, 4, 0])
    states, prefixes = oracles.start(sentences), [[] for _ in sentences]
    for t in range(6):
        held = oracles.lengths[sentences] > t
        sentences, states = sentences[held], states[held]
        prefixes = [z for z, here in zip(prefixes, held, strict=True) if here]
        costs, values = (ask(sentences, states) for ask in (oracles.costs_at, oracles.values_at))
        for k, z in enumerate(prefixes):
            for one in (CostOracle(loss, ys[sentences[k]]), oracles.oracle(sentences[k])):
                np.testing.assert_array_equal(costs[k], one.costs(z))
                assert values[k] == one.value(z)
        labels = rng.choices(range(len(loss.labels)), k=len(sentences))
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
NONE = fsmeu.loads("loss f labels 0 1 count hyp by 1e-6 when z == 1 value 1 or 0.75 when hyp == 0")
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
        (NONE, [0, 0], [], [0, 0.25], 0.75),  # where nothing was counted, nothing was rounded
        (NONE, [0, 0], [1], [0, 0], 1),
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
    assert oracle.exact(prefix)
    least, greatest = oracle.bounds(prefix)
    assert (least <= oracle.costs(prefix)).all()
    assert (oracle.costs(prefix) <= greatest).all()


@pytest.mark.parametrize("name", every_third(SERVED))
def test_values_are_attained_in_long_sequences(name):
    """Labels that cost nothing lead to the value; no other completion that is tried does better."""
    loss, rng = shelf.load(name, 3), random.Random(name)
    sign = 1.0 if loss.kind == "utility" else -1.0
    for n in (9, 40 if name == "chunk_fscore" else 15):
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


# -- chunks: the policy that the paper writes by hand, also at full size --------------------------

TYPES = tuple(f"T{k}" for k in range(11))


def optimal_tag(y, prefix):
    """The optimal policy for chunks by hand (equation 18): the next tag of y, if it can stand."""
    tag = y[len(prefix)]
    kind, _, name = tag.partition("-")
    goes_on = prefix and prefix[-1] in (f"B-{name}", f"I-{name}")
    return tag if kind == "B" or (kind == "I" and goes_on) else "O"


@pytest.mark.parametrize(("types", "n", "cases"), [(TYPES[:2], 7, 40), (TYPES, 25, 10)])
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


# -- great amounts that cancel do not swallow small ones, or it is told how much they may ---------

SUMS = """loss f labels 0 1
count a by {great} when z == 1
count b by {great} when z == 0
count e by {small} when z != y
value {value}"""
ADDED = ("a + b - {great} * n + e", "e + a + b - {great} * n", "b + e - {great} * n + a")
CURVED = "(e + a + b - {great} * n + 1)^2"


@settings(max_examples=90, deadline=None)
@given(
    st.lists(st.integers(0, 1), min_size=1, max_size=5),
    st.sampled_from(["1", "10^16", "2^70", "3 * 10^17", "1/3", "10^9/7", "10^200/3"]),
    st.sampled_from(["1", "1/8", "1/10"]),
    st.sampled_from((*ADDED, CURVED)),
    st.sampled_from(ENGINES),
)
def test_costs_are_those_of_fractions(y, great, small, value, engine):
    """Bit for bit where amounts are whole, else up to what the oracle says of its rounding."""
    # Other ways compute with doubles, and refuse what passes 2^53.
    assume(great in ("1", "1/3", "10^9/7") or (value != CURVED and engine == "auto"))
    text = SUMS.format(great=great, small=small, value=value.format(great=great))
    every = listed(World(read(text), (0, 1), len(y)), {tuple(y): 1})
    oracle = CostOracle(fsmeu.loads(text), y, engine=engine)
    is_exact = "/" not in great and small != "1/10" and value != CURVED and engine == "auto"
    bound = 0 if is_exact else Fraction(oracle.rounding)
    for prefix in [z for n in range(len(y)) for z in product((0, 1), repeat=n)]:
        _, truth = best_ahead(every, prefix, (0, 1), "loss")
        for cost, found in zip(truth, oracle.costs(prefix), strict=True):
            if found == 0:
                assert cost <= 2 * bound
            else:
                assert found > bound
                assert abs(Fraction(found) - cost) <= bound + (not is_exact) * cost / 2**52


# -- threads ---------------------------------------------------------------------------------------

CLOCKED = "loss f labels 0 1 count a by i + 100 * y when z != y value a"
STATES = """utility f labels 0 1
register run in 0..9 start 0 next if z == y then min(run + 1, 9) else 0
register most in 0..9 start 0 next max(most, run)
value most"""


@pytest.mark.parametrize("text", [CLOCKED, STATES], ids=["clocked", "states"])
def test_many_threads_ask_one_loss(text):
    """What a loss keeps of its references is shared; each answers as a loss that is asked once."""
    rng, before = np.random.default_rng(3), sys.getswitchinterval()
    ys = [tuple(rng.integers(0, 2, n).tolist()) for n in rng.integers(1, 20, 16)]

    def answers(loss, y):
        oracle = CostOracle(loss, y)
        return oracle.costs([]).tolist(), oracle.costs(y[: len(y) // 2]).tolist(), oracle.value()

    loss, truth = fsmeu.loads(text), [answers(fsmeu.loads(text), y) for y in ys]
    with ThreadPoolExecutor(8, initializer=sys.setswitchinterval, initargs=[1e-6]) as pool:
        found = list(pool.map(lambda y: answers(loss, y), ys))
    sys.setswitchinterval(before)
    assert found == truth
