"""`fsmeu train`: a classifier from labelled examples, or a tagger from sentences in columns."""

from __future__ import annotations

import inspect
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, NamedTuple

from fsmeu.cli import options as opt
from fsmeu.cli import predict as shared
from fsmeu.cli.completion import classifier_names, loss_names
from fsmeu.cli.failures import refuse
from fsmeu.cli.inputs import choose_params
from fsmeu.cli.options import argument, option
from fsmeu.cli.output import emit, file_for
from fsmeu.corpora.records import inputs_and_tags, read_sentences
from fsmeu.corpora.score import are_chunk_tags, tag_scores
from fsmeu.endings import TRAINING, format_by_ending
from fsmeu.errors import check_int, one_of

if TYPE_CHECKING:
    from fsmeu.learning.examples import Examples

online_learners = opt.LazyModule("fsmeu.learning.online")
sets = opt.LazyModule("fsmeu.searn.features")

_Files = tuple[str, str | None]  # to train with and to test with
_MEASURED = ("online", "test")  # on examples to train with, before each is learned from; on others
_TEMPLATES = "templates"  # of taggers, which hold a Searn
_WITHIN = ("bits", "crossed", "checkpoint", "verbose")  # parameters that taggers set themselves


def train(
    reading: opt.ExampleFormat,
    losses: list[str] | None = argument(
        "LOSS",
        "What is minimised, or maximised: a built-in loss or the path of a loss file. Left out, "
        "fscore; of taggers chunk_fscore for tags O, B-X, I-X, else hamming.",
        None,
        loss_names,
    ),
    file: str | None = argument(
        "FILE",
        "An svmlight, csv or npz file (X and y) of examples; or sentences in CoNLL columns, the "
        "tag in the last one (.conll, .iob2, ..., or --input-format conll), for a tagger by SEARN.",
        None,
    ),
    classifier: str | None = option(
        "--classifier -c NAME",
        "What to train; --list names all.",
        unset="DTAClassifier",
        autocompletion=classifier_names,
    ),
    param: list[str] | None = opt.PARAM,
    settings: list[str] | None = option(
        "--set NAME=VALUE",
        "A parameter of the classifier, such as estimator=LogisticRegression or random_state=1 (0 "
        "if not given); of its estimator, as in estimator__C=0.1; of a tagger, as in iterations=5, "
        "space=right-to-left, learner=logistic-argmin, which does not weigh mistakes by their "
        "costs, or templates=FILE, with a template such as 'pos[-1] pos[0]' on each line ('cross "
        "word[0]' is crossed with the tag before), or chunking, names or words. Repeatable.",
    ),
    pos_label: str | None = option(
        "--pos-label LABEL",
        "The positive class, whose F1 and so on it is.",
        unset="1 of 0 and 1 or of -1 and 1, True of False and True, else the rarer",
    ),
    output: str | None = option("--output -o MODEL.skops", "The file of the model."),
    test: str | None = option("--test FILE", "Measure the model on this file."),
    plot: str | None = option(
        "--plot FILE", "Plot the value on --test against the threshold on the scores."
    ),
    list_all: bool = option("--list", "List the classifiers and end.", is_eager=True),
    as_json: bool = opt.JSON,
) -> None:
    """Train a classifier or a tagger, write it to a file, and say what it has seen.

    The file is read by 'fsmeu predict', and by fsmeu.learning.saving.load in Python; it holds no
    code. The same random_state gives the same model.
    """
    if list_all:
        _print_classifiers(as_json)
        return
    if file is None:
        refuse("train", "a FILE of examples must be given")
    if len(losses or ()) > 1:
        refuse("train", "one loss and one FILE are given", " ".join([*(losses or ()), file]))
    loss = shared.ChosenLoss(losses[0] if losses else None, choose_params(param))
    chosen = shared.parameters(settings)
    seed = check_int("--set", "random_state", chosen.pop("random_state", 0), least=0)
    place = None if output is None else file_for("--output", output)
    if place is None:
        refuse("train", "--output MODEL.skops must be given")
    files = (file, test)
    if (reading.input_format or format_by_ending(file, TRAINING)) == "conll":
        _check_others("a tagger", {"--plot": plot, "--classifier": classifier})
        given = {"random_state": seed, "pos_label": pos_label}
        _print_summary(_train_tagger(files, place, _Untrained(loss, chosen, given)), as_json)
    else:
        name = classifier or "DTAClassifier"
        estimator = shared.build_classifier(name, shared.classifiers(), chosen, loss)
        shared.seed_all(estimator.set_params(pos_label=pos_label), seed)
        _print_summary(_train_classifier(estimator, files, reading, place, plot), as_json)


def _print_summary(summary: dict[str, Any], as_json: bool) -> None:
    """Prints what was learned from, and how good it is on other examples."""
    rows: list[list[str]] = [
        [key, ", ".join(map(str, value)) if isinstance(value, list) else str(value)]
        for key, value in summary.items()
        if key not in _MEASURED
    ]
    rows.append([])
    for part in _MEASURED:
        measures = summary.get(part, {})
        rows += [[f"{part} {name}", f"{value:.4f}"] for name, value in measures.items()]
    emit(rows, ("", "value"), right=("value",), as_json=summary if as_json else None)


