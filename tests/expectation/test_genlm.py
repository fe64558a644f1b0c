"""The same machines in genlm-grammar: pure Python, floats, nothing shared with OpenFst."""

import math

from genlm.grammar import FST, WFSA, Float
from hypothesis import given, settings

import fsmeu
from fsmeu.fst.image import table_from_fst
from fsmeu.fst.layers import table_from_layered
from tests.expectation.checks import close, scale_of
from tests.strategies import questions


def transducer(table):
    """An arc table as a transducer of genlm-grammar, full doubles on every arc."""
    machine = FST(Float)
    machine.add_I(table.start, 1.0)
    for arc in range(table.arcs):
        labels = (int(table.ilabel[arc]), int(table.olabel[arc]))
        weight = math.exp(-float(table.weight[arc]))
        machine.add_arc(int(table.source[arc]), labels, int(table.target[arc]), weight)
    for state, weight in enumerate(table.final.tolist()):
        if math.isfinite(weight):
            machine.add_F(state, math.exp(-weight))
    return machine


def acceptor_of_string(labels, z):
    machine = WFSA.from_string(tuple(labels.index(x) + 1 for x in z), Float)
    assert machine.total_weight() == 1.0
    return FST.diag(machine)


def compare(loss, z, model):
    """(their total, our expectation), the shift of negative values taken off theirs."""
    machine = loss.compile(len(z))
    arcs = table_from_fst(machine.fst)
    left = acceptor_of_string(list(loss.alphabet.labels), z) @ transducer(arcs)
    whole = left @ transducer(table_from_layered(model.layered()))
    return whole.total_weight() - machine.shift, fsmeu.expect(loss, z, model).value


@settings(max_examples=40, deadline=None)
@given(questions(most=4))
def test_random_losses(asked):
    theirs, ours = compare(asked.case.load(), asked.z, asked.model.model)
    assert theirs == close(ours, 1 + scale_of(asked.pairs))
