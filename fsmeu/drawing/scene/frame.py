"""What a picture of a machine says, before it is known where: captions, merged arcs, sizes.

Arcs that share both ends are one line with all their labels. Sizes are in pixels, estimated from
the number of characters, so that no font has to be at hand.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fsmeu.drawing.scene.escape import visible
from fsmeu.exchange.automaton import Automaton, number_text

__all__ = ["FONT", "SMALL", "Bundle", "Caption", "Frame", "make_frame", "text_width"]

FONT, SMALL = 12.0, 11.0
LINE = 1.25
_WIDEST = 26  # characters of a caption on one line
_LABEL_WIDTH, _LINES = 28, 3  # characters in a line of labels, lines
_PAD = 9.0
_NARROW = frozenset(" .,:;!|'\"ijlftr()[]-/\\I")
_WIDE = frozenset("mwMWOQ@%=+<>~…")
_BOLD = 1.12
_LONGEST_NAME = 24


@dataclass(frozen=True)
class Caption:
    """What a state shows.

    Attributes:
        lines: its registers, or its number.
        value: what ending there is worth, or nothing.
        tip: the whole in full precision.
        width: of the state.
        height: of the state.
    """

    lines: tuple[str, ...]
    value: str
    tip: str
    width: float
    height: float


@dataclass(frozen=True)
class Bundle:
    """The arcs from one state to another.

    Attributes:
        source: the state they leave.
        target: the state they enter.
        arcs: their numbers.
        lines: their labels, cut when there are many.
        tip: all of them.
        width: of the label.
        height: of the label.
    """

    source: int
    target: int
    arcs: tuple[int, ...]
    lines: tuple[str, ...]
    tip: str
    width: float
    height: float


@dataclass(frozen=True)
class Frame:
    """Everything a picture says of a machine."""

    title: str
    captions: tuple[Caption, ...]
    bundles: tuple[Bundle, ...]


def make_frame(automaton: Automaton, short: bool = False) -> Frame:
    """The captions and merged arcs of a machine.

    Args:
        automaton: the machine.
        short: whether states show ``1,2`` instead of ``tp=1 ref=2``.
    """
    varying, fixed = _registers(automaton)
    captions = tuple(_caption(automaton, k, varying, short) for k in range(automaton.states))
    title = visible(automaton.name)
    if fixed:
        title += "; " + " ".join(f"{r}={_held(automaton, r, 0)}" for r in fixed)
    if short and varying:
        title += "; states are " + ",".join(map(visible, varying))
    return Frame(title, captions, _bundles(automaton))


def _registers(automaton: Automaton) -> tuple[list[str], list[str]]:
    """Registers that tell states apart, and those that are the same in all."""
    varying: list[str] = []
    fixed: list[str] = []
    for name, held in automaton.registers.items():
        same = automaton.states > 1 and all(value == held[0] for value in held)
        (fixed if same else varying).append(name)
    return varying, fixed


def _held(automaton: Automaton, register: str, state: int) -> str:
    return visible(automaton.register_text(register, state))


def _caption(automaton: Automaton, state: int, registers: list[str], short: bool) -> Caption:
    held = [_held(automaton, register, state) for register in registers]
    named = [f"{visible(r)}={h}" for r, h in zip(registers, held, strict=True)]
    if not named:
        lines = [str(state)]
    elif short:
        lines = [",".join(held)]
    else:
        lines = _wrap(named)
    known = automaton.values[state]
    value = "" if np.isnan(known) else f"= {number_text(known)}"
    height = _PAD * 1.1 + FONT * LINE * (len(lines) + bool(value))
    width = max(_BOLD * text_width(value), *map(text_width, lines)) + 2 * _PAD
    tip = _state_tip(automaton, state, named)
    return Caption(tuple(lines), value, tip, max(width, height), height)


def _state_tip(automaton: Automaton, state: int, named: list[str]) -> str:
    parts = [f"state {state}", *named]
    if automaton.ending[state]:
        known = automaton.values[state]
        parts.append("may end here" if np.isnan(known) else f"value {float(known)!r}")
    if automaton.masses is not None:
        parts.append(f"probability {float(automaton.masses[state])!r}")
    return ", ".join(parts)


def _wrap(words: list[str]) -> list[str]:
    lines = [_shorten(words[0])]
    for word in map(_shorten, words[1:]):
        if len(lines[-1]) + 1 + len(word) <= _WIDEST:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _shorten(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _bundles(automaton: Automaton) -> tuple[Bundle, ...]:
    table = automaton.table
    together: dict[tuple[int, int], list[int]] = {}
    for arc, ends in enumerate(zip(table.source.tolist(), table.target.tolist(), strict=True)):
        together.setdefault(ends, []).append(arc)
    made = []
    for (source, target), arcs in together.items():
        labels = [_arc_text(automaton, arc) for arc in arcs]
        lines = _label_lines(labels)
        width = max(text_width(line, SMALL) for line in lines)
        tip = f"{source} to {target}: {', '.join(labels)}"
        height = SMALL * LINE * len(lines)
        made.append(Bundle(source, target, tuple(arcs), lines, tip, width, height))
    return tuple(made)


def _arc_text(automaton: Automaton, arc: int) -> str:
    table = automaton.table
    text = _label(automaton.inputs, int(table.ilabel[arc]))
    if not automaton.acceptor:
        text += f":{_label(automaton.outputs, int(table.olabel[arc]))}"
    if automaton.weighted:
        with np.errstate(over="ignore"):
            text += f"/{number_text(np.exp(-table.weight[arc]))}"
    return text


def _label(names: Mapping[int, str], number: int) -> str:
    """A label as it is shown; quoted where its own signs could be taken for those around it."""
    name = names.get(number, str(number)) if number else "ε"
    shown = visible(name)
    if any(sign in shown for sign in ":,/ "):
        shown = f"'{shown}'"
    return shown if len(shown) <= _LONGEST_NAME else shown[: _LONGEST_NAME - 1] + "…"


def _label_lines(labels: list[str]) -> tuple[str, ...]:
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


def text_width(text: str, size: float = FONT) -> float:
    """About how wide a text is in common sans-serif fonts; East Asian characters fill a square."""
    return size * sum(_character_width(character) for character in text)


def _character_width(character: str) -> float:
    if character in _NARROW:
        return 0.4
    if character in _WIDE or unicodedata.east_asian_width(character) in "WF":
        return 1.0 if character not in _WIDE else 0.88
    return 0.64
