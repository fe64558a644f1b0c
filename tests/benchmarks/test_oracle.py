"""Cost oracles of chunk F1: how fast they are built and asked, and what a corpus takes."""

import random

import numpy as np

import fsmeu
from fsmeu.searn import CostOracle, CostOracles
from tests.benchmarks import conll2000
from tests.benchmarks.measure import apart, record, seconds, within
from tests.searn.stubs import well_formed

TYPES = tuple(f"T{k}" for k in range(11))
TAGS = ("O", *(f"B-{name}" for name in TYPES), *(f"I-{name}" for name in TYPES))
WORDS = 25


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


def test_queries():
    """At least 200,000 queries of all tags a second."""
    y = references(1)[0]
    oracles = CostOracles(loss(), [y])
    prefixes = list(asked(y, 20_000))
    states, zeros = states_of(oracles.oracle(0), prefixes), np.zeros(len(prefixes), np.int64)
    oracles.costs_at(zeros, states)
    took = seconds(lambda: oracles.costs_at(zeros, states), repeats=5)
    rate = f"{len(prefixes) / took:,.0f} a second"
    title = f"oracle, 20,000 queries of 23 tags ({rate}): taken | allowed"
    assert record(title, took, len(prefixes) / 2e5, at_least=1)


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
    assert within(f"oracles of CoNLL-2000, {len(ys):,} sentences, {tables}", run, 60)


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
