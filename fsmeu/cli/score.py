"""`fsmeu score`: decisions for a corpus against its references, by one loss or several."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from fsmeu.cli.corpus import Bad, CorpusFormat, Jobs, Scheduler, corpus_bar, corpus_source
from fsmeu.cli.given import GivenName, read_constraint
from fsmeu.cli.options import Json, LabelList
from fsmeu.errors import InputError, one_of, sentence
from fsmeu.limits import MOST_DRAWS

if TYPE_CHECKING:
    from fsmeu.corpora.score import ScoreQuestion
    from fsmeu.corpora.tally import Tally
    from fsmeu.losses.loss import SpecLoss

__all__ = ["score_corpus"]

_DRAWS = 1000
_LABELS_ADVICE = re.compile(r"Give types=.*?\.(?= |$)")
_OTHER_PLACES = "Choose other places with --gold and --system, or another --loss."

_CorpusName = Annotated[
    str | None,
    typer.Argument(
        metavar="CORPUS",
        help="JSON lines or sentences in columns, compressed by gzip or not; - for standard input.",
        show_default=False,
    ),
]
_CorpusOption = Annotated[
    str | None,
    typer.Option("--corpus", metavar="FILE", help="The same as CORPUS.", show_default=False),
]
_Losses = Annotated[
    list[str] | None,
    typer.Option(
        "--loss",
        "-l",
        metavar="NAME[:PARAM=VALUE,...]",
        help="What to score by, and to decide for, such as fscore or fscore:beta=2. Repeatable.",
        show_default=False,
    ),
]
_Gold = Annotated[
    str | None,
    typer.Option(
        "--gold",
        metavar="WHERE",
        help="The reference: a key of JSON records, or a column by number (from 1, or from -1 "
        "backwards) or name.",
        show_default="y, or column -2",
    ),
]
_Systems = Annotated[
    list[str] | None,
    typer.Option(
        "--system",
        "-s",
        metavar="WHERE",
        help="Decisions that the corpus holds, a key or column as for --gold. Repeatable.",
        show_default="column -1 where there is nothing else",
    ),
]
_Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="A,B,...",
        help="Names for the columns, from the first on.",
        show_default=False,
    ),
]
_Decide = Annotated[
    str,
    typer.Option(
        "--decide",
        metavar="A,B,...",
        help="How models decide: viterbi (the most probable sequence), marginal (the most "
        "probable label of each position), meu (the best expected value of each sentence, by each "
        "loss), corpus (that of the corpus; all models are held in memory).",
    ),
]
_Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="NAME",
        help="The decision that others are compared with.",
        show_default="viterbi, or the first",
    ),
]
_Draws = Annotated[
    int,
    typer.Option(
        "--draws",
        metavar="N",
        min=0,
        max=MOST_DRAWS,
        help="Bootstrap draws for the intervals; 0 for none.",
    ),
]
_Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="The seed of the draws.")]
_Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="WHAT",
        help="json or csv, to be printed; or a file that ends in .json or .csv.",
        show_default="a table",
    ),
]
_Plot = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help="Plot the values and their intervals: a file that ends in .png, .pdf or .svg.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class _Run:
    """How the corpus is read: format, what to do with bad records, and who computes."""

    bad: str
    jobs: int
    scheduler: str | None


def score_corpus(
    corpus: _CorpusName = None,
    corpus_option: _CorpusOption = None,
    loss: _Losses = None,
    gold: _Gold = None,
    system: _Systems = None,
    columns: _Columns = None,
    corpus_format: CorpusFormat = None,
    labels: LabelList = None,
    decide: _Decide = "viterbi,marginal,meu",
    given: GivenName = None,
    baseline: _Baseline = None,
    draws: _Draws = _DRAWS,
    seed: _Seed = 0,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    bad: Bad = None,
    output: _Output = None,
    plot: _Plot = None,
    as_json: Json = False,
) -> None:
    """Scores decisions for a corpus against its references, by one loss or several.

    Records have a reference ("y" in JSON lines) and a label model, or decisions of systems, or
    both. A file in columns without probabilities is read as conlleval does: the last column is
    decided, the one before it is the reference.

    The score of sentences is the mean over them; that of the corpus is taken once, of counts
    that are summed over sentences. Intervals hold 95 of 100 bootstrap draws of sentences; the
    same draws are used for all, and differences are paired.
    """
    from fsmeu.cli.score_output import checked_form, checked_score_plot, plot_scores, show_scores
    from fsmeu.corpora.records import format_of
    from fsmeu.corpora.run import BAD
    from fsmeu.corpora.tally import rows_of

    name = _corpus_name(corpus, corpus_option)
    form = checked_form("json" if as_json else None, output)
    picture = None if plot is None else checked_score_plot(plot)
    kind = format_of(name, corpus_format)
    if jobs is not None and scheduler is not None:
        must = "processes are given by --jobs or by --scheduler, which uses all of its workers"
        raise InputError(sentence("--jobs", must, "both"))
    run = _Run(one_of("--bad", "it", bad or "stop", BAD), jobs or 1, scheduler)
    question = _question(loss, labels, (gold, system, columns), kind, decide, given)
    try:
        tally = _tallied(name, question, run)
    except InputError as error:
        raise InputError(_LABELS_ADVICE.sub(_OTHER_PLACES, str(error))) from None
    if "corpus" in question.ways:
        _decide_whole(tally, question)
    chosen = _baseline(baseline, tally.decisions)
    with _bar(draws) as tell:
        rows = rows_of(tally, question.losses, chosen, draws, seed, tell)
    facts = {"sentences": len(tally.n), "labels": sum(tally.n), "draws": draws, "seed": seed}
    show_scores({**facts, "baseline": chosen}, rows, form)
    if picture is not None:
        plot_scores(picture, rows)


def _corpus_name(corpus: str | None, option: str | None) -> str:
    if (corpus is None) == (option is None):
        must = "the corpus is given by CORPUS or by --corpus FILE, one of them"
        raise InputError(sentence("corpus", must, "neither" if corpus is None else "both"))
    return corpus or option or ""


def _question(
    losses: list[str] | None,
    labels: str | None,
    places: tuple[str | None, list[str] | None, str | None],
    form: str,
    decide: str,
    given: str | None,
) -> ScoreQuestion:
    """What is asked, from what was typed."""
    from fsmeu.corpora.decisions import WAYS
    from fsmeu.corpora.gold import Places
    from fsmeu.corpora.score import ScoreQuestion

    if not losses:
        must = "what to score by must be given"
        raise InputError(sentence("--loss", must, "nothing", "For example: --loss chunk_fscore"))
    ways = tuple(one_of("--decide", "each", word, WAYS) for word in _words(decide))
    if not ways:
        raise InputError(sentence("--decide", f"some of {', '.join(WAYS)} must be given", "none"))
    gold, systems, columns = places
    if columns is not None and form != "conll":
        raise InputError(sentence("--columns", "it is for a corpus in columns", form))
    where = Places(gold, tuple(dict.fromkeys(systems or ())), tuple(_words(columns or "")))
    found = tuple((name, _load(name, labels)) for name in dict.fromkeys(losses))
    return ScoreQuestion(found, form, where, ways, read_constraint("--given", given))


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _load(text: str, labels: str | None) -> SpecLoss:
    """The loss written NAME or NAME:PARAM=VALUE,PARAM=VALUE."""
    from fsmeu.cli.inputs import STDIN, load_loss

    name, params = text, ""
    if "=" in text.rpartition(":")[2]:
        name, _, params = text.rpartition(":")
    if name == STDIN:
        raise InputError(sentence("--loss", "it must be a file or a name on the shelf", name))
    try:
        return load_loss(name, _split(params), labels, None)
    except InputError as error:
        told = str(error).replace("Give it: --param ", f"Write it: --loss {name}:")
        raise InputError(told.replace("--param ", f"--loss {name}:")) from None


def _split(params: str) -> list[str]:
    """Parameters at commas that are not within the brackets of a table."""
    found, depth = [""], 0
    for sign in params:
        depth += (sign == "[") - (sign == "]")
        if sign == "," and not depth:
            found.append("")
        else:
            found[-1] += sign
    return [one for one in found if one.strip()]


def _tallied(name: str, question: ScoreQuestion, chosen: _Run) -> Tally:
    """What was found for each sentence of the corpus."""
    from fsmeu.cli.output import note
    from fsmeu.corpora.run import run
    from fsmeu.corpora.score import answer_scores
    from fsmeu.corpora.tally import Tally
    from fsmeu.parallel.engine import checked_jobs, workers

    tally, faults = Tally(), 0
    jobs = checked_jobs("--jobs", chosen.jobs)
    with (
        corpus_source(name) as source,
        workers("corpus", jobs, chosen.scheduler) as some,
        corpus_bar(source) as tell,
    ):
        for step in run(question, source, some, chosen.bad, work=answer_scores):
            tally.add(step.results)
            faults += len(step.faults)
            tell(len(tally.n), step.position, step.faults)
    if faults:
        note(f"{len(tally.n):,} records, {faults:,} bad ones passed over")
    return tally


def _decide_whole(tally: Tally, question: ScoreQuestion) -> None:
    """Adds the decisions for the whole corpus, and says what is known of them."""
    from rich.console import Console

    from fsmeu.cli.output import note
    from fsmeu.corpora.whole import decide_whole

    screen = Console(stderr=True)
    with screen.status("deciding for the corpus") as shown:

        def tell(low: float, high: float) -> None:
            shown.update(f"deciding for the corpus: the best is between {low:.6f} and {high:.6f}")

        for one in decide_whole(tally, question.losses, tell if screen.is_terminal else None):
            if one.decision is None:
                note(f"{one.name}: {one.refused}")
            else:
                gap = "proven best" if one.decision.exact else f"within {one.decision.gap:.1g}"
                note(f"{one.name}: expected {one.decision.value:.6f}, {gap} under the models")


def _baseline(name: str | None, decisions: tuple[str, ...]) -> str:
    if name is not None and decisions:
        return one_of("--baseline", "it", name, decisions)
    return "viterbi" if "viterbi" in decisions else next(iter(decisions), "")


@contextmanager
def _bar(draws: int) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import Progress

    screen = Console(stderr=True)
    with Progress(console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("drawing", total=draws)
        yield lambda made: bar.update(task, advance=made)
