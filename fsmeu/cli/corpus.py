"""`--corpus` of the commands that take one: options, the bar, and what is printed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsmeu.errors import InputError, one_of, sentence

if TYPE_CHECKING:
    from fsmeu.corpora.run import Totals
    from fsmeu.corpora.source import Source
    from fsmeu.corpora.work import Question

__all__ = [
    "Bad",
    "Column",
    "Corpus",
    "CorpusFormat",
    "CorpusOptions",
    "CorpusOutput",
    "Jobs",
    "Resume",
    "Scheduler",
    "answer_corpus",
    "check_corpus_options",
    "corpus_bar",
    "corpus_source",
]

_STDIN = "-"

Corpus = Annotated[
    str | None,
    typer.Option(
        "--corpus",
        metavar="FILE",
        help="Many models: JSON lines, or sentences in columns with LABEL:PROB or LABEL/PROB cells "
        "at the end; compressed by gzip or not; - for standard input.",
        show_default=False,
    ),
]
CorpusFormat = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="NAME", help="Corpus: jsonl or conll.", show_default="by the ending"
    ),
]
Column = Annotated[
    int | None,
    typer.Option(
        "--column",
        metavar="K",
        min=1,
        help="Corpus in columns: the one that holds the hypothesis, counted from 1.",
        show_default=False,
    ),
]
CorpusOutput = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Corpus: the file that results are written to, as JSON lines.",
        show_default="standard output",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", metavar="N", min=1, help="Corpus: processes.", show_default="1"),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Corpus: the Dask scheduler whose workers compute, as in tcp://host:8786.",
        show_default=False,
    ),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Corpus: go on after the last complete result in --output."),
]
Bad = Annotated[
    str | None,
    typer.Option(
        "--bad",
        metavar="WHAT",
        help="Corpus: stop at a record that cannot be answered, or skip it and say so.",
        show_default="stop",
    ),
]


@dataclass(frozen=True)
class CorpusOptions:
    """What was typed beside --corpus, None or False where nothing was.

    Attributes:
        corpus: the file.
        format: its format.
        output: the file of results.
        jobs: how many processes.
        scheduler: the address of a scheduler.
        resume: whether to go on.
        bad: what to do with records that are bad.
        column: the column of the hypothesis.
    """

    corpus: str | None
    format: str | None = None
    output: str | None = None
    jobs: int | None = None
    scheduler: str | None = None
    resume: bool = False
    bad: str | None = None
    column: int | None = None


def check_corpus_options(given: CorpusOptions) -> None:
    """Refuses options of a corpus where there is none, and those that contradict each other.

    Raises:
        InputError: the message names the option.
    """
    if given.corpus is None:
        for name in ("format", "output", "jobs", "scheduler", "resume", "bad", "column"):
            if getattr(given, name):
                must = "it needs --corpus FILE"
                raise InputError(sentence(f"--{name}", must))
        return
    if given.resume and given.output is None:
        must = "the file of results so far must be given by --output FILE"
        raise InputError(sentence("--resume", must))
    if given.jobs is not None and given.scheduler is not None:
        must = "processes are given by --jobs or by --scheduler, which uses all of its workers"
        raise InputError(sentence("--jobs", must, "both"))
    if given.output is not None and given.output.endswith(".gz"):
        must = "results are written uncompressed, so that each is complete when it is written"
        raise InputError(sentence("--output", must, given.output))


def answer_corpus(
    ask: Callable[[str], Question],
    given: CorpusOptions,
    loss_name: str,
    show: Callable[[dict[str, Any]], str],
) -> Totals:
    """Answers a question for every record of a corpus, and says how many were answered.

    Args:
        ask: the question, given the format of the corpus.
        given: what was typed.
        loss_name: what the loss was called.
        show: a result as a line on standard output, where there is no file for results.
    """
    from fsmeu.corpora.records import format_of
    from fsmeu.corpora.run import BAD, Totals, run
    from fsmeu.parallel.engine import checked_jobs, workers

    name = str(given.corpus)
    bad = one_of("--bad", "it", given.bad or "stop", BAD)
    form = format_of(name, given.format)
    if given.column is not None and form != "conll":
        raise InputError(sentence("--column", "it is for a corpus in columns", form))
    jobs = checked_jobs("--jobs", given.jobs or 1)
    totals = Totals()
    with corpus_source(name, loss_name) as source:
        question = ask(form)
        with (
            _output(given, show) as (write, last),
            workers("corpus", jobs, given.scheduler) as some,
            corpus_bar(source) as tell,
        ):
            for step in run(question, source, some, bad, last):
                write(step.results)
                totals.records += len(step.results)
                totals.proven += sum(bool(data.get("exact")) for data in step.results)
                totals.bad += len(step.faults)
                tell(totals.records, step.position, step.faults)
    return totals


@contextmanager
def corpus_source(name: str, loss_name: str = "") -> Iterator[Source]:
    """The corpus of this name, open; standard input for -."""
    from fsmeu.corpora.source import open_corpus, read_from

    if name != _STDIN:
        with open_corpus(Path(name)) as source:
            yield source
        return
    if loss_name == _STDIN:
        must = "standard input holds the loss or the corpus, not both"
        raise InputError(sentence("-", must, None, "Put one of them into a file"))
    if sys.stdin is None:
        raise InputError(sentence("standard input", "must be open to read a corpus from it"))
    yield read_from(sys.stdin.buffer)


@contextmanager
def _output(
    given: CorpusOptions, show: Callable[[dict[str, Any]], str]
) -> Iterator[tuple[Callable[[list[dict[str, Any]]], None], dict[str, Any] | None]]:
    """What writes results, and the last that is there already."""
    from fsmeu.cli.output import file_for, write_output

    if given.output is None:

        def say(results: list[dict[str, Any]]) -> None:
            for data in results:
                write_output("-", f"{show(data)}\n")

        yield say, None
        return
    from fsmeu.corpora.output import open_output

    path, corpus = file_for("--output", given.output), Path(str(given.corpus))
    if given.corpus != _STDIN and path.exists() and path.samefile(corpus.expanduser()):
        raise InputError(sentence("--output", "it must not be the corpus itself"))
    with open_output(path, given.resume) as output:
        yield output.write, output.last


@contextmanager
def corpus_bar(source: Source) -> Iterator[Callable[[int, int, list[str]], None]]:
    """What is told of records done, the place in the file and faults: a bar if on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from fsmeu.cli.output import note

    screen = Console(stderr=True, markup=False, highlight=False, emoji=False)
    columns = (
        BarColumn(),
        TextColumn("{task.fields[records]:,} records, {task.fields[rate]:,.0f} a second"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("corpus", total=source.size, records=0, rate=0.0)
        started, begin = False, monotonic()

        def tell(records: int, position: int, faults: list[str]) -> None:
            nonlocal started
            for fault in faults:
                if screen.is_terminal:
                    bar.console.print(f"passed over: {fault}", soft_wrap=True)
                else:
                    note(f"passed over: {fault}")
            if not started:  # what a run before this one did is no measure of the speed
                bar.reset(task, completed=position)
                started = True
            rate = records / (monotonic() - begin)
            bar.update(task, completed=position, records=records, rate=rate)

        yield tell
