"""`fsmeu predict`: the classes of examples or the tags of sentences, by a trained model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from fsmeu.cli import options as opt
from fsmeu.cli.failures import refuse
from fsmeu.cli.models import checked_decision_plot, classifiers, estimating, plot_decision
from fsmeu.cli.output import emit, fourths, note, print_json, write_output
from fsmeu.corpora.columns import inputs_and_tags, read_sentences, written
from fsmeu.corpora.score import tag_scores
from fsmeu.errors import InputError, message
from fsmeu.learning.examples import read_examples
from fsmeu.learning.given_loss import measures, plain
from fsmeu.learning.saving import load
from fsmeu.searn.searn import ColumnTagger


def predict(
    reading: opt.ExampleFormat,
    model: str = opt.argument("MODEL", "A file of 'fsmeu train'."),
    file: str = opt.argument(
        "FILE",
        "An svmlight, csv or npz file of examples, with labels or (csv, npz) without; for a "
        "tagger, sentences in columns with or without tags, - for standard input.",
    ),
    output: str = opt.option(
        "--output -o OUT",
        "Where predictions go; the measures are then a table.",
        "-",
        "standard output",
    ),
    probabilities: bool = opt.option(
        "--probabilities", "The probability of the positive class as well."
    ),
    beam: int | None = opt.option(
        "--beam L", "Tagger: partial outputs that are held.", unset="as in training", min=1
    ),
    plot: str | None = opt.option(
        "--plot FILE",
        "Plot the value against the threshold on the scores, with the decision marked: a .png, "
        ".pdf or .svg file. Labels must be known.",
    ),
    as_json: bool = opt.JSON,
) -> None:
    """Print the class of each example on a line, or the sentences with a column of predicted tags.

    Several labels of an example, and its probabilities, stand on its line with tabs between them.
    Where labels or tags are given, how good the predicted ones are is told on stderr.
    """
    made = load(model)
    if isinstance(made, ColumnTagger) and hasattr(made, "searn_"):
        _predict_tags(made, file, output, beam, as_json)
        return
    _check_classifier(made, model)
    if beam is not None:
        refuse("--beam", "it is for a tagger", type(made).__name__)
    data = read_examples(file, **vars(reading), features=int(made.n_features_in_))
    picture = checked_decision_plot(plot, data.labels)
    with estimating(f"predict {file}", "deciding"):
        classes = made.predict(data.rows)
    chances = _chances(made, data.rows) if probabilities else None
    found = None if data.labels is None else measures(made, data.labels, classes)
    if picture is not None:
        assert data.labels is not None
        plot_decision(picture, made, data.rows, data.labels, classes)
    if as_json:
        print_json(_data(classes, chances, found))
        return
    write_output(output, "".join(f"{one}\n" for one in _lines(classes, chances)))
    if output != "-":
        rows = [(name, f"{value:.4f}") for name, value in (found or {}).items()]
        rows = [("examples", f"{len(classes):,}"), *rows]
        emit(rows, ("measure", "value"), right=("value",))
    elif found is not None:
        note(fourths(found))


def _check_classifier(made: Any, name: str) -> None:
    """Refuses a model that is no fitted classifier."""
    if type(made).__name__ not in classifiers():
        must = "the model must be a classifier of rows, or a trained tagger"
        refuse(name, must, type(made).__name__)
    try:
        check_is_fitted(made, ["classes_", "n_features_in_"])
    except NotFittedError:
        raise InputError(message(name, "the model must have been trained")) from None


def _chances(made: Any, rows: Any) -> NDArray[np.float64]:
    """Probabilities of positive labels, (rows, labels)."""
    if not hasattr(made, "predict_proba"):
        must = "the model must be one that tells probabilities"
        refuse("--probabilities", must, type(made).__name__)
    with estimating("predict", "deciding"):
        found = np.asarray(made.predict_proba(rows))
    several = getattr(made, "columns_", None) is not None
    return found if several else found[:, 1:]


def _lines(classes: NDArray[Any], chances: NDArray[np.float64] | None) -> list[str]:
    rows = classes.reshape(len(classes), -1)
    lines = ["\t".join(str(plain(one)) for one in row) for row in rows]
    if chances is None:
        return lines
    more = ("\t".join(repr(float(p)) for p in row) for row in chances)
    return [f"{line}\t{tail}" for line, tail in zip(lines, more, strict=True)]


def _data(
    classes: NDArray[Any], chances: NDArray[np.float64] | None, found: dict[str, float] | None
) -> dict[str, Any]:
    several = classes.ndim == 2
    shown = [[plain(one) for one in row] if several else plain(row) for row in classes]
    data: dict[str, Any] = {"classes": shown, "measures": found}
    if chances is not None:
        data["probabilities"] = chances.tolist() if several else chances[:, 0].tolist()
    return data


def _predict_tags(made: Any, file: str, output: str, beam: int | None, as_json: bool) -> None:
    """Writes sentences with a column of predicted tags, as 'fsmeu score' reads them."""
    if beam is not None:
        made.searn_.set_params(beam=beam)
    sentences = read_sentences(file, least=made.width_)
    inputs, given = sentences, None
    if len(sentences[0][0]) == made.width_ + 1:
        inputs, given = inputs_and_tags(sentences)
    tags = made.predict(inputs)
    found = None if given is None else tag_scores(tags, given)
    if as_json:
        print_json({"tags": tags, "measures": found})
        return
    write_output(output, written(sentences, tags))
    if found is not None:
        note(fourths(found))
