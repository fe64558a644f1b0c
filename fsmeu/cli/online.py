"""`fsmeu online`: examples of a file streamed through online learners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsmeu.cli.options import FileFormat, Json, LabelColumn, ZeroBased

if TYPE_CHECKING:
    from fsmeu.cli.online_runs import Task

__all__ = ["stream_examples"]

_Data = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="An svmlight, csv or npz file (X and y) of examples.",
        show_default=False,
    ),
]
_Learners = Annotated[
    list[str] | None,
    typer.Option(
        "--classifier",
        "-c",
        metavar="NAME[:P=V,...]",
        help="FOFOClassifier, OFOClassifier, OMCSLClassifier, OnlineLogisticClassifier or "
        "STAMPClassifier, with parameters of its own, as in FOFOClassifier:gamma_scale=auto. "
        "Repeatable.",
        show_default="FOFOClassifier",
    ),
]
_Params = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        "-p",
        metavar="NAME=VALUE",
        help="A parameter of every learner that has it, such as step=4 or beta=2. Repeatable.",
        show_default=False,
    ),
]
_Passes = Annotated[
    int, typer.Option("--passes", metavar="N", min=1, help="How often the examples are seen.")
]
_Shuffles = Annotated[
    int,
    typer.Option(
        "--shuffles",
        metavar="N",
        min=0,
        max=10_000,
        help="Random orders to average over; 0 is the order of the file.",
    ),
]
_Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the random orders.")]
_Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="The measure against examples seen: a plot (.png, .pdf, .svg), a table (.csv), or "
        "with what is printed (.json).",
        show_default=False,
    ),
]
_Test = Annotated[
    str | None,
    typer.Option(
        "--test",
        metavar="FILE",
        help="Examples to measure the learners on afterwards.",
        show_default=False,
    ),
]
_Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="LABEL",
        help="The positive class, against all others; classes are then 0 and 1.",
        show_default="the greater of two classes",
    ),
]
_Save = Annotated[
    str | None,
    typer.Option(
        "--save",
        metavar="MODEL.npz",
        help="The learner after the first order, for 'fsmeu predict'.",
        show_default=False,
    ),
]


def stream_examples(
    file: _Data,
    classifier: _Learners = None,
    param: _Params = None,
    passes: _Passes = 1,
    shuffles: _Shuffles = 10,
    seed: _Seed = 0,
    output: _Output = None,
    test: _Test = None,
    positive: _Positive = None,
    save: _Save = None,
    label: LabelColumn = None,
    form: FileFormat = None,
    zero_based: ZeroBased = False,
    as_json: Json = False,
) -> None:
    """Streams examples through online learners, and prints how good their predictions were.

    Each prediction is made before the label of its example is used. Examples a second are of
    processor time, in the fastest order.
    """
    from fsmeu.cli.examples import read_labelled
    from fsmeu.cli.online_learners import online_learners
    from fsmeu.cli.online_output import checked_output, print_outcomes, write_outcomes
    from fsmeu.cli.online_runs import Plan, run_all, two_classes
    from fsmeu.cli.output import file_for
    from fsmeu.errors import InputError, sentence
    from fsmeu.learning.saving import save as save_model

    learners = online_learners(classifier or ["FOFOClassifier"], param)
    if save is not None and len(learners) > 1:
        must = "one learner can be saved"
        raise InputError(sentence("--save", must, f"{len(learners)} learners", "Give one -c"))
    place = None if output is None else checked_output(output)
    model = None if save is None else file_for("--save", save)
    data = two_classes(file, read_labelled(file, form, label, zero_based=zero_based), positive)
    others: Task | None = None
    if test is not None:
        held = read_labelled(test, form, label, int(data.rows.shape[1]), zero_based)
        others = two_classes(test, held, positive, data)
    plan = Plan(passes, shuffles, seed)
    found = run_all(learners, data, others, plan)
    if model is not None:
        save_model(found[0].first, model)
    facts: dict[str, Any] = {
        "examples": int(data.rows.shape[0]),
        "features": int(data.rows.shape[1]),
        "positive": data.positive,
        "passes": passes,
        "shuffles": shuffles,
        "seed": seed,
    }
    if place is not None:
        write_outcomes(place, facts, found)
    print_outcomes(facts, found, as_json)
