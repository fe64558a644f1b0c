"""The contents of a picture of a machine before layout: names, captions, merged arcs, sizes.

A register that is the same in all states is said in the title, one that is the same in a whole
column above that column. Where states would show many registers, one that follows from another is
said in a note. States show what tells them apart. Arcs that share both ends are one line with all
their labels. Sizes are in pixels, estimated from the number of characters, so that no font has to
be at hand.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import visible
from fsmeu.exchange.automaton import Automaton, number_text
from fsmeu.losses.language.syntax import Register
from fsmeu.losses.semantics.at_length import LossAtLength
from fsmeu.losses.semantics.evaluator import NONE

_NOTHING = "."  # the labels before the start
_NO_TYPE = "-"  # the type of a tag such as O
_LABEL_WIDTH = 28  # characters in a line of labels
_LINES = 3  # lines of labels
_LONGEST_NAME = 24
_LONGEST_PAST = 4  # labels in the name of a state


def register_texts(
    loss: LossAtLength, registers: Mapping[str, NDArray[Any]]
) -> dict[str, tuple[str, ...]]:
    """The texts of registers that are no plain numbers, in each state, by name."""
    texts = {}
    for register in loss.spec.registers:
        if register.name in registers and register.sugar in ("state", "memory"):
            read = _reader(loss, register)
            texts[register.name] = tuple(read(int(v)) for v in registers[register.name])
    return texts


def _reader(loss: LossAtLength, register: Register) -> Callable[[int], str]:
    """A function that returns the text of a value; of a memory, entries from newest to oldest."""
    if register.sugar == "state":
        return lambda value: register.states[value]
    memory = loss.memories[register.name]
    if memory.numeric:
        entries = [number_text(value) for value in memory.values]
    else:
        named = {code: text for text, code in loss.bound.codes.items()} | {NONE: _NO_TYPE}
        entries = [named[code] for code in memory.values.tolist()]
    names = [_NOTHING, *entries]
    joint = "" if all(len(name) == 1 for name in names) else ","

    def read(packed: int) -> str:
        parts = []
        for _ in range(memory.depth):
            packed, digit = divmod(packed, memory.base)
            parts.append(names[digit])
        return joint.join(parts)

    return read


def arc_texts(automaton: Automaton, arcs: Sequence[int]) -> list[str]:
    """Every arc by itself: labels and factor, such as ``0:1/0.25``; a factor of one is left out."""
    return [_pair(automaton, arc) + _factor(automaton, arc) for arc in arcs]


def line_texts(automaton: Automaton, arcs: Sequence[int], evident: bool = False) -> tuple[str, ...]:
    """The lines of text on a bundle of arcs; of many arcs, the first and how many more there are.

    Labels with a factor in common share it: ``(0:1, 1:0)/0.25``. Where they are evident, because
    the state that an arc enters names the label, there is just the factor.
    """
    factors = {_factor(automaton, arc) for arc in arcs}
    common = factors.pop() if len(factors) == 1 else ""
    if evident and len(arcs) == 1:
        return (common.removeprefix("/") or "1",)
    if not common or len(arcs) == 1:
        return _label_lines(arc_texts(automaton, arcs))
    lines = list(_label_lines([_pair(automaton, arc) for arc in arcs]))
    lines[0] = f"({lines[0]}"
    lines[-1] += f"){common}"
    return tuple(lines)


def _pair(automaton: Automaton, arc: int) -> str:
    """The labels of an arc as text: z:y, or one label of an acceptor."""
    table = automaton.table
    z = label_name(automaton.inputs, int(table.ilabel[arc]))
    y = label_name(automaton.outputs, int(table.olabel[arc]))
    return z if automaton.acceptor else f"{z}:{y}"


def _factor(automaton: Automaton, arc: int) -> str:
    """The factor of an arc as text, such as /0.25; "" where it is one."""
    weight = automaton.table.weight[arc]
    if weight == 0:
        return ""
    with np.errstate(over="ignore"):
        return f"/{number_text(np.exp(-weight))}"


def label_name(names: Mapping[int, str], number: int) -> str:
    """A label as it is shown; quoted where its own signs could be taken for those around it."""
    name = names.get(number, str(number)) if number else "ε"
    text = visible(name)
    if any(sign in text for sign in ":,/ "):
        text = f"'{text}'"
    return _shorten(text, _LONGEST_NAME)


def _label_lines(labels: list[str]) -> tuple[str, ...]:
    """Labels in lines of some width; of many, the first ones and how many more there are."""
    lines = _filled(labels, ", ", _LABEL_WIDTH)
    if len(lines) > _LINES:
        more = sum(map(len, lines[_LINES - 1 :]))
        lines[_LINES - 1 :] = [[f"… and {more} more"]]
    return (*(f"{', '.join(line)}," for line in lines[:-1]), ", ".join(lines[-1]))


def _filled(words: list[str], joint: str, width: int) -> list[list[str]]:
    """Words in lines that are no wider than this, where no word is."""
    lines: list[list[str]] = []
    for word in words:
        if lines and len(joint.join([*lines[-1], word])) <= width:
            lines[-1].append(word)
        else:
            lines.append([word])
    return lines


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def with_last_label(automaton: Automaton) -> Automaton:
    """The composition with the labels of y and z read last as registers, where these are needed.

    Nothing is added where registers tell the states of each layer apart already, or where different
    labels lead to one state.
    """
    table = automaton.table
    tapes = {"y": (table.olabel, automaton.outputs), "z": (table.ilabel, automaton.inputs)}
    for tape, (labels, names) in tapes.items():
        columns = [automaton.depth.tolist(), *(x.tolist() for x in automaton.registers.values())]
        if len(set(zip(*columns, strict=True))) == automaton.states or tape in automaton.registers:
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
    table = automaton.table
    depth = automaton.depth
    layered = bool((depth[table.target] == depth[table.source] + 1).all())
    if not automaton.acceptor or not table.arcs or not layered or (depth < 0).any():
        return None
    past = _last_labels(automaton, table.ilabel, _LONGEST_PAST)
    if past is None:
        return None
    layers = [layer.tolist() for layer in automaton.layers]

    def told_apart(length: int) -> int:
        return sum(len({past[state][:length] for state in s}) == len(s) for s in layers)

    length = max(range(1, _LONGEST_PAST + 1), key=lambda m: (told_apart(m), -m))
    names = [""] * automaton.states
    for layer in layers:
        short = [past[state][:length] for state in layer]
        for state, labels in zip(layer, short, strict=True):
            after = "" if short.count(labels) == 1 else _future(automaton, state)
            names[state] = " ".join(label_name(automaton.inputs, k) for k in labels[::-1]) + after
    names[table.start] = "start"
    return tuple(names)


def _last_labels(
    automaton: Automaton, labels: NDArray[np.int64], most: int
) -> list[tuple[int, ...]] | None:
    """The last labels that all paths to a state share, newest first; None where some has none."""
    table = automaton.table
    past: dict[int, tuple[int, ...]] = {table.start: ()}
    for arc in np.argsort(automaton.depth[table.source], kind="stable").tolist():
        read = (int(labels[arc]), *past.get(int(table.source[arc]), ()))[:most]
        target = int(table.target[arc])
        pairs = zip(read, past.get(target, read), strict=False)
        past[target] = tuple(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    if not all(past[state] for state in table.target.tolist()):
        return None
    return [past.get(state, ()) for state in range(automaton.states)]


def _future(automaton: Automaton, state: int) -> str:
    """A name that distinguishes states with the same past: the only next label, or the number."""
    table = automaton.table
    after = set(table.ilabel[table.source == state].tolist())
    if len(after) == 1:
        return f", then {label_name(automaton.inputs, after.pop())}"
    return f" #{state}"


FONT = 12.0
SMALL = 11.0
LINE = 1.25
_WIDEST = 26  # characters of a caption on one line
_PAD = 9.0
_NARROW = frozenset(" .,:;!|'\"ijlftr()[]-/\\I")
_WIDE = frozenset("mwMWOQ@%=+<>~…")
_BOLD = 1.12
LOOP_ROOM = 26.0  # beside the label of a loop, for the loop
_PER_LINE = 3.6  # the height of a state for each line that leaves or enters it
_TALLEST = 72.0
_WIDEST_BESIDE = 62.0  # of a loop's label for which a state is made wider
_SEVERAL = 2  # registers up to which states show all of them
_MANY = 3  # registers up to which states show those that follow from others
_FEW = 6  # values of a register from which another one follows
_DIGITS = ".12g"  # of probabilities that are pointed at: machines differ in the last of 17


@dataclass(frozen=True)
class Caption:
    """The text, value, shade and size of a state."""

    lines: tuple[str, ...]  # its registers, or its number
    value: str  # the value of a sequence that ends there, or nothing
    tip: str  # the whole in full precision
    mass: float | None  # the probability of passing through the state, if there is a model
    width: float  # of the state
    height: float

    @property
    def shade(self) -> float | None:
        """The shade, from 0 to 1: the root of its probability; None without a model."""
        return None if self.mass is None else math.sqrt(min(1.0, max(0.0, self.mass)))


@dataclass(frozen=True)
class Bundle:
    """The arcs from one state to another."""

    source: int
    target: int
    arcs: tuple[int, ...]  # their numbers
    lines: tuple[str, ...]  # their labels, cut when there are many
    tip: str  # all of them
    flow: float | None  # the probability of passing through them, if there is a model
    width: float  # of the label
    height: float


@dataclass(frozen=True)
class Frame:
    """All texts of a picture of a machine, with sizes."""

    title: str  # what it is, and registers that are the same in all states
    captions: tuple[Caption, ...]  # what each state shows
    bundles: tuple[Bundle, ...]  # the arcs, those that share both ends together
    headings: tuple[tuple[str, ...], ...] = ()  # by depth, registers that are the same there
    notes: tuple[str, ...] = ()  # about registers that follow from others


@dataclass(frozen=True)
class _Legend:
    """The registers of a machine: their contents in each state, and where these are shown."""

    texts: Mapping[str, Sequence[str]]  # by state
    fixed: list[str]  # the same in all states
    varying: list[str]  # the others
    above: list[list[str]]  # for each depth, those that are the same in all its states
    follows: Mapping[str, str]  # from another, and how

    def in_state(self, depth: int) -> list[str]:
        """The registers that a state of this depth shows; -1 is the depth of unreached states."""
        away = {*(self.above[depth] if depth >= 0 else ()), *(self.follows if depth else ())}
        return [register for register in self.varying if register not in away]

    def named(self, registers: Iterable[str], state: int) -> list[str]:
        """Registers with contents, such as ``tp=1``; without those that are empty."""
        return [f"{visible(r)}={self.texts[r][state]}" for r in registers if self.texts[r][state]]


def make_frame(automaton: Automaton, short: bool = False, full: bool = False) -> Frame:
    """The captions and merged arcs of a machine; short states show ``1,2`` for ``tp=1 ref=2``.

    In full, states show every register that varies, and columns have no headings.
    """
    legend = _legend(automaton, alike=short)
    if full:
        legend = replace(legend, above=[[] for _ in legend.above], follows={})
    names = None if automaton.registers else state_names(automaton)
    bundles = _bundles(automaton, names is not None)
    loops = {b.source: b.width for b in bundles if b.source == b.target}
    leaving = Counter(b.source for b in bundles if b.source != b.target)
    entering = Counter(b.target for b in bundles if b.source != b.target)
    captions = []
    for state, depth in enumerate(automaton.depth.tolist()):
        registers = legend.in_state(depth)
        lines = _wrap(legend.named(registers, state))
        if not lines:
            lines = [_shorten(str(state) if names is None else names[state], _WIDEST)]
        elif short:
            lines = [",".join(legend.texts[register][state] for register in registers)]
        contents = legend.named(automaton.registers, state)
        ends = max(leaving[state], entering[state])
        captions.append(_caption(automaton, state, lines, contents, loops.get(state, 0.0), ends))
    title = visible(automaton.name)
    if legend.fixed:
        title += "; " + " ".join(legend.named(legend.fixed, 0))
    if short and legend.varying:
        title += "; states are " + ",".join(map(visible, legend.in_state(0)))
    columns = zip(automaton.layers, legend.above, strict=True)
    headings = tuple(tuple(_wrap(legend.named(above, int(s[0])))) for s, above in columns)
    return Frame(title, tuple(captions), bundles, headings, tuple(legend.follows.values()))


def _legend(automaton: Automaton, alike: bool) -> _Legend:
    """The registers, sorted by where they are shown; ``alike`` has all states show the same."""
    states = range(automaton.states)
    columns = automaton.layers
    texts = {
        r: [visible(automaton.register_text(r, s)) for s in states] for r in automaton.registers
    }

    def same(registers: Iterable[str], column: Iterable[int]) -> list[str]:
        """Those that hold the same in all of these states."""
        column = list(column)
        return [r for r in registers if len({texts[r][state] for state in column}) == 1]

    fixed = same(texts, states) if len(states) > 1 else []
    varying = [r for r in texts if r not in fixed]
    several = len(varying) > _SEVERAL
    common = list(varying) if any(len(column) > 1 for column in columns) else []
    for column in columns:
        common = same(common, column)
    above = []
    for column in columns:
        shared = same(varying, column) if len(column) > 1 and not alike else common
        above.append(shared if several and len(shared) < len(varying) else [])
    shown = [r for r in varying if r not in common]
    noted = several and not alike and len(shown) > _MANY
    return _Legend(texts, fixed, varying, above, _evident(automaton, texts, shown) if noted else {})


def _evident(
    automaton: Automaton, texts: Mapping[str, Sequence[str]], registers: list[str]
) -> dict[str, str]:
    """Registers that follow from one that is shown, and how, in all states but the start."""
    states = [s for s in range(automaton.states) if s != automaton.table.start]
    columns = {r: [texts[r][s] for s in states] for r in registers}
    notes: dict[str, str] = {}
    sources: set[str] = set()
    for register, other in product(registers, registers):
        free = register not in notes and register not in sources and other not in notes
        if free and other != register and len(registers) - len(notes) > _MANY:
            note = _follows(register, columns[register], other, columns[other])
            if note:
                notes[register] = note
                sources.add(other)
    return notes


def _follows(register: str, texts: list[str], other: str, other_texts: list[str]) -> str:
    """A sentence on how a register follows from another one; empty if it does not."""
    pairs = sorted(set(zip(other_texts, texts, strict=True)))
    mapping = dict(pairs)
    if len(mapping) < len(pairs) or not 1 < len(mapping) <= _FEW or len(set(texts)) < 2:
        return ""
    parts = []
    for value in dict.fromkeys(mapping.values()):
        where = ", ".join(k for k, v in mapping.items() if v == value)
        parts.append(f"{value} where {visible(other)} = {where}")
    return f"{visible(register)} is {'; '.join(parts)}"


def _caption(
    automaton: Automaton, state: int, lines: list[str], contents: list[str], loop: float, ends: int
) -> Caption:
    """The caption of a state, with room for the label of a loop of this width and for its lines."""
    number = float(automaton.values[state])
    mass = None if automaton.masses is None else float(automaton.masses[state])
    value = "" if np.isnan(number) else f"= {number_text(number)}"
    tip = [f"state {state}", *contents]
    if automaton.ending[state]:
        tip.append(f"value {number!r}" if value else "may end here")
    if mass is not None:
        tip.append(f"probability {mass:{_DIGITS}}")
    height = _PAD * 1.1 + FONT * LINE * (len(lines) + bool(value))
    height = max(height, min(ends * _PER_LINE, _TALLEST))
    width = max(_BOLD * text_width(value), *map(text_width, lines)) + 2 * _PAD
    beside = loop + LOOP_ROOM if 0 < loop <= _WIDEST_BESIDE else 0.0
    return Caption(tuple(lines), value, ", ".join(tip), mass, max(width, height, beside), height)


def _wrap(words: list[str]) -> list[str]:
    """Words in lines of at most the greatest width of a caption."""
    short = [_shorten(word, _WIDEST) for word in words]
    return [" ".join(line) for line in _filled(short, " ", _WIDEST)]


def _bundles(automaton: Automaton, evident: bool) -> tuple[Bundle, ...]:
    """The arcs between each two states, with their texts, widths and probabilities."""
    table = automaton.table
    arcs_of: dict[tuple[int, int], list[int]] = {}
    for arc, ends in enumerate(zip(table.source.tolist(), table.target.tolist(), strict=True)):
        arcs_of.setdefault(ends, []).append(arc)
    bundles = []
    for (source, target), arcs in arcs_of.items():
        lines = line_texts(automaton, arcs, evident)
        width = max(text_width(line, SMALL) for line in lines)
        tip = f"{source} to {target}: {', '.join(arc_texts(automaton, arcs))}"
        flow = None
        if automaton.masses is not None:
            mass = float(automaton.masses[source] * np.exp(-table.weight[arcs]).sum())
            flow = min(1.0, mass)
            tip += f", probability {flow:{_DIGITS}}"
        height = SMALL * LINE * len(lines)
        bundles.append(Bundle(source, target, tuple(arcs), lines, tip, flow, width, height))
    return tuple(bundles)


def text_width(text: str, size: float = FONT) -> float:
    """About how wide a text is in common sans-serif fonts; East Asian characters fill a square."""
    return size * sum(_character_width(character) for character in text)


def _character_width(character: str) -> float:
    if character in _WIDE:
        return 0.88
    if character in _NARROW:
        return 0.4
    return 1.0 if unicodedata.east_asian_width(character) in "WF" else 0.64
