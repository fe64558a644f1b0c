"""Corpora of the commands that take one: checks of options, the bar, and what is written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from fsmeu.cli.output import file_for, note, progress, write_output
from fsmeu.corpora.records import Source, format_of, open_corpus, read_from
from fsmeu.corpora.run import BAD, Question, Totals, open_output, run
from fsmeu.errors import InputError, one_of, sentence
from fsmeu.parallel import checked_jobs, workers

__all__ = [
    "CorpusOptions",
    "answer_corpus",
    "check_corpus_options",
    "check_jobs",
    "corpus_bar",
    "corpus_source",
]

_STDIN = "-"


@dataclass(frozen=True)
class CorpusOptions:
    """What was typed beside --corpus, None or False where nothing was."""

    corpus: str | None
    format: str | None = None
    output: str | None = None
    jobs: int | None = None
    scheduler: str | None = None
    resume: bool = False
    on_error: str | None = None
    column: int | None = None


def check_corpus_options(given: CorpusOptions, models: tuple[str | None, ...]) -> None:
    """Refuses options of a corpus where there is none, and those that contradict each other.

    Args:
        given: what was typed.
        models: what was typed after --probs and --model.

    Raises:
        InputError: the message names the option.
    """
    if given.corpus is None:
        for name in ("format", "output", "jobs", "scheduler", "resume", "on_error", "column"):
            if getattr(given, name):
                raise InputError(sentence(f"--{name.replace('_', '-')}", "it needs --corpus FILE"))
        return
    if any(one is not None for one in models):
        must = "models are given by --probs, by --model or by --corpus, one of them"
        raise InputError(sentence("model", must, "more"))
    if given.resume and given.output is None:
        must = "the file of results so far must be given by --output FILE"
        raise InputError(sentence("--resume", must))
    check_jobs(given.jobs, given.scheduler)
    if given.output is not None and given.output.endswith(".gz"):
        must = "results are written uncompressed, so that each is complete when it is written"
        raise InputError(sentence("--output", must, given.output))


def check_jobs(jobs: int | None, scheduler: str | None) -> int:
    """The number of processes.

    Raises:
        InputError: a scheduler is given as well, or there are too many.
    """
    if jobs is not None and scheduler is not None:
        must = "processes are given by --jobs or by --scheduler, which uses all of its workers"
        raise InputError(sentence("--jobs", must, "both"))
    return checked_jobs("--jobs", jobs or 1)


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
    name = str(given.corpus)
    bad = one_of("--on-error", "it", given.on_error or "stop", BAD)
    form = format_of(name, given.format)
    if given.column is not None and form != "conll":
        raise InputError(sentence("--column", "it is for a corpus in columns", form))
    jobs = check_jobs(given.jobs, given.scheduler)
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
    if given.output is None:

        def say(results: list[dict[str, Any]]) -> None:
            for data in results:
                write_output("-", f"{show(data)}\n")

        yield say, None
        return
    path, corpus = file_for("--output", given.output), Path(str(given.corpus))
    if given.corpus != _STDIN and path.exists() and path.samefile(corpus.expanduser()):
        raise InputError(sentence("--output", "it must not be the corpus itself"))
    with open_output(path, given.resume) as output:
        yield output.write, output.last


@contextmanager
def corpus_bar(source: Source) -> Iterator[Callable[[int, int, list[str]], None]]:
    """A function that is told of records done, the place in the file, and faults."""
    with progress("corpus", source.size) as tell:
        begin = monotonic()

        def done(records: int, position: int, faults: list[str]) -> None:
            for fault in faults:
                note(f"skipped: {fault}")
            rate = records / max(monotonic() - begin, 1e-9)
            tell(completed=position, text=f"{records:,} records, {rate:,.0f} a second")

        yield done
