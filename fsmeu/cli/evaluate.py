"""`fsmeu evaluate`: the value of a pair of sequences, and the registers step by step."""

from __future__ import annotations

from typing import Any

from fsmeu.cli import options as opt
from fsmeu.cli.failures import refuse
from fsmeu.cli.inputs import load_loss, sequences
from fsmeu.cli.output import emit, line, note, print_json
from fsmeu.losses.describe import Held, steps_of
from fsmeu.losses.evaluate import evaluate_outputs
from fsmeu.losses.loss import SpecLoss

TRACED_LABELS = 10_000  # labels of a pair that is shown step by step: more lines than anyone reads

_NOTHING = "."


def evaluate_pair(
    binding: opt.Binding,
    loss: str = opt.LOSS,
    z: str = opt.argument(
        "Z", 'The hypothesis, as 0110, "O B-NP I-NP" or A,B,C (after -- when it begins with -).'
    ),
    y: str = opt.argument("Y", "The reference, of the same length."),
    steps: bool = opt.option("--steps", "Show what the registers hold after each position."),
    as_json: bool = opt.JSON,
) -> None:
    """Print the value of a hypothesis and a reference.

    Further outputs that the loss file names are printed on stderr. With --steps, row 0 is the
    start; entries of a memory stand newest first, a dot stands for none.
    """
    loaded, hypothesis, reference = sequences(load_loss(loss, binding), z, y)
    if steps and len(hypothesis) > TRACED_LABELS:
        must = f"up to {TRACED_LABELS:,} labels are shown step by step"
        refuse("--steps", must, f"{len(hypothesis):,}", "Leave --steps out")
    value = loaded(hypothesis, reference)
    outputs = evaluate_outputs(loaded, hypothesis, reference)
    rows = steps_of(loaded, hypothesis, reference) if steps else None
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


def _print_steps(loss: SpecLoss, steps: list[dict[str, Any]]) -> None:
    registers = loss.spec.registers
    numbers = [r.name for r in registers if r.sugar not in ("state", "memory")]
    rows = []
    for step in steps:
        read = ["" if step[tape] is None else str(step[tape]) for tape in ("z", "y")]
        held = [_contents_text(step["registers"][r.name]) for r in registers]
        rows.append((str(step["i"]), *read, *held))
    emit(rows, ("i", "z", "y", *(r.name for r in registers)), right=["i", *numbers])


def _contents_text(held: Held) -> str:
    if isinstance(held, list):
        return " ".join(_NOTHING if entry is None else str(entry) for entry in held)
    return f"{held:g}" if isinstance(held, float) else str(held)
