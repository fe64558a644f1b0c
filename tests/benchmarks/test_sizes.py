"""How fast and how large decisions and expectations are at the sizes of users.

Tag sets of 20 to 50 labels under conditional random fields, whole test sets. Bars in seconds and
gigabytes are shown as the limit against ours. ``FSMEU_BENCH_SENTENCES=5`` takes that many
sentences of every corpus instead of all.
"""

import os
import time
from dataclasses import replace

import numpy as np
import pytest

import fsmeu
from fsmeu.models import Markov, from_potentials
from tests.benchmarks import conll2000
from tests.benchmarks.measure import apart, compare, record, seconds, within
from tests.benchmarks.plain_chain import marginals, viterbi
from tests.benchmarks.plain_chunks import conditionals, decide, expected


def some(sequence):
    """All of a corpus, or as many as the environment says, spread over it."""
    count = int(os.environ.get("FSMEU_BENCH_SENTENCES", "0")) or len(sequence)
    return sequence[:: max(1, len(sequence) // count)][:count]


def chunk_loss():
    """A loss object that has not been used."""
    return fsmeu.load("chunk_fscore", types=conll2000.TYPES)


def field(n, size, labels=None, seed=0, scale=1.0):
    """Random potentials; those of labels are multiplied by a scale."""
    random = np.random.default_rng((seed, n, size))
    unary = scale * random.normal(size=(n, size))
    return from_potentials(unary, random.normal(size=(size, size)), labels)


def loaded():
    """Loads the compiled loops: what follows does not count that."""
    loss = fsmeu.load("chunk_fscore", types=["A"])
    model = field(30, 3, loss.labels)
    fsmeu.expect(loss, fsmeu.decode(loss, model).labels, model)


def corpus_within(title, run, count, rate):
    """Whether so many sentences a second were answered, in a gigabyte; rows for both."""
    pace = f"{float(f'{count / run.seconds:.2g}'):,g} a second"
    return within(f"{title}, {count} sentences ({pace}), {rate:,} a second", run, count / rate)


# -- one sentence ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1, 3, 6])
def test_chunks_against_the_kernel(scale):
    """Deciding chunk F1 with 23 tags costs a third of what a kernel costs that values all ends."""
    n, loss = 25, chunk_loss()
    model = field(n, 23, loss.labels, scale=scale)
    chain = conditionals(model)

    def kernel():
        return decide(*chain, loss.labels)[1]

    def ours():
        return fsmeu.decode(loss, model).value

    def calls():
        loaded()
        first, second = seconds(ours), seconds(ours)
        times = compare(kernel, ours, rounds=6, repeats=(5, 10))
        z = fsmeu.decode(loss, model).labels
        valued = seconds(lambda: fsmeu.expect(loss, z, model), 20)
        return first - second, times, ours(), valued

    title = f"chunk F1, 23 tags, n = {n}, potentials x {scale}"
    extra, times, value, valued = apart(title, calls, seconds=10).result
    assert value == pytest.approx(kernel(), rel=1e-12)
    held = [
        record(f"decode, {title}: kernel | ours", *times, at_most=0.3),
        record(f"decode, {title}: 1 s | the first call beyond the second", 1.0, extra, at_most=1),
        record(f"expect, {title}: 1 ms | ours", 0.001, valued, at_most=1),
    ]
    assert all(held)


def test_long_sentence():
    """Chunk F1 with 23 tags at the length of the longest sentences."""
    n, loss = 80, chunk_loss()
    model = field(n, 23, loss.labels)
    chain = conditionals(model)
    title = f"the first decision, chunk F1, 23 tags, n = {n}"

    def first():
        loaded()
        found = []
        taken = seconds(lambda: found.append(fsmeu.decode(loss, model).value))
        return taken, found[0]

    run = apart(title, first, seconds=5)
    taken, value = run.result
    assert value == pytest.approx(decide(*chain, loss.labels)[1], rel=1e-10)
    kernel = seconds(lambda: decide(*chain, loss.labels), 5)
    record(f"{title}: kernel | ours", kernel, taken)
    assert within(title, replace(run, seconds=taken), 1.0)


# -- CoNLL-2000 -----------------------------------------------------------------------------------


@pytest.fixture
def corpus():
    """Potentials and models of the test sentences; no test sees what another made models keep."""
    trained = conll2000.trained_field()
    unary = some(trained.unary)
    models = [from_potentials(scores, trained.pairwise, conll2000.TAGS) for scores in unary]
    return unary, trained.pairwise, models


def test_decode_conll2000(corpus):
    """The decisions have the values that they are said to have, and these are the best."""
    _, _, models = corpus
    loss, count, rate = chunk_loss(), len(models), 600

    def ours():
        return [(made.labels, made.value) for made in fsmeu.decode_many(loss, models)]

    title = "decode_many, chunk F1, CoNLL-2000"
    run = apart(title, ours, count / rate)
    held = corpus_within(title, run, count, rate)
    tags, best = conll2000.TAGS, []
    kernel = seconds(lambda: best.extend(decide(*conditionals(m), tags)[1] for m in models))
    record(f"{title}, {count} sentences: kernel | ours", kernel, run.seconds)
    labels, values = zip(*run.result, strict=True)
    worth = [expected(*conditionals(m), tags, z) for m, z in zip(models, labels, strict=True)]
    np.testing.assert_allclose(values, best, rtol=1e-10)
    np.testing.assert_allclose(worth, best, rtol=1e-10)
    assert held


def test_expect_conll2000(corpus):
    """The expected chunk F1 of the most probable tags."""
    unary, pairwise, models = corpus
    loss, count, rate, tags = chunk_loss(), len(models), 1500, conll2000.TAGS
    paths = [[tags[k] for k in viterbi(scores, pairwise)] for scores in unary]
    title = "expect_many, chunk F1, CoNLL-2000"
    run = apart(title, lambda: fsmeu.expect_many(loss, paths, models), count / rate)
    held = corpus_within(title, run, count, rate)
    worth = [expected(*conditionals(m), tags, z) for m, z in zip(models, paths, strict=True)]
    np.testing.assert_allclose(run.result, worth, rtol=1e-10)
    assert held


def test_conll2000_as_one_corpus(corpus):
    """Bounds of the best expected chunk F1 of all sentences together, by two threads."""
    _, _, models = corpus
    loss = chunk_loss()

    def ours():
        begin = time.perf_counter()
        made = fsmeu.decode_corpus(loss, models, jobs=2)
        return time.perf_counter() - begin, made.gap, made.exact

    title = "decode_corpus, chunk F1, CoNLL-2000"
    fsmeu.decode_corpus(loss, models[:200])  # loads the loops
    run = apart(title, ours, 6)
    elapsed, gap, exact = run.result
    assert exact
    assert gap <= 1e-10
    timely = record(f"{title}, seconds that pass: the limit | ours", 3.0, elapsed, at_most=1)
    assert within(title, run, 6.0)
    assert timely


# -- many labels, higher order --------------------------------------------------------------------


@pytest.fixture(scope="module")
def tagged():
    """Random fields with 50 labels and n = 25: potentials, marginals, models."""
    count, n, size = len(some(range(1000))), 25, 50
    random = np.random.default_rng(4)
    unary, pairwise = random.normal(size=(count, n, size)), random.normal(size=(size, size))
    return marginals(unary, pairwise), [from_potentials(scores, pairwise) for scores in unary]


def test_expect_many_labels(tagged):
    known, models = tagged
    loss, zs = fsmeu.load("hamming", labels=range(50)), known.argmax(axis=2)
    title = "expect_many, Hamming, 50 labels, n = 25"
    run = apart(title, lambda: fsmeu.expect_many(loss, zs, models), len(models) / 1000)
    wanted = 1.0 - known.max(axis=2).mean(axis=1)
    np.testing.assert_allclose(run.result, wanted, rtol=1e-10)
    assert corpus_within(title, run, len(models), 1000)


def test_decode_many_labels(tagged):
    known, models = tagged
    loss = fsmeu.load("hamming", labels=range(50))

    def ours():
        return [(made.labels, made.value) for made in fsmeu.decode_many(loss, models)]

    title = "decode_many, Hamming, 50 labels, n = 25"
    run = apart(title, ours, len(models) / 1000)
    labels, values = zip(*run.result, strict=True)
    assert np.array_equal(labels, known.argmax(axis=2))
    np.testing.assert_allclose(values, 1.0 - known.max(axis=2).mean(axis=1), rtol=1e-10)
    assert corpus_within(title, run, len(models), 1000)


def pair_marginals(initial, transition, n):
    """P(label at a position) of a chain of order 2, shape (n, L)."""
    rows, joint = [initial.sum(axis=1)], initial
    for _ in range(n - 1):
        rows.append(joint.sum(axis=0))
        joint = np.einsum("ab,abc->bc", joint, transition)
    return np.array(rows)


@pytest.mark.parametrize("query", ["expect", "decode"])
def test_order_2(query):
    """Hamming with 20 labels under a chain of order 2."""
    n, size, random = 25, 20, np.random.default_rng(5)
    initial = random.dirichlet(np.ones(size**2)).reshape(size, size)
    transition = random.dirichlet(np.ones(size), size=(size, size))
    model = Markov(initial, transition, n=n)
    known = pair_marginals(initial, transition, n)
    loss, z = fsmeu.load("hamming", labels=range(size)), known.argmax(axis=1)

    def ours():
        asked = fsmeu.expect(loss, z, model) if query == "expect" else fsmeu.decode(loss, model)
        return asked.value

    title = f"{query}, Hamming, 20 labels, order 2, n = {n}"
    run = apart(title, ours, 0.5)
    assert run.result == pytest.approx(1.0 - known.max(axis=1).mean(), rel=1e-10)
    assert within(title, run, 0.5)
