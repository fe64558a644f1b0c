"""Machines go to networkx and OpenFst and come back bit for bit."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from tests.support.missing import openfst

pynini = openfst()

NAMES = ['a"', "<b>", "c d", "e\nf", "é", "<eps>"]
F = fsmeu.load("fscore", beta=0.7)
MACHINES = {
    "loss": lambda: F.compile(4),
    "given z": lambda: fsmeu.load("pk", k=2).compile(4, "0110"),
    "composition": lambda: fsmeu.compose(F, "1010", [0.9, 0.1, 1 / 3, 0.7]),
    "model": lambda: fsmeu.models.Markov([0.3, 0.7], [[0.6, 0.4], [1 / 7, 6 / 7]], n=4),
    "strange names": lambda: fsmeu.load("hamming", labels=NAMES).compile(2),
}


def told(graph):
    """All that a graph holds, as text: with every digit, and -0.0 apart from 0.0."""
    return repr((graph.graph, list(graph.nodes(data=True)), list(graph.edges(data=True))))


@pytest.mark.parametrize("name", MACHINES)
def test_machines_go_there_and_back(name, tmp_path):
    """The graph holds everything, and the file is OpenFst's own."""
    machine = MACHINES[name]()
    graph, image = fsmeu.to_networkx(machine), fsmeu.to_openfst(machine)
    back = fsmeu.from_networkx(graph)
    assert told(fsmeu.to_networkx(back)) == told(graph)
    path = tmp_path / "machine.fst"
    pynini.Fst.read_from_string(image).write(str(path))
    for source in (image, path, str(path), pynini.Fst.read(str(path))):
        assert fsmeu.to_openfst(fsmeu.from_openfst(source)) == image
    assert fsmeu.to_openfst(back) == image


def test_graph_written_by_hand():
    graph = nx.MultiDiGraph(start="A")
    graph.add_edge("A", "B", input="x", output="y", weight=0.5)
    graph.add_edge("B", "B", label="x")
    graph.nodes["B"]["final"] = 0.0
    machine = fsmeu.from_networkx(graph)
    fst = machine.fst
    pair = pynini.compose(pynini.accep("x", token_type=fst.input_symbols(), arc_type="log64"), fst)
    assert pair.num_states() > 0
    assert "x:y" in fsmeu.draw(graph).dot


@st.composite
def graphs(draw):
    """Any machine at all, by the numbers of its labels; the one without states included."""
    states = draw(st.integers(0, 6))
    graph = nx.MultiDiGraph(start=draw(st.integers(0, states - 1)) if states else None)
    for state in range(states):
        graph.add_node(state, final=draw(st.floats(allow_nan=False)))
    state, label = st.integers(0, max(states - 1, 0)), st.integers(0, 2**31 - 1)
    arcs = st.lists(st.tuples(state, state, label, label, st.floats(allow_nan=False)), max_size=12)
    for source, target, ilabel, olabel, weight in draw(arcs) if states else ():
        graph.add_edge(source, target, ilabel=ilabel, olabel=olabel, weight=weight)
    return graph


@settings(max_examples=80, deadline=None)
@given(graphs())
def test_any_machine_survives_all_formats(graph):
    kept = fsmeu.to_networkx(fsmeu.from_networkx(graph))
    back = fsmeu.to_networkx(fsmeu.from_openfst(fsmeu.to_openfst(graph)))
    for one in (kept, back):
        assert one.graph["start"] == graph.graph["start"]
        assert [repr(d["final"]) for _, d in one.nodes(data=True)] == [
            repr(d["final"]) for _, d in graph.nodes(data=True)
        ]
        rows = [
            [
                (a, b, d["ilabel"], d["olabel"], np.float64(d["weight"]).tobytes())
                for a, b, d in which.edges(data=True)
            ]
            for which in (one, graph)
        ]
        assert sorted(rows[0]) == sorted(rows[1])
