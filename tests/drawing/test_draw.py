"""``draw``: what is asked for is what is drawn, in every format, and what pictures say."""

import xml.etree.ElementTree as ET
from itertools import combinations, product
from math import prod

import numpy as np
import pytest
from rich.cells import cell_len

import fsmeu
from fsmeu.endings import PICTURES

P = [0.9, 0.5, 0.3, 0.2]
F1 = fsmeu.load("fscore")


KINDS = [pytest.param(k, marks=[pytest.mark.nightly] * (k == "png")) for k in PICTURES]


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_is_written(tmp_path, kind):
    """The ending says the format, in any case; what is written is what is rendered."""
    drawing = fsmeu.draw(F1, n=2)
    content = drawing.save(tmp_path / f"picture.{kind.upper()}").read_bytes()
    head = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<svg", "html": b"<!DOCTYPE html>"}
    head |= {"dot": b"digraph", "tex": b"%", "txt": b"utility"}
    assert content.startswith(head[kind])
    assert content == drawing.render(kind)


def test_path_of_a_pair_is_coloured():
    drawing = fsmeu.draw(F1, z="110", y="101")
    route = drawing.route
    captions = {drawing.frame.captions[s].lines[0] for s in route.states}
    steps = ((0, 0, 0), (1, 1, 1), (1, 2, 1), (1, 2, 2))
    assert captions == {f"tp={tp} hyp={hyp} ref={ref}" for tp, hyp, ref in steps}
    assert len(route.arcs) == 3


def test_composition_shows_probabilities():
    z = "1100"
    drawing = fsmeu.draw(F1, z=z, y="1010", model=P)
    graph = fsmeu.to_networkx(drawing.automaton)
    passing = dict.fromkeys(graph, 0.0)
    flows = {}
    for y in product((0, 1), repeat=4):
        chance = prod(p if label else 1 - p for p, label in zip(P, y, strict=True))
        state = graph.graph["start"]
        passing[state] += chance
        for a, b in zip(z, y, strict=True):
            steps = graph.out_edges(state, data=True)
            source = state
            state = next(t for _, t, d in steps if (d["input"], d["output"]) == (a, str(b)))
            passing[state] += chance
            flows[source, state] = flows.get((source, state), 0.0) + chance
    assert drawing.automaton.masses == pytest.approx([passing[s] for s in sorted(graph)], rel=1e-12)
    for bundle in drawing.frame.bundles:
        assert bundle.flow == pytest.approx(flows[bundle.source, bundle.target], rel=1e-12)
    assert len(drawing.route.arcs) == 4


def test_parts_can_be_chosen():
    drawing = fsmeu.draw(fsmeu.load("recall"), n=3, given_z=True)
    assert {c.lines[0] for c in drawing.frame.captions} == {
        f"tp={tp} ref={ref}" for ref in range(4) for tp in range(ref + 1)
    }
    assert fsmeu.draw(F1, n=3, registers=["ref"]).automaton.states == 4
    drawing = fsmeu.draw(F1, z="111", y="111", depth=1)
    assert drawing.automaton.depth.max() == 1
    assert (len(drawing.route.states), len(drawing.route.arcs)) == (2, 1)


def test_large_machines_are_summed_up():
    """Instead of a hairball: widths of the layers as counted by hand, growth, and the limit."""
    drawing = fsmeu.draw(F1, n=20)
    summary = drawing.summary
    assert list(summary.widths) == [(d + 1) * (d + 2) // 2 for d in range(21)]
    assert list(summary.onward) == [3 * w for w in summary.widths[:-1]]
    told = " ".join(summary.notes)
    assert all(part in told for part in ("1,771 states", "At most 100 states", "Raise the limit"))
    assert "231" in drawing.svg
    assert fsmeu.draw(F1, n=5, limit=10).summary is not None
    assert fsmeu.draw(F1, n=5, limit=60).summary is None


def test_text_tells_all():
    drawing = fsmeu.draw(F1, z="11", y="01")
    lines = drawing.text.splitlines()
    arcs = [line for line in lines if "→" in line or line.endswith("↺")]
    assert len(arcs) == len(drawing.frame.bundles)
    rows = ["".join(c for c, _ in row) for row in drawing.cells(200)]
    for caption in drawing.frame.captions:
        assert sum(f"(({caption.lines[0]}))" in row for row in rows) == 1
    assert drawing.cells(40) is None
    wide = fsmeu.draw(fsmeu.load("hamming", labels=["日本", "e\u0301"]), n=1)
    row = next(row for row in wide.cells(200) if any(c == "(" for c, _ in row))
    text = "".join(character for character, _ in row)
    assert cell_len(text) == len(row)
    assert "日本:e\u0301" in text


# -- Figure 1 of Jansche (2007) -------------------------------------------------------------------

# Read off the printed figure: ten states, named A,T there; an arc for each pair of letters.
STATES = ["0,0", "0,1", "1,1", "0,2", "1,2", "2,2", "0,3", "1,3", "2,3", "3,3"]
BOTH_COUNT = ["1,1", "1,2", "2,2", "1,3", "2,3", "3,3"]  # Y:Y from the first six of them
ONE_COUNTS = ["0,1", "0,2", "1,2", "0,3", "1,3", "2,3"]  # n:Y
ARCS = {(state, label, state) for state in STATES for label in ("Y:n", "n:n")}
ARCS |= {(a, "Y:Y", b) for a, b in zip(STATES, BOTH_COUNT, strict=False)}
ARCS |= {(a, "n:Y", b) for a, b in zip(STATES, ONE_COUNTS, strict=False)}
FIGURE = fsmeu.draw(fsmeu.load("fscore", labels=("n", "Y")), n=4, given_z=True, depth=3)


def test_graph_is_that_of_the_paper():
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
    texts = [one.text for one in ET.fromstring(FIGURE.svg).iter() if one.tag.endswith("text")]
    assert {t for t in texts if t.startswith("tp=")} == {f"tp={s[0]} ref={s[2]}" for s in STATES}
    assert [texts.count(t) for t in ("n:n, Y:n", "Y:Y", "n:Y")] == [len(STATES), 6, 6]


def test_no_lines_cross():
    """The printed figure has no crossing, and neither has ours."""
    place, depth = FIGURE.placement.centres, FIGURE.automaton.depth
    ends = [(b.source, b.target) for b in FIGURE.frame.bundles if b.source != b.target]
    for (a, b), (c, d) in combinations(ends, 2):
        if depth[a] == depth[c] and depth[b] == depth[d]:
            assert (place[a][1] - place[c][1]) * (place[b][1] - place[d][1]) >= 0


# -- names of states, titles, headings of columns, merged states ----------------------------------

HMM = fsmeu.models.hmm(
    [0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.5], [0.1, 0.9]], [0, 1, 1], ["Hot", "Cold"]
)


