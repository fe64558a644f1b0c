"""Machines and lists whose costs no double holds as factors: normalised all the same."""

import itertools
from decimal import Decimal, localcontext

import numpy as np
import pynini
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import EmptyError, FstError, InputError
from fsmeu.fst.image import ArcTable, fst_from_table
from fsmeu.models import Acceptor, NBest, from_json, from_potentials

SIZES = (0, 1, 700, 745, 1000, 1e5)
INF = float("inf")


def lattice(costs, final=0.0):
    """One state per position, costs[i][k] on the arc of label k at position i."""
    n, labels = len(costs), len(costs[0])
    source = np.repeat(np.arange(n), labels)
    number = np.tile(np.arange(1, labels + 1), n)
    weight = np.array(costs, np.float64).ravel()
    ends = np.full(n + 1, np.inf)
    ends[n] = final
    return fst_from_table(ArcTable(0, source, number, number, weight, source + 1, ends))


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
    rows = np.zeros((len(costs), len(costs[0])))
    for y, p in expected.items():
        rows[np.arange(len(y)), y] += p
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
    again = from_json(model.to_json())
    agree(again, costs)
    assert again.log_total == model.log_total


@settings(max_examples=50, deadline=None)
@given(rows_of_costs)
def test_potentials_and_lists_of_any_cost(costs):
    agree(from_potentials([[-c for c in row] for row in costs], np.zeros((2, 2))), costs)
    sequences = list(itertools.product((0, 1), repeat=len(costs)))
    scores = [-sum(row[k] for row, k in zip(costs, y, strict=True)) for y in sequences]
    model = NBest(sequences, scores, log=True)
    expected, _ = distribution(costs)
    for y, p in expected.items():
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
    fst = lattice([[900.0, 901.0], [-900.0, INF]])
    model = Acceptor(fst, (0, 1), normalize=False)
    assert model.probability([0, 0]) == pytest.approx(1.0, rel=1e-12)
    assert model.probability([1, 0]) == pytest.approx(np.exp(-1.0), rel=1e-12)
    np.testing.assert_allclose(model.marginals()[0], [1 / (1 + np.exp(-1)), 1 / (1 + np.e)])
    with pytest.raises(InputError, match=r"must hold the weight of all paths\. Got exp\(-900"):
        Acceptor(lattice([[900.0, INF]]), (0, 1), normalize=False)


def test_marginals_do_not_pass_through_numbers_too_small_for_doubles():
    costs = [[600.0, 601.0], [600.0, 600.0], [-600.0, -600.0], [-600.0, -600.0]]
    model = Acceptor(lattice(costs), (0, 1), normalize=False)
    np.testing.assert_allclose(model.marginals()[0], [1 / (1 + np.exp(-1)), 1 / (1 + np.e)])


@pytest.mark.parametrize(
    ("cost", "scale", "kind", "words"),
    [
        *((cost, 0.0, InputError, "up to 1e\\+300 in size") for cost in (-INF, 1e301, -1e301)),
        (float("nan"), 0.0, FstError, "each weight must be a number"),
        *((0.0, scale, InputError, "log_scale") for scale in ("x", INF, None, [1.0])),
    ],
)
def test_costs_and_scales_that_are_none(cost, scale, kind, words):
    with pytest.raises(kind, match=words):
        Acceptor(lattice([[cost, 0.0]]), (0, 1), log_scale=scale)


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
