"""Long sequences, documents, a corpus: each job of docs/generating_functions.md beside its limit.

A test set of 100,000 examples is one sequence of labels.
"""

from dataclasses import replace

import numpy as np
import pytest

import fsmeu
from tests.benchmarks import conll2000
from tests.benchmarks.measure import apart, seconds, within

F1 = fsmeu.load("fscore")
BIO = fsmeu.load("chunk_fscore", types=conll2000.TYPES)


def asked(title, ask, make, limit, check, gigabytes=2):
    """Asks of one model and then, on the clock, of another, in a process of its own.

    Compiled loops are loaded by the first call. What ``check`` makes of the answer is returned.
    """

    def twice():
        ask(make())
        model, found = make(), []
        taken = seconds(lambda: found.append(ask(model)))
        return taken, check(found[0], model)

    run = apart(title, twice, 4 * limit, gigabytes)
    taken, result = run.result
    assert within(title, replace(run, seconds=taken), limit, gigabytes)
    return result


# -- models ---------------------------------------------------------------------------------------


def beta(n):
    return np.random.default_rng(5).beta(2, 5, n)


def rare(ones):
    """Of 100,000 labels, so many are expected to be ones."""
    p = np.random.default_rng(1).beta(0.05, 5, 10**5)
    return np.minimum(p * ones / p.sum(), 1.0)


def drawn(n, order=1):
    """A chain of two labels whose steps are drawn at each position."""
    random = np.random.default_rng(n)
    first = np.full((2,) * order, 0.5**order)
    return fsmeu.models.Markov(first, random.dirichlet([3, 1], (n - order, *first.shape)))


def two(n, up, stay):
    """A chain of order 1, the same at all positions."""
    return fsmeu.models.Markov([1 - up, up], [[1 - up, up], [1 - stay, stay]], n=n)


def field(n, loss):
    """Random potentials."""
    size = len(loss.labels)
    random = np.random.default_rng((n, size))
    unary = random.normal(size=(n, size))
    return fsmeu.models.from_potentials(unary, random.normal(size=(size, size)), loss.labels)


# -- the best labels ------------------------------------------------------------------------------

DECISIONS = {
    "F1, n = 100,000": (F1, lambda: beta(10**5), 0.06),
    "F1, n = 1,000,000": (F1, lambda: beta(10**6), 0.4),
    "F1, n = 10,000,000": (F1, lambda: beta(10**7), 2),
    **{
        f"F1, {ones} ones of 100,000 labels": (F1, lambda ones=ones: rare(ones), 0.1)
        for ones in (0.1, 1, 5, 50)
    },
    **{
        f"{name}, n = 100,000": (fsmeu.load(name), lambda: beta(10**5), 1)
        for name in ("jaccard", "kappa", "g_tp_pr", "balanced_accuracy", "recall")
    },
    "pk, n = 100,000": (fsmeu.load("pk", k=10), lambda: beta(10**5), 1),
    "g_mean, n = 1,000": (fsmeu.load("g_mean"), lambda: beta(1000), 8),
    "h_mean, n = 1,000": (fsmeu.load("h_mean"), lambda: beta(1000), 8),
    **{
        f"F1, drawn chain, n = {n:,}": (F1, lambda n=n: drawn(n), limit)
        for n, limit in ((300, 0.03), (10**4, 0.1), (10**5, 0.3), (10**6, 2))
    },
    "F1, chain of order 2, n = 100,000": (F1, lambda: drawn(10**5, 2), 0.3),
    "F1, 50 ones in a chain, n = 1,000,000": (F1, lambda: two(10**6, 50 / 10**6, 0.3), 2),
    "F1, a slow chain, n = 100,000": (F1, lambda: two(10**5, 0.001, 0.999), 0.3),
    "F1, a chain of halves, n = 100,000": (F1, lambda: two(10**5, 0.5, 0.5), 0.3),
    **{
        f"chunk F1, 23 tags, n = {n:,}": (BIO, lambda n=n: field(n, BIO), limit)
        for n, limit in ((25, 0.01), (80, 0.03), (200, 0.05), (512, 0.1), (2000, 0.5), (5000, 1.5))
    },
}


