"""What things in a picture are called: registers in words, labels on lines, states by labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import visible
from fsmeu.exchange.automaton import Automaton, number_text
from fsmeu.losses.language.syntax import Register
from fsmeu.losses.semantics.domains import memory_of
from fsmeu.losses.semantics.evaluator import NONE, BoundLoss

_NOTHING, _NO_TYPE = ".", "-"  # before the start; the type of a tag such as O
_LABEL_WIDTH, _LINES = 28, 3  # characters in a line of labels, lines
_LONGEST_NAME = 24
_LONGEST_PAST = 4  # labels in the name of a state


def register_texts(
    bound: BoundLoss, n: int, registers: Mapping[str, NDArray[Any]]
) -> dict[str, tuple[str, ...]]:
    """How each register that is more than a number reads in each state.

    Args:
        bound: the loss, for which the registers were compiled.
        n: the length of the sequences.
        registers: the values behind the states.
    """
    texts = {}
    for register in bound.spec.registers:
        if register.name in registers and register.sugar in ("state", "memory"):
            read = _reader(bound, register, n)
            texts[register.name] = tuple(read(int(v)) for v in registers[register.name])
    return texts


def _reader(bound: BoundLoss, register: Register, n: int) -> Callable[[int], str]:
    if register.sugar == "state":
        return lambda value: register.states[value]
    memory = memory_of(bound, register, n)
    if memory.numeric:
        entries = [number_text(value) for value in memory.values]
    else:
        named = {code: text for text, code in bound.codes.items()} | {NONE: _NO_TYPE}
        entries = [named[code] for code in memory.values.tolist()]
    names = [_NOTHING, *entries]
    joint = "" if all(len(name) == 1 for name in names) else ","

    def read(packed: int) -> str:
        """Entries from the newest to the oldest, as m[0], m[1], ... number them."""
        held = []
        for _ in range(memory.depth):
            packed, digit = divmod(packed, memory.base)
            held.append(names[digit])
        return joint.join(held)

    return read


def arc_texts(automaton: Automaton, arcs: Sequence[int]) -> list[str]:
    """Every arc by itself: labels and factor, such as ``0:1/0.25``; a factor of one is left out."""
    return [_pair(automaton, arc) + _factor(automaton, arc) for arc in arcs]


def line_texts(automaton: Automaton, arcs: Sequence[int], evident: bool = False) -> tuple[str, ...]:
    """The lines of text on a bundle of arcs; of many arcs, the first and how many more there are.

    Labels with a factor in common share it: ``(0:1, 1:0)/0.25``.

    Args:
        automaton: the machine.
        arcs: arcs that share both ends.
        evident: whether the state that they enter names the label, so that it need not be said.
    """
    factors = {_factor(automaton, arc) for arc in arcs}
    common = factors.pop() if len(factors) == 1 else ""
    if evident and len(arcs) == 1:
        return (common.removeprefix("/") or "1",)
    if not common or len(arcs) == 1:
        return _wrap(arc_texts(automaton, arcs))
    lines = list(_wrap([_pair(automaton, arc) for arc in arcs]))
    lines[0] = f"({lines[0]}"
    lines[-1] += f"){common}"
    return tuple(lines)


def _pair(automaton: Automaton, arc: int) -> str:
    table = automaton.table
    text = label_name(automaton.inputs, int(table.ilabel[arc]))
    if not automaton.acceptor:
        text += f":{label_name(automaton.outputs, int(table.olabel[arc]))}"
    return text


def _factor(automaton: Automaton, arc: int) -> str:
    weight = automaton.table.weight[arc]
    if weight == 0:
        return ""
    with np.errstate(over="ignore"):
        return f"/{number_text(np.exp(-weight))}"


def label_name(names: Mapping[int, str], number: int) -> str:
    """A label as it is shown; quoted where its own signs could be taken for those around it."""
    name = names.get(number, str(number)) if number else "ε"
    shown = visible(name)
    if any(sign in shown for sign in ":,/ "):
        shown = f"'{shown}'"
    return shown if len(shown) <= _LONGEST_NAME else shown[: _LONGEST_NAME - 1] + "…"


def _wrap(labels: list[str]) -> tuple[str, ...]:
    """Labels in lines of some width; of many, the first ones and how many more there are."""
    lines = [[labels[0]]]
    for label in labels[1:]:
        if len(", ".join([*lines[-1], label])) <= _LABEL_WIDTH:
            lines[-1].append(label)
        else:
            lines.append([label])
    if len(lines) > _LINES:
        rest = sum(map(len, lines[_LINES - 1 :]))
        lines[_LINES - 1 :] = [[f"… and {rest} more"]]
    return (*(f"{', '.join(line)}," for line in lines[:-1]), ", ".join(lines[-1]))


def with_last_label(automaton: Automaton) -> Automaton:
    """The composition with the labels of y and z read last as registers, where these are needed.

    Nothing is added where registers tell the states of each layer apart already, or where different
    labels lead to one state.
    """
    table = automaton.table
    tapes = {"y": (table.olabel, automaton.outputs), "z": (table.ilabel, automaton.inputs)}
    for tape, (labels, names) in tapes.items():
        rows = [automaton.depth.tolist(), *(held.tolist() for held in automaton.registers.values())]
        if len(set(zip(*rows, strict=True))) == automaton.states or tape in automaton.registers:
            return automaton
        past = _last_labels(automaton, labels, 1)
        if past is not None:
            read = np.array([label_name(names, *p) if p else _NOTHING for p in past], object)
            automaton = replace(automaton, registers={**automaton.registers, tape: read})
    return automaton


def state_names(automaton: Automaton) -> tuple[str, ...] | None:
    """Names for the states of an acceptor in layers, or None where labels do not tell states apart.

    The states of a Markov chain of order m are its tuples of labels, those of a lattice the labels
    that lead there; every arc carries the last label of the state that it enters. A name has as
    many of the last labels as it takes to tell the states of each layer apart. States that the past
    does not tell apart are told apart by the label that must follow, or by number.
    """
    table, depth = automaton.table, automaton.depth
    layered = bool((depth[table.target] == depth[table.source] + 1).all())
    if not automaton.acceptor or not table.arcs or not layered or (depth < 0).any():
        return None
    past = _last_labels(automaton, table.ilabel, _LONGEST_PAST)
    if past is None:
        return None
    layers = [layer.tolist() for layer in automaton.layers]

    def told_apart(length: int) -> int:
        return sum(len({past[state][-length:] for state in s}) == len(s) for s in layers)

    length = max(range(1, _LONGEST_PAST + 1), key=lambda m: (told_apart(m), -m))
    names = [""] * automaton.states
    for layer in layers:
        short = [past[state][-length:] for state in layer]
        for state, held in zip(layer, short, strict=True):
            after = "" if short.count(held) == 1 else _future(automaton, state)
            names[state] = " ".join(label_name(automaton.inputs, k) for k in held) + after
    names[table.start] = "start"
    return tuple(names)


def _last_labels(
    automaton: Automaton, labels: NDArray[np.int64], most: int
) -> list[tuple[int, ...]] | None:
    """For each state, the last labels that all paths to it have in common, at most so many.

    None where some state but the start is entered with different labels.
    """
    table = automaton.table
    past: dict[int, tuple[int, ...]] = {table.start: ()}
    for arc in np.argsort(automaton.depth[table.source], kind="stable").tolist():
        read = (*past.get(int(table.source[arc]), ()), int(labels[arc]))[-most:]
        target = int(table.target[arc])
        past[target] = _common_end(past.get(target, read), read)
    if not all(past[state] for state in table.target.tolist()):
        return None
    return [past.get(state, ()) for state in range(automaton.states)]


def _common_end(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    pairs = zip(reversed(a), reversed(b), strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return a[len(a) - same :]


def _future(automaton: Automaton, state: int) -> str:
    """What tells a state apart from those with the same past: what must follow, or its number."""
    table = automaton.table
    after = set(table.ilabel[table.source == state].tolist())
    if len(after) == 1:
        return f", then {label_name(automaton.inputs, after.pop())}"
    return f" #{state}"
