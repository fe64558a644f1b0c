"""How fast and how large decisions and expectations are at the sizes of users.

Tag sets of 20 to 50 labels under conditional random fields, whole test sets. Bars in seconds and
gigabytes are shown as the limit against ours. ``FSMEU_BENCH_SENTENCES=5`` takes that many
sentences of every corpus instead of all.
"""

import os
import time
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

import fsmeu
from fsmeu.decoding import swept
from fsmeu.models import Markov, from_potentials
from fsmeu.trellis import engine
from fsmeu.trellis.batches import FoundScores
from tests.benchmarks import conll2000
from tests.benchmarks.measure import apart, compare, record, seconds, within
from tests.benchmarks.measure import seconds as in_seconds
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


def answered(query, loss, zs, models, jobs=1):
    """Labels and values: of these hypotheses, or of what is decided."""
    if query == "expect_many":
        return zs, fsmeu.expect_many(loss, zs, models, jobs=jobs).values
    made = fsmeu.decode_many(loss, models, jobs=jobs)
    return [one.labels for one in made], [one.value for one in made]


# -- one sentence ---------------------------------------------------------------------------------


def scores_of_all(least, prune_below, *rest):
    """What is found of scores, to which the smallest flows are added as well."""
    return FoundScores(least, 0.0, *rest)


@pytest.mark.parametrize(
    ("what", "count", "patch", "bar"),
    [
        ("masses", 1, (engine, "_PRUNE_BELOW", 0.0), 0.9),
        ("flows", 5, (engine, "FoundScores", scores_of_all), 0.95),
        ("scores", 5, (swept, "NEGLIGIBLE", 0.0), 0.7),
    ],
)
def test_what_is_left_out_as_it_is_small(what, count, patch, bar):
    """No number shows that it is left out: only the time does, and of scores the room."""
    one, other = chunk_loss(), chunk_loss()  # each remembers its limits
    models = [field(80, 23, one.labels, seed=k, scale=6.0) for k in range(count)]
    ask = fsmeu.decode_corpus if count > 1 else lambda loss, some: fsmeu.decode(loss, *some)

    def all_looked_at():
        with mock.patch.object(*patch):
            return ask(other, models).value

    def ours():
        return ask(one, models).value

    assert ours() == pytest.approx(all_looked_at(), rel=1e-9)
    times = compare(all_looked_at, ours, rounds=8, repeats=(2, 2))
    title = f"chunk F1, 23 tags, {count} x n = 80: small {what} looked at | left out"
    assert record(title, *times, at_most=bar)


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
    title = f"the first decision, chunk F1, 23 tags, n = {n}"

    def first():
        loaded()
        found = []
        taken = seconds(lambda: found.append(fsmeu.decode(loss, model).value))
        return taken, found[0]

    run = apart(title, first, seconds=5)
    taken, value = run.result
    assert value == pytest.approx(decide(*conditionals(model), loss.labels)[1], rel=1e-10)
    assert within(title, replace(run, seconds=taken), 1.0)


DOCUMENTS = {
    "BIO, 23 tags": fsmeu.load("chunk_fscore", types=conll2000.TYPES),
    "IOBES, 21 tags": fsmeu.load("chunk_fscore_iobes", types=conll2000.TYPES[:5]),
}


@pytest.mark.parametrize("tags", DOCUMENTS)
@pytest.mark.parametrize("scale", [1, 3])
@pytest.mark.parametrize(("n", "seconds"), [(200, 0.05), (512, 0.1), (2000, 0.5), (5000, 1.5)])
def test_documents(tags, scale, n, seconds):
    """The best chunk F1, and the expected one, of documents; the second call of each."""
    loss = DOCUMENTS[tags]
    models = [field(n, len(loss.labels), loss.labels, seed, scale) for seed in (0, 1)]

    def calls():
        made = [fsmeu.decode(loss, model) for model in models]
        timed = in_seconds(lambda: fsmeu.decode(loss, models[0]), 2)
        z = made[0].labels
        found = fsmeu.expect(loss, z, models[0])
        valued = in_seconds(lambda: fsmeu.expect(loss, z, models[0]), 2)
        return all(one.exact for one in made), made[0].value, found.value, timed, valued

    title = f"chunk F1, {tags}, potentials x {scale}, n = {n:,}"
    run = apart(title, calls, 8 * seconds)
    exact, value, again, timed, valued = run.result
    assert exact
    assert value == pytest.approx(again, rel=1e-9)
    held = [
        within(f"decode, {title}", replace(run, seconds=timed), seconds),
        record(f"expect, {title}: the limit | ours", seconds, valued, at_most=1),
    ]
    assert all(held)


