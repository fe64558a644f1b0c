"""`fsmeu losses`, `check`, `evaluate`: what a loss says, what follows from it, values of pairs."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from typing import Any

import numpy as np
import typer
from rich.text import Text

from fsmeu.checking.advice import obstacle, rewrites
from fsmeu.checking.exact_methods import Applies
from fsmeu.checking.examples import ExampleResult
from fsmeu.checking.facts import (
    facts,
    measured_with,
    report_data,
    selected_sizes,
    underived_methods,
)
from fsmeu.checking.growth import distinct_values
from fsmeu.checking.report import Report, register_facts, report
from fsmeu.cli import inputs
from fsmeu.cli import options as opt
from fsmeu.cli.completion import loss_names
from fsmeu.cli.failures import refuse, worded
from fsmeu.cli.options import argument, option
from fsmeu.cli.output import emit, line, note, print_json, screen, write_output
from fsmeu.drawing.source import source_text
from fsmeu.losses.describe import header_data, signature, steps_of
from fsmeu.losses.language.syntax import Spec
from fsmeu.losses.language.write import expression_text
from fsmeu.losses.loss import SpecLoss, library, read_spec
from fsmeu.losses.protocol import evaluate_outputs

EXAMPLE_FAILS = 1
_LONGEST = 200  # the greatest length that `check` measures, unless --sizes is given
_SIZES_AT = 8
_TRACED_LABELS = 10_000  # labels of a pair that is shown step by step, in two seconds


def losses(
    name: str | None = argument(
        "LOSS", "Show this one: a built-in loss, a path, or - for standard input.", None, loss_names
    ),
    as_json: bool = opt.JSON,
) -> None:
    """List the built-in losses and utilities, or show the text of one and where it is."""
    if name is not None:
        _show(name, as_json)
        return
    specs = {name: read_spec(name) for name in library()}
    data = [{**header_data(spec), "name": name} for name, spec in specs.items()]
    rows = [
        (name, spec.kind, Text("\n".join(param.text for param in spec.params)), spec.summary)
        for name, spec in specs.items()
    ]
    emit(rows, ("name", "kind", "parameters", "summary"), as_json=data if as_json else None)


def _show(name: str, as_json: bool) -> None:
    """Prints the text as it is; on a terminal, words, texts and comments are set apart."""
    spec = inputs.read_loss_file(name)
    if as_json:
        registers = [{"name": r.name, "kind": r.sugar} for r in spec.registers]
        more = {"registers": registers, "examples": len(spec.examples)}
        print_json({**header_data(spec), **more, "path": inputs.whereabouts(name)})
        return
    note(f"# {inputs.whereabouts(name)}")
    if not screen().is_terminal:
        write_output("-", spec.source if spec.source.endswith("\n") else f"{spec.source}\n")
        return
    screen().print(source_text(spec.source), soft_wrap=True)


def check(
    binding: opt.Binding,
    loss: str = opt.LOSS,
    n: int | None = option(
        "--n -n N",
        f"The greatest length to measure, up to {_LONGEST}.",
        unset="16, less where machines get large",
        min=0,
    ),
    sizes: bool = option(
        "--sizes", f"Only registers, and sizes of the machine at N/4, N/2 and N (or {_SIZES_AT})."
    ),
    as_json: bool = opt.JSON,
) -> None:
    """Read a loss file, run its examples, measure its machine, and say what follows from it.

    The exit code is 1 when an example does not hold, when a pair of sequences has no value or one
    outside the declared range, or when labels or parameters do not fit.
    Parameters and labels given here are for the measurement, and for examples where the file
    leaves them open. A register kept in the weight is no state of the machine: its expectation
    is computed along with it; with the hypothesis given, one that reads z alone is a constant.
    Machines that get large are not measured.
    """
    if sizes:
        loaded = inputs.with_known_labels(inputs.load_loss(loss, binding))
        _show_sizes(loaded, _SIZES_AT if n is None else n, as_json)
        return
    if n is not None and not 1 <= n <= _LONGEST:
        must = f"lengths of 1 to {_LONGEST} are measured"
        refuse("--n", must, n, "--sizes measures any one length")
    spec = inputs.read_loss_file(loss)
    labels = inputs.choose_labels(binding, spec.scheme)
    result = report(spec, params=inputs.choose_params(binding.param), labels=labels, n=n)
    if as_json:
        print_json(report_data(result))
    else:
        _print_report(result)
    if not result.holds:
        raise typer.Exit(EXAMPLE_FAILS)


def _show_sizes(loss: SpecLoss, n: int, as_json: bool) -> None:
    # The largest first: what is too large is said at once.
    sizes = [_size(loss, length) for length in sorted({n // 4, n // 2, n}, reverse=True)][::-1]
    if as_json:
        head = {"name": loss.name, "kind": loss.kind, "labels": list(loss.labels)}
        registers = [asdict(r) for r in register_facts(loss)]
        print_json({**head, **sizes[-1], "growth": sizes, "registers": registers})
        return
    _print_head(loss, " ".join(map(str, loss.labels)))
    heads = ("n", "states", "arcs", "final states", "distinct values")
    emit([[f"{count:,}" for count in size.values()] for size in sizes], heads, right=heads)


def _size(loss: SpecLoss, n: int) -> dict[str, int]:
    machine = loss.compile(n)
    sizes = {"n": n, "states": machine.states, "arcs": machine.arcs}
    final = int((~np.isnan(machine.values)).sum())
    return {**sizes, "final": final, "values": distinct_values(machine)}


def _print_head(loss: SpecLoss, labels: str) -> None:
    """Prints the signature of a loss, its labels and its registers."""
    line(signature(loss.spec), style="bold", wrap=True)
    line(f"labels: {labels}\n")
    rows = [
        (r.name, r.kind, " ".join(r.tapes) or "nothing", r.free, r.given)
        for r in register_facts(loss)
    ]
    if rows:
        emit(rows, ("register", "kind", "reads", "kept in, z free", "kept in, z given"))
    else:
        line("There are no registers.")
    line()


def _labels_text(spec: Spec) -> str:
    """The labels of a loss, or how they are to be given."""
    if spec.labels is not None:
        return " ".join(map(str, spec.labels))
    scheme = {"": "any (--labels)", "bio": "chunk tags (--types)"}
    return scheme.get(spec.scheme, f"chunk tags in {spec.scheme.upper()} (--types)")


def _print_report(report: Report) -> None:
    _print_head(SpecLoss(report.spec), _labels_text(report.spec))
    for result in report.examples:
        line(_example_text(result), style="" if result.holds else "red")
        for more in result.error.splitlines():
            line(f"      {more}")
    holding = sum(result.holds for result in report.examples)
    verdict = f"\n{holding} of {len(report.examples)} examples hold."
    line(f"{verdict if report.examples else 'There are no examples in the file.'}\n")
    if report.growth is None:
        line(f"Not measured: {worded(report.missing)}", wrap=True)
        return
    if report.growth.fault:
        line("Measuring it FAILS, because:", style="red")
        for more in report.growth.fault.splitlines():
            line(f"      {more}")
        line()
    line(f"Derived with {measured_with(report)}:", wrap=True)
    rows = facts(report)
    if report.properties is not None:
        rows += [("exact decisions", _methods_text(report.methods)), *_advice(report)]
        rows += underived_methods(report.tried) if report.tried is not None else []
    emit([(f"  {heading}", text) for heading, text in rows])
    sizes = report.growth
    if not sizes.sizes:
        return
    line()
    heads = ("n", "states", "arcs", "merged states", "summed states", "level sets")
    table = [[f"{count:,}" for count in row.values()] for row in selected_sizes(sizes)]
    if sizes.states is not None:
        orders = (sizes.merged, sizes.summed, sizes.values)
        table += [[], ["order", str(sizes.states), "", *map(str, orders)]]
    emit(table, heads, right=heads)


def _advice(report: Report) -> list[tuple[str, str]]:
    """What keeps exact methods from a loss, and lines to write instead; none where they apply."""
    if report.loss is None or report.methods:
        return []
    stands = obstacle(report.loss)
    rows = [("in the way", stands)] if stands else []
    for way in islice(rewrites(report.loss, report.methods_n), 1):
        rows.append(("advice", f"{way.what}; {way.methods[0].method} decides for that:"))
        rows += [("", f"  {line}") for line in way.lines]
    return rows


def _methods_text(methods: tuple[Applies, ...]) -> str:
    if not methods:
        return "exhaustive for short sequences; otherwise an unproven search"
    texts = []
    for any_model, under in ((True, "any model"), (False, "independent labels")):
        names = [m.method for m in methods if m.any_model is any_model]
        texts += [f"{', '.join(names)} ({under})"] if names else []
    return f"at n = {methods[0].n}: {'; '.join(texts)}"


def _example_text(result: ExampleResult) -> str:
    example = result.example
    pair = " ".join(x if x and " " not in x else f'"{x}"' for x in (example.z, example.y))
    values = ((name, expr, result.bindings.get(name)) for name, expr in example.bindings)
    bound = ", ".join(
        f"{name} = {f'{value:g}' if isinstance(value, float) else expression_text(expr)}"
        for name, expr, value in values
    )
    text = f"line {example.place.line}: {pair}"
    params = f" with {bound}" if bound else ""
    if result.value is None:
        return f"FAILS {text}{params}, because:"
    if result.holds:
        return f"ok    {text} = {result.value!r}{params}"
    return f"FAILS {text} = {result.value!r}{params}; the file says {result.expected!r}"


def evaluate_pair(
    binding: opt.Binding,
    loss: str = opt.LOSS,
    z: str = argument(
        "Z", 'The hypothesis: 0110, "O B-NP I-NP" or A,B,C (after -- if it begins with -).'
    ),
    y: str = argument("Y", "The reference, of the same length."),
    steps: bool = option("--steps", "Show what the registers hold after each position."),
    as_json: bool = opt.JSON,
) -> None:
    """Print the value of a hypothesis and a reference.

    Further outputs that the loss file names are printed on stderr. With --steps, row 0 is the
    start; entries of a memory stand newest first, a dot stands for none.
    """
    loaded, hypothesis, reference = inputs.sequences(inputs.load_loss(loss, binding), z, y)
    if steps and len(hypothesis) > _TRACED_LABELS:
        must = f"up to {_TRACED_LABELS:,} labels are shown step by step"
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
    if rows is not None:
        _print_steps(loaded, rows)
    line(repr(value) if rows is None else f"\nvalue {value!r}")


def _print_steps(loss: SpecLoss, steps: list[dict[str, Any]]) -> None:
    registers = loss.spec.registers
    numbers = [r.name for r in registers if r.sugar not in ("state", "memory")]
    rows = []
    for step in steps:
        read = ["" if step[tape] is None else str(step[tape]) for tape in ("z", "y")]
        contents = [_contents_text(step["registers"][r.name]) for r in registers]
        rows.append((str(step["i"]), *read, *contents))
    emit(rows, ("i", "z", "y", *(r.name for r in registers)), right=["i", *numbers])


def _contents_text(contents: Any) -> str:
    if isinstance(contents, list):
        return " ".join("." if entry is None else str(entry) for entry in contents)
    return f"{contents:g}" if isinstance(contents, float) else str(contents)
