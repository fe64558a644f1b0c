"""`fsmeu predict`: the classes of examples, by a model that `fsmeu train` has written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsmeu.cli.options import DecisionPlot, FileFormat, Json, LabelColumn, ZeroBased

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["predict_labels"]

_Model = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="A file of 'fsmeu train'.", show_default=False),
]
_Data = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="An svmlight, csv or npz file of examples, with labels or (csv, npz) without.",
        show_default=False,
    ),
]
_Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="Where the classes go; the measures are then a table.",
        show_default="standard output",
    ),
]
_Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="The probability of the positive class as well.")
]


def predict_labels(
    model: _Model,
    file: _Data,
    output: _Output = "-",
    probabilities: _Probabilities = False,
    plot: DecisionPlot = None,
    label: LabelColumn = None,
    form: FileFormat = None,
    zero_based: ZeroBased = False,
    as_json: Json = False,
) -> None:
    """Prints the class of each example on a line, and how good they are where labels are known.

    Several labels of an example, and its probabilities, stand on its line with tabs between them.
    """
    from fsmeu.cli.examples import read_examples
    from fsmeu.cli.measures import guarded, measures
    from fsmeu.cli.output import note, print_json, print_table, table, write_output

    made = _loaded(model)
    data = read_examples(file, form, label, int(made.n_features_in_), zero_based)
    picture = None
    if plot is not None:
        from fsmeu.cli.decision_plot import checked_decision_plot, plot_decision

        picture = checked_decision_plot(plot, data.labels)
    classes = guarded(f"predict {file}", lambda: made.predict(data.rows), "deciding")
    chances = _chances(made, data.rows) if probabilities else None
    found = None if data.labels is None else measures(made, data.labels, classes)
    if picture is not None:
        assert data.labels is not None
        plot_decision(picture, made, data.rows, data.labels, classes)
    if as_json:
        print_json(_data(classes, chances, found))
        return
    lines = _lines(classes, chances)
    write_output(output, "".join(f"{one}\n" for one in lines))
    if output == "-":
        if found is not None:
            note(", ".join(f"{name} {value:.4f}" for name, value in found.items()))
        return
    shown = table("measure", "value", right=("value",))
    shown.add_row("examples", f"{len(lines):,}")
    for name, value in (found or {}).items():
        shown.add_row(name, f"{value:.4f}")
    print_table(shown)


def _loaded(name: str) -> Any:
    """The fitted classifier of a file.

    Raises:
        InputError: the file holds something else.
    """
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    from fsmeu.cli.classifiers import classifiers
    from fsmeu.errors import InputError, sentence
    from fsmeu.learning.saving import load

    known = classifiers()
    made = load(name)
    if type(made).__name__ not in known:
        must = "the model must be a classifier of rows"
        raise InputError(sentence(name, must, type(made).__name__))
    try:
        check_is_fitted(made, ["classes_", "n_features_in_"])
    except NotFittedError:
        raise InputError(sentence(name, "the model must have been trained")) from None
    return made


def _chances(made: Any, rows: Any) -> NDArray[np.float64]:
    """Probabilities of positive labels, (rows, labels)."""
    import numpy as np

    from fsmeu.cli.measures import guarded
    from fsmeu.errors import InputError, sentence

    if not hasattr(made, "predict_proba"):
        must = "the model must be one that tells probabilities"
        raise InputError(sentence("--probabilities", must, type(made).__name__))
    found = np.asarray(guarded("predict", lambda: made.predict_proba(rows), "deciding"))
    several = getattr(made, "columns_", None) is not None
    return found if several else found[:, 1:]


def _lines(classes: NDArray[Any], chances: NDArray[np.float64] | None) -> list[str]:
    from fsmeu.cli.measures import plain

    rows = classes.reshape(len(classes), -1)
    lines = ["\t".join(str(plain(one)) for one in row) for row in rows]
    if chances is None:
        return lines
    more = ("\t".join(repr(float(p)) for p in row) for row in chances)
    return [f"{line}\t{tail}" for line, tail in zip(lines, more, strict=True)]


def _data(
    classes: NDArray[Any], chances: NDArray[np.float64] | None, found: dict[str, float] | None
) -> dict[str, Any]:
    from fsmeu.cli.measures import plain

    several = classes.ndim == 2
    shown = [[plain(one) for one in row] if several else plain(row) for row in classes]
    data: dict[str, Any] = {"classes": shown, "measures": found}
    if chances is not None:
        data["probabilities"] = chances.tolist() if several else chances[:, 0].tolist()
    return data
