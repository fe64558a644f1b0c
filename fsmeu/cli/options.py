"""The arguments and options that several commands share, with their help."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "ClassifierParams",
    "DecisionPlot",
    "EngineName",
    "FileFormat",
    "Hypothesis",
    "Json",
    "Keep",
    "LabelColumn",
    "LabelList",
    "Length",
    "LossName",
    "ModelFile",
    "ParamList",
    "Probabilities",
    "Reference",
    "Summed",
    "TypeList",
    "ZeroBased",
]

_SEQUENCE = 'written 0110, "O B-NP I-NP" or A,B,C (after -- when it begins with -)'

LossName = Annotated[
    str,
    typer.Argument(
        metavar="LOSS",
        help="A name on the shelf, the path of a loss file, or - for standard input.",
        show_default=False,
    ),
]
Hypothesis = Annotated[
    str,
    typer.Argument(metavar="Z", help=f"The hypothesis, {_SEQUENCE}.", show_default=False),
]
Reference = Annotated[
    str,
    typer.Argument(metavar="Y", help="The reference, of the same length.", show_default=False),
]
Length = Annotated[
    int,
    typer.Option("--n", "-n", metavar="N", min=0, help="The length of the sequences."),
]
ParamList = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        "-p",
        metavar="NAME=VALUE",
        help="A parameter of the loss: a number, or a table such as [[0, 1], [2, 0]]. Repeatable.",
        show_default=False,
    ),
]
LabelList = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="A,B,...",
        help="The labels, where the loss leaves them open; or new names for its own.",
        show_default=False,
    ),
]
TypeList = Annotated[
    str | None,
    typer.Option(
        "--types",
        metavar="NP,VP,...",
        help="Chunk types: the labels are then O, B-NP, I-NP, ...",
        show_default=False,
    ),
]
Probabilities = Annotated[
    str | None,
    typer.Option(
        "--probs",
        metavar="P1,P2,...",
        help="The model: independent labels 0 and 1, the probability of 1 at each position.",
        show_default=False,
    ),
]
ModelFile = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="FILE",
        help="The model: a JSON file, or - for standard input.",
        show_default=False,
    ),
]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="lattice walks the composition layer by layer, openfst builds it.",
    ),
]
Keep = Annotated[
    int | None,
    typer.Option(
        "--keep",
        metavar="L",
        min=1,
        help="Follow only the L most probable states of each layer, and give bounds.",
        show_default=False,
    ),
]
Summed = Annotated[
    bool,
    typer.Option(
        "--summed",
        help="Counts in which the value is linear ride in the weight: fewer states, several paths "
        "per pair, whose weights add up.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]
ClassifierParams = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        "-p",
        metavar="NAME=VALUE",
        help="A parameter of the classifier, such as loss=jaccard; of its loss, as in "
        "loss__beta=2; of its estimator, as in estimator__C=0.1. Repeatable.",
        show_default=False,
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        help="csv: the column of the label, by name or counted from 1; A,B,C for several labels.",
        show_default="the last column",
    ),
]
FileFormat = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="NAME", help="svmlight, csv or npz.", show_default="by the ending"
    ),
]
ZeroBased = Annotated[
    bool, typer.Option("--zero-based", help="svmlight: features are counted from 0, not from 1.")
]
DecisionPlot = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help="Plot the value against the threshold on the scores, with the decision marked: a file "
        "that ends in .png, .pdf or .svg. Labels must be known.",
        show_default=False,
    ),
]
