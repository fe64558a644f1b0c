"""What is written on lines: the labels of arcs that share both ends, with their factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fsmeu.errors import visible
from fsmeu.exchange.automaton import Automaton, number_text

__all__ = ["arc_texts", "label_name", "line_texts"]

_LABEL_WIDTH, _LINES = 28, 3  # characters in a line of labels, lines
_LONGEST_NAME = 24


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
    if common and len(arcs) > 1:
        lines = _wrap([_pair(automaton, arc) for arc in arcs])
        return (
            (f"({lines[0]}", *lines[1:-1], f"{lines[-1]}){common}")
            if len(lines) > 1
            else (f"({lines[0]}){common}",)
        )
    return _wrap(arc_texts(automaton, arcs))


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
    lines, counts = [labels[0]], [1]
    for label in labels[1:]:
        if len(lines[-1]) + 2 + len(label) <= _LABEL_WIDTH:
            lines[-1] += f", {label}"
            counts[-1] += 1
        else:
            lines.append(label)
            counts.append(1)
    if len(lines) > _LINES:
        rest = sum(counts[_LINES - 1 :])
        lines[_LINES - 1 :] = [f"… and {rest} more"]
    return (*(f"{line}," for line in lines[:-1]), lines[-1])
