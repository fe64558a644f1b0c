"""`fsmeu check`: reads a loss file, runs its examples, measures it, says what follows from it."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import typer

from fsmeu.checking.exact_methods import Applies, exact_methods, methods_at_the_end
from fsmeu.checking.examples import ExampleResult
from fsmeu.checking.facts import facts, measured_with, report_data, selected_sizes
from fsmeu.checking.growth import Growth
from fsmeu.checking.report import Report, register_facts, report
from fsmeu.cli import options as opt
from fsmeu.cli.failures import refuse
from fsmeu.cli.inputs import (
    check_labels_known,
    choose_labels,
    choose_params,
    load_loss,
    read_loss_file,
)
from fsmeu.cli.losses import labels_text
from fsmeu.cli.output import emit, line, print_json
from fsmeu.expectation.result import level_sets
from fsmeu.losses.describe import signature
from fsmeu.losses.loss import SpecLoss

EXAMPLE_FAILS = 1
_LONGEST = 200
_SIZES_AT = 8


def check(
    binding: opt.Binding,
    loss: str = opt.LOSS,
    n: int | None = opt.option(
        "--n -n N",
        f"The greatest length to measure, up to {_LONGEST}.",
        unset="16, less where machines get large",
        min=0,
    ),
    sizes: bool = opt.option(
        "--sizes",
        f"Only registers, and sizes of the machine at n/4, n/2 and n = N (or {_SIZES_AT}).",
    ),
    as_json: bool = opt.JSON,
) -> None:
    """Read a loss file, run its examples, measure its machine, and say what follows from it.

    The exit code is 1 when an example does not hold, when a pair of sequences has no value, or
    when labels or parameters do not fit.
    Parameters and labels given here are for the measurement, and for examples where the file
    leaves them open. A register kept in the weight is no state of the machine: its expectation
    is computed along with it; with the hypothesis given, one that reads z alone is a constant.
    Machines that get large are not measured.
    """
    if sizes:
        _show_sizes(load_loss(loss, binding), _SIZES_AT if n is None else n, as_json)
        return
    if n is not None and not 1 <= n <= _LONGEST:
        must = f"lengths of 1 to {_LONGEST} are measured"
        refuse("--n", must, n, "--sizes measures any one length")
    spec = read_loss_file(loss)
    chosen = choose_labels(binding, spec.scheme)
    found = report(spec, params=choose_params(binding.param), labels=chosen, longest=n)
    measured = found.loss if found.properties is not None else None
    with np.errstate(over="ignore", invalid="ignore"):  # said of the values above
        methods = exact_methods(measured) if measured is not None else ()
    if as_json:
        print_json(report_data(found, methods))
    else:
        _print_report(found, methods)
    if not found.holds:
        raise typer.Exit(EXAMPLE_FAILS)


def _show_sizes(loss: SpecLoss, n: int, as_json: bool) -> None:
    check_labels_known(loss)
    # The largest first: what is too large is said at once.
    sizes = [_size(loss, length) for length in sorted({n // 4, n // 2, n}, reverse=True)][::-1]
    if as_json:
        head = {"name": loss.name, "kind": loss.kind, "labels": list(loss.labels)}
        registers = [asdict(one) for one in register_facts(loss)]
        print_json({**head, **sizes[-1], "growth": sizes, "registers": registers})
        return
    _print_head(loss, f"{' '.join(map(str, loss.labels))}")
    heads = ("n", "states", "arcs", "final states", "distinct values")
    emit([[f"{count:,}" for count in size.values()] for size in sizes], heads, right=heads)


def _size(loss: SpecLoss, n: int) -> dict[str, int]:
    """States, arcs, final states and distinct values of the machine for length n."""
    machine = loss.compile(n)
    ends = machine.values[~np.isnan(machine.values)]
    values = len(level_sets(ends, np.ones_like(ends)).values)
    sizes = {"n": n, "states": machine.states, "arcs": machine.arcs}
    return {**sizes, "final": len(ends), "values": values}


def _print_head(loss: SpecLoss, labels: str) -> None:
    """Prints the signature of a loss, its labels and its registers."""
    line(signature(loss.spec), style="bold", wrap=True)
    line(f"labels: {labels}")
    line()
    rows = [
        (one.name, one.kind, " ".join(one.tapes) or "nothing", one.free, one.given)
        for one in register_facts(loss)
    ]
    if rows:
        emit(rows, ("register", "kind", "reads", "kept in, z free", "kept in, z given"))
    else:
        line("There are no registers.")
    line()


def _print_report(found: Report, methods: tuple[Applies, ...]) -> None:
    _print_head(SpecLoss(found.spec), labels_text(found.spec))
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
    line(f"Derived with {measured_with(found)}:", wrap=True)
    rows = facts(found)
    if found.properties is not None:
        rows.append(("exact decisions", _methods_text(methods)))
        rows += _advice(found, methods)
    emit([(f"  {heading}", text) for heading, text in rows])


def _advice(found: Report, methods: tuple[Applies, ...]) -> list[tuple[str, str]]:
    """How the file could be written so that there are exact decisions, if that is known."""
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
    heads = ("n", "states", "arcs", "merged states", "summed states", "level sets")
    names = ("n", "states", "arcs", "merged", "summed", "values")
    rows = [[f"{row[name]:,}" for name in names] for row in selected_sizes(sizes)]
    if sizes.states is not None:
        orders = (sizes.merged, sizes.summed, sizes.values)
        rows += [[], ["order", str(sizes.states), "", *map(str, orders)]]
    emit(rows, heads, right=heads)


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
