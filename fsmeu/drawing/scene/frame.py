"""What a picture of a machine says, before it is known where: captions, merged arcs, sizes.

A register that is the same in all states is said in the title, one that is the same in a whole
column above that column. Where states would show many registers, one that follows from another is
said in a note. States show what tells them apart. Arcs that share both ends are one line with all
their labels. Sizes are in pixels, estimated from the number of characters, so that no font has to
be at hand.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fsmeu.drawing.scene.names import arc_texts, line_texts, state_names
from fsmeu.errors import visible
from fsmeu.exchange.automaton import Automaton, number_text

FONT, SMALL = 12.0, 11.0
LINE = 1.25
_WIDEST = 26  # characters of a caption on one line
_PAD = 9.0
_NARROW = frozenset(" .,:;!|'\"ijlftr()[]-/\\I")
_WIDE = frozenset("mwMWOQ@%=+<>~…")
_BOLD = 1.12
LOOP_ROOM = 26.0  # beside the label of a loop, for the loop
_PER_LINE, _TALLEST = 3.6, 72.0  # the height of a state for each line that leaves or enters it
_WIDEST_BESIDE = 62.0  # of a loop's label for which a state is made wider
_SEVERAL = 2  # registers up to which states show all of them
_MANY = 3  # registers up to which states show those that follow from others
_FEW = 6  # values of a register from which another one follows


@dataclass(frozen=True)
class Caption:
    """What a state shows."""

    lines: tuple[str, ...]  # its registers, or its number
    value: str  # what ending there is worth, or nothing
    tip: str  # the whole in full precision
    width: float  # of the state
    height: float


@dataclass(frozen=True)
class Bundle:
    """The arcs from one state to another."""

    source: int
    target: int
    arcs: tuple[int, ...]  # their numbers
    lines: tuple[str, ...]  # their labels, cut when there are many
    tip: str  # all of them
    width: float  # of the label
    height: float


@dataclass(frozen=True)
class Frame:
    """Everything a picture says of a machine."""

    title: str  # what it is, and registers that are the same in all states
    captions: tuple[Caption, ...]  # what each state shows
    bundles: tuple[Bundle, ...]  # the arcs, those that share both ends together
    headings: tuple[tuple[str, ...], ...] = ()  # by depth, registers that are the same there
    notes: tuple[str, ...] = ()  # about registers that follow from others


@dataclass(frozen=True)
class _Legend:
    """The registers of a machine by where they are shown."""

    fixed: tuple[str, ...]  # the same in all states
    varying: tuple[str, ...]  # the others
    above: tuple[tuple[str, ...], ...]  # for each depth, those that are the same in all its states
    follows: Mapping[str, str] = field(default_factory=dict)  # from another, and how

    def in_state(self, depth: int) -> list[str]:
        """The registers that a state of this depth shows; -1 is the depth of unreached states."""
        away = {*(self.above[depth] if depth >= 0 else ()), *(self.follows if depth else ())}
        return [register for register in self.varying if register not in away]


def make_frame(automaton: Automaton, short: bool = False, full: bool = False) -> Frame:
    """The captions and merged arcs of a machine.

    Args:
        automaton: the machine.
        short: whether states show ``1,2`` instead of ``tp=1 ref=2``.
        full: whether states show every register that varies, and columns have no headings.
    """
    shown = _legend(automaton, alike=short)
    if full:
        shown = replace(shown, above=((),) * len(shown.above), follows={})
    names = None if automaton.registers else state_names(automaton)
    bundles = _bundles(automaton, names is not None)
    loops = {b.source: b.width for b in bundles if b.source == b.target}
    lines = _most_lines(automaton.states, bundles)
    captions = []
    for state, depth in enumerate(automaton.depth.tolist()):
        name = str(state) if names is None else names[state]
        caption = _caption(automaton, state, shown.in_state(depth), name, short)
        captions.append(_enlarged(caption, loops.get(state, 0.0), int(lines[state])))
    title = visible(automaton.name)
    if shown.fixed:
        title += "; " + " ".join(_named(automaton, shown.fixed, 0))
    if short and shown.varying:
        title += "; states are " + ",".join(map(visible, shown.in_state(0)))
    notes = tuple(shown.follows.values())
    return Frame(title, tuple(captions), bundles, _headings(automaton, shown), notes)


def _legend(automaton: Automaton, alike: bool = False) -> _Legend:
    """The registers of a machine, sorted by where they are shown.

    Args:
        automaton: the machine.
        alike: whether all states are to show the same registers.
    """
    everywhere = np.arange(automaton.states)
    fixed = tuple(r for r in automaton.registers if _same(automaton, r, everywhere))
    fixed = fixed if automaton.states > 1 else ()
    varying = tuple(r for r in automaton.registers if r not in fixed)
    columns = automaton.layers
    wide = [column for column in columns if len(column) > 1]
    common = tuple(r for r in varying if wide and all(_same(automaton, r, c) for c in columns))
    above = []
    for column in columns:
        found = common
        if len(column) > 1 and not alike:
            found = tuple(r for r in varying if _same(automaton, r, column))
        several = _SEVERAL < len(varying) > len(found)
        above.append(found if several else ())
    if alike or len(varying) <= _SEVERAL:
        return _Legend(fixed, varying, tuple(above))
    left = [r for r in varying if r not in common]
    follows = _evident(automaton, left) if len(left) > _MANY else {}
    return _Legend(fixed, varying, tuple(above), follows)


def _same(automaton: Automaton, register: str, states: np.ndarray) -> bool:
    """Whether a register holds the same in all of these states."""
    held = automaton.registers[register][states]
    return all(value == held[0] for value in held)


def _evident(automaton: Automaton, registers: list[str]) -> dict[str, str]:
    """Registers that follow from one that is shown, and how, in all states but the start."""
    states = [s for s in range(automaton.states) if s != automaton.table.start]
    texts = {r: [automaton.register_text(r, s) for s in states] for r in registers}
    found: dict[str, str] = {}
    sources: set[str] = set()
    for register in registers:
        for other in registers:
            known = other != register and other not in found and register not in sources
            if known and len(registers) - len(found) > _MANY:
                note = _follows(register, texts[register], other, texts[other])
                if note:
                    found[register] = note
                    sources.add(other)
                    break
    return found


def _follows(register: str, held: list[str], other: str, known: list[str]) -> str:
    """How the values of a register follow from those of another one; empty if they do not."""
    pairs = sorted(set(zip(known, held, strict=True)))
    values = dict(pairs)
    if len(values) < len(pairs) or not 1 < len(values) <= _FEW or len(set(held)) < 2:
        return ""
    parts = []
    for value in dict.fromkeys(values.values()):
        where = ", ".join(k for k, v in values.items() if v == value)
        parts.append(f"{visible(value)} where {visible(other)} = {visible(where)}")
    return f"{visible(register)} is {'; '.join(parts)}"


def _headings(automaton: Automaton, shown: _Legend) -> tuple[tuple[str, ...], ...]:
    made = []
    for states, registers in zip(automaton.layers, shown.above, strict=True):
        named = _named(automaton, registers, int(states[0]))
        made.append(tuple(_wrap(named)) if named else ())
    return tuple(made)


def _named(automaton: Automaton, registers: Iterable[str], state: int) -> list[str]:
    """Registers with what they hold, such as ``tp=1``; without those that hold nothing to tell."""
    held = [(r, _held(automaton, r, state)) for r in registers]
    return [f"{visible(r)}={text}" for r, text in held if text]


def _held(automaton: Automaton, register: str, state: int) -> str:
    return visible(automaton.register_text(register, state))


def _most_lines(states: int, bundles: Iterable[Bundle]) -> NDArray[np.int64]:
    """The number of lines that leave each state, or that enter it, whichever are more."""
    ends = np.array([(b.source, b.target) for b in bundles if b.source != b.target], np.int64)
    counts = [np.bincount(side, minlength=states) for side in ends.reshape(-1, 2).T]
    return np.maximum(*counts)


def _enlarged(caption: Caption, loop: float, lines: int) -> Caption:
    """The caption with room for the label of a loop, of this width, and for so many lines."""
    height = max(caption.height, min(lines * _PER_LINE, _TALLEST))
    width = max(caption.width, height)
    if 0 < loop <= _WIDEST_BESIDE:
        width = max(width, loop + LOOP_ROOM)
    return replace(caption, width=width, height=height)


def _caption(
    automaton: Automaton, state: int, registers: list[str], name: str, short: bool
) -> Caption:
    named = _named(automaton, registers, state)
    if not named:
        lines = [_shorten(name)]
    elif short:
        lines = [",".join(_held(automaton, register, state) for register in registers)]
    else:
        lines = _wrap(named)
    known = automaton.values[state]
    value = "" if np.isnan(known) else f"= {number_text(known)}"
    height = _PAD * 1.1 + FONT * LINE * (len(lines) + bool(value))
    width = max(_BOLD * text_width(value), *map(text_width, lines)) + 2 * _PAD
    tip = _state_tip(automaton, state, _named(automaton, automaton.registers, state))
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


def _bundles(automaton: Automaton, evident: bool) -> tuple[Bundle, ...]:
    table = automaton.table
    together: dict[tuple[int, int], list[int]] = {}
    for arc, ends in enumerate(zip(table.source.tolist(), table.target.tolist(), strict=True)):
        together.setdefault(ends, []).append(arc)
    made = []
    for (source, target), arcs in together.items():
        lines = line_texts(automaton, arcs, evident)
        width = max(text_width(line, SMALL) for line in lines)
        tip = f"{source} to {target}: {', '.join(arc_texts(automaton, arcs))}"
        height = SMALL * LINE * len(lines)
        made.append(Bundle(source, target, tuple(arcs), lines, tip, width, height))
    return tuple(made)


def text_width(text: str, size: float = FONT) -> float:
    """About how wide a text is in common sans-serif fonts; East Asian characters fill a square."""
    return size * sum(_character_width(character) for character in text)


def _character_width(character: str) -> float:
    if character in _NARROW:
        return 0.4
    if character in _WIDE or unicodedata.east_asian_width(character) in "WF":
        return 1.0 if character not in _WIDE else 0.88
    return 0.64
