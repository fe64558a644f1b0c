"""A report in words, a line for each fact, and as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from fractions import Fraction
from typing import Any

import numpy as np

from fsmeu.checking.growth import Growth
from fsmeu.checking.report import Report
from fsmeu.limits import LONG_SEQUENCE
from fsmeu.losses.describe import Properties, header_data, whole_or_float
from fsmeu.losses.sum_over_paths import windows

_ROWS = 7
_PAST_WINDOWS = 100  # longer than any memory


def facts(found: Report) -> list[tuple[str, str]]:
    """What was derived, as headings and sentences."""
    rows = []
    if found.determinism is not None:
        rows.append(("steps", str(found.determinism)))
    if found.properties is not None:
        rows += _property_facts(found, found.properties)
    if found.spec.outputs:
        names = _listed(output.name for output in found.spec.outputs)
        rows.append(("outputs", f"{names}, all from one sweep"))
    if found.redundant:
        text = f"{_listed(found.redundant)}: the others decide the value (n = {found.redundant_n})"
        if found.together != found.redundant:
            text += f"; one at a time, together only {_listed(found.together)}"
        rows.append(("redundant", text))
    elif found.redundant_n:
        rows.append(("redundant", f"no register (n = {found.redundant_n})"))
    return rows


def _property_facts(found: Report, known: Properties) -> list[tuple[str, str]]:
    linear = f"linear in {_listed(known.linear)}" if known.linear else "not linear in any count"
    form = None if found.loss is None else windows(found.loss, _PAST_WINDOWS)
    if form is not None:
        linear += f"; a sum over windows of {form.k} positions, which need not be remembered"
    additive = "no: what reads both tapes is more than counts in which the value is linear"
    if known.additive:
        additive = "yes: a sum over positions, each tape's share of which is known"
    elif known.splits:
        additive = f"no: the value also looks at {_listed(known.ends)}, each of one tape"
    rows = [("value", linear), ("additive", additive)]
    if not known.confusion:
        return [*rows, ("confusion table", _clash_text(found))]
    rows.append(("confusion table", "yes: the value is a function of (tp, hyp, ref, n)"))
    if known.fractional is not None:
        above, below = known.fractional.numerator, known.fractional.denominator
        rows.append(("ratio", f"{_sum_text(above)} / {_sum_text(below)}"))
    if known.ratios:
        many = "a ratio" if known.ratios == 1 else f"a sum of {known.ratios} ratios"
        told = f"{many} of counts: by central moments from {LONG_SEQUENCE:,} labels on"
        rows.append(("long sequences", told))
    return [*rows, ("TP-monotonic", _monotonic_text(known, found.spec.kind))]


def _clash_text(found: Report) -> str:
    if found.loss is not None and len(found.loss.labels) != 2:
        return f"no: there are {len(found.loss.labels)} labels, not two"
    if found.clash is None:
        return (
            "not seen to be a function of (tp, hyp, ref, n), although no pair up to "
            f"n = {found.clash_n} contradicts it"
        )
    one, two = (f"z={z} y={y} is worth {value:.6g}" for z, y, value in found.clash)
    return f"no: {one}, but {two} with the same (tp, hyp, ref, n)"


def _monotonic_text(known: Properties, kind: str) -> str:
    case = known.counterexample
    if case is None:
        return (
            f"yes, for n up to {known.tried}: one more true positive never makes it worse, so "
            "independent labels are ranked by probability"
        )
    tables = []
    for tp in (case.tp, case.tp + 1):
        cells = {"tp": tp, "fp": case.hyp - tp, "fn": case.ref - tp}
        cells["tn"] = case.n - sum(cells.values())
        tables.append(" ".join(f"{name}={count}" for name, count in cells.items()))
    better = "higher" if kind == "utility" else "lower"
    return (
        f"no: {tables[0]} is worth {case.value:.6g}, but {tables[1]} is worth "
        f"{case.value_with_one_more:.6g}, and {better} is better; so the best labels need not be "
        "those ranked by probability"
    )


def _sum_text(coefficients: Iterable[float | Fraction]) -> str:
    """A sum of counts, in brackets if it has several terms."""
    amounts = zip(("n", "tp", "hyp", "ref"), map(float, coefficients), strict=True)
    signs = {1.0: "", -1.0: "-"}
    terms = [f"{signs.get(amount, f'{amount:g} ')}{name}" for name, amount in amounts if amount]
    text = " + ".join(terms).replace("+ -", "- ") or "0"
    return f"({text})" if len(terms) > 1 else text


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"


def measured_with(found: Report) -> str:
    """The parameters and labels of the measurement; what had to be assumed is marked."""
    if found.loss is None:
        return ""
    params = [
        f"{name} = {_value_text(value)}{' (assumed)' if name in found.assumed else ''}"
        for name, value in found.loss.params.items()
    ]
    labels = f"labels {' '.join(map(str, found.loss.labels))}"
    return "; ".join(filter(None, [", ".join(params), labels]))


def _value_text(value: Any) -> str:
    if np.ndim(value):
        return "[" + ", ".join(_value_text(item) for item in value) + "]"
    return f"{float(value):g}"


def selected_sizes(sizes: Growth) -> list[dict[str, int]]:
    """A few rows of the growth table: lengths that double, and the last."""
    wanted = {2**k for k in range(_ROWS)} | {sizes.longest}
    return [asdict(size) for size in sizes.sizes if size.n in wanted]


def report_data(found: Report) -> dict[str, Any]:
    """The report for programs; what could not be measured is null."""
    loss, known, sizes = found.loss, found.properties, found.growth
    registers = [{**asdict(r), "redundant": r.name in found.redundant} for r in found.registers]
    redundant = {"alone": list(found.redundant), "together": list(found.together)}
    measured = growth = derived = None
    if loss is not None:
        params = {
            k: np.asarray(v).tolist() if np.ndim(v) else whole_or_float(v)
            for k, v in loss.params.items()
        }
        measured = {"labels": list(loss.labels), "parameters": params}
        measured["assumed"] = sorted(found.assumed)
    if sizes is not None:
        orders = {name: getattr(sizes, name) for name in ("states", "merged", "summed", "values")}
        order = {name: one and asdict(one) for name, one in orders.items()}
        growth = {"sizes": [asdict(size) for size in sizes.sizes], "order": order}
    if known is not None:
        ratio, case = known.fractional, known.counterexample
        plain = ("linear", "splits", "additive", "confusion", "ratios", "tp_monotonic", "tried")
        derived = {name: getattr(known, name) for name in plain}
        sides = ("numerator", "denominator")
        derived["fractional"] = ratio and {k: [float(c) for c in getattr(ratio, k)] for k in sides}
        derived["counterexample"] = case and asdict(case)
    examples = []
    for result in found.examples:
        place = {"line": result.example.place.line, "z": result.example.z, "y": result.example.y}
        told = {name: getattr(result, name) for name in ("expected", "value", "holds", "error")}
        examples.append({**place, "with": dict(result.bindings), **told})
    return {
        **header_data(found.spec),
        "registers": registers,
        "examples": examples,
        "holds": found.holds,
        "measured": measured,
        "missing": found.missing or None,
        "determinism": found.determinism and asdict(found.determinism),
        "properties": derived,
        "growth": growth,
        "redundant": {**redundant, "n": found.redundant_n},
        "decoders": None if loss is None else [asdict(method) for method in found.methods],
    }
