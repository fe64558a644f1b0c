"""The arguments and options that several commands share, with their help.

An option has one name and one meaning wherever it stands.
"""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer


def unwrapped(function: Any) -> str:
    """The docstring of a function, each paragraph on one line, as help is written."""
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def argument(metavar: str, text: str) -> Any:
    """A positional argument with its help; its default is not shown."""
    return typer.Argument(metavar=metavar, help=text, show_default=False)


def option(written: str, text: str, shown: str | bool = False, **more: Any) -> Any:
    """An option with its help, for ``Annotated``.

    Args:
        written: its names and what follows them, as in "--param -p NAME=VALUE".
        text: its help.
        shown: what stands for nothing, in words; True shows the default itself.
        **more: what ``typer.Option`` takes.
    """
    names = [word for word in written.split() if word.startswith("-")]
    metavar = " ".join(word for word in written.split() if word not in names)
    first = [more.pop("value")] if "value" in more else []
    return typer.Option(*first, *names, metavar=metavar, help=text, show_default=shown, **more)


def typed(
    written: str, text: str, shown: str | bool = False, value: Any = None, **more: Any
) -> Any:
    """The same as the default of a parameter; its value is None, or False where nothing follows."""
    if value is None and all(word.startswith("-") for word in written.split()):
        value = False
    return option(written, text, shown, value=value, **more)


_CORPUS = {"rich_help_panel": "Corpus"}
_EXAMPLES = {"rich_help_panel": "Files of examples"}
_ALLOWED = (
    'bio, iob1, iobes; a regular expression over labels, as in "0* 1? 0*"; or a file with an '
    "expression or an OpenFst acceptor."
)

Loss = Annotated[
    str, argument("LOSS", "A built-in loss, the path of a loss file, or - for standard input.")
]
Z = Annotated[
    str,
    argument(
        "Z", 'The hypothesis, as 0110, "O B-NP I-NP" or A,B,C (after -- when it begins with -).'
    ),
]
Y = Annotated[str, argument("Y", "The reference, of the same length.")]
Params = Annotated[
    list[str] | None,
    option(
        "--param -p NAME=VALUE",
        "A parameter of the loss: a number, or a table such as [[0, 1], [2, 0]]. Repeatable.",
    ),
]
Labels = Annotated[
    str | None,
    option(
        "--labels A,B,...", "The labels, where the loss leaves them open; or new names for its own."
    ),
]
Types = Annotated[
    str | None, option("--types NP,VP,...", "Chunk types: the labels are then O, B-NP, I-NP, ...")
]
Probs = Annotated[
    str | None,
    option(
        "--probs P1,P2,...",
        "The model: independent labels 0 and 1, the probability of 1 at each position.",
    ),
]
Model = Annotated[
    str | None, option("--model -m FILE", "The model: a JSON file; - for standard input.")
]
Given = Annotated[
    str | None,
    option("--given WHAT", f"Condition the model on the sequences that are allowed: {_ALLOWED}"),
]
Constraint = Annotated[
    str | None,
    option(
        "--constraint WHAT",
        f"Decide among sequences that are allowed; the model stays as it is: {_ALLOWED}",
    ),
]
Engine = Annotated[
    str,
    option(
        "--engine NAME", "lattice walks the composition layer by layer, openfst builds it.", True
    ),
]
Beam = Annotated[
    int | None, option("--beam L", "Follow only the L most probable states of each layer.", min=1)
]
Minimize = Annotated[
    bool, option("--minimize", "Merge states that no continuation can tell apart.")
]
Summed = Annotated[
    bool,
    option(
        "--summed",
        "Linear counts in weights: fewer states, several paths per pair, whose weights add up to "
        "the value.",
    ),
]
Json = Annotated[bool, option("--json", "Print one JSON document instead.")]
Seed = Annotated[int, option("--seed N", "Random seed.", True, min=0)]
Test = Annotated[str | None, option("--test FILE", "Measure the model on this file.")]

Corpus = Annotated[
    str | None,
    option(
        "--corpus FILE",
        "Many models: JSON lines, or sentences in columns with LABEL:PROB or LABEL/PROB cells at "
        "the end; compressed by gzip or not; - for standard input.",
        **_CORPUS,
    ),
]
CorpusFormat = Annotated[
    str | None, option("--format NAME", "jsonl or conll.", "by the ending", **_CORPUS)
]
Column = Annotated[
    int | None,
    option("--column K", "In columns: that of the hypothesis, from 1.", min=1, **_CORPUS),
]
CorpusOutput = Annotated[
    str | None,
    option(
        "--output -o FILE",
        "The file that results are written to, as JSON lines.",
        "standard output",
        **_CORPUS,
    ),
]
Jobs = Annotated[int | None, option("--jobs -j N", "Number of processes.", "1", min=1, **_CORPUS)]
Scheduler = Annotated[
    str | None,
    option(
        "--scheduler ADDRESS",
        "The Dask scheduler whose workers compute, as in tcp://host:8786.",
        **_CORPUS,
    ),
]
Resume = Annotated[
    bool, option("--resume", "Go on after the last complete result in --output.", **_CORPUS)
]
OnError = Annotated[
    str | None,
    option(
        "--on-error stop|skip",
        "Stop at a record that cannot be answered, or skip it and say so.",
        "stop",
        **_CORPUS,
    ),
]

LabelColumn = Annotated[
    str | None,
    option(
        "--label COLUMN",
        "csv: the column of the label, by name or counted from 1; A,B,C for several labels.",
        "the last column",
        **_EXAMPLES,
    ),
]
FileFormat = Annotated[
    str | None, option("--format NAME", "svmlight, csv or npz.", "by the ending", **_EXAMPLES)
]
ZeroBased = Annotated[
    bool, option("--zero-based", "svmlight: features are counted from 0, not from 1.", **_EXAMPLES)
]
DecisionPlot = Annotated[
    str | None,
    option(
        "--plot FILE",
        "Plot the value against the threshold on the scores, with the decision marked: a .png, "
        ".pdf or .svg file. Labels must be known.",
    ),
]
