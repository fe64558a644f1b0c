"""Figure 1 of Jansche (2007), drawn from the shelf's F-score: its states, arcs and labels."""

import re
import xml.etree.ElementTree as ET
from itertools import combinations

import pytest

import fsmeu

SVG = "{http://www.w3.org/2000/svg}"

# Read off the printed figure: ten states, named A,T there; an arc for each pair of letters.
STATES = ["0,0", "0,1", "1,1", "0,2", "1,2", "2,2", "0,3", "1,3", "2,3", "3,3"]
BOTH_COUNT = {  # Y:Y
    "0,0": "1,1", "0,1": "1,2", "1,1": "2,2", "0,2": "1,3", "1,2": "2,3", "2,2": "3,3",
}  # fmt: skip
ONE_COUNTS = {  # n:Y
    "0,0": "0,1", "0,1": "0,2", "1,1": "1,2", "0,2": "0,3", "1,2": "1,3", "2,2": "2,3",
}  # fmt: skip
ARCS = (
    {(state, "Y:n", state) for state in STATES}
    | {(state, "n:n", state) for state in STATES}
    | {(a, "Y:Y", b) for a, b in BOTH_COUNT.items()}
    | {(a, "n:Y", b) for a, b in ONE_COUNTS.items()}
)


@pytest.fixture(scope="module")
def figure():
    loss = fsmeu.load("fscore", labels=("n", "Y"))
    return fsmeu.draw(loss, n=4, given_z=True, depth=3)


def test_graph_is_that_of_the_paper(figure):
    """States, arcs, labels and start are those of the printed figure."""
    graph = fsmeu.to_networkx(figure.automaton)
    name = {
        k: f"{d['registers']['tp']:g},{d['registers']['ref']:g}" for k, d in graph.nodes.items()
    }
    assert sorted(name.values()) == sorted(STATES)
    arcs = {(name[a], f"{d['input']}:{d['output']}", name[b]) for a, b, d in graph.edges(data=True)}
    assert arcs == ARCS
    assert graph.number_of_edges() == len(ARCS)
    assert name[graph.graph["start"]] == "0,0"


def test_lines_carry_merged_labels(figure):
    """The two pairs that change nothing share one line, as in the figure: 22 lines in all."""
    lines = {(b.source, b.target): b.lines for b in figure.frame.bundles}
    assert len(lines) == 22
    for (source, target), text in lines.items():
        assert set(text[0].split(", ")) == ({"Y:n", "n:n"} if source == target else {text[0]})


def test_svg_shows_every_state_and_label(figure):
    """What can be read in the picture is what the figure says."""
    root = ET.fromstring(figure.svg)
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {t for t in texts if t.startswith("tp=")} == {f"tp={s[0]} ref={s[2]}" for s in STATES}
    assert sum(t == "n:n, Y:n" for t in texts) == len(STATES)
    assert sum(t == "Y:Y" for t in texts) == sum(t == "n:Y" for t in texts) == 6


def test_columns_run_from_left_to_right(figure):
    """A state stands in the column of its number of positive references, further right for more."""
    x = {}
    for caption, centre in zip(figure.frame.captions, figure.placement.centres, strict=True):
        ref = int(re.search(r"ref=(\d)", caption.lines[0]).group(1))
        x.setdefault(ref, set()).add(round(centre[0], 6))
    assert [len(x[ref]) for ref in range(4)] == [1, 1, 1, 1]
    assert sorted(x, key=lambda ref: min(x[ref])) == [0, 1, 2, 3]


def test_no_lines_cross(figure):
    """The printed figure has no crossing, and neither has ours."""
    place, depth = figure.placement.centres, figure.automaton.depth
    ends = [(b.source, b.target) for b in figure.frame.bundles if b.source != b.target]
    for (a, b), (c, d) in combinations(ends, 2):
        if depth[a] == depth[c] and depth[b] == depth[d]:
            assert (place[a][1] - place[c][1]) * (place[b][1] - place[d][1]) >= 0


def test_values_wait_for_z(figure):
    """Without z, what a state is worth is not known, so no value is shown."""
    assert not any(caption.value for caption in figure.frame.captions)
