"""`fsmeu decode`: the label sequence with the best expected value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fsmeu.cli import options as opt
from fsmeu.cli.corpus import answer_corpus, check_corpus_options
from fsmeu.cli.failures import refuse
from fsmeu.cli.inputs import load_loss, read_model, words
from fsmeu.cli.output import emit, file_for, line, note, print_json, progress, write_output
from fsmeu.corpora.run import ModelQuestion, as_line
from fsmeu.decoding.decode import METHODS, Compared, compare_methods, decode
from fsmeu.decoding.decode import explain as in_words
from fsmeu.decoding.explicit import hypotheses_composition
from fsmeu.decoding.problem import Decision
from fsmeu.drawing.draw import draw as draw_machine
from fsmeu.errors import one_of
from fsmeu.exchange.openfst import read_constraint
from fsmeu.expectation.expect import ENGINES
from fsmeu.fst.alphabet import Label
from fsmeu.limits import CANDIDATES, SECONDS
from fsmeu.losses.protocol import Loss
from fsmeu.models import Model

_MOMENT = 5  # calls of progress, of which there are ten in a second


def decode_labels(
    source: opt.ModelSource,
    binding: opt.Binding,
    typed: opt.CorpusAnswers,
    loss: str = opt.LOSS,
    method: str = opt.option(
        "--method NAME", "How to decide; auto takes what the loss and model allow.", "auto"
    ),
    given: str | None = opt.GIVEN,
    constraint: str | None = opt.CONSTRAINT,
    explain: bool = opt.option("--explain", "Say which property chose the method."),
    compare: bool = opt.option(
        "--compare", "A table of all methods that fit; or of those in --method."
    ),
    beam: int | None = opt.BEAM,
    budget: int = opt.option("--budget B", "How many candidates may be tried.", CANDIDATES, min=1),
    seconds: float = opt.option(
        "--seconds S",
        "How long trying candidates may take, for each sequence; inf for no limit.",
        SECONDS,
    ),
    engine: str = opt.ENGINE,
    draw: str | None = opt.option(
        "--draw FILE",
        "With --engine openfst: a picture of the composition, the decision's paths in colour.",
    ),
    as_json: bool = opt.JSON,
) -> None:
    """Print the label sequence with the highest expected utility, or the lowest expected loss.

    Under one model the labels and their expected value are printed; with --corpus a line for each
    sequence. Whether the decision is proven best is said by --explain, --json and --compare.
    With --engine openfst, all sequences, loss and model are composed as one explicit machine.
    """
    allowed = read_constraint("--constraint", constraint)
    options: dict[str, Any] = {"constraint": allowed, "keep": beam, "budget": budget}
    options["seconds"] = seconds
    check_corpus_options(typed, source)
    _check_engine(engine, draw, alone=typed.corpus is None and not compare)
    if typed.corpus is not None:
        if compare:
            must = "methods are compared under one model, given by --probs or --model"
            refuse("--compare", must, "--corpus")

        def ask(form: str) -> ModelQuestion:
            one_of("decode", "method", method, ["auto", *METHODS])
            every = {**options, "method": method}
            condition = read_constraint("--given", given)
            return ModelQuestion(
                "decode", load_loss(loss, binding), form, 0, explain, every, condition
            )

        totals = answer_corpus(ask, typed, loss, as_line if as_json else _text_line)
        if not as_json or typed.output is not None or totals.bad:
            more = f", {totals.bad:,} bad records skipped" if totals.bad else ""
            note(f"{totals.records:,} sequences, {totals.proven:,} decisions proven best{more}")
        return
    label_model = read_model(source, loss, given)
    loaded: Loss = load_loss(loss, binding)
    if compare:
        named = None if method == "auto" else words(method)
        _print_comparison(compare_methods(loaded, label_model, named, options), as_json)
        return
    decision = _decide(loaded, label_model, {**options, "method": method, "engine": engine})
    if draw is not None:
        composed = hypotheses_composition(loaded, label_model, allowed)
        draw_machine(composed, z=decision.labels).save(file_for("--draw", draw))
    _print_one(decision, explain, as_json)


def _check_engine(engine: str, draw: str | None, alone: bool) -> None:
    """Refuses engines that are none, and what only the explicit one does with one model."""
    explicit = one_of("decode", "engine", engine, ENGINES) == "openfst"
    if explicit and not alone:
        must = "--engine openfst decides under one model, without --compare"
        refuse("decode", must, None, "Give --probs or --model")
    if draw is not None and not explicit:
        must = "--draw shows the composition, which only --engine openfst builds"
        refuse("decode", must, None, "Add --engine openfst")


def _decide(loss: Loss, model: Model, options: dict[str, Any]) -> Decision:
    """The decision, with a bar if it takes a while."""
    with progress("searching", 1.0, patience=_MOMENT) as tell:
        return decode(loss, model, progress=lambda done: tell(completed=done), **options)


def _data(decision: Decision) -> dict[str, Any]:
    return {
        "labels": decision.labels,
        "value": float(decision.value),
        "method": decision.method,
        "exact": decision.exact,
        "candidates": decision.candidates,
    }


def _spelled(labels: Sequence[Label]) -> str:
    """Labels side by side where each is one character, else with spaces between them."""
    words = [str(label) for label in labels]
    return ("" if all(len(word) == 1 for word in words) else " ").join(words)


def _print_one(decision: Decision, explain: bool, as_json: bool) -> None:
    words = in_words(decision) if explain else ""
    if as_json:
        print_json({**_data(decision), **({"explanation": words} if explain else {})})
        return
    write_output("-", f"{_spelled(decision.labels)}\n{float(decision.value)!r}\n")
    if explain:
        line(words, wrap=True)


def _text_line(data: dict[str, Any]) -> str:
    """The value and the labels, and the explanation if there is one, with tabs between them."""
    shown = [repr(data["value"]), _spelled(data["labels"])]
    return "\t".join([*shown, data["explanation"]] if "explanation" in data else shown)


def _print_comparison(rows: Sequence[Compared], as_json: bool) -> None:
    if as_json:
        print_json([_compared_data(row) for row in rows])
        return
    cells = [
        (
            row.method,
            _spelled(row.decision.labels),
            f"{row.decision.value:.10g}",
            "yes" if row.decision.exact else "no",
            f"{1000 * row.seconds:.1f}",
        )
        for row in rows
        if row.decision is not None
    ]
    emit(cells, ("method", "labels", "value", "exact", "ms"), right=("value", "ms"))
    refused = [row.refused for row in rows if row.refused]
    for text in ["", *refused] if refused else []:
        line(text and text.partition(". Use method=")[0] + ".", wrap=True)


def _compared_data(row: Compared) -> dict[str, Any]:
    if row.decision is None:
        return {"method": row.method, "refused": row.refused}
    return {**_data(row.decision), "seconds": row.seconds, "method": row.method}
