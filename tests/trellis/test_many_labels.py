"""Thousands of labels: what grows with their square is not built, or refused before."""

import time
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest

import fsmeu
from fsmeu import load, models
from fsmeu.errors import SizeLimitError
from fsmeu.losses.machine.machine import explore, machine_view, refuse_large


@contextmanager
def at_most(megabytes):
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * 1e6
    finally:
        tracemalloc.stop()


def some_rows(n, labels, seed=0):
    rows = np.random.default_rng(seed).random((n, labels)) ** 4
    return rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("labels", [2_500, 10_000])
def test_wrong_labels_of_thousands(labels):
    rows = some_rows(3, labels)
    model = models.Independent(rows)
    loss = load("hamming", labels=list(range(labels)))
    z, best = [5, 0, labels - 1], rows.argmax(axis=1).tolist()
    with at_most(600):
        found, decided = fsmeu.expect(loss, z, model), fsmeu.decode(loss, model)
    wanted = np.mean([1 - rows[i, label] for i, label in enumerate(z)])
    assert found.value == pytest.approx(wanted, rel=1e-13)
    assert found.lower <= wanted * (1 + 1e-15)
    assert found.upper >= wanted * (1 - 1e-15)
    assert (decided.labels, decided.exact) == (best, True)
    assert decided.value == pytest.approx(np.mean(1 - rows.max(axis=1)), rel=1e-13)


def test_derivatives_for_thousands():
    labels, z = 2_500, [5, 0]
    model = models.Independent(some_rows(2, labels))
    with at_most(600):
        slopes = fsmeu.gradient(load("hamming", labels=list(range(labels))), z, model)
    others = model.probabilities[[1, 0], [0, 5]]  # every entry is free: the rest may be wrong, too
    wanted = np.full((2, labels), 0.5) + (1 - others[:, None]) / 2
    wanted[0, 5] -= 0.5
    wanted[1, 0] -= 0.5
    assert np.allclose(slopes, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["hamming", "transitions", "run_length"])
def test_a_common_amount_makes_no_difference(name, lowered):
    """The same answers where what most pairs add is taken out, under chains as well."""
    rng, labels = np.random.default_rng(3), list(range(4))
    steps = rng.dirichlet(np.ones(4), (4, 4))
    chain = models.Markov(rng.dirichlet(np.ones(4)), steps)
    names = {"labels": labels} if load(name).labels_open else {}
    if not names:
        chain = models.Markov([0.3, 0.7], rng.dirichlet(np.ones(2), (4, 2)))
    z = [1, 0, 1, 1, 0]
    plain = load(name, **names)
    wanted = fsmeu.expect(plain, z, chain), fsmeu.decode(plain, chain)
    slopes = fsmeu.gradient(plain, z, chain)
    lowered(PLAIN_PAIRS=1)
    loss = load(name, **names)
    loss.forget()
    found = fsmeu.expect(loss, z, chain), fsmeu.decode(loss, chain)
    assert found[0].value == pytest.approx(wanted[0].value, rel=1e-13)
    assert found[0].lower <= wanted[0].value <= found[0].upper
    assert found[1].value == pytest.approx(wanted[1].value, rel=1e-13)
    assert found[1].exact == wanted[1].exact
    for key, slope in fsmeu.gradient(loss, z, chain).items():
        assert np.allclose(slope, slopes[key], rtol=1e-12, atol=1e-13)
    if name == "hamming":
        with pytest.raises(SizeLimitError, match="pairs of labels"):
            fsmeu.expect_corpus(loss, [z], [chain])


@pytest.mark.nightly
def test_amounts_of_too_many_pairs_are_refused_in_time(monkeypatch):
    """A cost for each pair of labels has no amount in common: those that are built are counted."""
    labels, n = 2_000, 2
    monkeypatch.setenv("FSMEU_MAX_STATES", "100000")
    cost = np.random.default_rng(1).random((labels, labels))
    model, z = models.Independent(some_rows(n, labels)), [3, 4]
    with at_most(400):
        found = fsmeu.expect(
            load("cost_matrix", cost=cost.tolist(), labels=list(range(labels))), z, model
        )
    rows = model.probabilities
    assert found.value == pytest.approx(
        np.mean([cost[z[i]] @ rows[i] for i in range(n)]), rel=1e-12
    )


@pytest.mark.parametrize("n", [10**6, 10**9])
@pytest.mark.parametrize("name", ["fscore", "g_mean", "boundary_fscore", "kappa"])
def test_lengths_far_too_great_are_refused_at_once(name, n):
    """By what counts come to, not by building until the limit is passed."""
    loss, begin = load(name), time.process_time()
    for build in (loss.compile, lambda n: fsmeu.compile_summed(loss, n)):
        with pytest.raises(SizeLimitError, match="FSMEU_MAX_STATES"):
            build(n)
    assert time.process_time() - begin < 1.0


@pytest.mark.parametrize("name", ["pk", "windowdiff", "weighted_windows"])
def test_too_many_layers_are_refused_soon(name):
    """States that come without end are seen after some thousands of them."""
    loss, begin = load(name, k=5), time.process_time()
    with pytest.raises(SizeLimitError, match="FSMEU_MAX_STATES"):
        loss.compile(10**9)
    assert time.process_time() - begin < 1.0


def test_a_few_states_serve_any_length():
    assert fsmeu.compile_summed(load("hamming"), 10**9).states == 2


@pytest.mark.parametrize("name", ["fscore", "mcc", "boundary_fscore", "chunk_type_fscore", "pk"])
def test_machines_that_can_be_built_are_not_refused(name):
    """The bound is below the number of states, with as few of them allowed as there are."""
    given = {"types": ["A"]} if "chunk" in name else {"k": 2} if name == "pk" else {}
    loss = load(name, **given)
    for n in (3, 6, 9):
        weights, size = loss.linear(False), len(loss.alphabet)
        view = machine_view(loss.bound.at(n), merge=True, linear=weights)
        codes = explore(name, view, None, size, None)[0]
        refuse_large(name, loss.bound.at(n), max(len(codes), len(codes) * size**2 // 4), weights)
