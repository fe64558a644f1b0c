"""The layout keeps its promises: layers by shortest paths, order, distance, places of labels."""

from functools import cache
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from matplotlib.textpath import TextPath

import fsmeu

F1, PK = fsmeu.load("fscore"), fsmeu.load("pk", k=2)
CHAIN = fsmeu.models.Markov([0.35, 0.65], [[0.9, 0.1], [0.55, 0.45]], n=4)
FIELD = fsmeu.models.from_potentials(
    np.arange(12).reshape(4, 3) % 5, np.arange(9).reshape(3, 3) % 4, labels=["O", "B-NP", "I-NP"]
)
SHOWN = {
    "pk": lambda: fsmeu.draw(PK, n=4),
    "pk summed": lambda: fsmeu.draw(fsmeu.compile_summed(fsmeu.load("pk", k=3), 6)),
    "fscore": lambda: fsmeu.draw(F1, n=5),
    "fscore summed": lambda: fsmeu.draw(fsmeu.compile_summed(F1, 3)),
    "chunks": lambda: fsmeu.draw(fsmeu.load("chunk_fscore", types=["NP"]), n=3, minimize=True),
    "composition": lambda: fsmeu.draw(fsmeu.compose(F1, [0, 1, 0, 1], CHAIN)),
    "independent": lambda: fsmeu.draw(fsmeu.models.Bernoulli([0.45, 0.1, 0.35])),
    "field": lambda: fsmeu.draw(FIELD),
    "list": lambda: fsmeu.draw(fsmeu.models.NBest(["0110", "0100", "1110"], [0.5, 0.3, 0.2])),
}


@cache
def shown(name):
    return SHOWN[name]()


@cache
def width_in_the_font(text, size):
    """As matplotlib draws it, in DejaVu Sans, which files ask for first."""
    return TextPath((0, 0), text, size=size).get_extents().width


def boxes(centres, items):
    """Left, top, right and bottom of states or of labels, shape (items, 4)."""
    half = np.array([(item.width / 2, item.height / 2) for item in items])
    return np.hstack([np.array(centres) - half, np.array(centres) + half])


def samples(curve):
    """Points along a curve, close together, from the definition of a cubic piece."""
    t = np.linspace(0, 1, 60)[:, None]
    pieces = [np.array(curve[k : k + 4]) for k in range(0, len(curve) - 1, 3)]
    s = 1 - t
    drawn = [s**3 * a + 3 * s**2 * t * b + 3 * s * t**2 * c + t**3 * d for a, b, c, d in pieces]
    return np.vstack(drawn)


@pytest.mark.parametrize("name", SHOWN)
def test_states_stand_in_layers_and_lines_end_at_them(name):
    """Layers are shortest path lengths, each a column; nothing touches a state but its lines."""
    drawing = shown(name)
    graph, depth = fsmeu.to_networkx(drawing.automaton), drawing.automaton.depth
    place = drawing.placement
    lengths = nx.single_source_shortest_path_length(nx.DiGraph(graph), graph.graph["start"])
    assert depth.tolist() == [lengths.get(s, -1) for s in sorted(graph)]
    x = np.array([centre[0] for centre in place.centres])
    columns = [np.unique(x[depth == d].round(6)) for d in range(depth.max() + 1)]
    assert all(len(column) == 1 for column in columns)
    assert (np.diff(np.concatenate(columns)) > 0).all()
    found = boxes(place.centres, drawing.frame.captions)
    for a, b in combinations(found, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    assert (found[:, :2] >= 0).all()
    assert (found[:, 2:] <= (place.width, place.height)).all()
    for bundle, curve in zip(drawing.frame.bundles, place.curves, strict=True):
        for state, point in ((bundle.source, curve[0]), (bundle.target, curve[-1])):
            assert (found[state, :2] - 1e-6 <= point).all()
            assert (point <= found[state, 2:] + 1e-6).all()
    for label in boxes(place.labels, drawing.frame.bundles):
        assert not ((label[:2] < found[:, 2:]) & (label[2:] > found[:, :2])).all(axis=1).any()


@pytest.mark.parametrize("name", SHOWN)
def test_labels_belong_to_their_lines_at_a_glance(name):
    """A label lies on its own line, beside the state that is left; nothing else touches it."""
    drawing = shown(name)
    places = drawing.placement
    found = boxes(places.labels, drawing.frame.bundles)
    wide = np.minimum(found[:, None, 2:], found[None, :, 2:])
    shared = wide - np.maximum(found[:, None, :2], found[None, :, :2])
    overlaps = (shared > 1e-6).all(axis=2)
    assert overlaps.sum() == len(found)  # each with itself
    for k, (bundle, curve) in enumerate(zip(drawing.frame.bundles, places.curves, strict=True)):
        points = samples(curve)
        inside = (points[:, None] > found[:, :2]) & (points[:, None] < found[:, 2:])
        touched = set(np.flatnonzero(inside.all(axis=2).any(axis=0)).tolist())
        x, y = places.labels[k]
        cx, cy = places.centres[bundle.source]
        caption = drawing.frame.captions[bundle.source]
        if bundle.source == bundle.target:
            assert touched == set()
            assert np.abs(points - (x, y)).max(axis=1).min() <= max(bundle.width, 26)
            assert y < cy - caption.height / 2
        else:
            assert touched == {k}
            assert np.hypot(*(points - (x, y)).T).min() < bundle.width / 50 + 2
            assert 0 < abs(x - cx) - caption.width / 2 - bundle.width / 2 < 32


@pytest.mark.parametrize("name", SHOWN)
def test_all_text_is_inside_the_picture(name):
    """In the font of the file nothing reaches beyond the canvas, and no heading lies on another."""
    picture = shown(name).picture
    texts = [shape for shape in picture.shapes if hasattr(shape, "text")]
    ends = {"start": (0, 1), "middle": (0.5, 0.5), "end": (1, 0)}
    spans = []
    for text in texts:
        width = width_in_the_font(text.text, text.size)
        before, after = ends[text.anchor]
        spans.append((text.x - before * width, text.y, text.x + after * width))
        assert spans[-1][0] >= 0
        assert spans[-1][2] <= picture.width
        assert text.size / 2 <= text.y <= picture.height - text.size / 2
    for (a, top, b), (c, other, d) in combinations(sorted(spans), 2):
        assert abs(top - other) > 8 or min(b, d) - max(a, c) <= 1
    for shape in picture.shapes:
        if hasattr(shape, "curve"):
            points = samples(shape.curve)
            assert (points >= 0).all()
            assert (points <= (picture.width, picture.height)).all()
