"""Estimators at the command line: made, watched and plotted; `fsmeu predict` applies one."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Floats
from fsmeu.cli import options as opt
from fsmeu.cli.failures import refuse, worded
from fsmeu.cli.inputs import name_values
from fsmeu.cli.options import argument, option
from fsmeu.cli.output import (
    checked_picture,
    emit,
    file_for,
    note,
    print_json,
    write_output,
)
from fsmeu.corpora.records import inputs_and_tags, read_sentences, written
from fsmeu.corpora.score import tag_scores
from fsmeu.drawing.plots import plot_threshold, save_plot
from fsmeu.errors import FsmeuError, InputError, one_of
from fsmeu.losses.loss import load
from fsmeu.progress import Progress, progress_bar

if TYPE_CHECKING:
    from fsmeu.learning.examples import Examples

base = opt.LazyModule("fsmeu.learning.base")
named = opt.LazyModule("fsmeu.learning.classes")
examples = opt.LazyModule("fsmeu.learning.examples")
saving = opt.LazyModule("fsmeu.learning.saving")
searn = opt.LazyModule("fsmeu.searn")
# Parameters of estimators that have a place of their own at the command line.
_ELSEWHERE = {
    "loss": "LOSS",
    "loss_params": "--param",
    "pos_label": "--pos-label",
}


def predict(
    reading: opt.ExampleFormat,
    model: str = argument("MODEL", "A file of 'fsmeu train'."),
    file: str = argument(
        "FILE",
        "An svmlight, csv or npz file of examples, with labels or (csv, npz) without; for a "
        "tagger, sentences in columns with or without tags, - for standard input.",
    ),
    output: str = option(
        "--output -o OUT", "File of predictions; measures become a table.", "-", "standard output"
    ),
    probabilities: bool = option("--probabilities", "Probabilities of the positive class as well."),
    beam: int | None = option(
        "--beam L", "Taggers: how many partial outputs are kept.", unset="as in training", min=1
    ),
    plot: str | None = option(
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
    if output != "-":
        file_for("--output", output)
    tagger = searn.ColumnTagger  # which load knows from here on
    estimator = saving.load(model)
    if isinstance(estimator, tagger) and hasattr(estimator, "searn_"):
        if probabilities or plot is not None:
            refuse("--probabilities, --plot", "they are for a classifier", "a tagger")
        _predict_tags(estimator, file, output, beam, as_json)
        return
    _check_classifier(model, estimator)
    if beam is not None:
        refuse("--beam", "it is for a tagger", type(estimator).__name__)
    data = examples.read_examples(file, **vars(reading), features=int(estimator.n_features_in_))
    picture = checked_decision_plot(plot, data.labels)
    with estimating(f"predict {file}", "deciding"):
        classes = estimator.predict(data.rows)
    probs = _probabilities(estimator, data.rows) if probabilities else None
    measures = None if data.labels is None else base.measures(estimator, data.labels, classes)
    plot_decision(picture, estimator, data, classes)
    predicted = _Predicted(classes, probs, measures)
    if as_json:
        print_json(predicted.document())
        return
    write_output(output, predicted.text())
    if output != "-":
        rows = [(name, f"{value:.4f}") for name, value in (measures or {}).items()]
        emit([("examples", f"{len(classes):,}"), *rows], ("measure", "value"), right=("value",))
    elif measures is not None:
        _note_measures(measures)


def _check_classifier(name: str, estimator: Any) -> None:
    """Refuses, of the file of this name, what is no trained classifier of rows."""
    if type(estimator).__name__ not in classifiers():
        must = "the model must be a classifier of rows, or a trained tagger"
        refuse(name, must, type(estimator).__name__)
    if not (hasattr(estimator, "classes_") and hasattr(estimator, "n_features_in_")):
        refuse(name, "the model must have been trained")


class _Predicted(NamedTuple):
    """What a classifier says of examples.

    Attributes:
        classes: the class of each example, (examples,), or of each of its labels,
            (examples, labels).
        probabilities: those of positive labels, (examples, labels); None where not asked for.
        measures: how good the classes are, by name; None where labels are not known.
    """

    classes: NDArray[Any]
    probabilities: Floats | None
    measures: Mapping[str, float] | None

    def document(self) -> dict[str, Any]:
        """All of it as a JSON document."""
        document: dict[str, Any] = {"classes": _plain(self.classes), "measures": self.measures}
        if self.probabilities is not None:
            several = self.classes.ndim == 2
            probabilities = self.probabilities if several else self.probabilities[:, 0]
            document["probabilities"] = probabilities.tolist()
        return document

    def text(self) -> str:
        """A line for each example: its classes, then its probabilities, with tabs between them."""
        lines = _plain(self.classes.reshape(len(self.classes), -1))
        if self.probabilities is not None:
            rows = self.probabilities.tolist()
            lines = [[*line, *row] for line, row in zip(lines, rows, strict=True)]
        return "".join("\t".join(map(str, line)) + "\n" for line in lines)


def _plain(classes: NDArray[Any]) -> list[Any]:
    """The classes as JSON and people write them; rows of them where there are several labels."""
    if classes.ndim == 1:
        return [named.plain(cls) for cls in classes]
    return [_plain(row) for row in classes]


def _note_measures(measures: Mapping[str, float]) -> None:
    """Prints measures on one line of stderr."""
    note(", ".join(f"{name} {value:.4f}" for name, value in measures.items()))


def _probabilities(estimator: Any, rows: Any) -> Floats:
    """Probabilities of positive labels, (rows, labels)."""
    if not hasattr(estimator, "predict_proba"):
        must = "the model must be one that tells probabilities"
        refuse("--probabilities", must, type(estimator).__name__)
    with estimating("predict", "deciding"):
        if getattr(estimator, "columns_", None) is None:
            return np.asarray(base.positive_probabilities(estimator, rows)[:, None])
        return np.asarray(estimator.predict_proba(rows))


def _predict_tags(tagger: Any, file: str, output: str, beam: int | None, as_json: bool) -> None:
    """Writes sentences with a column of predicted tags, as 'fsmeu score' reads them."""
    if beam is not None:
        tagger.searn_.set_params(beam=beam)
    sentences = read_sentences(file, least=tagger.width_)
    inputs = sentences
    references = None
    if len(sentences[0][0]) == tagger.width_ + 1:
        inputs, references = inputs_and_tags(sentences)
    tags = tagger.predict(inputs)
    measures = None if references is None else tag_scores(tags, references)
    if as_json:
        print_json({"tags": tags, "measures": measures})
        return
    write_output(output, written(sentences, tags))
    if measures is not None:
        _note_measures(measures)


def classifiers() -> dict[str, Any]:
    """The classifiers of rows that can be trained, by name."""
    from sklearn.base import ClassifierMixin

    estimators = saving.estimators()
    return {name: kind for name, kind in estimators.items() if issubclass(kind, ClassifierMixin)}


def parameters(texts: Iterable[str] | None) -> dict[str, Any]:
    """Parameters of an estimator by name, from texts NAME=VALUE."""
    return name_values(texts, _value, "--set estimator=GaussianNB")


def _value(_: str, text: str) -> Any:
    """A number, truth value, list or null as JSON writes it; anything else is a text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {"True": True, "False": False, "None": None}.get(text, text)


