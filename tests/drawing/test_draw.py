"""``draw``: what is asked for is what is drawn, in every format, and what pictures say."""

import re
import xml.etree.ElementTree as ET
from itertools import combinations, product
from math import prod

import networkx as nx
import numpy as np
import pytest

import fsmeu
from fsmeu.decoding.explicit_lists import hypotheses_composition
from fsmeu.drawing.picture import ROUTE, Box, Line
from fsmeu.drawing.subject import Route, stands_for
from fsmeu.endings import PICTURES
from fsmeu.errors import FsmeuError, InputError
from tests.support.python_losses import Mistakes

P = [0.9, 0.5, 0.3, 0.2]
F1 = fsmeu.load("fscore")
MISTAKES = fsmeu.function_loss(Mistakes())


def test_dot_can_be_walked():
    loss = fsmeu.load("pk", k=2)
    dot = fsmeu.draw(loss, n=3).dot
    values = dict(re.findall(r'^  (\d+) \[label=".*= (.*?)", .*peripheries=2', dot, re.MULTILINE))
    lines = re.findall(r'^  (\d+) -> (\d+) \[label="(.*?)"', dot, re.MULTILINE)
    steps = {(a, pair): b for a, b, text in lines for pair in text.split(", ")}
    for z, y in product(product("01", repeat=3), repeat=2):
        (state,) = re.findall(r"start -> (\d+);", dot)
        for pair in zip(z, y, strict=True):
            state = steps[state, ":".join(pair)]
        assert float(values[state]) == loss(z, y)


@pytest.mark.parametrize("kind", PICTURES)
def test_every_format_is_written(tmp_path, kind):
    """The ending says the format, in any case; what is written is what is rendered."""
    drawing = fsmeu.draw(F1, n=2)
    content = drawing.save(tmp_path / f"picture.{kind.upper()}").read_bytes()
    head = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<svg", "html": b"<!DOCTYPE html>"}
    head |= {"dot": b"digraph", "tex": b"%", "txt": b"utility"}
    assert content.startswith(head[kind])
    assert content == drawing.render(kind)
    if kind == "png":  # two dots for each pixel of the picture
        size = [int.from_bytes(content[k : k + 4], "big") for k in (16, 20)]
        assert size == pytest.approx([2 * drawing.picture.width, 2 * drawing.picture.height], abs=2)


def test_named_states_and_memories_are_spelled_out():
    assert fsmeu.draw(fsmeu.load("zero_one"), n=1).frame.captions[1].lines == ("state=different",)
    loss = fsmeu.loads("loss a\nlabels any\nmemory m of z last 2\nvalue tally(m, 1)\n")
    texts = {caption.lines[0] for caption in fsmeu.draw(loss, n=2).frame.captions}
    assert texts == {"m=..", "m=0.", "m=1.", "m=00", "m=01", "m=10", "m=11"}
    typed = "loss t\nlabels bio\nmemory m of type(z) last 1\nmemory k of kind(y) last 1\nvalue 0\n"
    drawn = fsmeu.draw(fsmeu.loads(typed, types=["NP", "PP"]), n=1)
    found = {caption.lines[0] for caption in drawn.frame.captions}
    assert found == {"m=. k=."} | {f"m={m} k={k}" for m in ("-", "NP", "PP") for k in "BIO"}


def test_path_of_a_pair_is_coloured():
    drawing = fsmeu.draw(F1, z="110", y="101")
    route = drawing.route
    captions = {drawing.frame.captions[s].lines[0] for s in route.states}
    steps = ((0, 0, 0), (1, 1, 1), (1, 2, 1), (1, 2, 2))
    assert captions == {f"tp={tp} hyp={hyp} ref={ref}" for tp, hyp, ref in steps}
    assert len(route.arcs) == 3
    end = drawing.automaton.values[list(route.ends)]
    assert end.tolist() == [fsmeu.evaluate(F1, "110", "101")]
    red = [s for s in drawing.picture.shapes if isinstance(s, Line) and s.stroke == ROUTE]
    assert len(red) == 3 + 1
    boxes = [s for s in drawing.picture.shapes if isinstance(s, Box) and s.stroke == ROUTE]
    assert sum(bool(box.tip) for box in boxes) == 4