def names(drawing, depth):
    """What the states of a column show, sorted."""
    captions = drawing.frame.captions
    return sorted(captions[s].lines[0] for s in np.flatnonzero(drawing.automaton.depth == depth))


def test_states_of_models_are_labels():
    """A chain of order m shows its last m labels; a list of sequences what tells it apart."""
    assert [names(fsmeu.draw(HMM), depth) for depth in (0, 3)] == [["start"], ["Cold", "Hot"]]
    assert fsmeu.draw(HMM).frame.title.startswith("hidden Markov model")
    order = fsmeu.models.Markov(np.full((2, 2), 0.25), np.full((2, 2, 2), 0.5), n=4)
    assert names(fsmeu.draw(order), 1) == ["0, then 0", "0, then 1", "1, then 0", "1, then 1"]
    assert names(fsmeu.draw(order), 4) == ["0 0", "0 1", "1 0", "1 1"]
    few = fsmeu.models.NBest(["0110", "0100", "1110"], [0.5, 0.3, 0.2])
    assert names(fsmeu.draw(few), 3) == ["0 1 0", "0 1 1", "1 1 1"]
    assert len(fsmeu.draw(HMM, y=["Hot", "Cold", "Hot"]).route.arcs) == 3
    coin = fsmeu.draw(fsmeu.models.Bernoulli([0.5]))
    assert (names(coin, 1), coin.frame.bundles[0].lines) == (["1"], ("(0, 1)/0.5",))


def said(drawing, state):
    """All registers that a picture tells of a state: in it, above it, in the title."""
    depth = int(drawing.automaton.depth[state])
    words = " ".join([*drawing.frame.captions[state].lines, *drawing.frame.headings[depth]])
    held = dict(word.split("=", 1) for word in words.split())
    assert len(held) == len(words.split())  # nothing is said twice
    for note in drawing.frame.notes:
        register, _, rest = note.partition(" is ")
        for part in rest.split("; "):
            value, _, where = part.partition(" where ")
            other, _, values = where.partition(" = ")
            if register not in held and held[other] in values.split(", "):
                held[register] = value
    return held


PAIR = fsmeu.loads("loss a\nlabels any\nmemory m of z last 2\nvalue tally(m, 1)\n")
TYPED = fsmeu.loads(
    "loss t\nlabels bio\nmemory m of type(z) last 1\nmemory k of kind(y) last 1\nvalue 0\n",
    types=["NP", "PP"],
)


@pytest.mark.parametrize(
    ("loss", "n"),
    [
        (fsmeu.load("pk", k=2), 3),
        (fsmeu.load("windowdiff", k=2), 3),
        (fsmeu.load("chunk_fscore", types=["NP"]), 2),
        (PAIR, 2),
        (TYPED, 1),
    ],
)
def test_states_headings_and_notes_tell_every_register(loss, n):
    """What is said once is not said in the states, and nothing is lost; memories show labels."""
    drawing = fsmeu.draw(loss, n=n)
    automaton = drawing.automaton
    found = [said(drawing, state) for state in range(automaton.states)]
    for state, told in enumerate(found):
        assert told == {r: automaton.register_text(r, state) for r in automaton.registers}
    assert all(r in drawing.dot for r in automaton.registers)
    last = {tuple(found[state].values()) for state in np.flatnonzero(automaton.depth == n)}
    if loss is TYPED:
        assert last == set(product(["-", "NP", "PP"], "BIO"))
    if loss is PAIR:
        assert last == set(product(["00", "01", "10", "11"]))


def test_states_of_a_composition_are_told_apart():
    """Where registers do not do it, the labels read last do."""
    loss = fsmeu.load("hamming", labels=["Hot", "Cold"])
    drawing = fsmeu.draw(fsmeu.compose(loss, HMM, HMM), limit=400)
    assert [*drawing.automaton.registers][:2] == ["bad", "y"]
    depths = drawing.automaton.depth.tolist()
    told = [(d, *said(drawing, s).items()) for s, d in enumerate(depths)]
    assert len(set(told)) == len(told)
