"""A report in words, a line for each fact, and as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np

from fsmeu.checking.exact_methods import Tried
from fsmeu.checking.examples import ExampleResult
from fsmeu.checking.growth import Growth
from fsmeu.checking.report import Report
from fsmeu.losses.describe import Properties, header_data, whole_or_float
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.sum_over_paths import window_sum

_ROWS = 7
_SHOWN_ENTRIES = 64  # entries of a table that are written out
_PAST_WINDOWS = 100  # longer than any memory


def facts(report: Report) -> list[tuple[str, str]]:
    """Pairs of a heading and a sentence: the derived properties of a loss."""
    rows = []
    if report.assumed_labels:
        text = f"{_join(report.assumed_labels)} assumed, as no example uses them"
        rows.append(("labels", f"{text}: other labels without them are refused"))
    if report.growth is not None and {size.values for size in report.growth.sizes} == {1}:
        rows.append(("warning", "all pairs of a length have the same value"))
    if report.determinism is not None:
        rows.append(("steps", str(report.determinism)))
    if report.properties is not None:
        rows += _property_facts(report, report.properties)
    if report.underived:
        text = f"additive, confusion table and what rests on them, because {report.underived}"
        rows.append(("not derived", text))
    if report.loss is not None and report.loss.requirement:
        text = f"those in which {report.loss.requirement}; decisions are made among them"
        rows.append(("hypotheses", text))
    if report.spec.outputs:
        names = _join(output.name for output in report.spec.outputs)
        rows.append(("outputs", f"{names}, all from one sweep"))
    if report.redundant:
        text = f"{_join(report.redundant)}: the others decide the value (n = {report.redundant_n})"
        if report.together != report.redundant:
            text += f"; one at a time, together only {_join(report.together)}"
        rows.append(("redundant", text))
    elif report.redundant_n:
        rows.append(("redundant", f"no register (n = {report.redundant_n})"))
    return rows


def underived_methods(tried: Tried) -> list[tuple[str, str]]:
    """A row for each error that kept conditions of exact methods from being derived."""
    by_error: dict[str, list[str]] = {}
    for method, error in tried.faults.items():
        by_error.setdefault(error, []).append(method)
    at = f"at n = {tried.n}"
    return [
        ("not derived", f"whether {' and '.join(methods)} decides {at}, because {error}")
        for error, methods in by_error.items()
    ]


def _property_facts(report: Report, props: Properties) -> list[tuple[str, str]]:
    """Pairs of a heading and a sentence: linearity, additivity, the confusion table."""
    linear = f"linear in {_join(props.linear)}" if props.linear else "not linear in any count"
    form = None if report.loss is None else window_sum(report.loss, _PAST_WINDOWS)
    if form is not None:
        linear += f"; a sum over windows of {form.k} positions, which need not be remembered"
    additive = "no: z and y interact beyond linear counts"
    if props.additive:
        additive = "yes: a sum over positions, each tape's share of which is known"
    elif props.splits:
        additive = f"no: the value also looks at {_join(props.ends)}, each of one tape"
    rows = [("value", linear), ("additive", additive)]
    if not props.confusion:
        return [*rows, ("confusion table", _clash_text(report))]
    rows.append(("confusion table", "yes: the value is a function of (tp, hyp, ref, n)"))
    if props.fractional is not None:
        above = props.fractional.numerator
        below = props.fractional.denominator
        rows.append(("ratio", f"{_sum_text(above)} / {_sum_text(below)}"))
    if props.ratios:
        many = "a ratio" if props.ratios == 1 else f"a sum of {props.ratios} ratios"
        text = f"{many} of counts: by generating functions at a few nodes"
        rows.append(("long sequences", text))
    return [*rows, ("TP-monotonic", _monotonic_text(props, report.spec.kind))]


def _clash_text(report: Report) -> str:
    """Why the value is no function of the confusion table, with two pairs where there are."""
    if report.loss is not None and len(report.loss.labels) != 2:
        return f"no: there are {len(report.loss.labels)} labels, not two"
    if report.clash is None:
        return (
            "not seen to be a function of (tp, hyp, ref, n), although no pair up to "
            f"n = {report.clash_n} contradicts it"
        )
    first, second = (f"z={z} y={y} is worth {value:.6g}" for z, y, value in report.clash)
    return f"no: {first}, but {second} with the same (tp, hyp, ref, n)"


def _monotonic_text(props: Properties, kind: str) -> str:
    """Whether one more true positive never makes the value worse, or where it does."""
    case = props.counterexample
    if case is None:
        return (
            f"yes, for n up to {props.tried}: one more true positive never makes it worse, so "
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


def _sum_text(coefficients: Iterable[float]) -> str:
    """A sum of counts, in brackets if it has several terms."""
    amounts = zip(("n", "tp", "hyp", "ref"), coefficients, strict=True)
    signs = {1.0: "", -1.0: "-"}
    terms = [f"{signs.get(amount, f'{amount:g} ')}{name}" for name, amount in amounts if amount]
    text = " + ".join(terms).replace("+ -", "- ") or "0"
    return f"({text})" if len(terms) > 1 else text


def _join(names: Iterable[str]) -> str:
    """The names with commas, or "nothing"."""
    return ", ".join(names) or "nothing"


def measured_with(report: Report) -> str:
    """The parameters and labels of the measurement; what had to be assumed is marked."""
    if report.loss is None:
        return ""
    params = [
        f"{name} = {_value_text(value)}{' (assumed)' if name in report.assumed else ''}"
        for name, value in report.loss.params.items()
    ]
    labels = f"labels {' '.join(map(str, report.loss.labels))}"
    return "; ".join(filter(None, [", ".join(params), labels]))


def _value_text(value: Any) -> str:
    """A parameter as text; of a large table, its sizes."""
    if isinstance(value, str):
        return value
    if np.size(value) > _SHOWN_ENTRIES:
        return f"a table of {' x '.join(map(str, np.shape(value)))}"
    if np.ndim(value):
        return "[" + ", ".join(_value_text(item) for item in value) + "]"
    return f"{float(value):g}"


def selected_sizes(sizes: Growth) -> list[dict[str, int]]:
    """A few rows of the growth table: lengths that double, and the last."""
    lengths = {2**k for k in range(_ROWS)} | {sizes.longest}
    return [asdict(size) for size in sizes.sizes if size.n in lengths]


def report_data(report: Report) -> dict[str, Any]:
    """The report for programs; what could not be measured is null."""
    registers = [{**asdict(r), "redundant": r.name in report.redundant} for r in report.registers]
    redundant = {
        "alone": list(report.redundant),
        "together": list(report.together),
        "n": report.redundant_n,
    }
    return {
        **header_data(report.spec),
        "registers": registers,
        "examples": [_example_data(result) for result in report.examples],
        "holds": report.holds,
        "measured": None if report.loss is None else _measured_data(report, report.loss),
        "missing": None if report.missing is None else str(report.missing),
        "determinism": report.determinism and asdict(report.determinism),
        "properties": None if report.properties is None else _property_data(report.properties),
        "growth": None if report.growth is None else _growth_data(report.growth),
        "redundant": redundant,
        "decoders": None if report.loss is None else [asdict(one) for one in report.methods],
        "not_derived": _underived_data(report),
    }


def _example_data(result: ExampleResult) -> dict[str, Any]:
    """An example of the file, and its outcome."""
    example = result.example
    outcome = {name: getattr(result, name) for name in ("expected", "value", "holds", "error")}
    place = {"line": example.place.line, "z": example.z, "y": example.y}
    return {**place, "with": dict(result.bindings), **outcome}


def _measured_data(report: Report, loss: SpecLoss) -> dict[str, Any]:
    """The labels and parameters of the measurement, and the names of those that were assumed."""
    params = {
        name: value
        if isinstance(value, str)
        else np.asarray(value).tolist()
        if np.ndim(value)
        else whole_or_float(value)
        for name, value in loss.params.items()
    }
    assumed = sorted(report.assumed)
    labels = {"labels": list(loss.labels), "assumed_labels": list(report.assumed_labels)}
    return {**labels, "parameters": params, "assumed": assumed}


def _growth_data(sizes: Growth) -> dict[str, Any]:
    """The sizes of machines, and the orders of their growth."""
    orders = {name: getattr(sizes, name) for name in ("states", "merged", "summed", "values")}
    order_data = {name: order and asdict(order) for name, order in orders.items()}
    return {"sizes": [asdict(size) for size in sizes.sizes], "order": order_data}


def _property_data(props: Properties) -> dict[str, Any]:
    """The derived properties; coefficients of a ratio as lists of numbers."""
    plain = ("linear", "splits", "additive", "confusion", "ratios", "tp_monotonic", "tried")
    ratio = props.fractional
    fractional = None
    if ratio is not None:
        fractional = {
            "numerator": [float(c) for c in ratio.numerator],
            "denominator": [float(c) for c in ratio.denominator],
        }
    return {
        **{name: getattr(props, name) for name in plain},
        "fractional": fractional,
        "counterexample": props.counterexample and asdict(props.counterexample),
    }


def _underived_data(report: Report) -> dict[str, str]:
    """What could not be derived, with the error that stood in the way."""
    data = {"properties": report.underived} if report.underived else {}
    return data | (dict(report.tried.faults) if report.tried is not None else {})
