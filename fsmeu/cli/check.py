"""`fsmeu check`: reads a loss file, runs its examples, measures it, says what follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsmeu.cli.options import Json, LabelList, ParamList, TypeList

if TYPE_CHECKING:
    from fsmeu.checking.exact_methods import Applies
    from fsmeu.checking.examples import ExampleResult
    from fsmeu.checking.growth import Growth
    from fsmeu.checking.report import Report

__all__ = ["EXAMPLE_FAILS", "check_loss"]

EXAMPLE_FAILS = 1

_File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="The path of a loss file, a name on the shelf, or - for standard input.",
        show_default=False,
    ),
]
_Longest = Annotated[
    int | None,
    typer.Option(
        "--n",
        "-n",
        metavar="N",
        min=1,
        max=200,
        help="The greatest length to measure.",
        show_default="16, less where machines get large",
    ),
]


def check_loss(
    file: _File,
    n: _Longest = None,
    param: ParamList = None,
    labels: LabelList = None,
    types: TypeList = None,
    as_json: Json = False,
) -> None:
    """Reads a loss file, runs its examples, measures its machine, says what follows.

    The exit code is 1 when an example does not hold, when a pair of sequences has no value, or
    when labels or parameters do not fit.
    Parameters and labels given here are for the measurement, and for examples where the file
    leaves them open. A register kept in the weight is no state of the machine: its expectation
    rides along; with the hypothesis given, one that reads z alone is a constant. Machines that get
    large are not measured.
    """
    import numpy as np

    from fsmeu.checking.exact_methods import exact_methods
    from fsmeu.checking.report import report
    from fsmeu.cli.inputs import choose_labels, choose_params, read_loss_file
    from fsmeu.cli.output import print_json

    spec = read_loss_file(file)
    chosen = choose_labels(labels, types, spec.scheme)
    found = report(spec, params=choose_params(param), labels=chosen, longest=n)
    loss = found.loss if found.properties is not None else None
    with np.errstate(over="ignore", invalid="ignore"):  # said of the values above
        methods = exact_methods(loss) if loss is not None else ()
    if as_json:
        print_json(_data(found, methods))
    else:
        _print_report(found, methods)
    if not found.holds:
        raise typer.Exit(EXAMPLE_FAILS)


def _print_report(found: Report, methods: tuple[Applies, ...]) -> None:
    from fsmeu.cli.header import labels_text, signature
    from fsmeu.cli.output import line
    from fsmeu.cli.registers import print_registers
    from fsmeu.losses.loss import SpecLoss

    line(signature(found.spec), style="bold", wrap=True)
    line(f"labels: {labels_text(found.spec)}")
    line()
    print_registers(SpecLoss(found.spec))
    line()
    _print_examples(found.examples)
    line()
    if found.growth is None:
        line(f"Not measured: {found.missing}", wrap=True)
        return
    _print_facts(found, methods)
    if found.growth.sizes:
        line()
        _print_growth(found.growth)


def _print_examples(results: tuple[ExampleResult, ...]) -> None:
    from fsmeu.cli.output import line

    if not results:
        line("There are no examples in the file.")
        return
    for result in results:
        line(_example_text(result), style="" if result.holds else "red")
        for more in result.error.splitlines():
            line(f"      {more}")
    good = [result for result in results if result.holds]
    line()
    line(f"{len(good)} of {len(results)} examples hold.")


def _print_facts(found: Report, methods: tuple[Applies, ...]) -> None:
    from rich.padding import Padding
    from rich.table import Table

    from fsmeu.checking.facts import facts, measured_with
    from fsmeu.cli.output import line, screen

    line(f"Derived with {measured_with(found)}:", wrap=True)
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    rows = facts(found)
    if found.properties is not None:
        rows.append(("exact decisions", _methods_text(methods)))
        rows += _advice(found, methods)
    for heading, text in rows:
        made.add_row(heading, text)
    screen().print(Padding(made, (0, 0, 0, 2)))


def _advice(found: Report, methods: tuple[Applies, ...]) -> list[tuple[str, str]]:
    """How the file could be written so that there are exact decisions, if that is known."""
    from fsmeu.checking.exact_methods import methods_at_the_end

    others = methods_at_the_end(found.loss) if found.loss is not None and not methods else ()
    if not others:
        return []
    way = "count the value at the last position: count c by VALUE when i == n, then value c"
    return [("advice", f"{way}; {others[0].method} decides for that")]


def _methods_text(methods: tuple[Applies, ...]) -> str:
    if not methods:
        return "none but trying every sequence; search, where these are too many, proves nothing"
    for_all = [m.method for m in methods if m.any_model]
    for_some = [m.method for m in methods if not m.any_model]
    texts = [f"{', '.join(for_all)} (any model)"] if for_all else []
    texts += [f"{', '.join(for_some)} (independent labels)"] if for_some else []
    return f"at n = {methods[0].n}: {'; '.join(texts)}"


def _print_growth(sizes: Growth) -> None:
    from fsmeu.checking.facts import selected_sizes
    from fsmeu.cli.output import print_table, table

    headers = ("n", "states", "arcs", "merged states", "summed states", "level sets")
    made = table(*headers, right=headers)
    for row in selected_sizes(sizes):
        cells = (row[name] for name in ("n", "states", "arcs", "merged", "summed", "values"))
        made.add_row(*(f"{count:,}" for count in cells))
    if sizes.states is not None:
        made.add_section()
        orders = (sizes.merged, sizes.summed, sizes.values)
        made.add_row("order", str(sizes.states), "", *map(str, orders))
    print_table(made)


def _example_text(result: ExampleResult) -> str:
    example = result.example
    pair = " ".join(_quoted(text) for text in (example.z, example.y))
    bound = ", ".join(f"{name} = {value:g}" for name, value in result.bindings.items())
    text, given = f"line {example.place.line}: {pair}", f" with {bound}" if bound else ""
    if result.value is None:
        return f"FAILS {text}{given} has no value:"
    if result.holds:
        return f"ok    {text} = {result.value!r}{given}"
    return f"FAILS {text} = {result.value!r}{given}; the file says {result.expected!r}"


def _quoted(text: str) -> str:
    return f'"{text}"' if not text or " " in text else text


def _data(found: Report, methods: tuple[Applies, ...]) -> dict[str, Any]:
    """The report for programs; what could not be measured is null."""
    from dataclasses import asdict

    from fsmeu.checking.facts import growth_data, property_data
    from fsmeu.cli.header import header_data

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
    import numpy as np

    from fsmeu.cli.output import number

    loss = found.loss
    params = {
        name: np.asarray(value).tolist() if np.ndim(value) else number(float(value))
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
