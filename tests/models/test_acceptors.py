"""Acceptors: machines of OpenFst, any layers, and costs that no double holds as factors."""

import dataclasses
import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu import models as m
from fsmeu.errors import EmptyError, FstError, InputError
from fsmeu.fst.image import ArcTable, fst_from_table
from fsmeu.fst.layers import fst_from_layered
from fsmeu.models import Acceptor, paths
from tests import brute_force
from tests.label_models import random_layers
from tests.strategies import cases
from tests.support.missing import openfst

pynini = openfst()

SIZES = (0, 1, 700, 745, 1000, 1e5)
INF = float("inf")


def lattice(costs):
    """One state per position, costs[i][k] on the arc of label k at position i."""
    n, labels = len(costs), len(costs[0])
    source = np.repeat(np.arange(n), labels)
    number = np.tile(np.arange(1, labels + 1), n)
    ends = np.append(np.full(n, INF), 0.0)
    arcs = (source, number, number, np.array(costs, float).ravel(), source + 1)
    return fst_from_table(ArcTable(0, *arcs, ends))


@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_every_model_survives_openfst(case):
    model = case.model
    again = Acceptor(fst_from_layered(model.layered()), model.labels)
    assert again.total == pytest.approx(1.0, rel=1e-12)
    for y, p in case.distribution.items():
        assert again.probability(y) == pytest.approx(p, rel=1e-11, abs=1e-15)


COSTS = -np.log([[0.5, 0.25], [0.5, 1.0]])


@pytest.mark.parametrize("arc_type", ["log64", "log", "standard"])
def test_arcs_of_weight_zero_are_no_arcs(arc_type):
    """Not for a model, nor for a constraint: they break no condition and allow nothing."""
    fst = pynini.Fst(arc_type)
    one, zero = pynini.Weight.one(fst.weight_type()), pynini.Weight.zero(fst.weight_type())
    fst.add_states(3)
    fst.set_start(0)
    real = [(0, 1, 1), (1, 1, 2)]
    for source, label, target in [*real, (1, 2, 2), (0, 2, 2), (2, 2, 0), (1, 0, 1), (0, 7, 1)]:
        weight = one if (source, label, target) in real else zero
        fst.add_arc(source, pynini.Arc(label, label, weight, target))
    fst.set_final(2)
    assert Acceptor(fst, (0, 1)).most_probable(5) == [([0, 0], 1.0)]
    decided = fsmeu.decode(fsmeu.load("hamming"), [0.9, 0.9], constraint=fst)
    assert decided.labels == [0, 0]
    fst.set_final(2, zero)
    with pytest.raises(EmptyError, match="constraint"):
        fsmeu.decode(fsmeu.load("hamming"), [0.9, 0.9], constraint=fst)


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32), size=st.integers(1, 3), n=st.integers(0, 4))
def test_any_layers_become_conditional_probabilities(seed, size, n):
    """Of the same sequences; the total is kept beside them, or left in the weights."""
    layered = random_layers(np.random.default_rng(seed), range(size), n)
    pushed, model, raw = (
        paths.normalize(layered),
        Acceptor(layered),
        Acceptor(layered, normalize=False),
    )
    before, after = (brute_force.path_distribution(one) for one in (layered, pushed))
    whole = math.fsum(before.values())
    for found in (paths.total(layered), model.total):
        assert found == pytest.approx(whole, rel=1e-13)
    assert paths.log_total(layered) == pytest.approx(math.log(whole), rel=1e-13, abs=1e-14)
    for y, w in before.items():
        assert raw.probability(y) == pytest.approx(w, rel=1e-13, abs=1e-300)
        for found in (after[y], model.probability(y)):
            assert found == pytest.approx(w / whole, rel=1e-12, abs=1e-16)
    for mass, rest in zip(paths.forward(pushed), paths.backward(pushed), strict=True):
        np.testing.assert_allclose(rest[mass > 0], 1.0, rtol=1e-12)
        np.testing.assert_allclose(mass.sum(), 1.0, rtol=1e-12)
    np.testing.assert_allclose(raw.marginals(), model.marginals(), rtol=1e-12, atol=1e-15)
    assert raw.sample(3, seed=5) == model.sample(3, seed=5)


def test_nothing_possible():
    layered = random_layers(np.random.default_rng(4), (0, 1), 2)
    dead = dataclasses.replace(layered, final=np.zeros_like(layered.final))
    with pytest.raises(EmptyError, match="positive weight"):
        paths.normalize(dead)
    with pytest.raises(EmptyError, match="Acceptor fst"):
        Acceptor(dead)
    assert paths.log_total(dead) == -math.inf


def distribution(costs):
    """Probabilities of all sequences, by enumeration with decimals of any exponent."""
    with localcontext() as context:
        context.prec = 60
        context.Emin, context.Emax = -(10**15), 10**15
        weights = {
            y: (-sum(Decimal(row[k]) for row, k in zip(costs, y, strict=True))).exp()
            for y in itertools.product(range(len(costs[0])), repeat=len(costs))
        }
        total = sum(weights.values())
        return {y: float(w / total) for y, w in weights.items()}, float(total.ln())


