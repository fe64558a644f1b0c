"""`fsmeu train`: a classifier from a file of labelled examples."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsmeu.cli.options import Json

if TYPE_CHECKING:
    from fsmeu.cli.examples import Examples

__all__ = [
    "FileFormat",
    "LabelColumn",
    "ZeroBased",
    "classifiers",
    "parameters",
    "train_classifier",
]

_FILE = "An svmlight, csv or npz file (X and y) of examples."
_Data = Annotated[str | None, typer.Argument(metavar="FILE", help=_FILE, show_default=False)]
_Classifier = Annotated[
    str,
    typer.Option("--classifier", "-c", metavar="NAME", help="What to train; --list names all."),
]
_Params = Annotated[
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
_Output = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="MODEL.npz", help="The file of the model.", show_default=False
    ),
]
_Test = Annotated[
    str | None,
    typer.Option(
        "--test", metavar="FILE", help="Examples to measure the model on.", show_default=False
    ),
]
_List = Annotated[bool, typer.Option("--list", help="List the classifiers and end.", is_eager=True)]
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


def train_classifier(
    file: _Data = None,
    classifier: _Classifier = "DTAClassifier",
    param: _Params = None,
    output: _Output = None,
    test: _Test = None,
    label: LabelColumn = None,
    form: FileFormat = None,
    zero_based: ZeroBased = False,
    list_all: _List = False,
    as_json: Json = False,
) -> None:
    """Trains a classifier, writes it to a file, and says what it has seen.

    The greater of the two classes in sorted order is the positive one. The file is read by 'fsmeu
    predict', and by fsmeu.learning.saving.load in Python; it holds no code.
    """
    from time import perf_counter

    from fsmeu.cli.examples import read_examples
    from fsmeu.cli.measures import guarded, measures
    from fsmeu.cli.output import place_for
    from fsmeu.errors import InputError, sentence
    from fsmeu.learning.saving import save

    if list_all:
        _print_classifiers(as_json)
        return
    for given, option in ((file, "a FILE of examples"), (output, "--output MODEL.npz")):
        if given is None:
            raise InputError(sentence("train", f"{option} must be given"))
    model = _made(classifier, param)
    data = read_examples(str(file), form, label, zero_based=zero_based)
    if data.labels is None:
        raise InputError(sentence(str(file), "the examples must have labels", "none"))
    features = data.rows.shape[1]
    others = None
    if test is not None:
        others = read_examples(test, form, label, features, zero_based)
        if others.labels is None:
            raise InputError(sentence(test, "the examples must have labels", "none"))
    begin = perf_counter()
    guarded(f"train {classifier}", lambda: model.fit(data.rows, data.labels), "training")
    seconds = perf_counter() - begin
    save(model, place_for(str(output)))
    found = {"classifier": classifier, **_seen(model, data), "seconds": round(seconds, 3)}
    if others is not None:
        predicted = guarded(f"test {classifier}", lambda: model.predict(others.rows), "deciding")
        found["test"] = measures(model, others.labels, predicted)  # type: ignore[arg-type]
    _print(found, as_json)


def classifiers() -> dict[str, Any]:
    """The classifiers of rows that can be trained, by name."""
    from sklearn.base import ClassifierMixin

    from fsmeu.learning.registry import estimators

    return {name: kind for name, kind in estimators().items() if issubclass(kind, ClassifierMixin)}


def parameters(texts: Sequence[str] | None) -> dict[str, Any]:
    """Parameters by name, from texts NAME=VALUE.

    Raises:
        InputError: one is not written so, or is given twice.
    """
    from fsmeu.errors import InputError, sentence

    given: dict[str, Any] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not key:
            must = "a parameter must be written NAME=VALUE"
            raise InputError(sentence("--param", must, text, "For example: --param loss=jaccard"))
        if key in given:
            raise InputError(sentence("--param", f"{key!r} may be given once", text))
        given[key] = _value(value.strip())
    return given


def _made(name: str, texts: Sequence[str] | None) -> Any:
    """The classifier with its parameters.

    Raises:
        InputError: there is none of that name, or it has no such parameter.
    """
    from fsmeu.errors import InputError, one_of, sentence

    known = classifiers()
    kind = known[one_of("--classifier", "a classifier", name, known)]
    given = parameters(texts)
    first = {key: value for key, value in given.items() if "__" not in key}
    for key in first:
        one_of(f"--param, {name}", "a parameter", key, inspect.signature(kind).parameters)
    model = kind(**_with_parts(name, first, given))
    inner = {key: v for key, v in given.items() if "__" in key and not key.startswith("loss__")}
    try:
        return model.set_params(**inner)
    except (ValueError, AttributeError) as error:
        must = str(error) if isinstance(error, ValueError) else "parameters need their estimator"
        remedy = "For example: -p estimator=LogisticRegression -p estimator__C=0.1"
        raise InputError(sentence(f"--param, {name}", must, None, remedy)) from None


def _with_parts(name: str, first: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Parameters with the loss loaded where its own are given, and the estimator made."""
    from fsmeu.errors import InputError, one_of, sentence
    from fsmeu.learning.parts import PROBABILISTIC
    from fsmeu.losses.library import load

    made = dict(first)
    of_loss = {k.removeprefix("loss__"): v for k, v in given.items() if k.startswith("loss__")}
    if of_loss:
        if "loss" not in first:
            must = "parameters of a loss need the loss"
            raise InputError(sentence(f"--param, {name}", must, None, "Add -p loss=NAME"))
        made["loss"] = load(first["loss"], **of_loss)
    if isinstance(first.get("estimator"), str):
        known = PROBABILISTIC
        chosen = one_of(f"--param, {name}", "estimator", first["estimator"], known)
        made["estimator"] = known[chosen]()
    return made


def _value(text: str) -> Any:
    """A number, truth value, list or null as JSON writes it; anything else is a text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        words = {"True": True, "False": False, "None": None}
        return words.get(text, text)


def _seen(model: Any, data: Examples) -> dict[str, Any]:
    from fsmeu.cli.measures import plain

    assert data.labels is not None
    several = data.labels.ndim == 2
    positive = (data.labels == model.classes_[1]).sum(axis=0)
    return {
        "examples": int(data.rows.shape[0]),
        "features": int(data.rows.shape[1]),
        "positive": positive.tolist() if several else int(positive),
        "classes": [plain(one) for one in model.classes_],
    }


def _print(found: dict[str, Any], as_json: bool) -> None:
    from fsmeu.cli.output import print_json, print_table, table

    if as_json:
        print_json(found)
        return
    made = table("", "value", right=("value",))
    for key, value in found.items():
        if key == "test":
            made.add_section()
            for name, number in value.items():
                made.add_row(f"test {name}", f"{number:.4f}")
            continue
        shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        made.add_row(key, shown)
    print_table(made)


def _print_classifiers(as_json: bool) -> None:
    from fsmeu.cli.output import print_json, print_table, table

    found: list[dict[str, Any]] = [
        {
            "name": name,
            "summary": (inspect.getdoc(kind) or "").partition("\n")[0],
            "parameters": list(inspect.signature(kind).parameters),
        }
        for name, kind in classifiers().items()
    ]
    if as_json:
        print_json(found)
        return
    made = table("name", "parameters", "summary")
    for row in found:
        made.add_row(row["name"], ", ".join(row["parameters"]), row["summary"])
    print_table(made)
