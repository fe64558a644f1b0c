"""The `fsmeu` command: its commands.

A command's module is imported when the command is called, so that help is shown at once.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from shutil import get_terminal_size
from typing import Any

import typer
from typer.core import TyperCommand

from fsmeu.cli.failures import INTERRUPTED, Guarded
from fsmeu.cli.options import flat, option, unwrapped

_LEAST_FOR_PANELS = 72  # columns of a terminal in which panels show every word
_HELP: dict[str, Any] = {"context_settings": {"help_option_names": ["-h", "--help"]}}

# Each command: its panel in the help, its function, and its line in the list of commands.
_LOSSES, _QUERIES, _LEARNING = "Losses", "Expectations and decisions", "Learning"
COMMANDS = {
    "losses": (_LOSSES, "losses:losses", "List the built-in losses, or show one."),
    "check": (_LOSSES, "losses:check", "Check a loss file and say what follows from it."),
    "evaluate": (_LOSSES, "losses:evaluate_pair", "The value of a pair of label sequences."),
    "draw": (_LOSSES, "draw:draw_thing", "Draw or write the automaton of a loss or model."),
    "gallery": (_LOSSES, "draw:write_gallery", "Write a page that shows losses."),
    "expect": (_QUERIES, "queries:expect_value", "The expected value of a hypothesis."),
    "decode": (_QUERIES, "queries:decode_labels", "The labels with the best expected value."),
    "consensus": (
        _QUERIES,
        "consensus:decide_consensus",
        "The best answer against samples of it.",
    ),
    "score": (_QUERIES, "score:score_corpus", "Score decisions against references."),
    "train": (_LEARNING, "train:train", "Train a classifier or tagger."),
    "predict": (_LEARNING, "predict:predict", "Apply a trained model to a file."),
    "demo": ("Start here", "start:demo", "A short tour on built-in data."),
    "doctor": ("Start here", "start:doctor", "What is installed, what is missing."),
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


class _Command(_Flags, TyperCommand):
    """A command as it is called."""


class _Lazy(TyperCommand):
    """A command of the list; the module that defines it is imported when it is called."""

    def make_context(self, info_name: Any, args: list[str], *rest: Any, **extra: Any) -> Any:
        module, function = COMMANDS[str(self.name)][1].split(":")
        target = getattr(import_module(f"fsmeu.cli.{module}"), function)
        single = typer.Typer(add_completion=False, rich_markup_mode="rich", **_HELP)
        single.command(self.name, cls=_Command, help=unwrapped(target))(flat(target))
        return typer.main.get_command(single).make_context(info_name, args, *rest, **extra)


class _Commands(_Flags, Guarded):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, (panel, _, text) in COMMANDS.items():
            self.add_command(_Lazy(name, help=text, short_help=text, rich_help_panel=panel))


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
