"""`fsmeu expect`: the expected value of a hypothesis under a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsmeu.cli.corpus import (
    Bad,
    Column,
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
from fsmeu.cli.given import GivenName, given_model, read_constraint
from fsmeu.cli.options import (
    EngineName,
    Json,
    Keep,
    LabelList,
    LossName,
    ModelFile,
    ParamList,
    Probabilities,
    TypeList,
)
from fsmeu.errors import InputError, sentence

if TYPE_CHECKING:
    from fsmeu.expectation.result import Expectation

__all__ = ["QUANTILES", "ask", "expect_value"]

_Hypothesis = Annotated[
    str | None,
    typer.Argument(
        metavar="Z",
        help="The hypothesis, such as 0110 or A,B,C (after -- when it begins with -).",
        show_default=False,
    ),
]
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def expect_value(
    loss: LossName,
    z: _Hypothesis = None,
    probs: Probabilities = None,
    model: ModelFile = None,
    corpus: Corpus = None,
    corpus_format: CorpusFormat = None,
    column: Column = None,
    output: CorpusOutput = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    resume: Resume = False,
    bad: Bad = None,
    given: GivenName = None,
    param: ParamList = None,
    labels: LabelList = None,
    types: TypeList = None,
    engine: EngineName = "lattice",
    keep: Keep = None,
    as_json: Json = False,
) -> None:
    """Prints the expected value of a hypothesis under a model.

    The reference follows the model. With --keep, the value is the part that was kept; bounds on the
    whole are said on stderr. With --corpus, there is a line for each record, whose key "z" is its
    hypothesis (in columns, the one that --column names).
    """
    from fsmeu.cli.output import note, print_json

    typed = CorpusOptions(corpus, corpus_format, output, jobs, scheduler, resume, bad, column)
    check_corpus_options(typed)
    if corpus is not None:
        _check_corpus_alone(z, probs, model, engine, keep)
        _expect_corpus((loss, param, labels, types), typed, given, as_json)
        return
    if z is None:
        must = "a hypothesis Z is needed, unless there is a --corpus"
        raise InputError(sentence("Z", must, "none"))
    answer = ask((loss, param, labels, types), z, (probs, model), engine, keep, given)
    if as_json:
        print_json(_data(answer))
        return
    typer.echo(repr(float(answer.value)))
    if keep is not None:
        lower, upper, kept = (float(x) for x in (answer.lower, answer.upper, answer.kept))
        note(f"{lower!r} <= truth <= {upper!r}, probability kept: {kept!r}")


def _check_corpus_alone(
    z: str | None, probs: str | None, model: str | None, engine: str, keep: int | None
) -> None:
    if z is not None:
        raise InputError(sentence("Z", "the records of a corpus have their own hypotheses", z))
    if probs is not None or model is not None:
        must = "models are given by --probs, by --model or by --corpus, one of them"
        raise InputError(sentence("model", must, "more"))
    if engine != "lattice" or keep is not None:
        must = "--engine and --keep are for one hypothesis and model"
        raise InputError(sentence("--corpus", must))


def _expect_corpus(
    chosen: tuple[str, list[str] | None, str | None, str | None],
    typed: CorpusOptions,
    given: str | None,
    as_json: bool,
) -> None:
    from fsmeu.cli.inputs import load_loss
    from fsmeu.cli.output import note
    from fsmeu.corpora.output import as_line
    from fsmeu.corpora.work import Question

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
        note(f"{totals.records:,} records, {totals.bad:,} bad ones passed over")


def ask(
    chosen: tuple[str, list[str] | None, str | None, str | None],
    z: str,
    source: tuple[str | None, str | None],
    engine: str,
    keep: int | None,
    given: str | None = None,
) -> Expectation:
    """The expectation that was asked for.

    Args:
        chosen: name of the loss, its parameters, labels and chunk types, as they were typed.
        z: the hypothesis.
        source: what was typed after --probs and --model.
        engine: the engine.
        keep: how many states to keep in each layer, or None for all.
        given: what was typed after --given.
    """
    from fsmeu.cli.inputs import load_loss, read_model, sequence
    from fsmeu.expectation.expect import expect
    from fsmeu.expectation.query import fitted, further_tags

    label_model = given_model(read_model(*source, loss_name=chosen[0]), given)
    loaded = load_loss(*chosen)
    tags = further_tags(loaded, z.replace(",", " ").split())
    alphabet = fitted(loaded, label_model, "expect", tags)[0].alphabet
    return expect(loaded, sequence(alphabet, z), label_model, engine=engine, keep=keep)


def _data(answer: Expectation) -> dict[str, Any]:
    known = len(answer.levels.values) > 0
    return {
        "value": answer.value,
        "lower": answer.lower,
        "upper": answer.upper,
        "kept": answer.kept,
        "variance": answer.variance,
        "quantiles": {str(q): answer.quantile(q) if known else None for q in QUANTILES},
    }