class ChosenLoss(NamedTuple):
    """The loss of an estimator: its name or path, None for the estimator's own; its parameters."""

    name: str | None
    params: dict[str, Any]


def build_classifier(
    name: str, kinds: Mapping[str, Any], params: dict[str, Any], loss: ChosenLoss
) -> Any:
    """The classifier of this name, an instance of one of the kinds, with parameters and loss."""
    kind = kinds[one_of("--classifier", "a classifier", name, kinds)]
    takes = inspect.signature(kind).parameters
    for key in params:
        check_set(f"--set, {name}", key)
    own = {key: value for key, value in params.items() if "__" not in key}
    for key in own:
        one_of(
            f"--set, {name}", "a parameter", key, [key for key in takes if key not in _ELSEWHERE]
        )
    if isinstance(own.get("estimator"), str):
        own["estimator"] = _estimator(name, own["estimator"])
    if loss.name is not None or loss.params:
        if "loss" not in takes:
            remedy = "Leave it out; 'fsmeu train --list' names the parameters that it has for --set"
            refuse(name, "it takes no loss", loss.name or "--param", remedy)
        own["loss"] = load(loss.name or takes["loss"].default, **loss.params)
    model = kind(**own)
    inner = {key: value for key, value in params.items() if "__" in key}
    try:
        return model.set_params(**inner)
    except (ValueError, AttributeError) as error:
        must = str(error) if isinstance(error, ValueError) else "parameters need their estimator"
        remedy = "For example: --set estimator=LogisticRegression --set estimator__C=0.1"
        raise InputError(f"--set, {name}", must, remedy=remedy) from None


