"""``./run frozen``: asks the problems of the frozen answers again, and compares.

With ``--write`` it freezes the answers of this code in their place. Problem N is always the same;
``--only N`` asks it alone and shows what came out.
"""

import argparse
import contextlib
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.frozen.ask import TooLateError, ask, at_most
from tests.frozen.compare import FAILURES, NOTES, Finding, compare, outcome
from tests.frozen.draw import draw
from tests.frozen.losses import restored
from tests.frozen.store import FILE, read_answers, write_answers
from tests.support import loops
from tests.support.batches import interruptible, run_batches
from tests.support.kernels import kernels_that_run

COUNT = 5_000
SECONDS = 10
"""Processor time that one problem may take."""
SHORT_OF_TIME = 3
"""Processor time after which a problem is drawn shorter, when answers are frozen."""
NOT_AT_ONCE = 0.5
"""Processor time from which an answer is timed once more: the first may have compiled a loop."""
ATTEMPTS = 4
KEPT_REFUSALS = 10
"""One problem in so many may be one that is refused; the others are drawn again."""
BATCH = 50
SILENCE = 120
MEMORY = 4 << 30
SHOWN = 8
"""Findings of each kind that are shown."""
ANSWERED = ("answers", "numbers")


# -- one problem ----------------------------------------------------------------------------------


def asked_twice(problem, seconds, lowered=False):
    """What ``ask`` answers; where it is late, once more: the first may have compiled a loop."""
    record, asked = ask(problem, seconds, lowered)
    again = "late" in record and not lowered
    return ask(problem, seconds) if again else (record, asked)


def frozen_line(number, first=0):
    """The line of a problem for the file; of the first attempt that is answered, from this one."""
    for attempt in range(first, ATTEMPTS):
        problem = draw(number, attempt)
        last = attempt + 1 == ATTEMPTS
        record, _ = asked_twice(problem, SECONDS if last else SHORT_OF_TIME)
        if record["seconds"] > NOT_AT_ONCE and "late" not in record:
            again, _ = ask(problem, SECONDS)
            record = min(record, again, key=lambda one: one["seconds"])
        may_refuse = number % KEPT_REFUSALS == 0 and record.get("refused", "") != "SizeLimitError"
        if outcome(record) in ANSWERED or "crashed" in record:
            break
        if "refused" in record and may_refuse:
            break
    return headed_line(problem, record)


def headed_line(problem, record):
    """The line of a problem: what it is, and the record of its answer."""
    head = {"number": problem.number, "attempt": problem.attempt, "question": problem.question}
    return {**head, "loss": problem.loss.stored(), "fingerprint": problem.fingerprint, **record}


def compared_line(line, lowered=False):
    """The new record of a line's problem, and the findings."""
    problem = draw(line["number"], line["attempt"], restored(line["loss"]))
    if problem.fingerprint != line["fingerprint"]:
        return {"seconds": 0.0}, [Finding("problem changed", problem.question)]
    record, asked = asked_twice(problem, SECONDS, lowered)
    try:
        with at_most(SECONDS):
            return record, compare(asked, line, record, lowered)
    except TooLateError:
        return record, [Finding("not compared", "labels are not valued in time")]


def write_batch(numbers, attempt, first, end):
    """Yields the line of each of these problems, the first of them drawn at this attempt."""
    for k in range(first, end):
        yield frozen_line(numbers[k], attempt if k == first else 0)


def compare_batch(lines, lowered, key, first, end):
    """Yields the new record and the findings of each of these lines."""
    for k in range(first, end):
        yield compared_line(lines[k], lowered)


def in_processes(work, count, jobs):
    """Yields (k, result) of all as they come; a text for one whose process died or hangs."""
    batches = [(0, k, min(k + BATCH, count)) for k in range(0, count, BATCH)]
    for _, k, result in run_batches(work, batches, jobs, SILENCE, MEMORY):
        yield k, result


# -- all of them ----------------------------------------------------------------------------------


@dataclass
class Report:
    """What came of a comparison: findings with their problems, and times by question."""

    count: int = 0
    findings: list = field(default_factory=list)
    then: Counter = field(default_factory=Counter)
    now: Counter = field(default_factory=Counter)
    asked: Counter = field(default_factory=Counter)

    def add(self, line, record, findings):
        """Adds the new record of a line."""
        self.count += 1
        self.findings += [(line, finding) for finding in findings]
        if outcome(line) in ANSWERED and outcome({"late": 0, **record}) in ANSWERED:
            for key in (line["question"], "all"):
                self.asked[key] += 1
                self.then[key] += line["seconds"]
                self.now[key] += record["seconds"]

    @property
    def failures(self):
        """How many findings are failures."""
        return sum(finding.is_failure for _, finding in self.findings)


def compare_all(lines, jobs=1, lowered=False, tell=lambda report: None):
    """The report of all these lines, compared in processes, or in this one with one job."""
    report = Report()
    if jobs == 1:
        results = ((k, compared_line(line, lowered)) for k, line in enumerate(lines))
    else:
        results = in_processes(partial(compare_batch, lines, lowered), len(lines), jobs)
    for k, result in results:
        if isinstance(result, str):
            crash = Finding("not compared" if lowered else "crashed", f"the process {result}")
            result = {"seconds": 0.0}, [crash]
        report.add(lines[k], *result)
        tell(report)
    return report


