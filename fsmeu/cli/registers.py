"""Registers as people read them: what they depend on, where they are kept, what they hold."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fsmeu.checking.report import register_facts
from fsmeu.cli.output import line, number, print_table, table
from fsmeu.losses.language.syntax import Register
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.semantics.bound import BoundLoss
from fsmeu.losses.semantics.domains import memory_of

__all__ = ["contents", "contents_text", "print_registers", "register_data"]

Entry = int | float | str | None
Held = Entry | list[Entry]

_NOTHING = "."


def register_data(loss: SpecLoss) -> list[dict[str, Any]]:
    """Each register with the tapes it reads and where it is kept.

    ``free`` is where it is kept when the hypothesis is not known, ``given`` when it is: in the
    state, in the weight, or as a constant.
    """
    return [{**asdict(facts), "tapes": list(facts.tapes)} for facts in register_facts(loss)]


def print_registers(loss: SpecLoss) -> None:
    """Prints the registers of a loss and what was derived of them."""
    rows = register_data(loss)
    if not rows:
        line("There are no registers.")
        return
    made = table("register", "kind", "reads", "kept in, z free", "kept in, z given")
    for row in rows:
        reads = " ".join(row["tapes"]) or "nothing"
        made.add_row(row["name"], row["kind"], reads, row["free"], row["given"])
    print_table(made)


def contents(bound: BoundLoss, register: Register, value: float, n: int) -> Held:
    """What a register holds: a number, the name of a state, or the entries of a memory."""
    if register.sugar == "state":
        return register.states[int(value)]
    if register.sugar == "memory":
        return _entries(bound, register, int(value), n)
    return number(value)


def contents_text(held: Held) -> str:
    """The same as text; entries of a memory stand newest first."""
    if isinstance(held, list):
        return " ".join(_NOTHING if entry is None else str(entry) for entry in held)
    return f"{held:g}" if isinstance(held, float) else str(held)


def _entries(bound: BoundLoss, register: Register, packed: int, n: int) -> list[Entry]:
    """Entries of a memory, newest first, None for those before the start."""
    memory = memory_of(bound, register, n)
    names: list[Entry] = [None, *(number(value) for value in memory.values.tolist())]
    if not memory.numeric:
        texts = {code: text for text, code in bound.codes.items()}
        names[1:] = [texts.get(value) for value in memory.values.tolist()]
    entries = []
    for _ in range(memory.depth):
        packed, digit = divmod(packed, memory.base)
        entries.append(names[digit])
    return entries
