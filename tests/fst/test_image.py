"""Arrays to OpenFst and back: nothing is lost, and OpenFst reads what we wrote."""

import numpy as np
import pynini
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsmeu.errors import FstError
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.image import fst_from_table, symbol_table, table_from_fst
from tests.fst.machines import same, table, tables

SINGLE = st.floats(width=32, allow_nan=False, allow_infinity=False)


def test_machine_without_states():
    empty = table(-1, [], [])
    fst = fst_from_table(empty)
    assert (fst.num_states(), fst.start()) == (0, -1)
    assert same(table_from_fst(fst), empty)
    assert same(table_from_fst(pynini.Fst("log64")), empty)


@settings(max_examples=60, deadline=None)
@given(tables(SINGLE, st.one_of(SINGLE, st.just(np.inf))), st.sampled_from(["standard", "log"]))
def test_other_arc_types_keep_their_numbers(machine, arc_type):
    """Single-precision numbers, so that the conversion there loses nothing."""
    fst = pynini.Fst(arc_type)
    kind = fst.weight_type()
    fst.add_states(machine.states)
    if machine.states:
        fst.set_start(machine.start)
    for state, weight in enumerate(machine.final.tolist()):
        fst.set_final(state, pynini.Weight(kind, repr(weight).replace("inf", "Infinity")))
    for arc in range(machine.arcs):
        weight = pynini.Weight(kind, repr(float(machine.weight[arc])))
        target, labels = int(machine.target[arc]), (machine.ilabel[arc], machine.olabel[arc])
        fst.add_arc(int(machine.source[arc]), pynini.Arc(*map(int, labels), weight, target))
    back = table_from_fst(fst)
    assert back.weight == pytest.approx(machine.weight, rel=1e-6)  # written as text
    assert back.final == pytest.approx(machine.final, rel=1e-6)
    assert back.target.tolist() == machine.target.tolist()
    assert back.start == machine.start
    assert fst.arc_type() == arc_type


def test_unknown_arc_type_is_named():
    class Strange:
        def copy(self):
            return self

        def arc_type(self):
            return "gallic"

    with pytest.raises(FstError, match=r"hypothesis: the arc type must be .* Got gallic instead"):
        table_from_fst(Strange(), "hypothesis")


@pytest.mark.parametrize("labels", [(0, 1), ("a", "b c"), ("<eps>", "x")])
def test_symbols_name_the_labels(labels):
    symbols = symbol_table(Alphabet(labels))
    assert symbols.find(0) == "<eps>"
    names = [symbols.find(k + 1) for k in range(len(labels))]
    assert len({*names, "<eps>"}) == len(labels) + 1
    plain = [str(x) for x in labels]
    assert names[1] == plain[1]
