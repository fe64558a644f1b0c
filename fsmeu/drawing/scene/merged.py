"""The machine of a loss with its states merged, each of which says what it stands for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.drawing.scene.captions import register_texts
from fsmeu.exchange.automaton import Automaton, as_automaton
from fsmeu.losses.machine.machine import Machine
from fsmeu.losses.protocol import Loss

__all__ = ["merged_automaton", "stands_for"]

_MOST_VALUES = 2  # of a register in one state; of more, it tells too little to be shown


def merged_automaton(loss: Loss, n: int, z: Any, limit: int) -> Automaton:
    """The merged machine; registers hold what the states that were merged agree on, or a choice.

    Args:
        loss: a loss or utility.
        n: the length of the sequences.
        z: a hypothesis, or None.
        limit: up to how many states are built.
    """
    plain = loss.compile(n, z, limit)
    merged = loss.compile(n, z, limit, minimize=True)
    texts = register_texts(plain.source, n, plain.registers) if plain.source is not None else {}
    told = replace(as_automaton(plain), texts=texts)
    members = stands_for(plain, merged)
    registers = {
        name: np.array([_choice(told, name, held) for held in members], object)
        for name in plain.registers
    }
    return replace(
        as_automaton(merged),
        name=f"{merged.name}, merged from {plain.states:,} states",
        registers=registers,
    )


def stands_for(plain: Machine, merged: Machine) -> list[list[int]]:
    """For each merged state, the states of the plain machine that are met along with it."""
    found: list[set[int]] = [set() for _ in range(merged.states)]
    here = np.zeros((1, 2), np.int64)
    plain_next = plain.next.reshape(plain.states, -1)
    merged_next = merged.next.reshape(merged.states, -1)
    for _ in range(plain.n + 1):
        fresh = [k for k, (p, m) in enumerate(here.tolist()) if p not in found[m]]
        for p, m in here[fresh].tolist():
            found[m].add(p)
        targets = [plain_next[here[:, 0]].ravel(), merged_next[here[:, 1]].ravel()]
        pairs: NDArray[np.int64] = np.stack(targets, axis=1)
        here = np.unique(pairs[(pairs >= 0).all(axis=1)], axis=0)
    return [sorted(held) for held in found]


def _choice(plain: Automaton, register: str, states: list[int]) -> str:
    """What a register holds in some states: the value, one of few values, or nothing to tell."""
    texts = sorted({plain.register_text(register, state) for state in states})
    return "|".join(texts) if len(texts) <= _MOST_VALUES else ""
