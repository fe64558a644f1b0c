"""`fsmeu searn predict` and `fsmeu searn eval`: tags of a file, and how good tags of a file are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from fsmeu.cli.options import Json

__all__ = ["evaluate_tags", "predict_tags"]

_Model = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="A file of 'fsmeu searn train'.", show_default=False),
]
_File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="Sentences in CoNLL format, with tags in the last column or without; - for "
        "standard input.",
        show_default=False,
    ),
]
_Tagged = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="Sentences whose last two columns are the given and the predicted tag.",
        show_default=False,
    ),
]
_Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="Where the tagged sentences go.",
        show_default="standard output",
    ),
]
_Beam = Annotated[
    int | None,
    typer.Option(
        "--beam", min=1, help="Partial outputs that are held.", show_default="as in training"
    ),
]


def predict_tags(
    model: _Model, file: _File, output: _Output = "-", beam: _Beam = None, as_json: Json = False
) -> None:
    """Prints the sentences with a column of predicted tags, as 'fsmeu searn eval' reads them.

    Where the tags are given, how good the predicted ones are is told on stderr.
    """
    from fsmeu.cli.output import note, print_json, write_output
    from fsmeu.searn.tasks.conll import inputs_and_tags, read_sentences, written
    from fsmeu.searn.tasks.measures import counts_of

    made = _loaded(model)
    if beam is not None:
        made.searn_.set_params(beam=beam)
    sentences = read_sentences(file, least=made.width_)
    inputs, given = sentences, None
    if len(sentences[0][0]) == made.width_ + 1:
        inputs, given = inputs_and_tags(sentences)
    tags = made.predict(inputs)
    scores = None if given is None else counts_of(tags, given).scores()
    measures = None if scores is None else {name: float(v) for name, v in scores.items()}
    if as_json:
        print_json({"tags": tags, "measures": measures})
        return
    write_output(output, written(sentences, tags))
    if measures is not None:
        note(", ".join(f"{name} {value:.4f}" for name, value in measures.items()))


def evaluate_tags(file: _Tagged, as_json: Json = False) -> None:
    """Measures predicted tags as conlleval does, with bootstrap intervals over sentences."""
    from fsmeu.cli.output import print_json, print_table, table
    from fsmeu.searn.tagger import are_chunk_tags
    from fsmeu.searn.tasks.conll import read_sentences
    from fsmeu.searn.tasks.measures import counts_of, interval

    sentences = read_sentences(file, least=2)
    given = [[row[-2] for row in one] for one in sentences]
    found = [[row[-1] for row in one] for one in sentences]
    counts = counts_of(found, given)
    chunked = are_chunk_tags([*given, *found])
    names = ["precision", "recall", "F1", "accuracy", "sequences"][0 if chunked else 3 :]
    measured = {name: interval([counts], name) for name in names}
    kinds = _by_kind(found, given) if chunked else {}
    if as_json:
        data: dict[str, Any] = {
            name: {"value": one.value, "low": one.low, "high": one.high}
            for name, one in measured.items()
        }
        print_json({"sentences": len(sentences), "measures": data, "types": kinds})
        return
    made = table("measure", "value", "95% from", "to", right=("value", "95% from", "to"))
    for name, one in measured.items():
        made.add_row(name, f"{one.value:.4f}", f"{one.low:.4f}", f"{one.high:.4f}")
    print_table(made)
    if kinds:
        headers = ("precision", "recall", "F1", "given", "predicted")
        shown = table("type", *headers, right=headers)
        for kind, row in kinds.items():
            parts = [f"{row[name]:.4f}" for name in headers[:3]]
            shown.add_row(kind, *parts, f"{row['given']:,}", f"{row['predicted']:,}")
        print_table(shown)


def _by_kind(
    found: Sequence[Sequence[str]], given: Sequence[Sequence[str]]
) -> dict[str, dict[str, Any]]:
    """Precision, recall, F1 and numbers of chunks of each type."""
    from collections import Counter

    from fsmeu.searn.tasks.measures import chunks

    mine, theirs, both = Counter[str](), Counter[str](), Counter[str]()
    for z, y in zip(found, given, strict=True):
        a, b = chunks(z), chunks(y)
        mine.update(kind for _, _, kind in a)
        theirs.update(kind for _, _, kind in b)
        both.update(kind for _, _, kind in a & b)
    return {
        kind: {
            "precision": both[kind] / mine[kind] if mine[kind] else 0.0,
            "recall": both[kind] / theirs[kind] if theirs[kind] else 0.0,
            "F1": 2 * both[kind] / (mine[kind] + theirs[kind]),
            "given": theirs[kind],
            "predicted": mine[kind],
        }
        for kind in sorted(mine | theirs)
    }


def _loaded(name: str) -> Any:
    """The trained tagger of a file.

    Raises:
        InputError: the file holds something else.
    """
    from fsmeu.errors import InputError, sentence
    from fsmeu.learning.saving import load
    from fsmeu.searn.tagger import ColumnTagger

    made = load(name)
    if not isinstance(made, ColumnTagger) or not hasattr(made, "searn_"):
        must = "the model must be a tagger of 'fsmeu searn train'"
        raise InputError(sentence(name, must, type(made).__name__))
    return made
