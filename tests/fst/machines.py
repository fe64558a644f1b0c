"""Random arc tables, and a few that are written out."""

import numpy as np
from hypothesis import strategies as st

import fsmeu
from fsmeu.fst.image import ArcTable, fst_from_table
from tests.support.missing import openfst

pynini = openfst()
pywrapfst = openfst("pywrapfst")

WEIGHTS = st.floats(allow_nan=False, allow_infinity=False)
FINALS = st.one_of(WEIGHTS, st.just(np.inf))


def table(start, arcs, final):
    """A table from rows (source, ilabel, olabel, weight, target), sorted by source."""
    rows = sorted(arcs, key=lambda row: row[0])
    columns = zip(*rows, strict=True) if rows else ((),) * 5
    kinds = (np.int64, np.int64, np.int64, np.float64, np.int64)
    arcs = (np.array(column, kind) for column, kind in zip(columns, kinds, strict=True))
    return ArcTable(start, *arcs, np.array(final, np.float64))


def lattice(costs):
    """A machine of one state for each position, costs[i][k] on the arc of label k there."""
    rows = [
        (i, k + 1, k + 1, cost, i + 1) for i, row in enumerate(costs) for k, cost in enumerate(row)
    ]
    return fst_from_table(table(0, rows, [np.inf] * len(costs) + [0.0]))


@st.composite
def tables(draw, weights=WEIGHTS, finals=FINALS):
    """Any machine at all, the one without states included."""
    states = draw(st.integers(0, 6))
    if not states:
        return table(-1, [], [])
    state, label = st.integers(0, states - 1), st.integers(0, 2**31 - 1)
    arcs = draw(st.lists(st.tuples(state, label, label, weights, state), max_size=12))
    return table(draw(state), arcs, draw(st.lists(finals, min_size=states, max_size=states)))


def same(one, other):
    """Equal in every bit, -0.0 and 0.0 told apart."""
    columns = ("source", "ilabel", "olabel", "weight", "target", "final")
    return one.start == other.start and all(
        getattr(one, c).tobytes() == getattr(other, c).tobytes() for c in columns
    )


def images():
    """Bytes of machines of every arc type and file type, with and without symbol tables."""
    named = fsmeu.load("hamming", labels=["O", "B-é", "I-x"]).compile(2).fst
    plain = fsmeu.load("fscore").compile(3).fst
    model = fsmeu.models.Markov([0.3, 0.7], [[0.6, 0.4], [0.2, 0.8]], n=4)
    wide = fsmeu.models.Acceptor(model.layered()).fst
    plain.set_input_symbols(None)
    plain.set_output_symbols(None)
    found = []
    for fst in (fsmeu.load("hamming").compile(3).fst, named, plain, wide, pynini.Fst("log64")):
        for change in (None, "to_log", "to_std"):
            kept = pynini.arcmap(fst, map_type=change) if change else fst
            found.append(kept.write_to_string())
            found.append(pywrapfst.convert(kept, "const").write_to_string())
    return found
