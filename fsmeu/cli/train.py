"""`fsmeu train`: a classifier from a file of labelled examples."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsmeu.cli.options import (
    ClassifierParams,
    DecisionPlot,
    FileFormat,
    Json,
    LabelColumn,
    ZeroBased,
)

if TYPE_CHECKING:
    from fsmeu.cli.examples import Examples

__all__ = ["train_classifier"]

_FILE = "An svmlight, csv or npz file (X and y) of examples."
_Data = Annotated[str | None, typer.Argument(metavar="FILE", help=_FILE, show_default=False)]
_Classifier = Annotated[
    str,
    typer.Option("--classifier", "-c", metavar="NAME", help="What to train; --list names all."),
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


def train_classifier(
    file: _Data = None,
    classifier: _Classifier = "DTAClassifier",
    param: ClassifierParams = None,
    output: _Output = None,
    test: _Test = None,
    plot: DecisionPlot = None,
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

    from fsmeu.cli.classifiers import classifiers, made_classifier, parameters
    from fsmeu.cli.examples import read_labelled
    from fsmeu.cli.measures import guarded, measures
    from fsmeu.cli.output import file_for
    from fsmeu.errors import InputError, sentence
    from fsmeu.learning.saving import save

    if list_all:
        _print_classifiers(as_json)
        return
    for given, option in ((file, "a FILE of examples"), (output, "--output MODEL.npz")):
        if given is None:
            raise InputError(sentence("train", f"{option} must be given"))
    place = file_for("--output", str(output))
    model = made_classifier(classifier, classifiers(), parameters(param))
    data = read_labelled(str(file), form, label, zero_based=zero_based)
    others = None
    if test is not None:
        others = read_labelled(test, form, label, int(data.rows.shape[1]), zero_based)
    picture = None
    if plot is not None:
        from fsmeu.cli.decision_plot import checked_decision_plot, plot_decision

        picture = checked_decision_plot(plot, None if others is None else others.labels)
    begin = perf_counter()
    guarded(f"train {classifier}", lambda: model.fit(data.rows, data.labels), "training")
    seconds = perf_counter() - begin
    save(model, place)
    found = {"classifier": classifier, **_seen(model, data), "seconds": round(seconds, 3)}
    if others is not None:
        predicted = guarded(f"test {classifier}", lambda: model.predict(others.rows), "deciding")
        assert others.labels is not None
        found["test"] = measures(model, others.labels, predicted)
        if picture is not None:
            plot_decision(picture, model, others.rows, others.labels, predicted)
    _print(found, as_json)


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
    from fsmeu.cli.classifiers import classifiers
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
