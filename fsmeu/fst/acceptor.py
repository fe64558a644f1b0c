"""Acceptors of sets of label sequences as tables: what a constraint on a hypothesis needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pynini
from numpy.typing import NDArray

from fsmeu.errors import EmptyError, InputError, sentence
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.arcs import without_zero_arcs
from fsmeu.fst.convert import label_numbers
from fsmeu.fst.image import fst_from_table, table_from_fst

__all__ = ["acceptor_table", "is_machine"]

Ints = NDArray[np.int64]


def is_machine(given: Any) -> bool:
    """True for an OpenFst machine."""
    return isinstance(given, pynini.Fst)


def acceptor_table(fst: pynini.Fst, alphabet: Alphabet) -> tuple[Ints, int, Ints]:
    """The minimal deterministic acceptor of the same sequences, weights forgotten.

    Args:
        fst: an acceptor, maybe with cycles, epsilons and several ways to read a sequence.
        alphabet: the labels.

    Returns:
        Next state (states, labels) with -1 for none, the start state, the accepting states.

    Raises:
        EmptyError: nothing is accepted.
        FstError: the machine is no machine.
    """
    plain = pynini.determinize(pynini.rmepsilon(_unweighted(fst))).minimize()
    if plain.start() < 0:
        raise EmptyError(sentence("constraint", "it must allow at least one sequence"))
    table = table_from_fst(plain, "constraint")
    if (table.ilabel != table.olabel).any():
        raise InputError(sentence("constraint", "it must be an acceptor, one tape only"))
    label = label_numbers(plain, alphabet, table, "constraint")
    following = np.full((table.states, len(alphabet)), -1, np.int64)
    following[table.source, label] = table.target
    return following, table.start, np.flatnonzero(np.isfinite(table.final))


def _unweighted(fst: pynini.Fst) -> pynini.Fst:
    """The machine with standard arcs, each of weight one; those of weight zero are left out."""
    table = without_zero_arcs(table_from_fst(fst, "constraint"))
    final = np.where(table.final < np.inf, 0.0, np.inf)
    plain = replace(table, weight=np.zeros(table.arcs), final=final)
    made = fst_from_table(plain, fst.input_symbols(), fst.output_symbols())
    return pynini.arcmap(made, map_type="to_std")
