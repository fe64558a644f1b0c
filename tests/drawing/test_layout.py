"""The layout keeps its promises: layers by shortest paths, order, distance, places of labels."""

from itertools import combinations, pairwise, product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

import fsmeu
from fsmeu.drawing.layout.curves import arrow_head, point_at, through
from fsmeu.drawing.layout.layered import place
from fsmeu.drawing.layout.order import count_crossings, order_layers
from fsmeu.drawing.layout.rows import spread, stack_rows

LOSSES = [("fscore", {}, 5), ("pk", {"k": 2}, 4), ("hamming", {}, 6), ("zero_one", {}, 3)]


@pytest.fixture(params=LOSSES, ids=lambda p: p[0])
def drawing(request):
    name, params, n = request.param
    return fsmeu.draw(fsmeu.load(name, **params), n=n, layout="own")


def boxes(drawing):
    pairs = zip(drawing.placement.centres, drawing.frame.captions, strict=True)
    return [
        (x - c.width / 2, y - c.height / 2, x + c.width / 2, y + c.height / 2)
        for (x, y), c in pairs
    ]


def test_depth_is_shortest_path_length(drawing):
    """Layers are what networkx calls shortest path lengths from the start."""
    graph = fsmeu.to_networkx(drawing.automaton)
    lengths = nx.single_source_shortest_path_length(nx.DiGraph(graph), graph.graph["start"])
    assert drawing.automaton.depth.tolist() == [lengths.get(s, -1) for s in sorted(graph)]


def test_states_do_not_overlap(drawing):
    """No two states touch, and all lie inside the picture."""
    found = boxes(drawing)
    for a, b in combinations(found, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    width, height = drawing.placement.width, drawing.placement.height
    assert all(x0 >= 0 and y0 >= 0 and x1 <= width and y1 <= height for x0, y0, x1, y1 in found)


def test_columns_are_layers_in_order(drawing):
    """One column for each depth, from left to right."""
    depth = drawing.automaton.depth
    x = np.array([centre[0] for centre in drawing.placement.centres])
    columns = [np.unique(x[depth == d].round(6)) for d in range(depth.max() + 1)]
    assert all(len(column) == 1 for column in columns)
    assert (np.diff(np.concatenate(columns)) > 0).all()


def test_lines_join_their_states(drawing):
    """A line begins and ends on the outline of its states."""
    found = boxes(drawing)
    for bundle, curve in zip(drawing.frame.bundles, drawing.placement.curves, strict=True):
        for state, (x, y) in ((bundle.source, curve[0]), (bundle.target, curve[-1])):
            x0, y0, x1, y1 = found[state]
            assert x0 - 1e-6 <= x <= x1 + 1e-6
            assert y0 - 1e-6 <= y <= y1 + 1e-6


def test_labels_stay_clear_of_states(drawing):
    """No label of a line lies on a state."""
    found = boxes(drawing)
    for bundle, (x, y) in zip(drawing.frame.bundles, drawing.placement.labels, strict=True):
        w, h = bundle.width / 2, bundle.height / 2
        hit = [b for b in found if x - w < b[2] and x + w > b[0] and y - h < b[3] and y + h > b[1]]
        assert not hit, bundle


def test_labels_of_sixty_states_rarely_overlap():
    """At 56 states, of 140 labels no two cover each other by more than a third."""
    drawing = fsmeu.draw(fsmeu.load("fscore"), n=5, layout="own")
    assert drawing.automaton.states == 56
    places = zip(drawing.frame.bundles, drawing.placement.labels, strict=True)
    rects = [(x - b.width / 2, y - 6, x + b.width / 2, y + 6) for b, (x, y) in places]
    for a, b in combinations(rects, 2):
        wide = min(a[2], b[2]) - max(a[0], b[0])
        high = min(a[3], b[3]) - max(a[1], b[1])
        if wide > 0 and high > 0:
            smaller = min((r[2] - r[0]) * (r[3] - r[1]) for r in (a, b))
            assert wide * high <= smaller / 3


def crossings_by_definition(left, right, links):
    p = {x: k for k, x in enumerate(left)}
    q = {x: k for k, x in enumerate(right)}
    pairs = combinations(links, 2)
    return sum((p[a] - p[c]) * (q[b] - q[d]) < 0 for (a, b), (c, d) in pairs)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_crossings_are_counted_and_reduced(data):
    """The count is that of the definition, and ordering never adds crossings."""
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=2, max_size=4))
    items = iter(range(100))
    layers = [[next(items) for _ in range(size)] for size in sizes]
    links = []
    for left, right in pairwise(layers):
        links += data.draw(st.lists(st.sampled_from(list(product(left, right))), unique=True))
    total = 0
    for left, right in pairwise(layers):
        here = [(a, b) for a, b in links if a in left]
        total += crossings_by_definition(left, right, here)
    assert count_crossings(layers, links) == total
    ordered = order_layers(layers, links)
    assert [sorted(layer) for layer in ordered] == layers
    assert count_crossings(ordered, links) <= total


@given(st.lists(st.floats(-100, 100), max_size=12))
def test_spread_is_isotonic_regression(wishes):
    """Pooling agrees with scipy's isotonic regression."""
    expected = isotonic_regression(wishes).x if wishes else []
    assert np.allclose(spread(wishes), expected, atol=1e-9)


@given(st.lists(st.floats(1, 20), min_size=1, max_size=8))
def test_rows_keep_their_distance(room):
    """Neighbours in a layer are at least as far apart as the room they need."""
    layer = list(range(len(room)))
    height = stack_rows([layer], [], room, room)
    for a, b in pairwise(layer):
        assert height[b] - height[a] >= room[a] + room[b] - 1e-9


def test_curve_passes_its_points():
    """A curve through points is there at equal shares, and its arrow ends at the last."""
    points = [(0.0, 0.0), (10.0, 5.0), (30.0, -5.0)]
    curve = through(points)
    for k, point in enumerate(points):
        assert point_at(curve, k / 2) == pytest.approx(point, abs=1e-9)
    assert arrow_head(curve, 6)[0] == points[-1]


def test_empty_and_single_machines_can_be_placed():
    """Sequences of length 0 have a machine of one state."""
    drawing = fsmeu.draw(fsmeu.load("hamming"), n=0, layout="own")
    assert len(drawing.placement.centres) == 1
    nothing = fsmeu.draw(nx.MultiDiGraph(), layout="own")
    assert place(nothing.frame, []).centres == ()
    assert nothing.svg.startswith("<svg")
