"""States of a composition that agree in all registers of the loss, told apart by last labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fsmeu.drawing.scene.arc_labels import label_name
from fsmeu.exchange.automaton import Automaton

__all__ = ["with_last_label"]

_NOTHING = "."  # before the start


def with_last_label(automaton: Automaton) -> Automaton:
    """The composition with the labels of y and z read last as registers, where these are needed.

    Nothing is added where registers tell the states of each layer apart already, or where different
    labels lead to one state.
    """
    for tape in ("y", "z"):
        if _told_apart(automaton) or tape in automaton.registers:
            return automaton
        automaton = _with_tape(automaton, tape)
    return automaton


def _told_apart(automaton: Automaton) -> bool:
    rows = [automaton.depth.tolist(), *(held.tolist() for held in automaton.registers.values())]
    return len(set(zip(*rows, strict=True))) == automaton.states


def _with_tape(automaton: Automaton, tape: str) -> Automaton:
    table = automaton.table
    labels, names = (
        (table.olabel, automaton.outputs) if tape == "y" else (table.ilabel, automaton.inputs)
    )
    entered = np.unique(np.stack([table.target, labels]), axis=1)
    if len(set(entered[0].tolist())) < entered.shape[1]:
        return automaton
    read = np.full(automaton.states, _NOTHING, object)
    for state, label in entered.T.tolist():
        read[state] = label_name(names, label)
    return replace(automaton, registers={**automaton.registers, tape: read})
