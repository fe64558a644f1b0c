"""``./run explore-tests``: holds fsmeu against enumeration on random cases."""

import argparse
import itertools
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.explore.shrink import reproducer, shrunk
from tests.explore.trial import CHECKS, OUTCOMES, run_case

BLOCK = 20
SHOWN_PER_CHECK = 3
MEMORY = 3 << 30


@dataclass
class Report:
    """What came of some cases.

    Attributes:
        counts: how many checks had each outcome, by (check, result).
        failures: (seed, case, check, text) of every failure.
        cases: how many cases there were.
    """

    counts: Counter = field(default_factory=Counter)
    failures: list = field(default_factory=list)
    cases: int = 0

    def add(self, other):
        self.counts.update(other.counts)
        self.failures += other.failures
        self.cases += other.cases


_shrunk = Counter()  # by check, in this process: shrinking takes seconds, and few are shown


def explore_block(seed, first, count, shrink=True, only=()):
    """The report of cases first, ..., first + count - 1 of a seed; of only one check, if named."""
    report = Report()
    for k in range(first, first + count):
        case, outcomes = run_case(seed, k, *only)
        report.cases += 1
        for outcome in outcomes:
            report.counts[outcome.check, outcome.result] += 1
            if outcome.result == "failed":
                _shrunk[outcome.check] += 1
                wanted = shrink and _shrunk[outcome.check] <= SHOWN_PER_CHECK
                small = shrunk(case, outcome) if wanted else (case, outcome)
                report.failures.append((seed, k, outcome.check, reproducer(*small)))
    return report


def _start_worker():
    """Leaves Ctrl-C to the parent; growing past the limit is an error, not the machine's end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def blocks(seed, cases):
    """(seed, first, count) of every block; without end where no number of cases is given."""
    first = 0
    while cases is None or first < cases:
        count = BLOCK if cases is None else min(BLOCK, cases - first)
        yield seed, first, count
        first += count


def explore(seed, cases, minutes, jobs, shrink=True, tell=lambda report: None, only=()):
    """The report of all cases, or of as many as there was time for; Ctrl-C ends it early."""
    report = Report()
    end = time.monotonic() + 60 * minutes if minutes else float("inf")
    todo = itertools.takewhile(lambda _: time.monotonic() < end, blocks(seed, cases))
    try:
        options = (shrink, only)
        for part in _alone(todo, options) if jobs == 1 else _together(todo, jobs, options):
            report.add(part)
            tell(report)
    except KeyboardInterrupt:
        for worker in multiprocessing.active_children():
            worker.terminate()
    return report


def _alone(todo, options):
    for block in todo:
        yield explore_block(*block, *options)


def _together(todo, jobs, options):
    """Reports as they come; when a process dies, the cases at hand are run one by one."""
    while True:
        pool, running = ProcessPoolExecutor(jobs, initializer=_start_worker), {}
        broken = False
        while not broken:
            for block in itertools.islice(todo, 2 * jobs - len(running)):
                running[pool.submit(explore_block, *block, *options)] = block
            if not running:
                pool.shutdown()
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                if isinstance(future.exception(), BrokenProcessPool):
                    broken = True
                else:
                    del running[future]
                    yield future.result()
        for seed, first, count in running.values():
            for k in range(first, first + count):
                yield _one_by_itself(seed, k, options)


def _one_by_itself(seed, k, options):
    """The report of one case in a process of its own; that it dies is a failure."""
    with ProcessPoolExecutor(1, initializer=_start_worker) as pool:
        try:
            return pool.submit(explore_block, seed, k, 1, *options).result()
        except BrokenProcessPool:
            text = f"the process died; ./run explore-tests --case {seed}:{k}"
            return Report(Counter({("process", "failed"): 1}), [(seed, k, "process", text)], 1)


# -- what is shown --------------------------------------------------------------------------------


def show_failures(report, console):
    """Prints reproducers, a few of every check."""
    seen = Counter()
    for seed, k, check, text in report.failures:
        seen[check] += 1
        if seen[check] <= SHOWN_PER_CHECK:
            console.rule(f"{check}: case {seed}:{k}")
            console.print(text, markup=False, highlight=False, soft_wrap=True)
    for check, count in seen.items():
        if count > SHOWN_PER_CHECK:
            others = [f"{s}:{k}" for s, k, name, _ in report.failures if name == check]
            rest = ", ".join(others[SHOWN_PER_CHECK : SHOWN_PER_CHECK + 20])
            console.print(f"{check}: {count - SHOWN_PER_CHECK} more, cases {rest}", highlight=False)


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
    console.print(repr(case.program), markup=False, highlight=False, soft_wrap=True)
    for label, model in zip(("model", "alike", "other"), case.models, strict=True):
        console.print(f"{label} = {model.text()}", markup=False, highlight=False, soft_wrap=True)
    for outcome in outcomes:
        console.print(f"{outcome.check}: {outcome.result}", highlight=False)
        if outcome.fault is not None:
            text = reproducer(*shrunk(case, outcome))
            console.print(text, markup=False, highlight=False, soft_wrap=True)
    return any(outcome.result == "failed" for outcome in outcomes)


def arguments(words=None):
    parser = argparse.ArgumentParser(prog="./run explore-tests", description=__doc__)
    parser.add_argument("--cases", type=int, help="how many cases (1,000 unless --minutes)")
    parser.add_argument("--seed", type=int, default=0, help="case k of a seed is always the same")
    parser.add_argument("--minutes", type=float, help="stop after so many minutes")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--case", metavar="S:K", help="run case K of seed S and show all of it")
    parser.add_argument("--check", choices=[*CHECKS], help="run only this check of every case")
    parser.add_argument("--no-shrink", action="store_true", help="print failures as they came")
    parser.add_argument(
        "--fresh", action="store_true", help="instead, the property tests with new examples"
    )
    return parser.parse_args(words)


def main(words=None):
    """Runs the command; returns the exit code: 1 when something failed."""
    given, console = arguments(words), Console()
    if given.fresh:
        tests = [sys.executable, "-m", "pytest", "-q", "-n", str(given.jobs), "--all", "tests"]
        return subprocess.call(tests, env={**os.environ, "FSMEU_EXPLORE": "1"})
    if given.case:
        return int(replay(given.case, console))
    for one in (signal.SIGINT, signal.SIGTERM):  # also where a shell started it in the background
        signal.signal(one, signal.default_int_handler)
    cases = given.cases if given.cases or given.minutes else 1000
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[failed]} failed"))
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        bar = progress.add_task("cases", total=cases, failed=0)

        def tell(report):
            progress.update(bar, completed=report.cases, failed=len(report.failures))

        only = (given.check,) if given.check else ()
        limits = (cases, given.minutes, given.jobs)
        report = explore(given.seed, *limits, not given.no_shrink, tell, only)
    show_failures(report, console)
    console.print(summary(report))
    return int(bool(report.failures))


if __name__ == "__main__":
    sys.exit(main())
