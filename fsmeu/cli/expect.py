"""`fsmeu expect`: the expected value of a hypothesis under a model, and its distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.progress_bar import ProgressBar

from fsmeu.cli import options as opt
from fsmeu.cli.corpus import answer_corpus, check_corpus_options
from fsmeu.cli.failures import refuse
from fsmeu.cli.inputs import load_loss, read_model, sequence, words
from fsmeu.cli.output import checked_picture, emit, line, note, print_json
from fsmeu.corpora.run import ModelQuestion, as_line
from fsmeu.drawing.plots import plot_levels, save_plot
from fsmeu.exchange.openfst import read_constraint
from fsmeu.expectation.expect import expect
from fsmeu.expectation.query import fitted, further_tags
from fsmeu.expectation.result import Expectation, Levels

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_MOST = 40
_BAR = 36
_MOST_LABELS = 1000  # outputs take a sweep without the short cuts of the value


def expect_value(
    source: opt.ModelSource,
    binding: opt.Binding,
    typed: opt.CorpusAnswers,
    loss: str = opt.LOSS,
    z: str | None = opt.argument(
        "Z", "The hypothesis, such as 0110 or A,B,C (after -- when it begins with -).", None
    ),
    given: str | None = opt.GIVEN,
    levels: bool = opt.option(
        "--levels", "The values that the hypothesis can have, and how probable each."
    ),
    every: bool = opt.option(
        "--all", f"With --levels: every value, not only the {_MOST} most probable."
    ),
    plot: str | None = opt.option("--plot FILE", "Plot the levels: a .png, .pdf or .svg file."),
    engine: str = opt.ENGINE,
    beam: int | None = opt.BEAM,
    column: int | None = opt.option(
        "--column K", "In columns: that of the hypothesis, from 1.", min=1, rich_help_panel="Corpus"
    ),
    as_json: bool = opt.JSON,
) -> None:
    """Print the expected value of a hypothesis under a model, which the reference follows.

    Further outputs that the loss file names, and bounds where --beam leaves states out, are printed
    on stderr. With --corpus, there is a line for each record, whose key "z" is its hypothesis (in
    columns, the one that --column names).
    """
    check_corpus_options(typed, source)
    if typed.corpus is not None:
        if z is not None:
            refuse("Z", "the records of a corpus have their own hypotheses", z)
        if engine != "lattice" or beam is not None or levels or plot is not None:
            must = "--engine, --beam, --levels and --plot are for one hypothesis and model"
            refuse("--corpus", must)
        _expect_corpus((loss, binding), typed, column, given, as_json)
        return
    if column is not None:
        refuse("--column", "it needs --corpus FILE")
    if z is None:
        refuse("Z", "a hypothesis Z is needed, unless there is a --corpus", "none")
    picture = checked_picture(plot)
    label_model = read_model(source, loss, given)
    loaded = load_loss(loss, binding)
    tags = further_tags(loaded, words(z))
    alphabet = fitted(loaded, label_model, "expect", tags)[0].alphabet
    answer = expect(loaded, sequence(alphabet, z), label_model, engine=engine, keep=beam)
    if picture is not None:
        title = f"{loss} of {z}"
        save_plot(picture, lambda ax: plot_levels(answer, title=title, ax=ax), (6.4, 3.4))
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
    chosen: tuple[str, opt.Binding],
    typed: opt.CorpusAnswers,
    column: int | None,
    given: str | None,
    as_json: bool,
) -> None:
    def question(form: str) -> ModelQuestion:
        if form == "conll" and column is None:
            must = "the column of the hypothesis must be given for a corpus in columns"
            refuse("--column", must, "none", "For example: --column 3")
        if form != "conll" and column is not None:
            refuse("--column", "it is for a corpus in columns", form)
        condition = read_constraint("--given", given)
        return ModelQuestion("expect", load_loss(*chosen), form, column or 0, given=condition)

    def show(data: dict[str, Any]) -> str:
        return as_line(data) if as_json else repr(data["value"])

    totals = answer_corpus(question, typed, chosen[0], show)
    if totals.bad or typed.output is not None:
        note(f"{totals.records:,} records, {totals.bad:,} bad ones skipped")


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
