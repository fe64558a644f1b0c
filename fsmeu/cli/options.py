"""The arguments and options that several commands share, with their help.

An option has one name and one meaning wherever it stands. Options that go together are the fields
of a dataclass; a command that takes one as a parameter has all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, get_type_hints

import typer

from fsmeu.cli.completion import Completer, engine_names, loss_names, one_word_of
from fsmeu.endings import CORPORA, TRAINING


class LazyModule(ModuleType):
    """A module that is imported when one of its names is first used: help does not wait for it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


def unwrapped(function: Any) -> str:
    """The docstring of a function, each paragraph on one line, as help is written."""
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def flat(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer reads it: fields of its dataclasses are parameters, in their panel."""
    hints = get_type_hints(command)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(annotation=hints[name]))
            continue
        kinds = get_type_hints(groups[name])
        panel = getattr(groups[name], "panel", None)
        for field in fields(groups[name]):
            default: Any = copy(field.default)
            default.rich_help_panel = panel
            kind = kinds[field.name]
            parameters.append(parameter.replace(name=field.name, annotation=kind, default=default))

    def run(**values: Any) -> None:
        for name, kind in groups.items():
            values[name] = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
        command(**values)

    parameters = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def argument(metavar: str, text: str, value: Any = ..., complete: Completer | None = None) -> Any:
    """A positional argument with its help and what completes it; its default is not shown."""
    more: dict[str, Any] = {"show_default": False, "autocompletion": complete}
    return typer.Argument(value, metavar=metavar, help=text, **more)


def option(written: str, text: str, value: Any = None, unset: str = "", **more: Any) -> Any:
    """An option, written "--param -p NAME=VALUE", with its help; more is what typer takes.

    Its default is shown, and in the place of None what is ``unset``, in words; that of an option
    that nothing follows is False.
    """
    names = [word for word in written.split() if word.startswith("-")]
    more["metavar"] = " ".join(word for word in written.split() if word not in names)
    more["show_default"] = unset or value not in (None, ...)
    value = False if value is None and not more["metavar"] else value
    return typer.Option(value, *names, help=text, **more)


_ALLOWED = (
    "bio, iob1, iobes; min_gap=K or min_duration=K, of ones; a regular expression over labels, as "
    'in "0* 1? 0*"; or a file with an expression or an OpenFst acceptor.'
)
_SCHEMES = one_word_of("bio", "iob1", "iobes", "min_gap=", "min_duration=")
LOSS = argument(
    "LOSS",
    "A built-in loss, the path of a loss file, or - for standard input.",
    complete=loss_names,
)
GIVEN = option(
    "--given WHAT",
    f"Condition the model on the sequences that are allowed: {_ALLOWED}",
    autocompletion=_SCHEMES,
)
CONSTRAINT = option(
    "--constraint WHAT",
    f"Decide among these sequences; the model stays as it is: {_ALLOWED}",
    autocompletion=_SCHEMES,
)
LABELS = option(
    "--labels A,B,...", "The labels, where the loss leaves them open; or new names for its own."
)
ENGINE = option(
    "--engine NAME",
    "auto walks the composition layer by layer, openfst builds it.",
    "auto",
    autocompletion=engine_names,
)
KEEP = option("--keep L", "Follow only the L most probable states of each layer.", min=1)
JSON = option("--json", "Print one JSON document instead.")
PARAM = option(
    "--param -p NAME=VALUE",
    "A parameter of the loss: a number, a label, or a table such as [[0, 1], [2, 0]] or"
    ' {"A": 1, "B": 2}. Repeatable.',
)
SEED = option("--seed N", "Random seed.", 0, min=0)


@dataclass(frozen=True)
class Binding:
    """The parameters and labels of a loss."""

    param: list[str] | None = PARAM
    labels: str | None = LABELS
    types: str | None = option(
        "--types NP,VP,...", "Chunk types: labels are then O, B-NP, I-NP, ..."
    )


@dataclass(frozen=True)
class ModelSource:
    """The source of one label model."""

    probs: str | None = option(
        "--probs P1,P2,...",
        "The model: independent labels 0 and 1, probabilities of 1 by position.",
    )
    model: str | None = option(
        "--model -m FILE", "The model: a JSON file, probabilities in an npy file, or - for stdin."
    )


@dataclass(frozen=True)
class CorpusRun:
    """How a corpus is read, and by how many processes."""

    panel = "Corpus"
    input_format: str | None = option(
        "--input-format NAME",
        "What the corpus is: jsonl or conll.",
        unset="by the ending",
        autocompletion=one_word_of(*CORPORA),
    )
    jobs: str | None = option(
        "--jobs -j N",
        "Number of processes; or the address of a Dask scheduler whose workers compute, as in "
        "tcp://host:8786.",
        unset="1",
    )
    on_error: str | None = option(
        "--on-error stop|skip",
        "Stop at a bad record, or skip it and say so.",
        unset="stop",
        autocompletion=one_word_of("stop", "skip"),
    )


@dataclass(frozen=True)
class CorpusAnswers(CorpusRun):
    """A corpus whose records are answered one by one."""

    corpus: str | None = option(
        "--corpus FILE",
        "JSON lines, or sentences in columns with LABEL:PROB or LABEL/PROB cells at the end; "
        "compressed by gzip or not; - for standard input.",
    )
    output: str | None = option(
        "--output -o FILE", "A file for the results, as JSON lines.", unset="standard output"
    )
    resume: bool = option("--resume", "Go on after the last complete result in --output.")


@dataclass(frozen=True)
class ExampleFormat:
    """How a file of examples is read."""

    panel = "Files of examples"
    label: str | None = option(
        "--label COLUMN",
        "csv: the column of the label, by name or counted from 1; A,B,C for several labels.",
        unset="the last column",
    )
    input_format: str | None = option(
        "--input-format NAME",
        "What the file is: svmlight, whose features count from 1, svmlight0, from 0, csv or npz; "
        "conll for sentences.",
        unset="by the ending",
        autocompletion=one_word_of(*TRAINING),
    )
