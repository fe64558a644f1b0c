"""Shortest paths by OpenFst in single floats, held against all paths, listed in fractions."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.best_path import best_paths, least_cost
from fsmeu.fst.distance import backward, backward_by_end
from fsmeu.fst.layers import Layer, Layered, any_layers, table_from_layered

LABELS = Alphabet((0, 1, 2))


def machine(rng, n):
    """A random layered machine, some states of which lead nowhere."""
    widths, layers = [1, *rng.integers(1, 4, n).tolist()], []
    for before, after in pairwise(widths):
        count = before * len(LABELS)
        source, label = np.divmod(np.arange(count), len(LABELS))
        weight = rng.random(count) * (rng.random(count) < 0.8)
        layers.append(Layer(source, label, rng.integers(0, after, count), weight, after))
    final = rng.random(widths[-1]) * (rng.random(widths[-1]) < 0.7)
    return table_from_layered(Layered(LABELS, np.ones(1), tuple(layers), final))


def listed(table, costs, ends):
    """Every path's arcs and its cost, a fraction, cheapest first."""
    paths, whole = [((), table.start, Fraction(0))], []
    while paths:
        arcs, state, cost = paths.pop()
        if np.isfinite(ends[state]):
            whole.append((cost + Fraction(float(ends[state])), arcs))
        for arc in np.flatnonzero(table.source == state).tolist():
            more = cost + Fraction(float(costs[arc]))
            paths.append(((*arcs, arc), int(table.target[arc]), more))
    return sorted(whole)


SIZES = {"plain": 0.0, "far apart": 6.0, "whole": None}


@pytest.mark.parametrize("spread", SIZES)
@pytest.mark.parametrize("seed", range(12))
def test_against_all_paths(seed, spread):
    """Also costs of both signs, of sizes that singles do not tell apart, and ties."""
    rng = np.random.default_rng([seed, len(spread)])
    table = machine(rng, n := int(rng.integers(0, 6)))
    costs = rng.normal(size=table.arcs)
    if SIZES[spread] is None:
        costs = np.round(costs)
    else:
        costs = costs * 10.0 ** rng.uniform(-SIZES[spread], SIZES[spread], table.arcs)
    ends = np.where(np.isfinite(table.final), rng.normal(), np.inf)
    true, found = listed(table, costs, ends), best_paths(table, costs, ends, 3)
    assert len(found.costs) == min(3, len(true))
    assert found.arcs.shape == (len(found.costs), n if len(true) else found.arcs.shape[1])
    scale = max(1.0, float(np.abs(costs).max(initial=0.0)))
    assert np.abs(found.costs - [float(c) for c, _ in true[:3]]).max(initial=0) <= 1e-13 * scale
    by_arcs = {arcs: cost for cost, arcs in true}
    for arcs, cost in zip(found.arcs.tolist(), found.costs.tolist(), strict=True):
        assert cost == pytest.approx(float(by_arcs.pop(tuple(arcs))), rel=1e-13, abs=1e-13 * scale)
    others = min((float(cost) for cost in by_arcs.values()), default=np.inf)
    assert found.beyond <= others + 1e-15 * scale
    if true:
        assert found.beyond >= found.costs[0] - 1e-12 * scale
        assert least_cost(table, costs, ends) <= float(true[0][0]) + 1e-15 * scale


def test_more_digits_than_singles_have():
    """Two paths whose costs differ in the tenth digit; singles take them for equal."""
    table = table_from_layered(any_layers(LABELS, 20))
    costs, ends = np.full(table.arcs, 1.0), np.where(np.isfinite(table.final), 0.0, np.inf)
    costs[table.ilabel == 2] += 1e-10
    costs[table.ilabel == 3] -= 1e-10
    found = best_paths(table, costs, ends, 2)
    assert (table.ilabel[found.arcs[0]] == 3).all()
    assert found.costs[0] == pytest.approx(20 - 20e-10, abs=1e-14)
    assert found.beyond == pytest.approx(20 - 19e-10, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_distances_by_end(seed):
    """Each kind of final states by itself."""
    rng = np.random.default_rng(seed)
    table = machine(rng, 4)
    finals = np.isfinite(table.final)
    kind = np.where(finals, rng.integers(0, 3, table.states), -1)
    found = backward_by_end(table, kind, 3)
    for k in range(3):
        alone = np.where(kind == k, np.exp(-np.where(finals, table.final, 0.0)), 0.0)
        assert found[k] == pytest.approx(backward(table, alone), rel=1e-13, abs=1e-300)
    paths = product(range(3), repeat=4)
    total = 0.0
    for labels in paths:
        state, weight = table.start, 1.0
        for label in labels:
            arc = np.flatnonzero((table.source == state) & (table.ilabel == label + 1))
            if not len(arc):
                break
            state, weight = int(table.target[arc[0]]), weight * float(table.factor[arc[0]])
        else:
            total += weight * float(np.exp(-table.final[state]))
    assert found[:, table.start].sum() == pytest.approx(total, rel=1e-12)
