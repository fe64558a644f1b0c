"""``./run explore-tests``: holds fsmeu against enumeration on random cases."""

import argparse
import contextlib
import itertools
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.explore.cases import NAMES
from tests.explore.shrink import reproducer, shrunk
from tests.explore.trial import CHECKS, OUTCOMES, run_case
from tests.support import loops
from tests.support.batches import Tally, interruptible, run_batches
from tests.support.kernels import kernels_that_run

BLOCK = 100
SHOWN_PER_CHECK = 3
MEMORY = 3 << 30
SILENCE = 600
"""Seconds without a result after which a process is taken to hang: ten times those of a check."""


@dataclass
class Report(Tally):
    """Counts by (check, result), failures as (seed, case, check, text)."""

    cases: int = 0


_shrunk = Counter()  # by check, in this process: shrinking takes seconds, and few are shown


def explore_cases(shrink, only, seed, first, end):
    """For each of the cases first, ..., end - 1 of a seed, the (check, result, text) of its checks.

    The text of a failure reproduces it; ``only`` names the one check that is run, if not all are.
    """
    for k in range(first, end):
        case, outcomes = run_case(seed, k, *only)
        told = []
        for one in outcomes:
            text = ""
            if one.result == "failed":
                _shrunk[one.check] += 1
                wanted = shrink and _shrunk[one.check] <= SHOWN_PER_CHECK
                text = reproducer(*(shrunk(case, one) if wanted else (case, one)))
            told.append((one.check, one.result, text))
        yield told


def explore(seed, cases, minutes, jobs, shrink=True, tell=lambda **_: None, only=(), report=None):
    """The report of all cases, or of as many as there was time for, added to the one given.

    With one job, cases run in this process.
    """
    report, work = report or Report(), partial(explore_cases, shrink, only)
    end = time.monotonic() + 60 * minutes if minutes else float("inf")
    starts = itertools.count(0, BLOCK) if cases is None else range(0, cases, BLOCK)
    todo = ((seed, k, k + BLOCK if cases is None else min(k + BLOCK, cases)) for k in starts)
    results = run_batches(work, todo, jobs, SILENCE, MEMORY)
    if jobs == 1:
        results = ((s, a + i, r) for s, a, b in todo for i, r in enumerate(work(s, a, b)))
    for _, k, told in results:
        if isinstance(told, str):
            text = f"the process {told}; ./run explore-tests --case {seed}:{k}"
            told = [("process", "failed", text)]
        report.cases += 1
        report.counts.update((check, result) for check, result, _ in told)
        report.failures += [(seed, k, check, text) for check, _, text in told if text]
        tell(completed=report.cases, failed=len(report.failures))
        if time.monotonic() > end:
            break
    return report


# -- what is shown --------------------------------------------------------------------------------


def say(console, text):
    """Prints a text as it is."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def show_failures(report, console):
    """Prints reproducers, a few of every check."""
    for check in dict.fromkeys(check for _, _, check, _ in report.failures):
        failed = [(f"{seed}:{k}", text) for seed, k, name, text in report.failures if name == check]
        for name, text in failed[:SHOWN_PER_CHECK]:
            console.rule(f"{check}: case {name}")
            say(console, text)
        if more := [name for name, _ in failed[SHOWN_PER_CHECK:]]:
            say(console, f"{check}: {len(more)} more, cases {', '.join(more[:20])}")


def show(report, console):
    """Prints reproducers and the table of outcomes so far."""
    show_failures(report, console)
    console.print(summary(report))


def summary(report):
    """The outcomes as a table."""
    table = Table("check", *OUTCOMES, title=f"{report.cases:,} cases")
    for name in [*CHECKS, "process"]:
        row = [report.counts[name, result] for result in OUTCOMES]
        if any(row):
            table.add_row(name, *(f"{count:,}" if count else "" for count in row))
    return table


def replay(name, console):
    """Runs one case and prints everything about it."""
    seed, k = (int(x) for x in name.split(":"))
    case, outcomes = run_case(seed, k)
    say(console, repr(case.program))
    say(console, f"has_range = {case.has_range}, is_used = {case.is_used}")
    for label, model in zip(NAMES, case.models, strict=True):
        say(console, f"{label} = {model.text()}")
    for outcome in outcomes:
        say(console, f"{outcome.check}: {outcome.result}")
        if outcome.fault is not None:
            say(console, reproducer(*shrunk(case, outcome)))
    return any(outcome.result == "failed" for outcome in outcomes)


def arguments(words=None):
    parser = argparse.ArgumentParser(prog="./run explore-tests", description=__doc__)
    add = parser.add_argument
    add("--cases", type=int, help="how many cases (1,000 unless --minutes)")
    add("--seed", type=int, default=0, help="case k of a seed is always the same")
    add("--every", type=int, metavar="N", help="print the table so far after each N cases")
    add("--minutes", type=float, help="stop after so many minutes")
    add("--jobs", type=int, default=2, help="processes")
    add("--case", metavar="S:K", help="run case K of seed S and show all of it")
    add("--check", choices=[*CHECKS], help="run only this check of every case")
    add("--no-shrink", action="store_true", help="print failures as they came")
    add("--keep", type=Path, metavar="FILE", help="instead, choose cases that reach all code")
    add("--fresh", action="store_true", help="instead, the property tests with new examples")
    return parser.parse_args(words)


def main(words=None):
    """Runs the command; returns the exit code: 1 when something failed."""
    given, console = arguments(words), Console()
    if given.fresh:
        tests = [sys.executable, "-m", "pytest", "-q", "-n", str(given.jobs), "--all", "tests"]
        return subprocess.call(tests, env={**os.environ, "FSMEU_EXPLORE": "1"})
    if given.keep:
        from tests.explore.keep import keep

        return keep(given.keep, given.seed, given.minutes or 30, console)
    if given.case:
        return int(replay(given.case, console))
    report, cases = Report(), given.cases if given.cases or given.minutes else 1000
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[failed]} failed"))
    progress = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
    with contextlib.suppress(KeyboardInterrupt):
        interruptible()
        with kernels_that_run("compiled"):
            loops.sentences()  # here, so that no process loads or compiles them
        task = progress.add_task("cases", total=cases, failed=0)

        def tell(completed, failed):
            progress.update(task, completed=completed, failed=failed)
            if given.every and completed % given.every == 0:
                show(report, console)

        limits, only = (cases, given.minutes, given.jobs), (given.check,) if given.check else ()
        with progress:
            explore(given.seed, *limits, not given.no_shrink, tell, only, report)
        interruptible(False)
    show(report, console)
    return int(bool(report.failures))


if __name__ == "__main__":
    sys.exit(main())
