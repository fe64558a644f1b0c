"""Models to OpenFst and back."""

import itertools
import math

import pynini
import pytest
from hypothesis import given, settings

from fsmeu.errors import EmptyError, InputError
from fsmeu.fst.layers import fst_from_layered
from fsmeu.models import Acceptor
from tests.strategies import cases


@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_every_model_survives_openfst(case):
    model = case.model
    again = Acceptor(fst_from_layered(model.layered()), model.labels)
    assert again.total == pytest.approx(1.0, rel=1e-12)
    for y, p in case.distribution.items():
        assert again.probability(y) == pytest.approx(p, rel=1e-11, abs=1e-15)


def lattice(arc_type, arcs=((0, 1, 0.5), (0, 1, 0.25), (1, 2, 0.5), (1, 2, 1.0))):
    """A lattice a|b then a|b, with weights 0.5, 0.25 and 0.5, 1."""
    fst = pynini.Fst(arc_type)
    fst.add_states(3)
    fst.set_start(0)
    for (source, target, weight), label in zip(arcs, itertools.cycle((1, 2))):
        cost = pynini.Weight(fst.weight_type(), -math.log(weight))
        fst.add_arc(source, pynini.Arc(label, label, cost, target))
    fst.set_final(2)
    return fst


@pytest.mark.parametrize(
    ("arc_type", "tolerance"), [("log64", 1e-8), ("log", 1e-6), ("standard", 1e-6)]
)
def test_all_arc_types(arc_type, tolerance):
    """A weight given to pynini as text keeps 9 digits, one in single precision about 7."""
    model = Acceptor(lattice(arc_type), ("a", "b"))
    assert model.total == pytest.approx(0.75 * 1.5, rel=tolerance)
    expected = {"aa": 2 / 9, "ab": 4 / 9, "ba": 1 / 9, "bb": 2 / 9}
    for y, p in expected.items():
        assert model.probability(y) == pytest.approx(p, rel=tolerance)
    assert model.most_probable()[0][0] == ["a", "b"]
    assert model.fst.num_states() == 3


def with_arc(source, label, target):
    fst = lattice("log64")
    fst.add_arc(source, pynini.Arc(label, label, pynini.Weight.one("log64"), target))
    return fst


BAD = {
    "cycle": (lambda: with_arc(1, 1, 0), "acyclic|same length"),
    "epsilon": (lambda: with_arc(1, 0, 2), "epsilon"),
    "two lengths": (lambda: with_arc(0, 1, 2), "same length"),
    "unknown label": (lambda: with_arc(1, 3, 2), "one of a, b"),
    "not a machine": (lambda: [[0.5, 0.5]], "OpenFst"),
}


@pytest.mark.parametrize("case", BAD)
def test_machines_that_are_no_model(case):
    make, message = BAD[case]
    with pytest.raises(InputError, match=message):
        Acceptor(make(), ("a", "b"))


def test_empty_machine_and_missing_labels():
    with pytest.raises(EmptyError, match="at least one sequence"):
        Acceptor(pynini.Fst("log64"), ("a", "b"))
    with pytest.raises(InputError, match="Acceptor labels"):
        Acceptor(lattice("log64"))
    with pytest.raises(InputError, match="Acceptor labels"):
        Acceptor(Acceptor(lattice("log64"), ("a", "b")).layered(), ("x", "y"))