@pytest.mark.parametrize("title", DECISIONS)
def test_best(title):
    """Proven, in time, and worth what is expected of its labels."""
    loss, make, limit = DECISIONS[title]

    def check(made, model):
        return made.exact, made.value, fsmeu.expect(loss, made.labels, model).value

    exact, value, expected = asked(
        f"decode, {title}", lambda model: fsmeu.decode(loss, model), make, limit, check
    )
    assert exact
    assert value == pytest.approx(expected, rel=1e-9)


# -- expectations ---------------------------------------------------------------------------------

# seconds, and the part of the value that its bounds may be apart
EXPECTATIONS = {
    "F1, n = 100,000": (F1, lambda: beta(10**5), 0.1, 1e-12),
    "F1, n = 1,000,000": (F1, lambda: beta(10**6), 1, 1e-12),
    "F1, drawn chain, n = 100,000": (F1, lambda: drawn(10**5), 0.1, 1e-12),
    "F1, drawn chain, n = 1,000,000": (F1, lambda: drawn(10**6), 0.6, 1e-12),
    "F1, chain of order 2, n = 1,000,000": (F1, lambda: drawn(10**6, 2), 1, 1e-12),
    "F1, a slow chain, n = 100,000": (F1, lambda: two(10**5, 0.001, 0.999), 0.1, 2e-12),
    "F1, a slow chain, n = 1,000,000": (F1, lambda: two(10**6, 0.001, 0.999), 0.6, 2e-12),
    "F1, 50 ones in a chain, n = 1,000,000": (F1, lambda: two(10**6, 5e-5, 0.3), 0.6, 1e-12),
    **{
        f"chunk F1, 23 tags, n = {n:,}": (BIO, lambda n=n: field(n, BIO), limit, most)
        for n, limit, most in ((512, 0.1, 3e-11), (2000, 0.5, 1e-10), (5000, 1.5, 3e-10))
    },
}


@pytest.mark.parametrize("title", EXPECTATIONS)
def test_expected(title):
    loss, make, limit, most = EXPECTATIONS[title]
    n = getattr(make(), "n", None) or len(make())
    z = [loss.labels[k] for k in (np.arange(n) % 3 // 2).tolist()]

    def check(found, model):
        return (found.upper - found.lower) / 2 / found.value

    ask = lambda model: fsmeu.expect(loss, z, model)  # noqa: E731
    assert asked(f"expect, {title}", ask, make, limit, check) <= most


# -- CoNLL-2000 -----------------------------------------------------------------------------------


# processor seconds of all 2,012 sentences
CORPUS = {"decode_many": 2.5, "expect_many": 2.2, "decode_corpus": 6}


@pytest.mark.parametrize("query", CORPUS)
def test_conll2000(query):
    """The expected chunk F1 of the most probable tags, and the best one."""
    unary, pairwise = conll2000.trained_field()

    def models():
        return [fsmeu.models.from_potentials(one, pairwise, conll2000.TAGS) for one in unary]

    zs = [model.most_probable()[0][0] for model in models()]

    def ask(made):
        if query == "expect_many":
            return fsmeu.expect_many(BIO, zs, made)
        return getattr(fsmeu, query)(BIO, made)

    def check(answer, made):
        if query == "decode_many":
            values = fsmeu.expect_many(BIO, [one.labels for one in answer], models()).values
            np.testing.assert_allclose([one.value for one in answer], values, rtol=1e-10)
        return query != "decode_corpus" or (answer.exact and answer.gap <= 1e-10)

    title = f"{query}, chunk F1, CoNLL-2000, {len(unary)} sentences"
    assert asked(title, ask, models, CORPUS[query], check)
