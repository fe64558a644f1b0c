"""`fsmeu train`: a classifier from labelled examples, or a tagger from sentences in columns."""

from __future__ import annotations

import inspect
from pathlib import Path
from time import perf_counter, process_time
from typing import Annotated, Any

from fsmeu.cli import options as opt
from fsmeu.cli.models import (
    checked_decision_plot,
    classifiers,
    estimating,
    made_classifier,
    parameters,
    plot_decision,
)
from fsmeu.cli.output import emit, file_for
from fsmeu.errors import InputError, one_of, sentence
from fsmeu.learning.examples import Examples, read_labelled
from fsmeu.learning.given_loss import measures, plain
from fsmeu.learning.saving import save

__all__ = ["train"]

_COLUMN_FILES = (".bio", ".conll", ".crf", ".iob", ".iob1", ".iob2", ".iobes")
_ONLINE, _TAGGERS = {"rich_help_panel": "Online learners"}, {"rich_help_panel": "Taggers"}
_SETTINGS = ("loss", "space", "random_state", "bits", "crossed", "checkpoint", "verbose")

_Data = Annotated[
    str | None,
    opt.argument(
        "FILE",
        "An svmlight, csv or npz file (X and y) of examples; or sentences in CoNLL columns, the "
        "tag in the last one (.conll, .iob2, ..., or --searn).",
    ),
]


def train(
    file: _Data = None,
    classifier: list[str] | None = opt.typed(
        "--classifier -c NAME",
        "What to train; --list names all. Online learners may be several, and have parameters of "
        "their own, as in FOFOClassifier:gamma_scale=auto.",
        "DTAClassifier, or FOFOClassifier with --online",
    ),
    param: list[str] | None = opt.typed(
        "--param -p NAME=VALUE",
        "A parameter of the classifier, such as loss=jaccard; of its loss, as in loss__beta=2; of "
        "its estimator, as in estimator__C=0.1; of a tagger, as in iterations=5. Repeatable.",
    ),
    output: str | None = opt.typed("--output -o MODEL.npz", "The file of the model."),
    test: opt.Test = None,
    plot: str | None = opt.typed(
        "--plot FILE",
        "Plot the value on --test against the threshold on the scores; or with --online the "
        "measure against examples seen (.csv and .json as well).",
    ),
    seed: opt.Seed = 0,
    label: opt.LabelColumn = None,
    form: opt.FileFormat = None,
    zero_based: opt.ZeroBased = False,
    online: bool = opt.typed(
        "--online",
        "Stream the examples: each prediction is made before the label of its example is used.",
        **_ONLINE,
    ),
    passes: int = opt.typed(
        "--passes N", "Times the examples are seen.", True, min=1, **_ONLINE, value=1
    ),
    shuffles: int = opt.typed(
        "--shuffles N",
        "Random orders to average over; 0 is the order of the file.",
        True,
        min=0,
        max=10_000,
        **_ONLINE,
        value=10,
    ),
    positive: str | None = opt.typed(
        "--positive LABEL",
        "The positive class, against all others; classes are then 0 and 1.",
        "the greater of two classes",
        **_ONLINE,
    ),
    searn: bool = opt.typed("--searn", "Train a tagger by SEARN.", **_TAGGERS),
    templates: str | None = opt.typed(
        "--templates -t NAME",
        "chunking, names or words; or a file with a template such as 'pos[-1] pos[0]' on each line "
        "('cross word[0]' is crossed with the tag before).",
        "chunking, or words where there is one column",
        **_TAGGERS,
    ),
    loss: str | None = opt.typed(
        "--loss -l LOSS",
        "What is minimised, a built-in loss or a file.",
        "chunk_fscore for tags O, B-X, I-X, else hamming",
        **_TAGGERS,
    ),
    space: str | None = opt.typed(
        "--space NAME",
        "How tags are decided: left-to-right, word-at-a-time and others.",
        "word-at-a-time for tags O, B-X, I-X, else left-to-right",
        **_TAGGERS,
    ),
    list_all: bool = opt.typed("--list", "List the classifiers and end.", is_eager=True),
    as_json: opt.Json = False,
) -> None:
    """Train a classifier or a tagger, write it to a file, and say what it has seen.

    The greater of the two classes in sorted order is the positive one. The file is read by 'fsmeu
    predict', and by fsmeu.learning.saving.load in Python; it holds no code.
    """
    if list_all:
        _print_classifiers(online, as_json)
        return
    if file is None:
        raise InputError(sentence("train", "a FILE of examples must be given"))
    place = None if output is None else file_for("--output", output)
    tagger = searn or form == "conll" or file.removesuffix(".gz").endswith(_COLUMN_FILES)
    if not online and place is None:
        raise InputError(sentence("train", "--output MODEL.npz must be given"))
    if tagger:
        _check_others("a tagger", {"--online": online, "--plot": plot, "--classifier": classifier})
        assert place is not None
        _train_tagger(file, place, test, (templates, loss, space), param, seed, as_json)
        return
    _check_others("a classifier", {"--templates": templates, "--loss": loss, "--space": space})
    if online:
        reading = (form, label, zero_based)
        _stream((file, test), reading, classifier, param, (passes, shuffles, seed), positive,
                (place, plot), as_json)  # fmt: skip
        return
    if len(classifier or ()) > 1:
        raise InputError(sentence("--classifier", "one is trained", len(classifier or ())))
    name = (classifier or ["DTAClassifier"])[0]
    model = made_classifier(name, classifiers(), parameters(param))
    data = read_labelled(file, form, label, zero_based=zero_based)
    others = None
    if test is not None:
        others = read_labelled(test, form, label, int(data.rows.shape[1]), zero_based)
    picture = checked_decision_plot(plot, None if others is None else others.labels)
    begin = perf_counter()
    with estimating(f"train {name}", "training"):
        model.fit(data.rows, data.labels)
    seconds = perf_counter() - begin
    assert place is not None
    save(model, place)
    found = {"classifier": name, **_seen(model, data), "seconds": round(seconds, 3)}
    if others is not None:
        assert others.labels is not None
        with estimating(f"test {name}", "deciding"):
            predicted = model.predict(others.rows)
        found["test"] = measures(model, others.labels, predicted)
        if picture is not None:
            plot_decision(picture, model, others.rows, others.labels, predicted)
    _print(found, as_json)