def test_a_hypothesis_among_others_is_coloured():
    """All paths that read it, whatever the reference, and no other arcs."""
    drawing = fsmeu.draw(hypotheses_composition(F1, P[:3]), z="101")
    table, seen = drawing.automaton.table, set()
    for y in product((1, 2), repeat=3):
        state = table.start
        for z, label in zip((2, 1, 2), y, strict=True):
            leaving = (table.source == state) & (table.ilabel == z) & (table.olabel == label)
            (arc,) = np.flatnonzero(leaving)
            seen.add(int(arc))
            state = table.target[arc]
    assert drawing.route.arcs == seen
    dead_end = nx.MultiDiGraph([(0, 1, {"label": "x"}), (0, 2, {"label": "x"})], start=0)
    dead_end.nodes[1]["final"] = 0.0
    assert fsmeu.draw(dead_end, z="x", y="x").route == Route(
        frozenset({0, 1}), frozenset({0}), (1,)
    )
    with pytest.raises(InputError, match="an arc for label 1 at entry 1"):
        fsmeu.draw(hypotheses_composition(F1, P[:3], "1 0 ."), z="111")


def test_composition_shows_probabilities():
    z = "1100"
    drawing = fsmeu.draw(F1, z=z, y="1010", model=P)
    automaton = drawing.automaton
    graph = fsmeu.to_networkx(automaton)
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
    assert automaton.masses == pytest.approx([passing[s] for s in sorted(graph)], rel=1e-12)
    for bundle in drawing.frame.bundles:
        expected = flows[bundle.source, bundle.target]
        assert bundle.flow == pytest.approx(expected, rel=1e-12)
    assert len(drawing.route.arcs) == 4
    widths = [s.line for s in drawing.picture.shapes if isinstance(s, Line) and "prob" in s.tip]
    ordered = sorted(drawing.frame.bundles, key=lambda b: b.flow)
    assert max(widths) == pytest.approx(0.7 + 4.3 * ordered[-1].flow)


def test_parts_can_be_chosen():
    drawing = fsmeu.draw(fsmeu.load("recall"), n=3, given_z=True)
    assert {c.lines[0] for c in drawing.frame.captions} == {
        f"tp={tp} ref={ref}" for ref in range(4) for tp in range(ref + 1)
    }
    assert all(c.value for c in drawing.frame.captions)
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
    told, power = " ".join(summary.notes), np.log(1771 / 286) / np.log(2)
    for part in ("1,771 states", "At most 100 states", "Raise the limit", f"power {power:.2g}"):
        assert part in told
    for kind in PICTURES:
        assert drawing.render(kind)
    assert "231" in drawing.svg
    assert "depth 20" in drawing.dot
    assert fsmeu.draw(F1, n=5, limit=10).summary is not None
    assert fsmeu.draw(F1, n=5, limit=60).summary is None


def test_text_tells_all():
    drawing = fsmeu.draw(F1, z="11", y="01")
    lines = drawing.text.splitlines()
    arcs = [line for line in lines if "→" in line or line.endswith("↺")]
    assert len(arcs) == len(drawing.frame.bundles)
    assert str(drawing) == drawing.text
    rows = ["".join(c for c, _ in row) for row in drawing.cells(200)]
    for caption in drawing.frame.captions:
        assert sum(f"(({caption.lines[0]}))" in row for row in rows) == 1
    assert drawing.cells(40) is None


