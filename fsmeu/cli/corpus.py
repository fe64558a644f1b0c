"""Corpora of the commands that take one: checks of options, the bar, and what is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from fsmeu.cli.failures import refuse, worded
from fsmeu.cli.options import CorpusAnswers, CorpusRun, ModelSource
from fsmeu.cli.output import file_for, note, write_output
from fsmeu.corpora.records import Source, format_of, open_corpus
from fsmeu.corpora.run import Data, Sink, Task, open_output, run
from fsmeu.endings import COMPRESSED, ending_of
from fsmeu.errors import as_number, one_of
from fsmeu.files import STDIN
from fsmeu.parallel import checked_jobs, workers
from fsmeu.progress import progress_bar


def check_corpus_options(options: CorpusAnswers, source: ModelSource) -> None:
    """Refuses options of a corpus where there is none, and those that contradict each other."""
    if options.corpus is None:
        for name, value in vars(options).items():
            if value:
                refuse(f"--{name.replace('_', '-')}", "it needs --corpus FILE")
        return
    if source.probs is not None or source.model is not None:
        must = "models are given by --probs, by --model or by --corpus, one of them"
        refuse("model", must, "more")
    if options.resume and options.output is None:
        refuse("--resume", "the file of results so far must be given by --output FILE")
    check_run(options)
    if options.output is not None and ending_of(options.output) in COMPRESSED:
        must = "results are written uncompressed, so that each is complete when it is written"
        refuse("--output", must, options.output)


def check_run(options: CorpusRun) -> None:
    """Refuses what --jobs and --on-error do not take."""
    one_of("corpus", "on_error", options.on_error or "stop", ("stop", "skip"))
    _wanted_workers(options)


class _Wanted(NamedTuple):
    """The workers that were asked for: processes of this machine, or those of a scheduler."""

    jobs: int
    scheduler: str | None


def _wanted_workers(options: CorpusRun) -> _Wanted:
    """The workers that --jobs names."""
    text = "1" if options.jobs is None else options.jobs.strip()
    number = as_number(text)
    if number is not None:
        return _Wanted(checked_jobs("corpus", number), None)
    if ":" not in text:
        must = "it must be a number of processes, or the address of a scheduler: tcp://host:8786"
        refuse("--jobs", must, text or "nothing")
    return _Wanted(1, text)


def run_corpus(
    task: Task, options: CorpusRun, source: Source, sink: Sink, last: Data | None = None
) -> Counter[str]:
    """The numbers of "records" answered, of those "proven" best, and of "bad" ones skipped.

    ``sink`` is called with the results of each batch. ``last`` is the last result of a run that is
    resumed.
    """
    done = Counter[str]()
    begin = monotonic()
    with (
        workers("corpus", *_wanted_workers(options)) as pool,
        progress_bar("corpus") as callback,
    ):
        for results, faults, position in run(task, source, pool, options.on_error or "stop", last):
            sink(results)
            for fault in faults:
                note(f"skipped: {worded(fault)}")
            proven = sum(bool(data.get("exact")) for data in results)
            done.update(records=len(results), proven=proven, bad=len(faults))
            rate = done["records"] / max(monotonic() - begin, 1e-9)
            share = position / source.size if source.size else 0.0
            callback(share, f"{done['records']:,} records, {rate:,.0f} a second")
    return done


def answer_corpus(
    task_for: Callable[[str], Task], options: CorpusAnswers, loss: str, show: Callable[[Data], str]
) -> Counter[str]:
    """The numbers of records of a corpus that ``run_corpus`` counts.

    Args:
        task_for: the task, given the format of the corpus.
        options: the corpus, and where results are written.
        loss: the name of the loss as typed: standard input can be one of it and the corpus.
        show: the line of standard output for a result, where there is no file for them.
    """
    done = 0
    with corpus_source(str(options.corpus), loss) as source:
        task = task_for(format_of(str(options.corpus), options.input_format))
        with _output(options, show) as (write, last):

            def counted(results: list[Data]) -> None:
                nonlocal done
                write(results)
                done += len(results)

            before = 0 if last is None else int(last["record"])
            try:
                return run_corpus(task, options, source, counted, last)
            except KeyboardInterrupt:
                note(f"fsmeu: interrupted; {_how_to_go_on(options, before + done)}")
                raise


def _how_to_go_on(options: CorpusAnswers, results: int) -> str:
    """What to do after an interruption, where so many results were written."""
    if options.output is None:
        return "with --output FILE, --resume could go on."
    written = f"{results:,} results are in {options.output}"
    return f"{written}. Run the same command with --resume to go on after them."


def corpus_source(name: str, loss_name: str = "") -> AbstractContextManager[Source]:
    """The corpus of this name, open; standard input for -."""
    if name == loss_name == STDIN:
        must = "standard input holds the loss or the corpus, not both"
        refuse("-", must, None, "Put one of them into a file")
    return open_corpus(name)


@contextmanager
def _output(
    options: CorpusAnswers, show: Callable[[Data], str]
) -> Iterator[tuple[Sink, Data | None]]:
    """A function that writes results, and the last result that the file has already."""
    if options.output is None:

        def say(results: list[Data]) -> None:
            for data in results:
                write_output("-", f"{show(data)}\n")

        yield say, None
        return
    path = file_for("--output", options.output)
    corpus = Path(str(options.corpus))
    if options.corpus != STDIN and path.exists() and path.samefile(corpus.expanduser()):
        refuse("--output", "it must not be the corpus itself")
    with open_output(path, options.resume) as output:
        yield output
