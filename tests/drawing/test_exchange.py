"""Machines go to networkx and OpenFst and come back bit for bit."""

import math

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import InputError
from fsmeu.exchange.automaton import exported
from fsmeu.fst.image import fst_from_table
from tests.fst.machines import same, tables
from tests.support.missing import openfst

pynini = openfst()

P = [0.9, 0.1, 1 / 3, 0.7]


MACHINES = {
    "loss": lambda: fsmeu.load("fscore", beta=0.7).compile(4),
    "given z": lambda: fsmeu.load("pk", k=2).compile(4, "0110"),
    "composition": lambda: fsmeu.compose(fsmeu.load("fscore", beta=0.7), "1010", P),
    "model": lambda: fsmeu.models.Markov([0.3, 0.7], [[0.6, 0.4], [1 / 7, 6 / 7]], n=4),
    "strange names": lambda: fsmeu.load("hamming", labels=NAMES).compile(2),
}
NAMES = ['a"', "<b>", "c d", "e\nf", "é", "<eps>"]


@pytest.mark.parametrize("name", MACHINES)
def test_machines_go_there_and_back(name, tmp_path):
    """The graph holds everything, and the file is OpenFst's own."""
    machine = MACHINES[name]()
    there, back = exported(machine, "test"), fsmeu.from_networkx(fsmeu.to_networkx(machine))
    assert (there.inputs, there.outputs, there.name) == (back.inputs, back.outputs, back.name)
    assert there.values.tobytes() == back.values.tobytes()
    assert (there.ending == back.ending).all()
    one, other = ({k: v.tolist() for k, v in x.registers.items()} for x in (there, back))
    assert one == other
    assert (there.masses is None) == (back.masses is None)
    image, path = fsmeu.to_openfst(machine), tmp_path / "machine.fst"
    pynini.Fst.read_from_string(image).write(str(path))
    for source in (image, path, str(path), pynini.Fst.read(str(path))):
        read = fsmeu.from_openfst(source)
        assert same(read.table, there.table)
        assert read.inputs == there.inputs
    assert fsmeu.to_openfst(back) == fsmeu.to_openfst(fsmeu.from_openfst(image)) == image


def test_networkx_finds_the_most_probable_path():
    """Weights are -log p, so a shortest path is a most probable sequence."""
    model = fsmeu.models.Markov([0.3, 0.7], [[0.6, 0.4], [0.2, 0.8]], n=5)
    graph = fsmeu.to_networkx(model)
    ends = [s for s, d in graph.nodes(data=True) if d["ending"]]
    length = min(nx.dijkstra_path_length(graph, graph.graph["start"], end) for end in ends)
    assert math.exp(-length) == pytest.approx(model.most_probable()[0][1], rel=1e-12)


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


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.MultiDiGraph([(0, 1)]), "each edge must have an input"),
        (nx.Graph(), "directed"),
        (nx.MultiDiGraph([(0, 1, {"label": "a"})], start=7), "the start must be a node"),
        (nx.MultiDiGraph([(0, 1, {"label": "a"})], inputs={1: "b"}), "one of the graph's inputs"),
    ],
)
def test_graph_that_is_no_machine(graph, message):
    with pytest.raises(InputError, match=message):
        fsmeu.from_networkx(graph)


@settings(max_examples=80, deadline=None)
@given(tables(st.floats(allow_nan=False)))
def test_any_machine_survives_all_formats(table):
    machine = fsmeu.from_openfst(fst_from_table(table))
    assert same(machine.table, table)
    assert same(fsmeu.from_openfst(fsmeu.to_openfst(machine)).table, table)
    assert same(fsmeu.from_networkx(fsmeu.to_networkx(machine)).table, table)