def test_wide_characters_keep_their_columns():
    from rich.cells import cell_len

    drawing = fsmeu.draw(fsmeu.load("hamming", labels=["日本", "e\u0301"]), n=1)
    rows = [row for row in drawing.cells(200) if any(c == "(" for c, _ in row)]
    text = "".join(character for character, _ in rows[0])
    assert cell_len(text) == len(rows[0])
    assert "日本:e\u0301" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "length of the sequences must be given"),
        ({"n": 2, "z": "101"}, "the same length"),
        ({"z": "10", "y": "1"}, "the same length"),
        ({"n": 2, "y": "11"}, "hypothesis z must be given"),
        ({"z": "12"}, "entry 1 must be one of 0, 1"),
        ({"model": [0.5]}, "the hypothesis z must be given"),
        ({"n": 3, "z": "1", "model": [0.5]}, "n must be that of the model"),
        ({"n": 2, "limit": 0}, "limit must be"),
        ({"n": 2, "depth": -1}, "at least 0"),
        ({"n": 2, "path": "picture.gif"}, "the format must be one of"),
        ({"n": 2, "path": "picture"}, "Got no ending instead"),
        ({"n": 300}, "50,000 states"),
        ({"n": 5, "max_states": 10}, "at most 10 states"),
        ({"n": 3, "registers": ["reff"]}, "the registers are tp, hyp, ref"),
        ({"n": 3, "minimize": True, "given_z": True}, "not both"),
        ({"thing": MISTAKES, "n": 2, "given_z": True}, "the loss must be one of a file"),
        ({"z": "1", "model": [0.5], "given_z": True}, "no states for registers that read z"),
        ({"thing": F1.compile(2), "n": 2}, "n goes with a loss"),
        ({"thing": F1.compile(2), "given_z": True}, "given_z goes with a loss"),
        ({"thing": F1.compile(2), "minimize": True}, "minimize goes with a loss"),
        ({"thing": 42}, "a loss, a compiled loss"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(FsmeuError, match=message):
        fsmeu.draw(**{"thing": F1, **arguments})


def test_a_path_that_a_composition_does_not_have_is_refused():
    composed = fsmeu.compose(F1, "00", [0.5, 0.5])
    with pytest.raises(FsmeuError, match="an arc for the pair 1:1 at entry 0"):
        fsmeu.draw(composed, z="10", y="11")


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
    assert names(fsmeu.draw(HMM), 0) == ["start"]
    for depth in (1, 2, 3):
        assert names(fsmeu.draw(HMM), depth) == ["Cold", "Hot"]
    order = fsmeu.models.Markov(np.full((2, 2), 0.25), np.full((2, 2, 2), 0.5), n=4)
    assert names(fsmeu.draw(order), 1) == ["0, then 0", "0, then 1", "1, then 0", "1, then 1"]
    for depth in (2, 3, 4):
        assert names(fsmeu.draw(order), depth) == ["0 0", "0 1", "1 0", "1 1"]
    few = fsmeu.models.NBest(["0110", "0100", "1110"], [0.5, 0.3, 0.2])
    assert names(fsmeu.draw(few), 3) == ["0 1 0", "0 1 1", "1 1 1"]
    assert names(fsmeu.draw(fsmeu.models.Bernoulli([0.5, 0.5])), 1) == ["1"]


def test_lines_of_models_show_probabilities():
    """The label is in the state that a line enters; the number is P(label | state)."""
    drawing = fsmeu.draw(HMM)
    table = drawing.automaton.table
    for bundle in drawing.frame.bundles:
        assert float(bundle.lines[0]) == pytest.approx(np.exp(-table.weight[bundle.arcs[0]]), 1e-3)
    first = [b for b in drawing.frame.bundles if b.source == table.start]
    shown = {drawing.frame.captions[b.target].lines[0]: float(b.lines[0]) for b in first}
    assert shown["Hot"] == pytest.approx(HMM.marginals()[0, 0], 1e-3)
    assert len(fsmeu.draw(HMM, y=["Hot", "Cold", "Hot"]).route.arcs) == 3


@pytest.mark.parametrize(
    ("model", "title"),
    [
        (HMM, "hidden Markov model, given its observations, n = 3"),
        (fsmeu.models.Bernoulli([0.5]), "independent labels, n = 1"),
        (fsmeu.models.Markov([0.5, 0.5], np.full((2, 2), 0.5), n=2), "Markov chain of order 1"),
        (fsmeu.models.from_potentials(np.zeros((2, 2)), np.zeros((2, 2))), "linear-chain"),
        (fsmeu.models.NBest(["01"], [1.0]), "list of 1 sequences"),
        (fsmeu.models.Mixture([fsmeu.models.Bernoulli([0.5])] * 2, [0.5, 0.5]), "mixture of 2"),
    ],
)
def test_models_are_titled_by_what_they_are(model, title):
    assert fsmeu.draw(model).frame.title.startswith(title)
    assert title.split(",")[0] in model._repr_html_()


def test_states_that_no_path_reaches_are_left_out_of_models():
    parts = [fsmeu.models.Bernoulli([0.1, 0.2]), fsmeu.models.Bernoulli([0.9, 0.8])]
    drawing = fsmeu.draw(fsmeu.models.Mixture(parts, [0.4, 0.6]))
    assert (drawing.automaton.depth >= 0).all()
    assert drawing.automaton.masses.sum() == pytest.approx(3)


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


@pytest.mark.parametrize(
    ("name", "params", "n"),
    [("pk", {"k": 2}, 3), ("windowdiff", {"k": 2}, 3), ("chunk_fscore", {"types": ["NP"]}, 2)],
)
def test_states_headings_and_notes_tell_every_register(name, params, n):
    """What is said once is not said in the states, and nothing is lost."""
    drawing = fsmeu.draw(fsmeu.load(name, **params), n=n)
    automaton = drawing.automaton
    assert any(drawing.frame.headings) or drawing.frame.notes
    for state in range(automaton.states):
        expected = {r: automaton.register_text(r, state) for r in automaton.registers}
        assert said(drawing, state) == expected
    assert all(r in drawing.dot for r in automaton.registers)


def test_merged_view_has_the_values_of_the_loss():
    loss = fsmeu.load("pk", k=2)
    drawing = fsmeu.draw(loss, n=3, minimize=True)
    plain, merged = loss.compile(3), loss.compile(3, minimize=True)
    assert drawing.automaton.states == merged.states < plain.states
    members = stands_for(plain, merged)
    assert set().union(*members) == set(range(plain.states))
    for z, y in product(product((0, 1), repeat=3), repeat=2):
        a = b = 0
        for pair in zip(z, y, strict=True):
            a, b = plain.next[a][pair], merged.next[b][pair]
            for register, held in drawing.automaton.registers.items():
                lone = plain.registers[register][a]
                assert held[b] == "" or f"{lone:g}" in held[b].split("|")
        assert merged.values[b] == fsmeu.evaluate(loss, z, y)


@pytest.mark.parametrize("z", [["Hot"] * 3, HMM], ids=["labels", "model"])
def test_states_of_a_composition_are_told_apart(z):
    """Where registers do not do it, the labels read last do."""
    loss = fsmeu.load("hamming", labels=["Hot", "Cold"])
    drawing = fsmeu.draw(fsmeu.compose(loss, z, HMM), limit=400)
    assert [*drawing.automaton.registers][:2] == ["bad", "y"]
    depths = drawing.automaton.depth.tolist()
    told = [(d, *said(drawing, s).items()) for s, d in enumerate(depths)]
    assert len(set(told)) == len(told)


def test_memories_are_spelled_out_wherever_they_come_from():
    loss = fsmeu.load("windowdiff", k=2)
    whole = fsmeu.compose(loss, "0101", [0.1, 0.2, 0.3, 0.4])
    for drawing in (fsmeu.draw(loss, n=3), fsmeu.draw(loss.compile(3)), fsmeu.draw(whole)):
        held = drawing.automaton
        texts = {held.register_text("my", s) for s in np.flatnonzero(held.depth >= 2)}
        assert texts == {"00", "01", "10", "11"}