def _check_others(what: str, given: dict[str, Any]) -> None:
    """Refuses options that are for something else."""
    for option, value in given.items():
        if value:
            raise InputError(sentence(option, f"it is not for {what}", value, "Leave it out"))


def _seen(model: Any, data: Examples) -> dict[str, Any]:
    assert data.labels is not None
    positive = (data.labels == model.classes_[1]).sum(axis=0)
    return {
        "examples": int(data.rows.shape[0]),
        "features": int(data.rows.shape[1]),
        "positive": positive.tolist(),
        "classes": [plain(one) for one in model.classes_],
    }


def _stream(
    files: tuple[str, str | None],
    reading: tuple[str | None, str | None, bool],
    classifier: list[str] | None,
    param: list[str] | None,
    order: tuple[int, int, int],
    positive: str | None,
    places: tuple[Path | None, str | None],
    as_json: bool,
) -> None:
    """Streams examples through online learners, and prints how good their predictions were.

    Examples a second are of processor time, in the fastest order.
    """
    from fsmeu.cli.online import (
        checked_curves,
        online_learners,
        print_outcomes,
        run_all,
        write_curves,
    )
    from fsmeu.learning.online.streaming import Plan, Task, two_classes

    learners = online_learners(classifier or ["FOFOClassifier"], param)
    (file, test), (form, label, zero_based), (model, curves) = files, reading, places
    if model is not None and len(learners) > 1:
        must = "one learner can be saved"
        raise InputError(sentence("--output", must, f"{len(learners)} learners", "Give one -c"))
    path = None if curves is None else checked_curves(curves)
    data = two_classes(file, read_labelled(file, form, label, zero_based=zero_based), positive)
    others: Task | None = None
    if test is not None:
        held = read_labelled(test, form, label, int(data.rows.shape[1]), zero_based)
        others = two_classes(test, held, positive, data)
    plan = Plan(*order)
    found = run_all(learners, data, others, plan)
    if model is not None:
        save(found[0].first, model)
    examples, features = data.rows.shape
    facts = {"examples": int(examples), "features": int(features), "positive": data.positive}
    facts |= {"passes": plan.passes, "shuffles": plan.shuffles, "seed": plan.seed}
    if path is not None:
        write_curves(path, facts, found)
    print_outcomes(facts, found, as_json)