def write_all(numbers, jobs, tell):
    """Lines by number of these problems; what ends its process is drawn shorter."""
    lines = {}
    todo = [(0, k, min(k + BATCH, len(numbers))) for k in range(0, len(numbers), BATCH)]
    for attempt in range(1, ATTEMPTS + 1):
        ended = []
        results = run_batches(partial(write_batch, numbers), todo, jobs, SILENCE, MEMORY)
        for _, k, result in results:
            if not isinstance(result, str):
                lines[numbers[k]] = result
            elif attempt < ATTEMPTS:
                ended.append((attempt, k, k + 1))
            else:
                lines[numbers[k]] = ended_line(numbers[k], f"the process {result}")
            tell(lines)
        todo = ended
    return lines


def ended_line(number, text):
    """The line of a problem each of whose attempts ended its process."""
    crash = {"crashed": "process", "says": text, "seconds": 0.0}
    return headed_line(draw(number, ATTEMPTS - 1), crash)


# -- what is shown --------------------------------------------------------------------------------


def show(report, console):
    """Prints findings by kind, failures last, and the table of times."""
    for kind, means in [*NOTES.items(), *FAILURES.items()]:
        found = [(line, one.text) for line, one in report.findings if one.kind == kind]
        if not found:
            continue
        console.rule(f"{kind}: {len(found):,}, {means}")
        for line, text in found[:SHOWN]:
            loss = line["loss"]["source"].strip().splitlines()[0][:40]
            say(console, f"{line['number']} {line['question']}, {loss}: {text}")
        if more := [str(line["number"]) for line, _ in found[SHOWN:]]:
            say(console, f"and {', '.join(more[:40])}{', ...' if len(more) > 40 else ''}")
    console.print(times(report))
    say(console, f"{report.count:,} problems, {report.failures:,} failures")


def times(report):
    """Processor time by question, of problems that both answer."""
    table = Table("question", "answered", "seconds then", "now", "ratio")
    for key in [*(x for x in report.asked if x != "all"), "all"]:
        then, now = report.then[key], report.now[key]
        ratio = f"{now / then:.2f}" if then else ""
        table.add_row(key, f"{report.asked[key]:,}", f"{then:.1f}", f"{now:.1f}", ratio)
    return table


def say(console, text):
    """Prints a text as it is."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def show_lines(lines, console):
    """Prints what came of freezing: outcomes by question, and errors that are none of ours."""
    table = Table("question", *ANSWERED, "refused", "late", "crashed", "shorter", "seconds")
    for question in sorted({line["question"] for line in lines}):
        some = [line for line in lines if line["question"] == question]
        counts = Counter(map(outcome, some))
        row = [counts[x] for x in (*ANSWERED, "refused", "late", "crashed")]
        seconds = sum(line["seconds"] for line in some)
        shorter = sum(line["attempt"] > 0 for line in some)
        table.add_row(question, *map(str, [*row, shorter]), f"{seconds:.0f}")
    console.print(table)
    for line in lines:
        if "crashed" in line:
            say(console, f"{line['number']} {line['question']}: {line['crashed']}: {line['says']}")


# -- the command ----------------------------------------------------------------------------------


def numbers_of(text):
    """The problems that ``--only`` names: N, or N..M with both ends."""
    first, _, last = text.partition("..")
    found = range(int(first), int(last or first) + 1)
    if not found:
        raise ValueError(text)
    return found


def positive(text):
    """A whole number of at least 1."""
    if int(text) < 1:
        raise ValueError(text)
    return int(text)


def arguments(words=None):
    parser = argparse.ArgumentParser(prog="./run frozen", description=__doc__)
    add = parser.add_argument
    add("--write", action="store_true", help="freeze the answers of this code")
    add("--only", type=numbers_of, metavar="N..M", help="only these problems")
    add("--count", type=positive, default=COUNT, help="with --write: how many problems (5,000)")
    add("--seed-order", type=int, metavar="S", help="ask in an order drawn from this seed")
    add("--lowered", action="store_true", help="with limits so low that other strategies answer")
    add("--file", type=Path, default=FILE, help="another file of answers")
    add("--jobs", type=positive, default=2, help="processes")
    given = parser.parse_args(words)
    if not given.write and not given.file.exists():
        parser.error(f"there is no file {given.file}")
    return given


@contextlib.contextmanager
def progress_of(total, console):
    """A function that is told how many problems are done, and how many findings there are."""
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[failed]} failed"))
    progress = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
    with progress:
        task = progress.add_task("problems", total=total, failed=0)
        yield lambda done, failed=0: progress.update(task, completed=done, failed=failed)


def main(words=None):
    """Runs the command; returns the exit code: 1 when an answer is not what it was."""
    given, console = arguments(words), Console()
    kept = read_answers(given.file)
    numbers = list(given.only or (range(given.count) if given.write else kept))
    if not given.write:
        numbers = [number for number in numbers if number in kept]
        if not numbers:
            sys.exit("./run frozen: none of these problems is in the file")
    if given.seed_order is not None:
        random.Random(given.seed_order).shuffle(numbers)
    begin = time.monotonic()
    with kernels_that_run("compiled"), progress_of(len(numbers), console) as tell:
        for warm in (loops.sentences, loops.long_ones) if len(numbers) > BATCH else ():
            warm()  # here, so that no process loads or compiles loops
        interruptible()
        if given.write:
            lines = write_all(numbers, given.jobs, lambda lines: tell(len(lines)))
        else:
            lines = [kept[number] for number in numbers]
            counted = lambda report: tell(report.count, report.failures)  # noqa: E731
            report = compare_all(lines, given.jobs, given.lowered, counted)
    say(console, f"{time.monotonic() - begin:.0f} s")
    if given.write:
        write_answers({**kept, **lines} if given.only else lines, given.file)
        show_lines([lines[number] for number in sorted(lines)], console)
        return int(any("crashed" in line for line in lines.values()))
    show(report, console)
    return int(bool(report.failures))


if __name__ == "__main__":
    sys.exit(main())
