"""`fsmeu expect`: the expected value of a hypothesis under a model, and its distribution."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from rich.progress_bar import ProgressBar

from fsmeu.cli import options as opt
from fsmeu.cli.corpus import CorpusOptions, answer_corpus, check_corpus_options
from fsmeu.cli.inputs import given_model, load_loss, read_model, sequence, words
from fsmeu.cli.output import emit, line, note, print_json
from fsmeu.errors import InputError, sentence
from fsmeu.exchange.constraint_file import read_constraint
from fsmeu.expectation.expect import expect
from fsmeu.expectation.levels import Levels
from fsmeu.expectation.query import fitted, further_tags
from fsmeu.expectation.result import Expectation

__all__ = ["QUANTILES", "expect_value"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_MOST = 40
_BAR = 36
_MOST_LABELS = 1000  # outputs take a sweep without the short cuts of the value
_Hypothesis = Annotated[
    str | None,
    opt.argument("Z", "The hypothesis, such as 0110 or A,B,C (after -- when it begins with -)."),
]
_Choices = tuple[str, list[str] | None, str | None, str | None]


def expect_value(
    loss: opt.Loss,
    z: _Hypothesis = None,
    probs: opt.Probs = None,
    model: opt.Model = None,
    given: opt.Given = None,
    levels: bool = opt.typed(
        "--levels", "The values that the hypothesis can have, and how probable each."
    ),
    every: bool = opt.typed(
        "--all", f"With --levels: every value, not only the {_MOST} most probable."
    ),
    plot: str | None = opt.typed("--plot FILE", "Plot the levels: a .png, .pdf or .svg file."),
    param: opt.Params = None,
    labels: opt.Labels = None,
    types: opt.Types = None,
    engine: opt.Engine = "lattice",
    beam: opt.Beam = None,
    corpus: opt.Corpus = None,
    corpus_format: opt.CorpusFormat = None,
    column: opt.Column = None,
    output: opt.CorpusOutput = None,
    jobs: opt.Jobs = None,
    scheduler: opt.Scheduler = None,
    resume: opt.Resume = False,
    on_error: opt.OnError = None,
    as_json: opt.Json = False,
) -> None:
    """Print the expected value of a hypothesis under a model, which the reference follows.

    Further outputs that the loss file names, and bounds where --beam leaves states out, are printed
    on stderr. With --corpus, there is a line for each record, whose key "z" is its hypothesis (in
    columns, the one that --column names).
    """
    typed = CorpusOptions(corpus, corpus_format, output, jobs, scheduler, resume, on_error, column)
    check_corpus_options(typed, models=(probs, model))
    chosen = (loss, param, labels, types)
    if corpus is not None:
        if z is not None:
            raise InputError(sentence("Z", "the records of a corpus have their own hypotheses", z))
        if engine != "lattice" or beam is not None or levels or plot is not None:
            must = "--engine, --beam, --levels and --plot are for one hypothesis and model"
            raise InputError(sentence("--corpus", must))
        _expect_corpus(chosen, typed, given, as_json)
        return
    if z is None:
        must = "a hypothesis Z is needed, unless there is a --corpus"
        raise InputError(sentence("Z", must, "none"))
    answer = _expect_one(chosen, z, (probs, model), given, engine, beam)
    if plot is not None:
        from fsmeu.drawing.plots.levels_plot import save_levels

        save_levels(answer, plot, f"{loss} of {z}")
    outputs = answer.outputs if beam is None and len(z) <= _MOST_LABELS else {}
    if as_json:
        print_json({**_data(answer, levels), "outputs": outputs})
        return
    if levels:
        _print_levels(answer.levels, len(answer.levels.values) if every else _MOST)
    else:
        line(repr(float(answer.value)))
    if beam is not None and not levels:
        lower, upper, kept = (float(x) for x in (answer.lower, answer.upper, answer.kept))
        note(f"{lower!r} <= truth <= {upper!r}, probability kept: {kept!r}")
    for name, value in outputs.items():
        note(f"{name} {value!r}")


def _expect_corpus(
    chosen: _Choices, typed: CorpusOptions, given: str | None, as_json: bool
) -> None:
    from fsmeu.corpora.run import Question, as_line

    def question(form: str) -> Question:
        if form == "conll" and typed.column is None:
            must = "the column of the hypothesis must be given for a corpus in columns"
            raise InputError(sentence("--column", must, "none", "For example: --column 3"))
        condition = read_constraint("--given", given)
        return Question("expect", load_loss(*chosen), form, typed.column or 0, given=condition)

    def show(data: dict[str, Any]) -> str:
        return as_line(data) if as_json else repr(data["value"])

    totals = answer_corpus(question, typed, chosen[0], show)
    if totals.bad or typed.output is not None:
        note(f"{totals.records:,} records, {totals.bad:,} bad ones skipped")


def _expect_one(
    chosen: _Choices,
    z: str,
    source: tuple[str | None, str | None],
    given: str | None,
    engine: str,
    beam: int | None,
) -> Expectation:
    label_model = given_model(read_model(*source, loss_name=chosen[0]), given)
    loaded = load_loss(*chosen)
    tags = further_tags(loaded, words(z))
    alphabet = fitted(loaded, label_model, "expect", tags)[0].alphabet
    return expect(loaded, sequence(alphabet, z), label_model, engine=engine, keep=beam)


def _data(answer: Expectation, levels: bool) -> dict[str, Any]:
    known = answer.levels
    data: dict[str, Any] = {
        "value": answer.value,
        "lower": answer.lower,
        "upper": answer.upper,
        "kept": answer.kept,
        "variance": answer.variance,
        "quantiles": {str(q): answer.quantile(q) if len(known.values) else None for q in QUANTILES},
    }
    pair = {"values": known.values.tolist(), "probabilities": known.probabilities.tolist()}
    return {**data, **pair} if levels else data


def _print_levels(levels: Levels, most: int) -> None:
    """Prints the given number of most probable values, in ascending order, with bars."""
    if not len(levels.values):
        line("Nothing of positive probability was kept.")
        return
    shown = np.sort(np.argsort(-levels.probabilities, kind="stable")[:most])
    longest = float(levels.probabilities.max())
    rows = []
    for k in shown:
        value, probability = float(levels.values[k]), float(levels.probabilities[k])
        bar = ProgressBar(total=longest, completed=probability, width=_BAR)
        rows.append((f"{value:.10g}", f"{probability:.8g}", bar))
    emit(rows, ("value", "probability", ""), right=("value", "probability"))
    rest = np.delete(levels.probabilities, shown)
    if len(rest):
        less = f"{len(rest):,} less probable values ({float(rest.sum()):.3g} together)"
        line()
        line(f"{less} are left out; --all shows them.")