def check_set(where: str, key: str) -> None:
    """Refuses names of parameters that are typed otherwise than by --set."""
    begin = key.partition("__")[0]
    if begin in _ELSEWHERE:
        refuse(where, f"it is not for {begin!r}, which is given by {_ELSEWHERE[begin]}", key)


def seed_all(model: Any, seed: int) -> None:
    """Sets each ``random_state`` that is None, of the estimator and of those within it."""
    for key, value in model.get_params(deep=True).items():
        if key.rpartition("__")[2] == "random_state" and value is None:
            model.set_params(**{key: seed})


def _estimator(name: str, chosen: str) -> Any:
    """An estimator with probabilities, of scikit-learn or ours, for the classifier of this name."""
    from sklearn.utils import all_estimators

    kinds = dict(all_estimators(type_filter="classifier")) | classifiers()
    usable = {n: kind for n, kind in kinds.items() if _has_probabilities(kind)}
    return usable[one_of(f"--set, {name}", "estimator", chosen, usable)]()


def _has_probabilities(kind: Any) -> bool:
    """Whether a class has ``predict_proba``, and instances without any argument."""
    takes = inspect.signature(kind).parameters.values()
    needed = [one for one in takes if one.default is one.empty and one.kind != one.VAR_KEYWORD]
    return hasattr(kind, "predict_proba") and not needed


@contextmanager
def estimating(where: str, doing: str) -> Iterator[Progress]:
    """A ``Progress`` that moves a bar, in a context for the methods of an estimator.

    Their ValueErrors and TypeErrors become InputErrors; their warnings are printed on stderr.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            with progress_bar(doing) as callback:
                yield callback
        except FsmeuError:
            raise
        except (ValueError, TypeError) as error:
            raise InputError(where, str(error).strip().partition("\n")[0]) from error
    texts = [worded(warning.message.args[0]) for warning in caught]  # type: ignore[union-attr]
    for text in dict.fromkeys(text.partition("\n")[0] for text in texts):
        note(f"warning: {text}")


def checked_decision_plot(name: str | None, labels: NDArray[Any] | None) -> Path | None:
    """The path of the plot of a decision, checked before the work; None where none is wanted."""
    path = checked_picture(name)
    if path is None:
        return None
    if labels is None:
        must = "examples with labels must be decided"
        refuse("--plot", must, "none", "With train, give --test FILE")
    if labels.ndim != 1:
        refuse("--plot", "an example must have one label", f"{labels.shape[1]} labels")
    return path


def plot_decision(path: Path | None, model: Any, data: Examples, predicted: NDArray[Any]) -> None:
    """Writes the plot, if there is a path: the value of each threshold, and what was decided."""
    if path is None:
        return
    loss = base.confusion_loss(model)
    kind = "probability" if hasattr(model, "predict_proba") else "score"
    with estimating("--plot", "deciding"):
        scores = base.positive_probabilities(model, data.rows)
    pos_label = model.classes_[model.positive_]
    positive = data.labels == pos_label
    decided = predicted == pos_label

    def draw(axes: Any) -> None:
        plot_threshold(loss, scores, positive, decided, score=kind, ax=axes)

    save_plot(path, draw, (6.4, 4.4))
