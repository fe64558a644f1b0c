"""How a loss is used, in a line of Python and in a command, taken from an example in its file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fsmeu.checking.examples import ExampleResult, labels_in
from fsmeu.errors import FsmeuError
from fsmeu.fst.alphabet import Label
from fsmeu.losses.evaluate import evaluate
from fsmeu.losses.language.syntax import Spec
from fsmeu.losses.library import library
from fsmeu.losses.loss import bind_loss

__all__ = ["Usage", "usage"]


@dataclass(frozen=True)
class Usage:
    """A pair and its value in two languages.

    Attributes:
        python: a line of Python, its value behind it.
        command: the same for the command line, step by step.
    """

    python: str
    command: str


def usage(
    spec: Spec, examples: Iterable[ExampleResult], assumed: Mapping[str, Any]
) -> Usage | None:
    """The use of a loss on one of its examples, or None where none of them can be evaluated.

    Args:
        spec: the loss file.
        examples: what became of its examples.
        assumed: values for parameters that have no default, where an example does not bind them.
    """
    sound = [result for result in examples if result.holds and result.example.z]
    made = (_usage(spec, result, assumed) for result in sorted(sound, key=_dull))
    return next((one for one in made if one is not None), None)


def _dull(result: ExampleResult) -> tuple[bool, int]:
    """Values between whole numbers tell more, and so do few parameters."""
    return float(result.value or 0.0).is_integer(), len(result.bindings)


def _usage(spec: Spec, result: ExampleResult, assumed: Mapping[str, Any]) -> Usage | None:
    z, y = result.example.z, result.example.y
    params = {**assumed, **result.bindings}
    labels = labels_in((z, y), bool(spec.scheme)) if spec.labels is None else ()
    types = sorted({str(label)[2:] for label in labels} - {""}) if spec.scheme else []
    chosen: tuple[Label, ...] | None = None if spec.scheme or not labels else labels
    try:
        loss = bind_loss(spec, params, chosen, types or None)
        pair = [loss.alphabet.decode(loss.alphabet.parse(text, "usage")) for text in (z, y)]
        value = evaluate(loss, *pair)
    except FsmeuError:
        return None
    name = spec.name if spec.name in library() else f"{spec.name}.loss"
    words = [json.dumps(name), *(f"{k}={_number(v)}" for k, v in params.items())]
    words += [f"types={json.dumps(types)}"] if types else []
    words += [f"labels={json.dumps(list(chosen))}"] if chosen else []
    shown = ", ".join(_sequence(labels) for labels in pair)
    python = f"fsmeu.evaluate(fsmeu.load({', '.join(words)}), {shown})  # {value:.6g}"
    return Usage(python, _command(name, pair, params, types, chosen))


def _command(
    name: str,
    pair: list[list[Label]],
    params: Mapping[str, Any],
    types: list[str],
    labels: tuple[Label, ...] | None,
) -> str:
    words = ["fsmeu", "trace", name]
    words += [text if _short(tape) else " ".join(map(str, tape)) for text, tape in _texts(pair)]
    for key, value in params.items():
        words += ["-p", f"{key}={_number(value)}"]
    words += ["--types", ",".join(types)] if types else []
    words += ["--labels", ",".join(map(str, labels))] if labels else []
    return shlex.join(words)


def _texts(pair: list[list[Label]]) -> list[tuple[str, list[Label]]]:
    return [("".join(map(str, tape)), tape) for tape in pair]


def _short(labels: list[Label]) -> bool:
    return all(len(str(label)) == 1 for label in labels)


def _sequence(labels: list[Label]) -> str:
    """A sequence as it is written in Python."""
    if _short(labels):
        return json.dumps("".join(map(str, labels)))
    return json.dumps(labels)


def _number(value: Any) -> str:
    if np.ndim(value):
        return json.dumps(
            [[_plain(x) for x in row] if np.ndim(row) else _plain(row) for row in value]
        )
    return str(_plain(value))


def _plain(value: Any) -> float | int:
    number = float(value)
    return int(number) if number.is_integer() else number
