"""`fsmeu evaluate`: the value of a pair of sequences, and the registers step by step."""

from __future__ import annotations

from typing import Any

from fsmeu.cli import options as opt
from fsmeu.cli.inputs import load_loss, sequences
from fsmeu.cli.output import emit, line, note, number, print_json
from fsmeu.errors import InputError, sentence
from fsmeu.limits import TRACED_LABELS
from fsmeu.losses.evaluate import trace_pairs
from fsmeu.losses.language.syntax import Register
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.outputs import evaluate_outputs
from fsmeu.losses.semantics.bound import BoundLoss
from fsmeu.losses.semantics.domains import memory_of

__all__ = ["evaluate_pair"]

Entry = int | float | str | None
Held = Entry | list[Entry]

_NOTHING = "."


def evaluate_pair(
    loss: opt.Loss,
    z: opt.Z,
    y: opt.Y,
    steps: bool = opt.typed("--steps", "Show what the registers hold after each position."),
    param: opt.Params = None,
    labels: opt.Labels = None,
    types: opt.Types = None,
    as_json: opt.Json = False,
) -> None:
    """Print the value of a hypothesis and a reference.

    Further outputs that the loss file names are printed on stderr. With --steps, row 0 is the
    start; entries of a memory stand newest first, a dot stands for none.
    """
    loaded, hypothesis, reference = sequences(load_loss(loss, param, labels, types), z, y)
    if steps and len(hypothesis) > TRACED_LABELS:
        must = f"up to {TRACED_LABELS:,} labels are shown step by step"
        raise InputError(sentence("--steps", must, f"{len(hypothesis):,}", "Leave --steps out"))
    value = loaded(hypothesis, reference)
    outputs = evaluate_outputs(loaded, hypothesis, reference)
    rows = _steps(loaded, hypothesis, reference) if steps else None
    if as_json:
        head = {"name": loaded.name, "kind": loaded.kind, "n": len(hypothesis)}
        shown = {} if rows is None else {"steps": rows}
        print_json({**head, **shown, "value": value, "outputs": outputs})
        return
    for name, further in outputs.items():
        note(f"{name} {further!r}")
    if rows is None:
        line(repr(value))
        return
    _print_steps(loaded, rows)
    line()
    line(f"value {value!r}")


def _steps(loss: SpecLoss, z: list[Any], y: list[Any]) -> list[dict[str, Any]]:
    """What was read at each position and what the registers hold after it."""
    rows = (loss.alphabet.encode(sequence)[None, :] for sequence in (z, y))
    steps = []
    for i, state in enumerate(trace_pairs(loss.bound, *rows)):
        held = {
            r.name: _contents(loss.bound, r, float(state[r.name][0]), len(z))
            for r in loss.spec.registers
        }
        read = {"z": z[i - 1], "y": y[i - 1]} if i else {"z": None, "y": None}
        steps.append({"i": i, **read, "registers": held})
    return steps


def _print_steps(loss: SpecLoss, steps: list[dict[str, Any]]) -> None:
    registers = loss.spec.registers
    numbers = [r.name for r in registers if r.sugar not in ("state", "memory")]
    rows = []
    for step in steps:
        read = ["" if step[tape] is None else str(step[tape]) for tape in ("z", "y")]
        held = [_contents_text(step["registers"][r.name]) for r in registers]
        rows.append((str(step["i"]), *read, *held))
    emit(rows, ("i", "z", "y", *(r.name for r in registers)), right=["i", *numbers])


def _contents(bound: BoundLoss, register: Register, value: float, n: int) -> Held:
    """What a register holds: a number, the name of a state, or the entries of a memory."""
    if register.sugar == "state":
        return register.states[int(value)]
    if register.sugar == "memory":
        return _entries(bound, register, int(value), n)
    return number(value)


def _contents_text(held: Held) -> str:
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
