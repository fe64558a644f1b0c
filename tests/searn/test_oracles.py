"""Cost oracles of known references: enumeration, hand, the paper's policy, batches."""

import pickle
import random

import numpy as np
import pytest

import fsmeu
from fsmeu.expectation.expect import ENGINES
from fsmeu.searn import CostOracle, CostOracles
from tests import shelf
from tests.searn.stubs import best_ahead, listed, well_formed

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
@pytest.mark.parametrize("name", SERVED)
@pytest.mark.thirds
def test_costs_are_those_of_enumeration(name, engine):
    """Of the completions that a table of labels that may follow leaves; the matrix asks of all."""
    case, loss, rng = shelf.case(name), shelf.load(name), random.Random(f"{name} {engine}")
    labels, n = case.labels, 3 if len(case.labels) > 3 else 5
    table, y = fallback_table(len(labels), rng), tuple(rng.choices(labels, k=n))

    def following(prefix):
        """What each label stands for after a prefix."""
        return [labels[k] for k in table[labels.index(prefix[-1]) if prefix else -1]]

    every = listed(case.world(n), {y: 1}).items()
    every = {z: v for z, v in every if all(z[t] in following(z[:t]) for t in range(n))}
    oracle = CostOracles(loss, [y[:1], y], fallback_labels=table, engine=engine).oracle(1)
    for prefix in {z[: rng.randrange(n)] for z in rng.sample(sorted(every), min(8, len(every)))}:
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


CELLS = fsmeu.load("cost_matrix", labels="abc", cost=[[0.1, 0.2, 0.3]] * 3)
TINY = fsmeu.loads("loss f labels 0 1 count c by 1e-17 when z != y value c")
LATE = fsmeu.loads("loss f labels 0 1 count c when z != y and 2 * i > n value c")
NONE = fsmeu.loads("loss f labels 0 1 count hyp by 1e-6 when z == 1 value 1 or 0.75 when hyp == 0")
SUMS = """loss f labels 0 1 count a by 2^70 when z == 1 count b by 2^70 when z == 0
count e by 1/8 when z != y value e + a + b - 2^70 * n"""
CHUNK = fsmeu.load("chunk_fscore", types=["X"])
LONG = [0, 1, 1, 0] * 100


@pytest.mark.parametrize(
    ("loss", "y", "prefix", "costs", "value"),
    [
        *((CELLS, "abcabcabc", z, [0, 0, 0], 0.2) for z in ("", "abc", "ccccb")),  # .1 + .2 + .3
        (TINY, [0, 1], [], [0, 1e-17], 0),  # small costs are no ties
        (fsmeu.load("zero_one", labels="abc"), "acb", "b", [0, 0, 0], 1),  # all is lost
        (LATE, [0] * 4, [0], [0, 0], 0),  # a step that looks at n
        (LATE, [0] * 2, [0], [0, 1], 0),
        (fsmeu.loads(SUMS), [0, 1], [1], [1 / 8, 0], 1 / 8),  # great amounts cancel
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
