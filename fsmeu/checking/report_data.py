"""A report on a loss file as plain data, for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from fsmeu.checking.exact_methods import Applies
from fsmeu.checking.examples import ExampleResult
from fsmeu.checking.facts import growth_data, property_data
from fsmeu.checking.report import Report
from fsmeu.losses.header import header_data
from fsmeu.losses.steps import whole_or_float

__all__ = ["report_data"]


def report_data(found: Report, methods: tuple[Applies, ...]) -> dict[str, Any]:
    """The report for programs; what could not be measured is null."""
    registers = [
        {**asdict(register), "redundant": register.name in found.redundant}
        for register in found.registers
    ]
    measured = found.loss is not None
    return {
        **header_data(found.spec),
        "registers": registers,
        "examples": [_example_data(result) for result in found.examples],
        "holds": found.holds,
        "measured": _measured_data(found) if measured else None,
        "missing": found.missing or None,
        "determinism": asdict(found.determinism) if found.determinism else None,
        "properties": property_data(found.properties) if found.properties else None,
        "growth": growth_data(found.growth) if found.growth else None,
        "redundant": {
            "alone": list(found.redundant),
            "together": list(found.together),
            "n": found.redundant_n,
        },
        "decoders": [asdict(method) for method in methods] if measured else None,
    }


def _measured_data(found: Report) -> dict[str, Any]:
    """Labels and parameters of the measurement, and which of these had to be assumed."""
    loss = found.loss
    params = {
        name: np.asarray(value).tolist() if np.ndim(value) else whole_or_float(value)
        for name, value in loss.params.items()  # type: ignore[union-attr]
    }
    labels = list(loss.labels)  # type: ignore[union-attr]
    return {"labels": labels, "parameters": params, "assumed": sorted(found.assumed)}


def _example_data(result: ExampleResult) -> dict[str, object]:
    return {
        "line": result.example.place.line,
        "z": result.example.z,
        "y": result.example.y,
        "with": dict(result.bindings),
        "expected": result.expected,
        "value": result.value,
        "holds": result.holds,
        "error": result.error,
    }
