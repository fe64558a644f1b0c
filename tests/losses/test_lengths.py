"""A machine for length n has paths for pairs of length n alone, and given z for pairs with it."""

from itertools import product

import numpy as np
import pytest

import fsmeu
from fsmeu.losses.sum_over_paths import compile_summed
from tests.support.missing import openfst

pynini = openfst()

N = 4
Z = "0110"
LOSSES = {
    "hamming": {},
    "fscore": {},
    "pk": {"k": 2},
    "zero_one": {},
    "windowdiff": {"k": 2},
    "transitions": {},
    "run_length": {},
}
MACHINES = {
    "compiled": lambda loss: loss.compile(N),
    "minimized": lambda loss: loss.compile(N, minimize=True),
    "given z": lambda loss: loss.compile(N, z=Z),
    "given z, minimized": lambda loss: loss.compile(N, z=Z, minimize=True),
    "summed": lambda loss: compile_summed(loss, N),
    "summed, given z": lambda loss: compile_summed(loss, N, z=Z),
}


def paths(graph, z, y):
    """The weights of the paths of a pair through a graph of networkx, with those of their ends."""
    found = [(graph.graph["start"], 0.0)]
    for a, b in zip(z, y, strict=True):
        found = [
            (target, weight + arc["weight"])
            for state, weight in found
            for _, target, arc in graph.out_edges(state, data=True)
            if (arc["input"], arc["output"]) == (a, b)
        ]
    ends = ((graph.nodes[state], weight) for state, weight in found)
    return [weight + node["final"] for node, weight in ends if node["ending"]]


@pytest.mark.thirds
@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize("name", LOSSES)
def test_only_pairs_of_its_length_have_paths(name, kind):
    loss = fsmeu.load(name, **LOSSES[name])
    machine = MACHINES[kind](loss)
    graph = fsmeu.to_networkx(machine)
    for length in range(N + 3):
        for z, y in product(product("01", repeat=length), repeat=2):
            found = paths(graph, z, y)
            if length == N and ("given z" not in kind or z == tuple(Z)):
                value = float(np.exp(-np.array(found)).sum()) - machine.shift
                assert value == pytest.approx(loss(z, y), abs=1e-9)
            else:
                assert not found


@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize("name", LOSSES)
def test_openfst_finds_no_path_of_another_length(name, kind):
    """Also in the file that is written, read by OpenFst itself."""
    machine = MACHINES[kind](fsmeu.load(name, **LOSSES[name]))
    for fst in (machine.fst, pynini.Fst.read_from_string(fsmeu.to_openfst(machine))):
        read = set(fst.paths(input_token_type=fst.input_symbols()).istrings())
        assert {len(text.split()) for text in read} == {N}
        if "given z" in kind:
            assert read == {" ".join(Z)}


def test_a_machine_that_has_no_steps():
    for machine in (fsmeu.load("fscore").compile(0), compile_summed("fscore", 0)):
        graph = fsmeu.to_networkx(machine)
        assert paths(graph, (), ()) == [0.0]
        assert not paths(graph, "1", "1")


def test_states_are_shared_until_a_machine_is_handed_out():
    f1 = fsmeu.load("fscore").compile(6)
    assert f1.states == 84  # as many as there are tp, hyp - tp, ref - tp with a sum of at most 6
    assert f1.fst.num_states() == 210  # one for each depth as well