def agree(model, costs):
    expected, log_total = distribution(costs)
    for y, p in expected.items():
        assert model.probability(y) == pytest.approx(p, rel=1e-11, abs=1e-300)
    rows = brute_force.marginals(expected, (0, 1), len(costs))
    np.testing.assert_allclose(model.marginals(), rows, rtol=1e-11, atol=1e-300)
    assert model.most_probable()[0][1] == pytest.approx(max(expected.values()), rel=1e-11)
    return log_total


rows_of_costs = st.lists(
    st.tuples(st.sampled_from(SIZES), st.sampled_from([-1, 1]), st.tuples(*[st.floats(0, 9)] * 2)),
    min_size=1,
    max_size=4,
).map(lambda rows: [[sign * size + c for c in costs] for size, sign, costs in rows])


@settings(max_examples=100, deadline=None)
@given(rows_of_costs)
@example([[743.0, 744.0]])
@example([[1000.0, 1001.0]])
@example([[-1000.0, -1001.0], [1000.0, 1000.5]])
def test_machines_of_any_cost(costs):
    """Rounding a cost of 1e5 moves a factor by 1e5 * 2**-53: hence 1e-11."""
    model = Acceptor(lattice(costs), (0, 1))
    log_total = agree(model, costs)
    assert model.log_total == pytest.approx(log_total, rel=1e-12, abs=1e-10)  # they may cancel
    again = m.from_json(model.to_json())
    agree(again, costs)
    assert again.log_total == model.log_total


@settings(max_examples=50, deadline=None)
@given(rows_of_costs)
def test_potentials_and_lists_of_any_cost(costs):
    agree(m.from_potentials([[-c for c in row] for row in costs], np.zeros((2, 2))), costs)
    sequences = list(itertools.product((0, 1), repeat=len(costs)))
    scores = [-sum(row[k] for row, k in zip(costs, y, strict=True)) for y in sequences]
    model = m.NBest(sequences, scores, log=True)
    for y, p in distribution(costs)[0].items():
        assert model.probability(y) == pytest.approx(p, rel=1e-9, abs=1e-300)  # sums are rounded


def test_a_spread_beyond_doubles():
    """What is too improbable to be written is 0; the rest is right."""
    model = Acceptor(lattice([[1000.0, 9000.0], [2000.0, 2001.0]]), (0, 1))
    assert model.probability([1, 0]) == 0.0
    assert [y for y, _ in model.most_probable(4)] == [[0, 0], [0, 1]]
    assert model.marginals()[0].tolist() == [1.0, 0.0]
    f = fsmeu.load("hamming")
    assert fsmeu.expect(f, [0, 0], model).value == pytest.approx(1 / (1 + np.e) / 2, rel=1e-12)


def test_without_normalisation():
    """The weights as given, also where only their product is a double."""
    model = Acceptor(lattice([[900.0, 901.0], [-900.0, INF]]), (0, 1), normalize=False)
    assert model.probability([0, 0]) == pytest.approx(1.0, rel=1e-12)
    assert model.probability([1, 0]) == pytest.approx(np.exp(-1.0), rel=1e-12)
    costs = [[600.0, 601.0], [600.0, 600.0], [-600.0, -600.0], [-600.0, -600.0]]
    for one in (model, Acceptor(lattice(costs), (0, 1), normalize=False)):
        np.testing.assert_allclose(one.marginals()[0], [1 / (1 + np.exp(-1)), 1 / (1 + np.e)])


def with_arc(source, label, target):
    fst = lattice(COSTS)
    fst.add_arc(source, pynini.Arc(label, label, pynini.Weight.one("log64"), target))
    return fst


AB = {"labels": ("a", "b")}
LAYERED = Acceptor(lattice(COSTS), **AB).layered()


@pytest.mark.parametrize(
    ("machine", "options", "kind", "words"),
    [
        (with_arc(1, 1, 0), AB, InputError, "acyclic|same length"),
        (with_arc(1, 0, 2), AB, InputError, "epsilon"),
        (with_arc(0, 1, 2), AB, InputError, "same length"),
        (with_arc(1, 3, 2), AB, InputError, "one of a, b"),
        ([[0.5, 0.5]], AB, InputError, "OpenFst"),
        (pynini.Fst("log64"), AB, EmptyError, "at least one sequence"),
        (lattice(COSTS), {}, InputError, "Acceptor labels"),
        (LAYERED, {"labels": ("x", "y")}, InputError, "Acceptor labels"),
        *(
            (lattice([[cost, 0.0]]), AB, InputError, r"up to 1e\+300 in size")
            for cost in (-INF, 1e301, -1e301)
        ),
        (lattice([[float("nan"), 0.0]]), AB, FstError, "each weight must be a number"),
        *(
            (lattice(COSTS), {**AB, "log_scale": scale}, InputError, "log_scale")
            for scale in ("x", INF, None, [1.0])
        ),
        (
            lattice([[900.0, INF]]),
            {**AB, "normalize": False},
            InputError,
            r"must hold the weight of all paths\. Got exp\(-900",
        ),
    ],
)
def test_machines_that_are_no_model(machine, options, kind, words):
    with pytest.raises(kind, match=words):
        Acceptor(machine, **options)
