"""A machine as it is drawn and exchanged: arcs, names of labels, registers, values, probabilities.

Compiled losses, compositions, label models and OpenFst machines all become an ``Automaton``;
pictures, graphs and files are made of nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import InputError, shorten
from fsmeu.expectation.composition import Composition
from fsmeu.fst.alphabet import Alphabet, listed, plain
from fsmeu.fst.distance import forward
from fsmeu.fst.image import (
    ArcTable,
    check_table,
    fst_from_table,
    label_names,
    names_of,
    table_from_fst,
    table_of_names,
)
from fsmeu.fst.layers import table_from_layered
from fsmeu.fst.openfst import Fst
from fsmeu.losses.machine.machine import Compiled, Machine
from fsmeu.losses.sum_over_paths import SummedMachine
from fsmeu.models import Model


@dataclass(frozen=True, eq=False)
class Automaton:
    """A machine with what a person wants to know of it."""

    name: str  # what it is
    table: ArcTable  # states and arcs; weights are -log of factors
    ending: Bools  # where a path may end
    values: Floats  # the value of ending in each state, nan where there is none
    # the names of the numbers on each tape
    inputs: Mapping[int, str] = field(default_factory=dict)
    outputs: Mapping[int, str] = field(default_factory=dict)
    # what stands behind each state, by register, and how it is shown where numbers say too little
    registers: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    masses: Floats | None = None  # probability of passing through each state, if there is a model
    acceptor: bool = False  # True when both tapes are one

    @property
    def states(self) -> int:
        """The number of states."""
        return self.table.states

    @property
    def arcs(self) -> int:
        """The number of arcs."""
        return self.table.arcs

    @cached_property
    def fst(self) -> Fst:
        """The pynini machine (log64 arcs), bit for bit."""
        return fst_with_symbols(self.table, self.inputs, self.outputs)

    @cached_property
    def depth(self) -> Ints:
        """The least number of steps from the start to each state, -1 where none leads there."""
        return _depths(self.table)

    @cached_property
    def layers(self) -> list[Ints]:
        """The states at each depth, in ascending order."""
        return [np.flatnonzero(self.depth == d) for d in range(int(self.depth.max(initial=-1)) + 1)]

    @cached_property
    def weighted(self) -> bool:
        """True when some arc has a factor other than one."""
        return bool((self.table.weight != 0).any())

    def register_text(self, name: str, state: int) -> str:
        """The content of a register in a state, as pictures show it."""
        if name in self.texts:
            return self.texts[name][state]
        value = self.registers[name][state]
        return number_text(value) if isinstance(value, int | float | np.number) else str(value)

    def encode(self, sequence: Iterable[object], outputs: bool, where: str) -> Ints:
        """The tape numbers of a label sequence."""
        named = dict(self.outputs if outputs else self.inputs)
        numbers = [k for k in sorted(named) if k]
        if not numbers:
            must = "the machine must name its labels (a symbol table) to read a sequence"
            raise InputError(where, must)
        alphabet = Alphabet(tuple(named[k] for k in numbers))
        texts = [_label_text(plain(x)) for x in listed(sequence, where)]
        return np.array(numbers, np.int64)[alphabet.encode(texts, where)]


def _label_text(label: Any) -> str:
    """A label as symbol tables name it: whole numbers without a point, truth values as 1 and 0."""
    if isinstance(label, bool) or (isinstance(label, float) and label.is_integer()):
        return str(int(label))
    return label if isinstance(label, str) else shorten(label)


def number_text(value: Any) -> str:
    """A number as a picture shows it: four digits, whole numbers whole."""
    number = float(value)
    whole = number.is_integer() and abs(number) < 1e15
    return str(int(number)) if whole else f"{number:.4g}"


def _depths(table: ArcTable) -> Ints:
    """The least number of arcs from the start to each state, (states,); -1 for none."""
    depth = np.full(table.states, -1, np.int64)
    fresh = np.array([table.start] if table.start >= 0 else [], np.int64)
    level = 0
    while len(fresh):
        depth[fresh] = level
        reached = table.target[depth[table.source] == level]
        fresh = np.unique(reached[depth[reached] < 0])
        level += 1
    return depth


def fst_with_symbols(table: ArcTable, inputs: Mapping[int, str], outputs: Mapping[int, str]) -> Fst:
    """The OpenFst machine of an arc table with symbol tables of these names, if there are any."""
    check_table(table, "machine")
    read, written = (table_of_names(names, "machine") for names in (inputs, outputs))
    return fst_from_table(table, read, written)


def is_fst(thing: Any) -> bool:
    """Whether something is a machine of pynini."""
    return hasattr(thing, "write_to_string") and hasattr(thing, "arc_type")


def as_automaton(thing: Any, where: str = "draw") -> Automaton:
    """The automaton of a compiled loss, composition, label model, OpenFst machine or graph."""
    if isinstance(thing, Automaton):
        return thing
    if isinstance(thing, Machine):
        return _of_machine(thing)
    if isinstance(thing, Composition):
        return _of_composition(thing)
    if isinstance(thing, Model):
        return _of_model(thing)
    if isinstance(thing, SummedMachine):
        return of_fst(thing.shared, thing.name)
    if is_fst(thing):
        return of_fst(thing)
    if hasattr(thing, "is_multigraph"):
        from fsmeu.exchange.networkx_graph import from_networkx

        return from_networkx(thing)
    must = "a compiled loss, a composition, a model, an OpenFst machine or graph is needed"
    remedy = ""
    if hasattr(thing, "compile"):
        remedy = "Compile the loss for sequences of some length, as by loss.compile(3)"
    elif where == "draw":
        must = f"a loss, {must}"
    raise InputError(where, must, given=type(thing).__name__, remedy=remedy)


def exported(thing: Any, where: str) -> Automaton:
    """The automaton as other tools get it: a compiled loss reads pairs of its length alone."""
    return as_automaton(thing.unrolled if isinstance(thing, Compiled) else thing, where)


def _of_machine(machine: Machine) -> Automaton:
    """The automaton of a compiled loss."""
    names = label_names(machine.alphabet)
    values = machine.values
    ending = ~np.isnan(values)
    return Automaton(machine.name, machine.table, ending, values, names, names, machine.registers)


def _of_composition(composition: Composition) -> Automaton:
    """The automaton of a composition, with the probability of each state."""
    machine = composition.machine
    table = composition.table
    names = label_names(machine.alphabet)
    ending = _depths(table) == machine.n
    values = np.where(ending, machine.values[composition.loss_states], np.nan)
    name = f"{machine.name}, composed with a model"
    registers = composition.registers()
    masses = composition.masses
    return Automaton(name, table, ending, values, names, names, registers, masses=masses)


def _of_model(model: Model) -> Automaton:
    """The automaton of a label model, an acceptor, with the probability of each state."""
    table = table_from_layered(model.layered())
    name = f"{model.title}, n = {model.n}"
    names = label_names(model.alphabet)
    masses = forward(table)
    return Automaton(name, table, *_ends(table), names, names, masses=masses, acceptor=True)


def of_fst(fst: Any, name: str = "machine") -> Automaton:
    """The automaton of an OpenFst machine; registers are unknown."""
    table = table_from_fst(fst)
    inputs, outputs = (names_of(s, "machine") for s in (fst.input_symbols(), fst.output_symbols()))
    same = bool((table.ilabel == table.olabel).all()) and inputs == outputs
    return Automaton(name, table, *_ends(table), inputs, outputs, acceptor=same)


def _ends(table: ArcTable) -> tuple[Bools, Floats]:
    """Whether paths end in each state, and final weights as factors where any is not one."""
    ending = np.isfinite(table.final)
    values = np.full(table.states, np.nan)
    if (table.final[ending] != 0).any():
        with np.errstate(over="ignore"):
            values[ending] = np.exp(-table.final[ending])
    return ending, values
