"""`fsmeu expect` and `decode`: expected values and best label sequences, of one model or many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from rich.progress_bar import ProgressBar

from fsmeu import limits
from fsmeu.cli import options as opt
from fsmeu.cli import output as out
from fsmeu.cli.completion import method_names
from fsmeu.cli.corpus import answer_corpus, check_corpus_options
from fsmeu.cli.failures import refuse
from fsmeu.cli.inputs import load_loss, read_model, sequence, words
from fsmeu.cli.options import argument, option
from fsmeu.corpora.records import RecordFields
from fsmeu.corpora.run import ModelQuestion, as_line
from fsmeu.decoding.candidates import EXHAUSTIVE
from fsmeu.decoding.choice import METHODS
from fsmeu.decoding.decision import Decision
from fsmeu.decoding.decision import explain as in_words
from fsmeu.decoding.decode import Compared, compare_methods, decode
from fsmeu.decoding.explicit import searched_machine
from fsmeu.decoding.explicit_lists import hypotheses_composition
from fsmeu.drawing.draw import Drawing
from fsmeu.drawing.draw import draw as draw_machine
from fsmeu.drawing.plots import plot_levels, save_plot
from fsmeu.errors import one_of
from fsmeu.exchange.automaton import of_fst
from fsmeu.exchange.openfst import read_constraint
from fsmeu.expectation.expect import ENGINES, expect
from fsmeu.expectation.query import fitted, further_tags
from fsmeu.expectation.result import Expectation, Levels
from fsmeu.fst.alphabet import Label
from fsmeu.losses.loss import SpecLoss
from fsmeu.models import Model
from fsmeu.progress import progress_bar

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_MOST = 40  # values of a distribution that are shown
_BAR = 36
_MOST_LABELS = 1000  # each output takes as long as the value
_MOMENT = 5  # calls of progress, of which there are ten in a second


def expect_value(
    source: opt.ModelSource,
    binding: opt.Binding,
    typed: opt.CorpusAnswers,
    loss: str = opt.LOSS,
    z: str | None = argument(
        "Z", "The hypothesis: 0110 or A,B,C (after -- if it begins with -).", None
    ),
    given: str | None = opt.GIVEN,
    levels: bool = option(
        "--levels",
        "The values that Z can have, and how probable each is: the "
        f"{_MOST} most probable, with --json all.",
    ),
    plot: str | None = option("--plot FILE", "Plot the levels: a .png, .pdf or .svg file."),
    engine: str = opt.ENGINE,
    keep: int | None = opt.KEEP,
    column: int | None = option(
        "--column K", "The column of the hypothesis, from 1.", min=1, rich_help_panel="Corpus"
    ),
    as_json: bool = opt.JSON,
) -> None:
    """Print the expected value of a hypothesis under a model, which the reference follows.

    Further outputs that the loss file names, and bounds where --keep leaves states out, are printed
    on stderr. With --corpus, there is a line for each record, whose key "z" is its hypothesis (in
    columns, the one that --column names).
    """
    check_corpus_options(typed, source)
    asked = _Asked(loss, binding, given)
    if typed.corpus is not None:
        if z is not None:
            refuse("Z", "the records of a corpus have their own hypotheses", z)
        if engine != "auto" or keep is not None or levels or plot is not None:
            must = "--engine, --keep, --levels and --plot are for one hypothesis and model"
            refuse("--corpus", must)
        _expect_corpus(asked, typed, column, as_json)
        return
    if column is not None:
        refuse("--column", "it needs --corpus FILE")
    if z is None:
        refuse("Z", "a hypothesis Z is needed, unless there is a --corpus", "none")
    picture = out.checked_picture(plot)
    label_model = read_model(source, loss, given)
    loaded = asked.loaded()
    alphabet = fitted(loaded, label_model, "expect", further_tags(loaded, words(z)))[0].alphabet
    answer = expect(loaded, sequence(alphabet, z), label_model, engine=engine, keep=keep)
    if picture is not None:
        title = f"{loss} of {z}"
        save_plot(picture, lambda ax: plot_levels(answer, title=title, ax=ax), (6.4, 3.4))
    outputs = answer.outputs if keep is None and len(z) <= _MOST_LABELS else {}
    if as_json:
        out.print_json({**_expectation_data(answer, levels), "outputs": outputs})
    else:
        _print_expectation(answer, levels, keep is not None, outputs)


class _Asked(NamedTuple):
    """A loss as it was typed, and the condition on models."""

    loss: str
    binding: opt.Binding
    given: str | None

    def loaded(self) -> SpecLoss:
        """The loss with its parameters and labels."""
        return load_loss(self.loss, self.binding)

    def condition(self) -> Any:
        """The sequences that models are conditioned on; None for all."""
        return read_constraint("--given", self.given)


def _expect_corpus(
    asked: _Asked, typed: opt.CorpusAnswers, column: int | None, as_json: bool
) -> None:
    """Prints or writes a value for each record of a corpus."""

    def task_for(form: str) -> ModelQuestion:
        if form == "conll" and column is None:
            must = "the column of the hypothesis must be given for a corpus in columns"
            refuse("--column", must, "none", "For example: --column 3")
        if form != "conll" and column is not None:
            refuse("--column", "it is for a corpus in columns", form)
        places = RecordFields("", (str(column or "z"),))
        return ModelQuestion("expect", asked.loaded(), form, places, given=asked.condition())

    show = as_line if as_json else lambda data: repr(data["value"])
    totals = answer_corpus(task_for, typed, asked.loss, show)
    if totals["bad"] or typed.output is not None:
        out.note(f"{totals['records']:,} records, {totals['bad']:,} bad ones skipped")


def _print_expectation(
    answer: Expectation, levels: bool, pruned: bool, outputs: Mapping[str, float]
) -> None:
    """Prints the value or the levels; bounds of a pruned one and further outputs on stderr."""
    if levels:
        _print_levels(answer.levels)
    else:
        out.line(repr(float(answer.value)))
    if pruned and not levels:
        lower, upper, kept = (float(x) for x in (answer.lower, answer.upper, answer.kept))
        out.note(f"{lower!r} <= truth <= {upper!r}, probability kept: {kept!r}")
    for name, value in outputs.items():
        out.note(f"{name} {value!r}")


def _expectation_data(answer: Expectation, levels: bool) -> dict[str, Any]:
    """Value, bounds, variance and quantiles by name; the distribution as well, if asked for."""
    names = ("value", "lower", "upper", "kept", "variance")
    data: dict[str, Any] = {name: getattr(answer, name) for name in names}
    dist = answer.levels
    nonempty = len(dist.values) > 0
    data["quantiles"] = {str(q): answer.quantile(q) if nonempty else None for q in QUANTILES}
    pair = {"values": dist.values.tolist(), "probabilities": dist.probabilities.tolist()}
    return {**data, **pair} if levels else data


def _print_levels(levels: Levels) -> None:
    """Prints the most probable values, in ascending order, with bars."""
    if not len(levels.values):
        out.line("Nothing of positive probability was kept.")
        return
    shown = np.sort(np.argsort(-levels.probabilities, kind="stable")[:_MOST])
    longest = float(levels.probabilities.max())
    rows = []
    for k in shown:
        value = float(levels.values[k])
        probability = float(levels.probabilities[k])
        bar = ProgressBar(total=longest, completed=probability, width=_BAR)
        rows.append((f"{value:.10g}", f"{probability:.8g}", bar))
    out.emit(rows, ("value", "probability", ""), right=("value", "probability"))
    omitted = np.delete(levels.probabilities, shown)
    if len(omitted):
        less = f"{len(omitted):,} less probable values ({float(omitted.sum()):.3g} together)"
        out.line(f"\n{less} are left out; --json has them.")


@dataclass(frozen=True)
class _Search:
    """How decisions are found: arguments of ``decode``."""

    method: str = option(
        "--method NAME",
        "How to decide; auto takes what the loss and model allow. A table of several: all, or "
        "names with commas between them.",
        "auto",
        autocompletion=method_names,
    )
    constraint: str | None = opt.CONSTRAINT
    keep: int | None = opt.KEEP
    budget: int = option(
        "--budget B", "Work, as a number of candidates tried.", limits.CANDIDATES, min=1
    )
    seconds: float | None = option(
        "--seconds S", "Time for trying candidates, for each sequence.", unset="no limit"
    )
    engine: str = opt.ENGINE
    k: int | None = option(
        "--k -k K",
        "A table of the K best sequences, best first (of chunks: --constraint bio).",
        min=1,
    )

    def compares(self) -> bool:
        """Whether several methods are compared."""
        return self.method == "all" or len(words(self.method)) > 1

    def arguments(self) -> dict[str, Any]:
        """The arguments of ``decode`` by name, but for the method and k."""
        return {
            "constraint": read_constraint("--constraint", self.constraint),
            "keep": self.keep,
            "budget": self.budget,
            "seconds": self.seconds,
            "engine": self.engine,
        }


def decode_labels(
    source: opt.ModelSource,
    binding: opt.Binding,
    typed: opt.CorpusAnswers,
    search: _Search,
    loss: str = opt.LOSS,
    given: str | None = opt.GIVEN,
    explain: bool = option("--explain", "Say which property chose the method."),
    draw: str | None = option(
        "--draw FILE", "With --engine openfst: a picture of what was searched, with the decision."
    ),
    as_json: bool = opt.JSON,
) -> None:
    """Print the label sequence with the highest expected utility, or the lowest expected loss.

    Under one model the labels and their expected value are printed; with --corpus a line for each
    sequence. Whether the decision is proven best is said by --explain and --json, and in the
    tables of several methods or sequences.
    With --engine openfst, explicit machines are composed and searched: by the methods additive,
    counting, viterbi, ranking and exhaustive, which apply where those of the default engine do.
    """
    arguments = search.arguments()
    check_corpus_options(typed, source)
    one_of("decode", "engine", search.engine, ENGINES)
    _check_decode_options(search, typed.corpus is not None, draw is not None)
    picture = None if draw is None else out.file_for("--draw", draw)
    asked = _Asked(loss, binding, given)
    if typed.corpus is not None:
        arguments["method"] = one_of("decode", "method", search.method, ["auto", *METHODS])
        _decode_corpus(asked, typed, arguments, explain, as_json)
        return
    label_model = read_model(source, loss, given)
    loaded = asked.loaded()
    if search.compares():
        methods = None if search.method == "all" else words(search.method)
        _print_comparison(compare_methods(loaded, label_model, methods, arguments), as_json)
        return
    arguments["method"] = search.method
    with progress_bar("searching", first_call=_MOMENT) as callback:
        arguments["progress"] = callback
        if search.k is not None:
            _print_several(decode(loaded, label_model, k=search.k, **arguments), explain, as_json)
            return
        decision = decode(loaded, label_model, **arguments)
    if picture is not None:
        _drawn(loaded, label_model, decision, arguments["constraint"]).save(picture)
    _print_decision(decision, explain, as_json)


def _check_decode_options(search: _Search, is_corpus: bool, draws: bool) -> None:
    """Refuses options of ``fsmeu decode`` that do not go together."""
    if draws and search.engine != "openfst":
        must = "--draw shows the machine that was searched, which only --engine openfst builds"
        refuse("decode", must, None, "Add --engine openfst")
    several = f"--method {search.method}" if search.compares() else ""
    if draws and (several or is_corpus or search.k is not None):
        must = "--draw shows one decision, under the model of --probs or --model"
        refuse("decode", must, several or ("--corpus" if is_corpus else f"--k {search.k}"))
    if is_corpus and several:
        must = "methods are compared under one model, given by --probs or --model"
        refuse("--method", must, "--corpus")
    if search.k is not None and (is_corpus or several):
        must = (
            "several sequences are decided on by one method, under the model of --probs or --model"
        )
        refuse("--k", must, several or "--corpus")


def _decode_corpus(
    asked: _Asked,
    typed: opt.CorpusAnswers,
    options: dict[str, Any],
    explain: bool,
    as_json: bool,
) -> None:
    """Prints or writes a decision for each record of a corpus."""

    def task_for(form: str) -> ModelQuestion:
        places = RecordFields("")
        loaded = asked.loaded()
        condition = asked.condition()
        return ModelQuestion("decode", loaded, form, places, explain, options, condition)

    totals = answer_corpus(task_for, typed, asked.loss, as_line if as_json else _text_line)
    if not as_json or typed.output is not None or totals["bad"]:
        more = f", {totals['bad']:,} bad records skipped" if totals["bad"] else ""
        counts = f"{totals['records']:,} sequences, {totals['proven']:,} decisions proven best"
        out.note(f"{counts}{more}")


def _drawn(loss: SpecLoss, model: Model, decision: Decision, allowed: Any) -> Drawing:
    """A drawing of the machine that was searched, with the path of the decision coloured."""
    if decision.method == EXHAUSTIVE.name:
        composed = hypotheses_composition(loss, model, allowed)
        return draw_machine(composed, z=decision.labels)
    name, machine = searched_machine(loss, model, decision, allowed)
    return draw_machine(of_fst(machine, name), y=decision.labels)


def _decision_data(decision: Decision, explain: bool = False) -> dict[str, Any]:
    """The fields of a decision by name; in words why it was decided on, if asked to."""
    fields = {name: value for name, value in vars(decision).items() if name != "why"}
    return {**fields, "explanation": in_words(decision)} if explain else fields


def _print_decision(decision: Decision, explain: bool, as_json: bool) -> None:
    """Prints the labels and their value, and if asked to why they were decided on."""
    if as_json:
        out.print_json(_decision_data(decision, explain))
        return
    out.write_output("-", f"{_spelled(decision.labels)}\n{float(decision.value)!r}\n")
    if explain:
        out.line(in_words(decision), wrap=True)


def _print_several(decisions: Sequence[Decision], explain: bool, as_json: bool) -> None:
    """Prints a table of decisions, best first, and if asked to why each was decided on."""
    if as_json:
        out.print_json([_decision_data(decision, explain) for decision in decisions])
        return
    cells = [(*_decision_cells(decision), decision.method) for decision in decisions]
    out.emit(cells, ("labels", "value", "exact", "method"), right=("value",))
    for decision in decisions if explain else ():
        out.line(f"\n{_spelled(decision.labels)}: {in_words(decision)}", wrap=True)


def _decision_cells(decision: Decision) -> tuple[str, str, str]:
    """The labels, the value and whether it is proven best, as texts."""
    proven = "yes" if decision.exact else "no"
    return _spelled(decision.labels), f"{decision.value:.10g}", proven


def _spelled(labels: Sequence[Label]) -> str:
    """Labels side by side where each is one character, else with spaces between them."""
    names = [str(label) for label in labels]
    return ("" if all(len(name) == 1 for name in names) else " ").join(names)


def _text_line(data: dict[str, Any]) -> str:
    """The value and the labels, and the explanation if there is one, with tabs between them."""
    explanation = [data["explanation"]] if "explanation" in data else []
    return "\t".join([repr(data["value"]), _spelled(data["labels"]), *explanation])


def _print_comparison(rows: Sequence[Compared], as_json: bool) -> None:
    """Prints a table of the decisions of several methods, and why others were not used."""
    if as_json:
        out.print_json([_compared_data(row) for row in rows])
        return
    cells = []
    for row in rows:
        if row.decision is not None:
            shown = _decision_cells(row.decision)
            cells.append((row.method, *shown, f"{1000 * row.seconds:.1f}"))
    out.emit(cells, ("method", "labels", "value", "exact", "ms"), right=("value", "ms"))
    refused = [row.refused for row in rows if row.refused]
    for text in ["", *refused] if refused else []:
        out.line(text, wrap=True)


def _compared_data(row: Compared) -> dict[str, Any]:
    """The decision of a method and its time by name, or why it was refused."""
    if row.decision is None:
        return {"method": row.method, "refused": row.refused}
    return {**_decision_data(row.decision), "seconds": row.seconds, "method": row.method}
