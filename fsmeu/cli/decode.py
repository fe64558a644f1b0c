"""`fsmeu decode`: the label sequence with the best expected value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsmeu.cli.corpus import (
    Bad,
    Corpus,
    CorpusFormat,
    CorpusOptions,
    CorpusOutput,
    Jobs,
    Resume,
    Scheduler,
    answer_corpus,
    check_corpus_options,
)
from fsmeu.cli.given import ConstraintName, GivenName, given_model, read_constraint
from fsmeu.cli.options import (
    EngineName,
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
    from collections.abc import Sequence

    from fsmeu.corpora.run import Totals
    from fsmeu.corpora.work import Question
    from fsmeu.decoding.problem import Decision
    from fsmeu.fst.alphabet import Label
    from fsmeu.losses.protocol import Loss
    from fsmeu.models import Model

__all__ = ["decode_labels"]

_QUICK = 0.5
_MOMENT = 5  # calls of progress, of which there are ten in a second

_MethodName = Annotated[
    str,
    typer.Option(
        "--method", metavar="NAME", help="How to decide; auto takes what the loss and model allow."
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
_Draw = Annotated[
    str | None,
    typer.Option(
        "--draw",
        metavar="FILE",
        help="With --engine openfst: a picture of the composition, the decision's paths in colour.",
        show_default=False,
    ),
]


def decode_labels(
    loss: LossName,
    probs: Probabilities = None,
    model: ModelFile = None,
    corpus: Corpus = None,
    corpus_format: CorpusFormat = None,
    output: CorpusOutput = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    resume: Resume = False,
    bad: Bad = None,
    method: _MethodName = "auto",
    given: GivenName = None,
    constraint: ConstraintName = None,
    keep: _Keep = None,
    budget: _Budget = CANDIDATES,
    seconds: _Seconds = SECONDS,
    param: ParamList = None,
    labels: LabelList = None,
    types: TypeList = None,
    explain: _Explain = False,
    compare: _Compare = False,
    engine: EngineName = "lattice",
    draw: _Draw = None,
    as_json: Json = False,
) -> None:
    """Prints the label sequence with the highest expected utility, or the lowest expected loss.

    Under one model the labels and their expected value are printed; with --corpus a line for each
    sequence. Whether the decision is proven best is said by --explain, --json and --compare.
    With --engine openfst, all sequences, loss and model are composed as one explicit machine.
    """
    from fsmeu.cli.inputs import load_loss, read_model

    allowed = read_constraint("--constraint", constraint)
    options: dict[str, Any] = {"constraint": allowed, "keep": keep, "budget": budget}
    options["seconds"] = seconds
    typed = CorpusOptions(corpus, corpus_format, output, jobs, scheduler, resume, bad)
    check_corpus_options(typed)
    _check_engine(engine, draw, alone=corpus is None and not compare)
    if corpus is not None:
        _check_corpus_alone(probs, model, compare)

        def ask(form: str) -> Question:
            from fsmeu.corpora.work import Question

            _check_method(method)
            chosen = load_loss(loss, param, labels, types)
            every = {**options, "method": method}
            condition = read_constraint("--given", given)
            return Question("decode", chosen, form, 0, explain, every, condition)

        show = _json_line if as_json else _text_line
        _print_totals(answer_corpus(ask, typed, loss, show), typed, as_json)
        return
    label_model = given_model(read_model(probs, model, loss_name=loss), given)
    loaded: Loss = load_loss(loss, param, labels, types)
    if compare:
        _print_comparison(_compare_methods(loaded, label_model, method, options), as_json)
        return
    asked = {**options, "method": method, "engine": engine}
    decision = _decide(loaded, label_model, asked)
    if draw is not None:
        _draw_composition(loaded, label_model, allowed, decision, draw)
    _print_one(decision, explain, as_json)


def _check_engine(engine: str, draw: str | None, alone: bool) -> None:
    """Refuses engines that are none, and what only the explicit one does with one model."""
    from fsmeu.errors import InputError, one_of, sentence
    from fsmeu.expectation.expect import ENGINES

    explicit = one_of("decode", "engine", engine, ENGINES) == "openfst"
    if explicit and not alone:
        must = "--engine openfst decides under one model, without --compare"
        raise InputError(sentence("decode", must, None, "Give --probs or --model"))
    if draw is not None and not explicit:
        must = "--draw shows the composition, which only --engine openfst builds"
        raise InputError(sentence("decode", must, None, "Add --engine openfst"))


def _draw_composition(
    loss: Loss, model: Model, allowed: Any, decision: Decision, path: str
) -> None:
    from fsmeu.decoding.explicit import hypotheses_composition
    from fsmeu.drawing.draw import draw

    draw(hypotheses_composition(loss, model, allowed), z=decision.labels, path=path)


def _check_method(method: str) -> None:
    """Refuses a method that is none, before the first record is read."""
    from fsmeu.decoding.decode import METHODS
    from fsmeu.errors import one_of

    one_of("decode", "method", method, ["auto", *METHODS])


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


def _spelled(labels: Sequence[Label]) -> str:
    """Labels side by side where each is one character, else with spaces between them."""
    words = [str(label) for label in labels]
    return ("" if all(len(word) == 1 for word in words) else " ").join(words)


def _print_one(decision: Decision, explain: bool, as_json: bool) -> None:
    from fsmeu.cli.output import line, print_json, write_output
    from fsmeu.decoding.decode import explain as in_words

    if as_json:
        print_json(_explained(decision, explain))
        return
    write_output("-", f"{_spelled(decision.labels)}\n{float(decision.value)!r}\n")
    if explain:
        line(in_words(decision), wrap=True)


def _json_line(data: dict[str, Any]) -> str:
    from fsmeu.corpora.output import as_line

    return as_line(data)


def _text_line(data: dict[str, Any]) -> str:
    """The value and the labels, and the explanation if there is one, with tabs between them."""
    shown = [repr(data["value"]), _spelled(data["labels"])]
    return "\t".join([*shown, data["explanation"]] if "explanation" in data else shown)


def _print_totals(totals: Totals, typed: CorpusOptions, as_json: bool) -> None:
    from fsmeu.cli.output import note

    if as_json and typed.output is None and not totals.bad:
        return
    passed = f", {totals.bad:,} bad records passed over" if totals.bad else ""
    note(f"{totals.records:,} sequences, {totals.proven:,} decisions proven best{passed}")


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
        row = {**_data(decision), "spelled": _spelled(decision.labels), "seconds": seconds}
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
