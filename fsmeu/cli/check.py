"""`fsmeu check`: reads a loss file, runs its examples, says what follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fsmeu.cli.options import Json, LabelList, ParamList, TypeList

if TYPE_CHECKING:
    from fsmeu.losses.examples import ExampleResult
    from fsmeu.losses.loss import SpecLoss

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


def check_loss(
    file: _File,
    param: ParamList = None,
    labels: LabelList = None,
    types: TypeList = None,
    as_json: Json = False,
) -> None:
    """Reads a loss file, runs its examples, says what follows.

    The exit code is 1 when an example does not hold. Parameters and labels given here are for
    examples that do not say them. A register kept in the weight is no state of the machine: its
    expectation rides along; with the hypothesis given, one that reads z alone is a constant.
    """
    from fsmeu.cli.header import header_data
    from fsmeu.cli.inputs import choose_labels, choose_params, read_loss_file
    from fsmeu.cli.output import print_json
    from fsmeu.cli.registers import register_data
    from fsmeu.losses.examples import run_examples
    from fsmeu.losses.loss import SpecLoss

    spec = read_loss_file(file)
    loss = SpecLoss(spec)
    chosen = choose_labels(labels, types)
    results = run_examples(spec, params=choose_params(param), labels=chosen)
    holds = all(result.holds for result in results)
    if as_json:
        examples = [_example_data(result) for result in results]
        derived = {"registers": register_data(loss), "examples": examples, "holds": holds}
        print_json({**header_data(spec), **derived})
    else:
        _print_report(loss, results)
    if not holds:
        raise typer.Exit(EXAMPLE_FAILS)


def _print_report(loss: SpecLoss, results: list[ExampleResult]) -> None:
    from fsmeu.cli.header import labels_text, signature
    from fsmeu.cli.output import line
    from fsmeu.cli.registers import print_registers

    line(signature(loss.spec), style="bold", wrap=True)
    line(f"labels: {labels_text(loss.spec)}")
    line()
    print_registers(loss)
    line()
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