def _train_tagger(
    file: str,
    place: Path,
    test: str | None,
    settings: tuple[str | None, str | None, str | None],
    param: list[str] | None,
    seed: int,
    as_json: bool,
) -> None:
    """Trains a tagger on sentences in columns by SEARN."""
    from fsmeu.corpora.columns import inputs_and_tags, read_sentences
    from fsmeu.searn.tagger import are_chunk_tags, tag_scores

    inputs, tags = inputs_and_tags(read_sentences(file, least=2))
    others = None if test is None else inputs_and_tags(read_sentences(test, least=2))
    chunks = are_chunk_tags(tags)
    templates = settings[0] or ("chunking" if len(inputs[0][0]) > 1 else "words")
    loss = settings[1] or ("chunk_fscore" if chunks else "hamming")
    space = settings[2] or ("word-at-a-time" if chunks else "left-to-right")
    model = _made_tagger(templates, loss, space, parameters(param), seed)
    begin = process_time()
    with estimating("train", "training", model.searn.iterations) as tell:
        model.fit(inputs, tags, on_iteration=lambda number, _: tell(completed=number))
    seconds = process_time() - begin
    save(model, place)
    found: dict[str, Any] = {
        "sentences": len(inputs),
        "words": sum(len(one) for one in inputs),
        "tags": len({tag for one in tags for tag in one}),
        "templates": templates,
        "loss": loss,
        "space": space,
        "seconds": round(seconds, 3),
    }
    if others is not None:
        found["test"] = tag_scores(model.predict(others[0]), others[1])
    _print(found, as_json)


def _made_tagger(templates: str, loss: str, space: str, given: dict[str, Any], seed: int) -> Any:
    """The tagger with its parameters.

    Raises:
        InputError: there is no such parameter.
    """
    from fsmeu.searn.features.templates import SETS, template_set
    from fsmeu.searn.searn import Searn
    from fsmeu.searn.tagger import ColumnTagger

    known = [name for name in inspect.signature(Searn).parameters if name not in _SETTINGS]
    for key in given:
        one_of("--param", "a parameter", key, known)
    estimator = Searn(loss, space=space, random_state=seed, **given)
    chosen = template_set(templates)
    if templates in SETS:
        return ColumnTagger(templates, searn=estimator)
    static, crossed = (
        [" ".join(f"{column}[{offset}]" for column, offset in template) for template in part]
        for part in (chosen.static, chosen.crossed)
    )
    return ColumnTagger(static, crossed=crossed, searn=estimator)


def _print(found: dict[str, Any], as_json: bool) -> None:
    """Prints what was seen and measured."""
    tests = found.get("test", {})
    rows: list[list[str]] = []
    for key, value in found.items():
        if key != "test":
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            rows.append([key, shown])
    rows += [[], *([f"test {name}", f"{value:.4f}"] for name, value in tests.items())]
    emit(rows, ("", "value"), right=("value",), as_json=found if as_json else None)


def _print_classifiers(online: bool, as_json: bool) -> None:
    from fsmeu.learning.online.base import OnlineClassifier

    found: list[dict[str, Any]] = [
        {
            "name": name,
            "summary": (inspect.getdoc(kind) or "").partition("\n")[0],
            "parameters": list(inspect.signature(kind).parameters),
        }
        for name, kind in classifiers().items()
        if not online or issubclass(kind, OnlineClassifier)
    ]
    rows = [(row["name"], ", ".join(row["parameters"]), row["summary"]) for row in found]
    emit(rows, ("name", "parameters", "summary"), as_json=found if as_json else None)