# -- CoNLL-2000 -----------------------------------------------------------------------------------


@pytest.fixture
def corpus():
    """Potentials and models of the test sentences; no test sees what another made models keep."""
    unary, pairwise = conll2000.trained_field()
    unary = some(unary)
    return unary, pairwise, [from_potentials(one, pairwise, conll2000.TAGS) for one in unary]


@pytest.mark.parametrize(("query", "rate"), [("decode_many", 800), ("expect_many", 900)])
def test_conll2000(query, rate, corpus):
    """The expected chunk F1 of the most probable tags, and the best one."""
    unary, pairwise, models = corpus
    loss, count, tags = chunk_loss(), len(models), conll2000.TAGS
    others = (from_potentials(scores, pairwise, tags) for scores in unary)
    paths = [other.most_probable()[0][0] for other in others]
    title = f"{query}, chunk F1, CoNLL-2000"
    run = apart(title, lambda: answered(query, loss, paths, models), count / rate)
    title = f"{title}, {count} sentences"
    held = within(f"{title}, {rate:,} a second", run, count / rate, count=count)
    (labels, values), chains = run.result, [conditionals(model) for model in models]
    worth = [expected(*chain, tags, z) for chain, z in zip(chains, labels, strict=True)]
    np.testing.assert_allclose(values, worth, rtol=1e-10)
    if query == "decode_many":
        best = []
        kernel = seconds(lambda: best.extend(decide(*conditionals(m), tags)[1] for m in models))
        record(f"{title}: kernel | ours", kernel, run.seconds)
        np.testing.assert_allclose(values, best, rtol=1e-10)

    def passed(jobs):  # seconds
        again = [from_potentials(scores, pairwise, tags) for scores in unary]
        begin = time.perf_counter()
        answered(query, loss, paths, again, jobs)
        return time.perf_counter() - begin

    run = apart(title, lambda: [min(passed(k) for _ in range(3)) for k in (1, 2)], 6 * count / rate)
    title = f"{title}, seconds that pass, the least of three: one thread | two"
    assert held & record(title, *run.result, at_most=1 / 1.6)


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


@pytest.mark.parametrize("query", ["expect_many", "decode_many"])
def test_many_labels(query):
    """Random fields with 50 labels and n = 25: a thousand a second."""
    count, n, size, rate = len(some(range(1000))), 25, 50, 1000
    random, loss = np.random.default_rng(4), fsmeu.load("hamming", labels=range(50))
    unary, pairwise = random.normal(size=(count, n, size)), random.normal(size=(size, size))
    models, others = ([from_potentials(one, pairwise) for one in unary] for _ in range(2))
    known = np.array([other.marginals() for other in others])  # models keep what they computed
    title, best = f"{query}, Hamming, 50 labels, n = 25", known.argmax(axis=2)
    run = apart(title, lambda: answered(query, loss, best, models), count / rate)
    labels, values = run.result
    assert np.array_equal(labels, best)
    np.testing.assert_allclose(values, 1.0 - known.max(axis=2).mean(axis=1), rtol=1e-10)
    title = f"{title}, {count} sentences, {rate:,} a second"
    assert within(title, run, count / rate, count=count)


@pytest.mark.parametrize("query", ["expect", "decode"])
def test_order_2(query):
    """Hamming with 20 labels under a chain of order 2."""
    n, size, random = 25, 20, np.random.default_rng(5)
    initial = random.dirichlet(np.ones(size**2)).reshape(size, size)
    transition = random.dirichlet(np.ones(size), size=(size, size))
    model = Markov(initial, transition, n=n)
    known = Markov(initial, transition, n=n).marginals()
    loss, z = fsmeu.load("hamming", labels=range(size)), known.argmax(axis=1)

    def ours():
        asked = fsmeu.expect(loss, z, model) if query == "expect" else fsmeu.decode(loss, model)
        return asked.value

    title = f"{query}, Hamming, 20 labels, order 2, n = {n}"
    run = apart(title, ours, 0.5)
    assert run.result == pytest.approx(1.0 - known.max(axis=1).mean(), rel=1e-10)
    assert within(title, run, 0.5)
