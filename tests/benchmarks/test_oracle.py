"""Cost oracles of chunk F1: how fast they are built and asked, and what a corpus takes."""

import random

import numpy as np
import pytest

import fsmeu
from fsmeu.searn import CostOracle, CostOracles
from tests.benchmarks import conll2000, plain_oracle
from tests.benchmarks.measure import apart, compare, record, seconds
from tests.searn.stubs import well_formed

TYPES = tuple(f"T{k}" for k in range(11))
TAGS = ("O", *(f"B-{name}" for name in TYPES), *(f"I-{name}" for name in TYPES))
WORDS = 25
NUMBA = "numba is not installed (it is the extra 'fast')"


def references(count, seed=0):
    rng = random.Random(seed)
    return [well_formed(rng, TYPES, WORDS) for _ in range(count)]


def loss():
    return fsmeu.load("chunk_fscore", labels=TAGS)


def asked(y, count):
    """Prefixes of tag indices: the reference with every fifth tag another."""
    rng = np.random.default_rng(1)
    gold = np.array([TAGS.index(tag) for tag in y])
    for _ in range(count):
        t = rng.integers(0, WORDS)
        other = rng.random(t) < 0.2
        yield np.where(other, rng.integers(0, len(TAGS), t), gold[:t])


def states_of(oracle, prefixes):
    found = []
    for prefix in prefixes:
        state = oracle.start
        for tag in prefix.tolist():
            state = oracle.step(state, tag)
        found.append(state)
    return np.array(found)


def plain(y):
    return plain_oracle.reference(y, list(TYPES))


def test_yardstick_is_right():
    """Its costs are those of the oracle, which enumeration has checked."""
    for y in references(3):
        opens, goes = plain(y)
        best = plain_oracle.build(opens, goes, len(TYPES))
        prefixes = list(asked(y, 20))
        states = [plain_oracle.state_after(opens, goes, len(TYPES), list(z)) for z in prefixes]
        found = np.empty((len(states), len(TAGS)))
        plain_oracle.costs(opens, goes, len(TYPES), best, states, found)
        oracle = CostOracle(loss(), y)
        for z, costs in zip(prefixes, found, strict=True):
            np.testing.assert_allclose(oracle.costs([TAGS[k] for k in z]), costs, atol=1e-12)


def test_queries_compiled(monkeypatch):
    """At least 200,000 queries of all tags a second; beside loops written for chunk F1."""
    numba = pytest.importorskip("numba", reason=NUMBA)
    y = references(1)[0]
    opens, goes = plain(y)
    oracles = CostOracles(loss(), [y])
    prefixes = list(asked(y, 20_000))
    states, zeros = states_of(oracles.oracle(0), prefixes), np.zeros(len(prefixes), np.int64)
    ours = oracles.costs_at(zeros, states)
    monkeypatch.setattr(plain_oracle, "action", numba.njit(plain_oracle.action))
    build, costs = numba.njit(plain_oracle.build), numba.njit(plain_oracle.costs)
    best = build(opens, goes, len(TYPES))
    theirs = np.array(
        [plain_oracle.state_after(opens, goes, len(TYPES), z.tolist()) for z in prefixes]
    )
    found = np.empty((len(prefixes), len(TAGS)))
    costs(opens, goes, len(TYPES), best, theirs, found)
    np.testing.assert_allclose(ours, found, atol=1e-12)
    first, second = compare(
        lambda: costs(opens, goes, len(TYPES), best, theirs, found),
        lambda: oracles.costs_at(zeros, states),
        rounds=5,
    )
    rate = f"{len(prefixes) / second:,.0f} a second"
    record(f"oracle, 20,000 queries, compiled: chunk F1's own loops | ours, {rate}", first, second)
    title = "oracle, 20,000 queries of 23 tags, compiled: taken | allowed"
    assert record(title, second, len(prefixes) / 2e5, at_least=1)


def test_building():
    """At most 20 ms for an oracle after the first: the second, and the median of the next 50."""
    CostOracle(loss(), references(1, seed=9)[0])  # loads what is loaded once
    chunk_f1, (first, second, *others) = loss(), references(52)
    CostOracle(chunk_f1, first)
    took = seconds(lambda: CostOracle(chunk_f1, second))
    times = sorted(seconds(lambda y=y: CostOracle(chunk_f1, y)) for y in others)
    record("oracle, the second one built: taken | 20 ms", took, 0.02)
    title = "oracle, median of the next 50 built: taken | allowed"
    assert record(title, times[25], 0.02, at_least=1)


def test_corpus():
    """The 8,936 training sentences of CoNLL-2000 in a minute, in less than a gigabyte."""
    ys = [conll2000.tags(sentence) for sentence in conll2000.sentences("train")]
    chunk_f1 = fsmeu.load("chunk_fscore", labels=conll2000.TAGS)

    def work():
        return CostOracles(chunk_f1, ys).nbytes

    run = apart("oracles of CoNLL-2000", work, seconds=60)
    tables = f"tables of {run.result / 2**20:,.0f} MB"
    title = f"oracles of CoNLL-2000, {len(ys):,} sentences, {tables}: taken | allowed"
    timely = record(title, run.seconds, 60.0, at_least=1)
    title = "oracles of CoNLL-2000, memory at the peak in gigabytes: taken | allowed"
    assert record(title, run.gigabytes, 1.0, at_least=1)
    assert timely


def test_corpus_in_lockstep():
    """All positions of 2,000 sentences, each asked once, all sentences at a position together."""
    ys = [conll2000.tags(sentence) for sentence in conll2000.sentences("train")[:2000]]
    oracles = CostOracles(fsmeu.load("chunk_fscore", labels=conll2000.TAGS), ys)
    took = seconds(lambda: _lockstep(oracles), repeats=3)
    asked_for = int(oracles.lengths.sum())
    rate = f"{asked_for / took:,.0f} a second"
    title = f"oracle, {asked_for:,} queries and steps in lockstep, {rate}: taken | allowed"
    assert record(title, took, asked_for / 1e5, at_least=1)


def _lockstep(oracles):
    order = np.argsort(-oracles.lengths, kind="stable")
    states = oracles.start(order)
    for t in range(int(oracles.lengths.max())):
        here = int(np.count_nonzero(oracles.lengths > t))
        sentences, states = order[:here], states[:here]
        costs = oracles.costs_at(sentences, states)
        states = oracles.step(sentences, states, costs.argmin(axis=1))
