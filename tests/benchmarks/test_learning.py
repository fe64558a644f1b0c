"""Cost oracles of chunk F1, learners of Jansche 2005 and Liu 2018: time and memory."""

import random
import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

import fsmeu
from fsmeu.learning.expected_utility import SmoothF
from fsmeu.learning.online import FOFOClassifier
from fsmeu.searn import CostOracle, CostOracles
from tests.benchmarks import conll2000
from tests.benchmarks.measure import apart, compare, in_time, record, seconds, within
from tests.searn.stubs import well_formed

# -- oracles --------------------------------------------------------------------------------------

TYPES = tuple(f"T{k}" for k in range(11))
TAGS = ("O", *(f"B-{name}" for name in TYPES), *(f"I-{name}" for name in TYPES))
WORDS = 25


def references(count, seed=0):
    rng = random.Random(seed)
    return [well_formed(rng, TYPES, WORDS) for _ in range(count)]


def loss():
    return fsmeu.load("chunk_fscore", labels=TAGS)


def some_states(oracle, y, count):
    """The states after prefixes of the reference with every fifth tag another."""
    rng, gold, found = np.random.default_rng(1), np.array([TAGS.index(tag) for tag in y]), []
    for _ in range(count):
        t, state = rng.integers(0, WORDS), oracle.start
        other = rng.random(t) < 0.2
        for tag in np.where(other, rng.integers(0, len(TAGS), t), gold[:t]).tolist():
            state = oracle.step(state, tag)
        found.append(state)
    return np.array(found)


def test_oracle_queries():
    """A million queries of all tags a second."""
    (y,), count = references(1), 20_000
    oracles = CostOracles(loss(), [y])
    states, zeros = some_states(oracles.oracle(0), y, count), np.zeros(count, np.int64)
    title = "oracle, 20,000 queries of 23 tags"
    assert in_time(title, count / 1e6, lambda: oracles.costs_at(zeros, states), 5, count)


def test_oracle_building():
    """At most 10 ms for an oracle after the first: the second is shown, the next 50 are judged."""
    CostOracle(loss(), references(1, seed=9)[0])  # loads what is loaded once
    chunk_f1, (first, *others) = loss(), references(52)
    CostOracle(chunk_f1, first)
    second, *times = (seconds(lambda y=y: CostOracle(chunk_f1, y)) for y in others)
    record("oracle, the second one built: 10 ms | ours", 0.01, second)
    title = "oracle, median of the next 50 built: the limit | ours"
    assert record(title, 0.01, sorted(times)[25], at_most=1)


def test_oracles_of_a_corpus():
    """The 8,936 training sentences of CoNLL-2000 in ten seconds and half a gigabyte."""
    ys = [conll2000.tags(sentence) for sentence in conll2000.sentences("train")]
    chunk_f1 = fsmeu.load("chunk_fscore", labels=conll2000.TAGS)
    run = apart("oracles of CoNLL-2000", lambda: CostOracles(chunk_f1, ys).nbytes, 10, 0.5)
    tables = f"(tables of {run.result / 2**20:,.0f} MB)"
    assert within(f"oracles of CoNLL-2000, {len(ys):,} sentences {tables}", run, 10, 0.5)


# -- FOFO -----------------------------------------------------------------------------------------


def test_fofo():
    """Two million examples a second, on dense rows with 54 features."""
    rng, count = np.random.default_rng(0), 400_000
    rows = rng.random((count, 54))
    chances = 1 / (1 + np.exp(-(rows @ rng.normal(size=54) - 3)))
    labels = (rng.random(count) < chances).astype(int)
    fit = FOFOClassifier(horizon=count).fit
    assert in_time("FOFO, 400,000 examples", count / 2e6, lambda: fit(rows, labels), 5, count)


# -- Figure 1 of Jansche 2005: O(nk) time and, beside the data, O(k) memory ------------------------


def called(n, k, times=1, sparse=False):
    """Value and gradient for n random examples with k features, a fifth of them not 0 if sparse."""
    rng, theta = np.random.default_rng(0), np.full(k + 1, 0.1)
    if sparse:
        rows = csr_array(random_array((n, k), density=0.2, format="csr", rng=rng))
    else:
        rows = rng.normal(size=(n, k))
    smooth = SmoothF(rows, (rng.random(n) < 0.1).astype(float), rng.random(n))

    def calls():
        for _ in range(times):
            smooth(theta)

    calls()
    return calls


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("small", "large"), [((16_384, 32), (262_144, 32)), ((32_768, 32), (32_768, 512))]
)
def test_time_grows_no_faster_than_examples_and_features(small, large, sparse):
    """By no more than twice the data, of which caches hold less; squares would give 16."""
    times = compare(called(*small, 16, sparse), called(*large, 1, sparse))
    kind, sizes = "sparse" if sparse else "dense", [f"{n:,} x {k}" for n, k in (small, large)]
    assert record(f"F~, {kind}: 16 times {sizes[0]} | {sizes[1]}", *times, at_most=2)


def traced_peak(n, k):
    """The greatest number of bytes that one call holds beside the data."""
    call = called(n, k)
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def test_memory_grows_as_the_features():
    """Sixteen times as many examples take no more; the growth with features has exponent 1."""
    assert traced_peak(262_144, 32) < 1.01 * traced_peak(16_384, 32)
    sizes = np.array([1_024, 4_096, 16_384])
    more = [traced_peak(64, int(k)) for k in sizes]
    exponent = np.polyfit(np.log(sizes), np.log(more), 1)[0]
    assert 0.9 < exponent < 1.05