def _check_others(what: str, options: dict[str, Any]) -> None:
    """Refuses options that are for something else."""
    for name, value in options.items():
        if value:
            refuse(name, f"it is not for {what}", value, "Leave it out")


class _Untrained(NamedTuple):
    """What is known of a tagger before its sentences are read.

    Attributes:
        loss: its loss; the name None for the one that fits the tags.
        params: by --set, parameters of ``Searn``, and the name or file of "templates".
        given: its parameters that have options.
    """

    loss: shared.ChosenLoss
    params: dict[str, Any]
    given: dict[str, Any]


def _train_tagger(files: _Files, place: Path, wanted: _Untrained) -> dict[str, Any]:
    """Trains a tagger by SEARN and saves it; returns what it has seen and how good it is."""
    inputs, tags = inputs_and_tags(read_sentences(files[0], least=2))
    test = None if files[1] is None else inputs_and_tags(read_sentences(files[1], least=2))
    chunks = are_chunk_tags(tags)
    usual = "chunking" if len(inputs[0][0]) > 1 else "words"
    templates = str(wanted.params.get(_TEMPLATES, usual))
    loss = wanted.loss.name or ("chunk_fscore" if chunks else "hamming")
    params = {"space": "word-at-a-time" if chunks else "left-to-right", **wanted.params}
    params.pop(_TEMPLATES, None)
    given = {**wanted.given, "loss_params": wanted.loss.params or None}
    model = _build_tagger(templates, loss, params, given)
    begin = process_time()
    most = model.searn.iterations
    with shared.estimating("train", "training") as callback:

        def show(number: int, _: Any) -> None:
            callback(number / most if most else 0.0, f"iteration {number}")

        model.fit(inputs, tags, on_iteration=show)
    seconds = process_time() - begin
    shared.saving.save(model, place)
    summary: dict[str, Any] = {
        "sentences": len(inputs),
        "words": sum(map(len, inputs)),
        "tags": len({tag for row in tags for tag in row}),
        "templates": templates,
        "loss": loss,
        "space": params["space"],
        "seconds": round(seconds, 3),
    }
    if test is not None:
        summary["test"] = tag_scores(model.predict(test[0]), test[1])
    return summary


def _build_tagger(templates: str, loss: str, params: dict[str, Any], given: dict[str, Any]) -> Any:
    """A tagger with these parameters of the user's, and those that have options."""
    takes = inspect.signature(shared.searn.Searn).parameters
    kept = [name for name in takes if name not in (*given, "loss", *_WITHIN)]
    for key in params:
        shared.check_set("--set", key)
        one_of("--set", "a parameter", key, [*kept, _TEMPLATES])
    estimator = shared.searn.Searn(loss, **given, **params)
    features = sets.template_set(templates)
    if templates in sets.SETS:
        return shared.searn.ColumnTagger(templates, searn=estimator)
    static, crossed = (
        [" ".join(f"{column}[{offset}]" for column, offset in template) for template in part]
        for part in (features.static, features.crossed)
    )
    return shared.searn.ColumnTagger(static, crossed=crossed, searn=estimator)


def _read(files: _Files, reading: opt.ExampleFormat) -> tuple[Examples, Examples | None]:
    """The examples to train with, and those of as many features to test with."""
    read = shared.examples.read_examples
    how = {**vars(reading), "labelled": True}
    data = read(files[0], **how)
    if files[1] is None:
        return data, None
    return data, read(files[1], **how, features=int(data.rows.shape[1]))


def _train_classifier(
    model: Any, files: _Files, reading: opt.ExampleFormat, place: Path, plot: str | None
) -> dict[str, Any]:
    """Trains and saves a classifier; returns what it has seen and how good it is."""
    name = type(model).__name__
    data, test = _read(files, reading)
    picture = shared.checked_decision_plot(plot, None if test is None else test.labels)
    begin = perf_counter()
    with shared.estimating(f"train {name}", "training"):
        model.fit(data.rows, data.labels)
    seconds = perf_counter() - begin
    summary = {
        "classifier": name,
        "examples": int(data.rows.shape[0]),
        "features": int(data.rows.shape[1]),
        "positive": (data.labels == model.classes_[model.positive_]).sum(axis=0).tolist(),
        "classes": [shared.named.plain(cls) for cls in model.classes_],
        "pos_label": model.pos_label_,
        "seconds": round(seconds, 3),
    }
    if isinstance(model, online_learners.OnlineClassifier):
        summary["online"] = {model.measure_name: model.score_}
    if test is not None:
        with shared.estimating(f"test {name}", "deciding"):
            predicted = model.predict(test.rows)
        summary["test"] = shared.base.measures(model, test.labels, predicted)
        shared.plot_decision(picture, model, test, predicted)
    shared.saving.save(model, place)  # what is refused before leaves no file
    return summary


def _print_classifiers(as_json: bool) -> None:
    classifiers: list[dict[str, Any]] = [
        {
            "name": name,
            "summary": (inspect.getdoc(kind) or "").partition("\n")[0],
            "parameters": list(inspect.signature(kind).parameters),
        }
        for name, kind in shared.classifiers().items()
    ]
    rows = [(row["name"], ", ".join(row["parameters"]), row["summary"]) for row in classifiers]
    emit(rows, ("name", "parameters", "summary"), as_json=classifiers if as_json else None)
