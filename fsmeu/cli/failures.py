"""How a command ends when something is wrong: one sentence on stderr and an exit code.

Exit codes: 0 well, 1 an example of a loss file does not hold, 2 bad input, 70 a fault in fsmeu
itself, 130 interrupted, 141 the reader of the output went away (as a shell reports it of others).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from fsmeu.errors import (
    Argument,
    FsmeuError,
    InputError,
    Wording,
    message,
    shorten,
    visible,
)

BAD_INPUT = 2
OUR_FAULT = 70
INTERRUPTED = 130
NO_READER = 141

_DEBUG = "--debug"
_NO_ARGUMENTS = "NoArgsIsHelpError"  # typer's, which has shown help
# Options in the place of arguments of Python.
OPTIONS = {
    "baseline": "--baseline",
    "budget": "--budget",
    "compile_summed": "draw --summed",
    "depth": "--depth",
    "engine": "--engine",
    "given": "--given",
    "given_z": "--given-z",
    "gold": "--gold",
    "input_format": "--input-format",
    "jobs": "--jobs",
    "k": "--k",
    "keep": "--keep",
    "label": "--label",
    "labels": "--labels",
    "limit": "--limit",
    "method": "--method",
    "minimize": "--minimize",
    "model": "--model",
    "n": "--n",
    "on_error": "--on-error",
    "pos_label": "--pos-label",
    "resume": "--resume",
    "scheduler": "--jobs",
    "seconds": "--seconds",
    "smooth": "--smooth",
    "systems": "--system",
    "types": "--types",
    "y": "--y",
    "z": "--z",
}
# What is typed behind them, where that is written otherwise than the value in Python.
_TYPED = {
    "labels": "O,B-NP,I-NP",
    "method": "auto",
    "model": "FILE",
    "resume": "",
    "types": "NP,VP",
}


def option_of(argument: Argument) -> str:
    """The option in the place of an argument, and what could follow it where a value is named.

    >>> option_of(Argument("labels")), option_of(Argument("labels", '["A", "B"]'))
    ('--labels', '--labels O,B-NP,I-NP')
    >>> option_of(Argument("k", "2", of_loss=True))
    '--param k=2'
    """
    if argument.of_loss:
        return f"--param {argument.name}={argument.value}"
    if argument.name not in OPTIONS:
        return str(argument)
    value = _TYPED.get(argument.name, argument.value) if argument.value else ""
    return f"{OPTIONS[argument.name]} {value}".rstrip()


def worded(text: object) -> str:
    """An error or a text of the library with options in the place of arguments."""
    if isinstance(text, FsmeuError):
        return text.sentence(option_of)
    return text.reworded(option_of) if isinstance(text, Wording) else str(text)


def refuse(where: str, must: str, given: object = None, remedy: str = "") -> NoReturn:
    """Ends the command with an InputError."""
    raise InputError(where, must, given=given, remedy=remedy)


class Guarded(TyperGroup):
    """A group of commands that ends in a sentence, and in a traceback only with --debug."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Takes --debug from wherever it stands before a bare --."""
        end = args.index("--") if "--" in args else len(args)
        if _DEBUG in args[:end]:
            args = [_DEBUG, *(a for a in args[:end] if a != _DEBUG), *args[end:]]
        return super().parse_args(ctx, args)

    def make_context(self, info_name: Any, args: list[str], *rest: Any, **extra: Any) -> Any:
        """Reads the arguments, which may print help or versions."""
        with _in_words(_DEBUG in args):
            return super().make_context(info_name, args, *rest, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Runs the command."""
        with _in_words(ctx.params.get("debug")):
            return super().invoke(ctx)


@contextmanager
def _in_words(debug: bool) -> Iterator[None]:
    """A context that ends the command with one sentence on stderr when an exception is raised."""
    try:
        if sys.stdout is None:
            raise InputError("standard output", "it must be open")
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _close_output()
        raise typer.Exit(NO_READER) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        if isinstance(error, typer.Exit | typer.Abort) or type(error).__name__ == _NO_ARGUMENTS:
            raise
        if isinstance(error, OSError):
            _close_output()
        if debug and not hasattr(error, "exit_code"):
            raise
        text, code = _explain(error)
        typer.echo(f"fsmeu: {text}", err=True)
        raise typer.Exit(code) from None


def _explain(error: Any) -> tuple[str, int]:
    """The sentence that an exception ends a command with, and the exit code."""
    if isinstance(error, FsmeuError):
        return worded(error), BAD_INPUT
    if hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        program, *words = context.command_path.split() if context is not None else ["fsmeu"]
        if not program.endswith(".py"):  # but for scripts, however it was started
            program = "fsmeu"
        must = visible(" ".join(error.format_message().split()))
        remedy = f"See '{' '.join([program, *words, '--help'])}'"
        return message(" ".join(words) or "command", must, None, remedy), BAD_INPUT
    if isinstance(error, OSError):
        where = "input or output" if error.filename is None else shorten(str(error.filename))
        return message(where, f"it cannot be used ({error.strerror or error})"), BAD_INPUT
    if isinstance(error, MemoryError):
        remedy = "Use less data, a smaller n, or --keep"
        return message("memory", "there is not enough memory for this", None, remedy), BAD_INPUT
    if isinstance(error, ImportError) and not (error.name or "fsmeu").startswith("fsmeu"):
        remedy = "'fsmeu doctor' says what is missing and what to do"
        return message("installation", f"it must be complete ({error})", None, remedy), BAD_INPUT
    what = shorten(f"{type(error).__name__}: {error}")
    return f"a fault in fsmeu itself ({what}). Run again with {_DEBUG} to see where.", OUR_FAULT


def _close_output() -> None:
    """Redirects stdout to the null device, so that flushing it at exit cannot fail."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
