"""What pictures say: names of states, titles, headings of columns, merged states."""

from itertools import product

import numpy as np
import pytest

import fsmeu
from fsmeu.drawing.subject import stands_for

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
    """Every pair has a path, at whose end stands its value; registers are those of its states."""
    loss = fsmeu.load("pk", k=2)
    drawing = fsmeu.draw(loss, n=3, merged=True)
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
