"""`fsmeu decode`: the label sequence with the best expected value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsmeu.cli.options import (
    Json,
    LabelList,
    LossName,
    ModelFile,
    ParamList,
    Probabilities,
    TypeList,
)
from fsmeu.limits import CANDIDATES, SECONDS

if TYPE_CHECKING:
    from fsmeu.decoding.problem import Decision
    from fsmeu.losses.protocol import Loss
    from fsmeu.models import Model

__all__ = ["decode_labels"]

_QUICK = 0.5
_MOMENT = 5  # calls of progress, of which there are ten in a second

_Corpus = Annotated[
    str | None,
    typer.Option(
        "--corpus",
        metavar="FILE.jsonl",
        help="Many models, a JSON object on each line; - for standard input.",
        show_default=False,
    ),
]
_MethodName = Annotated[
    str,
    typer.Option(
        "--method", metavar="NAME", help="How to decide; auto takes what the loss and model allow."
    ),
]
_Constraint = Annotated[
    str | None,
    typer.Option(
        "--constraint",
        metavar="REGEX",
        help='Sequences that are allowed: a regular expression over labels, as in "0* 1? 0*".',
        show_default=False,
    ),
]
_Keep = Annotated[
    int | None,
    typer.Option(
        "--keep",
        metavar="L",
        min=1,
        help="Value candidates by the L most probable states of each layer; proves nothing.",
        show_default=False,
    ),
]
_Budget = Annotated[
    int,
    typer.Option("--budget", metavar="B", min=1, help="How many candidates may be tried."),
]
_Seconds = Annotated[
    float,
    typer.Option(
        "--seconds",
        metavar="S",
        help="How long trying candidates may take, for each sequence; inf for no limit.",
    ),
]
_Explain = Annotated[bool, typer.Option("--explain", help="Say which property chose the method.")]
_Compare = Annotated[
    bool,
    typer.Option("--compare", help="A table of all methods that fit; or of those in --method."),
]


def decode_labels(
    loss: LossName,
    probs: Probabilities = None,
    model: ModelFile = None,
    corpus: _Corpus = None,
    method: _MethodName = "auto",
    constraint: _Constraint = None,
    keep: _Keep = None,
    budget: _Budget = CANDIDATES,
    seconds: _Seconds = SECONDS,
    param: ParamList = None,
    labels: LabelList = None,
    types: TypeList = None,
    explain: _Explain = False,
    compare: _Compare = False,
    as_json: Json = False,
) -> None:
    """Prints the label sequence with the highest expected utility, or the lowest expected loss.

    Under one model the labels and their expected value are printed; with --corpus a line for each
    sequence. Whether the decision is proven best is said by --explain, --json and --compare.
    """
    from fsmeu.cli.inputs import load_loss, read_model

    options: dict[str, Any] = {"constraint": constraint, "keep": keep, "budget": budget}
    options["seconds"] = seconds
    if corpus is not None:
        from fsmeu.cli.corpus import read_corpus

        _check_corpus_alone(probs, model, compare)
        models = read_corpus(corpus, loss)
        loaded: Loss = load_loss(loss, param, labels, types)
        _print_corpus(_decide_all(loaded, models, method, options), explain, as_json)
        return
    label_model = read_model(probs, model, loss_name=loss)
    loaded = load_loss(loss, param, labels, types)
    if compare:
        _print_comparison(_compare_methods(loaded, label_model, method, options), as_json)
        return
    _print_one(_decide(loaded, label_model, {**options, "method": method}), explain, as_json)


def _check_corpus_alone(probs: str | None, model: str | None, compare: bool) -> None:
    from fsmeu.errors import InputError, sentence

    if probs is not None or model is not None:
        must = "models are given by --probs, by --model or by --corpus, one of them"
        raise InputError(sentence("model", must, "more"))
    if compare:
        must = "methods are compared under one model, given by --probs or --model"
        raise InputError(sentence("--compare", must, "--corpus"))


def _decide(loss: Loss, model: Model, options: dict[str, Any]) -> Decision:
    """The decision, with a bar on stderr if that is a terminal and it takes a while."""
    from rich.console import Console
    from rich.progress import Progress

    from fsmeu.decoding.decode import decode

    screen = Console(stderr=True)
    bar = Progress(console=screen, transient=True, disable=not screen.is_terminal)
    task = bar.add_task("searching", total=1.0)
    asked = 0

    def tell(done: float) -> None:
        nonlocal asked
        asked += 1
        if asked == _MOMENT:
            bar.start()
        bar.update(task, completed=done)

    try:
        return decode(loss, model, progress=tell, **options)
    finally:
        bar.stop()


def _decide_all(
    loss: Loss, models: list[Model], method: str, options: dict[str, Any]
) -> list[Decision]:
    """The decisions, with a bar on stderr if that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    from fsmeu.decoding.decode_many import decode_many

    screen = Console(stderr=True)
    with Progress(console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task("deciding", total=len(models))

        def tell(made: int) -> None:
            progress.advance(task, made)

        return decode_many(loss, models, method=method, progress=tell, **options)


def _data(decision: Decision) -> dict[str, Any]:
    return {
        "labels": decision.labels,
        "value": float(decision.value),
        "method": decision.method,
        "exact": decision.exact,
        "candidates": decision.candidates,
    }


def _explained(decision: Decision, explain: bool) -> dict[str, Any]:
    from fsmeu.decoding.decode import explain as in_words

    data = _data(decision)
    return {**data, "explanation": in_words(decision)} if explain else data


def _spelled(decision: Decision) -> str:
    """Labels side by side where each is one character, else with spaces between them."""
    words = [str(label) for label in decision.labels]
    return ("" if all(len(word) == 1 for word in words) else " ").join(words)


def _print_one(decision: Decision, explain: bool, as_json: bool) -> None:
    from fsmeu.cli.output import line, print_json
    from fsmeu.decoding.decode import explain as in_words

    if as_json:
        print_json(_explained(decision, explain))
        return
    typer.echo(_spelled(decision))
    typer.echo(repr(float(decision.value)))
    if explain:
        line(in_words(decision), wrap=True)


def _print_corpus(decisions: list[Decision], explain: bool, as_json: bool) -> None:
    """One line for each: JSON, or the value and the labels with a tab between them."""
    from fsmeu.cli.output import note, print_json
    from fsmeu.decoding.decode import explain as in_words

    for decision in decisions:
        if as_json:
            print_json(_explained(decision, explain))
            continue
        shown = [repr(float(decision.value)), _spelled(decision)]
        typer.echo("\t".join([*shown, in_words(decision)] if explain else shown))
    if not as_json:
        proven = sum(decision.exact for decision in decisions)
        note(f"{len(decisions):,} sequences, {proven:,} decisions proven best")


def _compare_methods(
    loss: Loss, model: Model, method: str, options: dict[str, Any]
) -> list[dict[str, Any]]:
    """What each method decides and how long it takes, or why it does not."""
    from fsmeu.decoding.decode import METHODS
    from fsmeu.decoding.problem import RefusalError
    from fsmeu.errors import SizeLimitError

    named = list(METHODS) if method == "auto" else method.replace(",", " ").split()
    rows: list[dict[str, Any]] = []
    for name in named:
        try:
            decision, seconds = _timed(loss, model, {**options, "method": name})
        except (RefusalError, SizeLimitError) as error:
            rows.append({"method": name, "refused": str(error)})
            continue
        row = {**_data(decision), "spelled": _spelled(decision), "seconds": seconds}
        rows.append({**row, "method": name})
    return rows


def _timed(loss: Loss, model: Model, options: dict[str, Any]) -> tuple[Decision, float]:
    """A decision and the seconds it takes; what is quick is timed again, once all is loaded."""
    from time import perf_counter

    from fsmeu.decoding.decode import decode

    begin = perf_counter()
    decision = decode(loss, model, **options)
    seconds = perf_counter() - begin
    if seconds < _QUICK:
        begin = perf_counter()
        decode(loss, model, **options)
        seconds = min(seconds, perf_counter() - begin)
    return decision, seconds


def _print_comparison(rows: list[dict[str, Any]], as_json: bool) -> None:
    from fsmeu.cli.output import line, print_json, print_table, table

    if as_json:
        for row in rows:
            row.pop("spelled", None)
        print_json(rows)
        return
    made = table("method", "labels", "value", "exact", "ms", right=("value", "ms"))
    for row in rows:
        if "refused" not in row:
            exact = "yes" if row["exact"] else "no"
            time = f"{1000 * row['seconds']:.1f}"
            made.add_row(row["method"], row["spelled"], f"{row['value']:.10g}", exact, time)
    print_table(made)
    refused = [row for row in rows if "refused" in row]
    if refused:
        line()
    for row in refused:
        line(row["refused"].partition(". Use method=")[0] + ".", wrap=True)
