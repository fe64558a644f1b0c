"""The `fsmeu` command: its commands.

A command's module is imported when the command is called, so that help is shown at once.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from shutil import get_terminal_size
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand

from fsmeu.cli.failures import INTERRUPTED, Guarded
from fsmeu.cli.options import flat, option, unwrapped

_LEAST_FOR_PANELS = 72  # columns of a terminal in which panels show every word
_HELP: dict[str, Any] = {"context_settings": {"help_option_names": ["-h", "--help"]}}


class CommandLine(NamedTuple):
    """A command of the list.

    Attributes:
        panel: the heading in the help under which it stands.
        function: module and name of the function that runs it, with a colon between them.
        summary: its line in the list of commands.
        examples: lines for a shell, with which its help ends; they run in an empty folder.
    """

    panel: str
    function: str
    summary: str
    examples: tuple[str, ...]


_START = "Start here"
_LOSSES = "Losses"
_QUERIES = "Expectations and decisions"
_LEARNING = "Learning"
_TABLE = r"printf 'x,class\n1,0\n2,0\n3,1\n4,0\n5,1\n6,1\n' > table.csv"
COMMANDS = {
    "demo": CommandLine(
        _START, "start:demo", "A short tour on built-in data.", ("fsmeu demo -o automaton.svg",)
    ),
    "doctor": CommandLine(
        _START, "start:doctor", "What is installed, what is missing.", ("fsmeu doctor",)
    ),
    "losses": CommandLine(
        _LOSSES,
        "losses:losses",
        "List the built-in losses, or show one.",
        ("fsmeu losses pk > my.loss",),
    ),
    "check": CommandLine(
        _LOSSES,
        "losses:check",
        "Check a loss file and say what follows from it.",
        ("fsmeu check pk -p k=2",),
    ),
    "evaluate": CommandLine(
        _LOSSES,
        "losses:evaluate_pair",
        "The value of a pair of label sequences.",
        ("fsmeu evaluate fscore 0110 0100 --steps",),
    ),
    "draw": CommandLine(
        _LOSSES,
        "draw:draw_thing",
        "Draw or write the automaton of a loss or model.",
        ("fsmeu draw fscore --n 3 -o f1.svg", "fsmeu draw pk -p k=2 --n 4 -o pk.html"),
    ),
    "expect": CommandLine(
        _QUERIES,
        "queries:expect_value",
        "The expected value of a hypothesis.",
        ("fsmeu expect fscore 110 --probs 0.9,0.5,0.3 --levels",),
    ),
    "decode": CommandLine(
        _QUERIES,
        "queries:decode_labels",
        "The labels with the best expected value.",
        ("fsmeu decode fscore -p beta=2 --probs 0.4,0.35,0.3,0.1 --explain",),
    ),
    "consensus": CommandLine(
        _QUERIES,
        "consensus:decide_consensus",
        "The best answer against samples of it.",
        ("""echo '{"sequences": ["0110", "0100"]}' | fsmeu consensus fscore -""",),
    ),
    "score": CommandLine(
        _QUERIES,
        "score:score_corpus",
        "Score decisions against references.",
        (
            """echo '{"probs": [0.4, 0.3, 0.1], "y": "100"}' > models.jsonl""",
            "fsmeu score fscore accuracy models.jsonl",
        ),
    ),
    "train": CommandLine(
        _LEARNING,
        "train:train",
        "Train a classifier or tagger.",
        (_TABLE, "fsmeu train fscore table.csv -p beta=2 -o model.skops"),
    ),
    "predict": CommandLine(
        _LEARNING,
        "predict:predict",
        "Apply a trained model to a file.",
        (
            _TABLE,
            "fsmeu train table.csv -o model.skops",
            "fsmeu predict model.skops table.csv --probabilities",
        ),
    ),
}


class _Flags:
    """A command whose help shows no word behind flags such as --help, which take none.

    On narrow terminals it is plain text: the columns of panels would cut words.
    """

    rich_markup_mode: Any

    def format_help(self, ctx: Any, formatter: Any) -> None:
        if get_terminal_size().columns < _LEAST_FOR_PANELS:
            self.rich_markup_mode = None
        super().format_help(ctx, formatter)  # type: ignore[misc]

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False) and param.metavar is None:
                param.metavar = ""
        return params


def _ending(examples: tuple[str, ...]) -> str:
    """The end of a command's help: a heading, and each line of the example in a paragraph."""
    return "\n\n".join(["Example:", *(f"$ {line}" for line in examples)])


class _Command(_Flags, TyperCommand):
    """A command as it is called."""


class _Lazy(TyperCommand):
    """A command of the list; the module that defines it is imported when it is called."""

    def make_context(self, info_name: Any, args: list[str], *rest: Any, **extra: Any) -> Any:
        command = COMMANDS[str(self.name)]
        module, function = command.function.split(":")
        target = getattr(import_module(f"fsmeu.cli.{module}"), function)
        single = typer.Typer(add_completion=False, rich_markup_mode="rich", **_HELP)
        ending = _ending(command.examples)
        register = single.command(self.name, cls=_Command, help=unwrapped(target), epilog=ending)
        register(flat(target))
        return typer.main.get_command(single).make_context(info_name, args, *rest, **extra)


class _Commands(_Flags, Guarded):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, command in COMMANDS.items():
            summary = command.summary
            panel = command.panel
            self.add_command(_Lazy(name, help=summary, short_help=summary, rich_help_panel=panel))


app = typer.Typer(
    cls=_Commands,
    epilog="Exit codes: 0 done, 1 an example of a loss file does not hold, 2 bad input.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    **_HELP,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from fsmeu.cli.start import version_text

        typer.echo(version_text())
        raise typer.Exit


@app.callback()
def options(
    version: bool = option("--version", "Show versions.", callback=_show_version, is_eager=True),
    debug: bool = option("--debug", "Show where an error comes from; may stand anywhere."),
) -> None:
    """Finite-state maximum expected utility: losses over label sequences as automata."""


def main() -> None:
    """Runs the command line."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        app(prog_name="fsmeu")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
