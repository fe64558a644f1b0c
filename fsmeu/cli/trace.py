"""`fsmeu trace`: a pair of sequences step by step through a loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsmeu.cli.options import Hypothesis, Json, LabelList, LossName, ParamList, Reference, TypeList
from fsmeu.errors import InputError, sentence
from fsmeu.limits import TRACED_LABELS

if TYPE_CHECKING:
    from fsmeu.losses.loss import SpecLoss

__all__ = ["trace_pair"]


def trace_pair(
    loss: LossName,
    z: Hypothesis,
    y: Reference,
    param: ParamList = None,
    labels: LabelList = None,
    types: TypeList = None,
    as_json: Json = False,
) -> None:
    """Follows a pair of sequences through a loss, step by step.

    Registers are shown as they are after each position, row 0 is the start. Entries of a memory
    stand newest first, a dot stands for none.
    """
    from fsmeu.cli.inputs import load_loss, sequences
    from fsmeu.cli.output import line, print_json

    loaded, hypothesis, reference = sequences(load_loss(loss, param, labels, types), z, y)
    if len(hypothesis) > TRACED_LABELS:
        must = f"up to {TRACED_LABELS:,} labels are shown step by step"
        remedy = "The value alone is fsmeu.evaluate's"
        raise InputError(sentence("trace", must, f"{len(hypothesis):,}", remedy))
    value = loaded(hypothesis, reference)
    steps = _steps(loaded, hypothesis, reference)
    if as_json:
        head = {"name": loaded.name, "kind": loaded.kind, "n": len(hypothesis)}
        print_json({**head, "steps": steps, "value": value})
        return
    _print_steps(loaded, steps)
    line()
    line(f"value {value!r}")


def _steps(loss: SpecLoss, z: list[Any], y: list[Any]) -> list[dict[str, Any]]:
    """What was read at each position and what the registers hold after it."""
    from fsmeu.cli.registers import contents
    from fsmeu.losses.evaluate import trace_pairs

    rows = (loss.alphabet.encode(sequence)[None, :] for sequence in (z, y))
    steps = []
    for i, state in enumerate(trace_pairs(loss.bound, *rows)):
        held = {
            r.name: contents(loss.bound, r, float(state[r.name][0]), len(z))
            for r in loss.spec.registers
        }
        read = {"z": z[i - 1], "y": y[i - 1]} if i else {"z": None, "y": None}
        steps.append({"i": i, **read, "registers": held})
    return steps


def _print_steps(loss: SpecLoss, steps: list[dict[str, Any]]) -> None:
    from fsmeu.cli.output import print_table, table
    from fsmeu.cli.registers import contents_text

    names = [r.name for r in loss.spec.registers]
    numbers = [r.name for r in loss.spec.registers if r.sugar not in ("state", "memory")]
    made = table("i", "z", "y", *names, right=["i", *numbers])
    for step in steps:
        read = ["" if step[tape] is None else str(step[tape]) for tape in ("z", "y")]
        held = [contents_text(step["registers"][name]) for name in names]
        made.add_row(str(step["i"]), *read, *held)
    print_table(made)
