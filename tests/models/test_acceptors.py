"""Acceptors: machines of OpenFst, and costs that no double holds as factors."""

import itertools
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

import fsmeu
from fsmeu import models as m
from fsmeu.errors import EmptyError
from fsmeu.models import Acceptor
from tests import brute_force
from tests.fst.machines import lattice
from tests.support.missing import openfst

pynini = openfst()

SIZES = (0, 1, 700, 745, 1000, 1e5)
INF = float("inf")


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
@example([[-1000.0, -1001.0], [1000.0, 1000.5]])
def test_models_of_any_cost(costs):
    """Rounding a cost of 1e5 moves a factor by 1e5 * 2**-53: hence 1e-11."""
    model = Acceptor(lattice(costs), (0, 1))
    log_total = agree(model, costs)
    assert model.log_total == pytest.approx(log_total, rel=1e-12, abs=1e-10)  # they may cancel
    again = m.from_json(model.to_json())
    agree(again, costs)
    assert again.log_total == model.log_total
    agree(m.from_potentials([[-c for c in row] for row in costs], np.zeros((2, 2))), costs)


def test_without_normalisation():
    """The weights as given, also where only their product is a double."""
    model = Acceptor(lattice([[900.0, 901.0], [-900.0, INF]]), (0, 1), normalize=False)
    assert model.probability([0, 0]) == pytest.approx(1.0, rel=1e-12)
    assert model.probability([1, 0]) == pytest.approx(np.exp(-1.0), rel=1e-12)
    costs = [[600.0, 601.0], [600.0, 600.0], [-600.0, -600.0], [-600.0, -600.0]]
    for one in (model, Acceptor(lattice(costs), (0, 1), normalize=False)):
        np.testing.assert_allclose(one.marginals()[0], [1 / (1 + np.exp(-1)), 1 / (1 + np.e)])


@pytest.mark.parametrize(("each", "scale"), [(False, 1.0), (True, 20.0), (False, 300.0)])
def test_fields_of_many_labels_equal_sums_of_logarithms(each, scale):
    """Thirty labels at forty positions: marginals and the partition by SciPy."""
    random = np.random.default_rng(7)
    links = scale * random.normal(size=(39, 30, 30) if each else (30, 30))
    links[..., 3] = links[..., 4, :20] = -INF
    unary, steps = scale * random.normal(size=(40, 30)), np.broadcast_to(links, (39, 30, 30))
    model = m.from_potentials(unary, links)
    left, right = [unary[0]], [np.zeros(30)]
    for scores, step in zip(unary[1:], steps, strict=True):
        left.append(logsumexp(left[-1][:, None] + step, axis=0) + scores)
    for scores, step in zip(unary[:0:-1], steps[::-1], strict=True):
        right.append(logsumexp(step + scores + right[-1], axis=1))
    whole = logsumexp(left[-1])
    assert model.log_partition == pytest.approx(whole, rel=1e-13)
    wanted = np.exp(np.array(left) + right[::-1] - whole)
    np.testing.assert_allclose(model.marginals(), wanted, rtol=1e-9, atol=1e-300)
    y = model.sample(seed=3)
    score = unary[range(40), y].sum() + steps[range(39), y[:-1], y[1:]].sum()
    assert model.log_probability(y) == pytest.approx(score - whole, rel=1e-9, abs=1e-9)


def test_what_hardly_weighs_is_not_lost():
    """Two ways that never meet, one 1e-217 times as probable: sums of products would lose it."""
    unary, apart = np.zeros((13, 2)), np.array([[0.0, -INF], [-INF, 0.0]])
    unary[:4, 0] = unary[4:, 1] = -100.0
    model = m.from_potentials(unary, apart)
    assert model.log_probability([1] * 13) == pytest.approx(-500.0, rel=1e-14)
    assert model.log_probability([0] * 13) == pytest.approx(0.0, abs=1e-14)
    assert model.log_partition == pytest.approx(-400.0, rel=1e-14)
    assert m.from_potentials(np.zeros((0, 2)), np.zeros((2, 2))).log_partition == 0.0
