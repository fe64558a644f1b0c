"""Figure 1 of Jansche (2007), drawn from the shelf's F-score: its states, arcs and labels."""

import xml.etree.ElementTree as ET
from itertools import combinations

import fsmeu

SVG = "{http://www.w3.org/2000/svg}"

# Read off the printed figure: ten states, named A,T there; an arc for each pair of letters.
STATES = ["0,0", "0,1", "1,1", "0,2", "1,2", "2,2", "0,3", "1,3", "2,3", "3,3"]
BOTH_COUNT = ["1,1", "1,2", "2,2", "1,3", "2,3", "3,3"]  # Y:Y from the first six of them
ONE_COUNTS = ["0,1", "0,2", "1,2", "0,3", "1,3", "2,3"]  # n:Y
ARCS = {(state, label, state) for state in STATES for label in ("Y:n", "n:n")}
ARCS |= {(a, "Y:Y", b) for a, b in zip(STATES, BOTH_COUNT, strict=False)}
ARCS |= {(a, "n:Y", b) for a, b in zip(STATES, ONE_COUNTS, strict=False)}


FIGURE = fsmeu.draw(fsmeu.load("fscore", labels=("n", "Y")), n=4, given_z=True, depth=3)


def test_graph_is_that_of_the_paper():
    """States, arcs, labels and start are those of the printed figure."""
    graph = fsmeu.to_networkx(FIGURE.automaton)
    held = {k: node["registers"] for k, node in graph.nodes.items()}
    name = {k: f"{r['tp']:g},{r['ref']:g}" for k, r in held.items()}
    assert sorted(name.values()) == sorted(STATES)
    arcs = {(name[a], f"{d['input']}:{d['output']}", name[b]) for a, b, d in graph.edges(data=True)}
    assert arcs == ARCS
    assert graph.number_of_edges() == len(ARCS)
    assert name[graph.graph["start"]] == "0,0"


def test_pictures_show_every_state_and_merged_label():
    """The two pairs that change nothing share one line, as in the figure: 22 lines in all."""
    assert len(FIGURE.frame.bundles) == 22
    texts = [element.text for element in ET.fromstring(FIGURE.svg).iter(f"{SVG}text")]
    assert {t for t in texts if t.startswith("tp=")} == {f"tp={s[0]} ref={s[2]}" for s in STATES}
    assert sum(t == "n:n, Y:n" for t in texts) == len(STATES)
    assert sum(t == "Y:Y" for t in texts) == sum(t == "n:Y" for t in texts) == 6


def test_no_lines_cross():
    """The printed figure has no crossing, and neither has ours; and no values before z is known."""
    place, depth = FIGURE.placement.centres, FIGURE.automaton.depth
    ends = [(b.source, b.target) for b in FIGURE.frame.bundles if b.source != b.target]
    for (a, b), (c, d) in combinations(ends, 2):
        if depth[a] == depth[c] and depth[b] == depth[d]:
            assert (place[a][1] - place[c][1]) * (place[b][1] - place[d][1]) >= 0
    assert not any(caption.value for caption in FIGURE.frame.captions)
