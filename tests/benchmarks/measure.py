"""Measuring: the processor time of this process, the least of several rounds; memory, apart."""

import math
import re
import resource
import sys
import time
from dataclasses import dataclass

import numpy as np
import pytest

from tests.support.batches import run_batches

ROWS = []
"""What has been measured, in order; printed at the end of the run."""
SPARE = 4
"""A run apart may take this many times the time and the memory that its bars allow ..."""
START = 120
"""... and this many seconds more, so that a few sentences can be tried with a slow engine."""


@dataclass(frozen=True)
class Row:
    """What is compared, the seconds of either, and the bar for their ratio in words, if any.

    The exponent is that of the growth, where sizes differ; memory is the peak up to here.
    """

    title: str
    first: float
    second: float
    ratio: float
    bar: str = ""
    holds: bool = True
    exponent: float | None = None
    gigabytes: float = 0.0


@dataclass(frozen=True)
class Run:
    """One call in a process of its own: its result, processor time, and by how much memory rose."""

    result: object
    seconds: float
    gigabytes: float


def seconds(function, repeats=1):
    """The least processor time of a call: other processes on the machine do not enter it."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        function()
        times.append(time.process_time() - begin)
    return min(times)


def compare(first, second, rounds=3, repeats=(1, 1)):
    """The least times of two functions, measured in turn so that both see the same machine."""
    times = [(seconds(first, repeats[0]), seconds(second, repeats[1])) for _ in range(rounds)]
    return tuple(min(column) for column in zip(*times, strict=True))


def versus(title, first, second, rounds=3, repeats=(1, 1), rel=1e-12, **bar):
    """Asserts that two functions return the same numbers, and that their times keep to the bar."""
    np.testing.assert_allclose(first(), second(), rtol=rel, atol=1e-15)
    assert record(title, *compare(first, second, rounds, repeats), **bar)


def apart(title, function, seconds, gigabytes=1.0):
    """The run of a call in a forked process, which is ended where it takes far too much.

    The test then fails, and a row says why: a slow or greedy engine costs minutes, not hours or
    the machine. What the call raised stands in the output; ``seconds`` and ``gigabytes`` are bars.
    """

    def work(*_):
        before, begin = peak(), time.process_time()
        result = function()
        yield Run(result, time.process_time() - begin, peak() - before)

    limits = SPARE * seconds + START, int(SPARE * gigabytes * 2**30)
    ((_, _, run),) = run_batches(work, [(title, 0, 1)], 1, *limits)
    if isinstance(run, str):
        ROWS.append(Row(f"{title} {run}", seconds, math.inf, math.inf, "at most 1", False))
        pytest.fail(f"{title} {run}")
    return run


def within(title, run, seconds, gigabytes=1.0):
    """Whether a run kept to its limits; a row for each."""
    held = [
        record(f"{title}: the limit | ours", seconds, run.seconds, at_most=1),
        record(f"{title}, memory in GB: the limit | ours", gigabytes, run.gigabytes, at_most=1),
    ]
    return all(held)


def peak():
    """The greatest memory of this process so far, in gigabytes (2**30 bytes)."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def record(title, first, second, at_least=None, at_most=None):
    """Adds a row, and says whether the bar holds.

    Where the title says two sizes, "n = 100 | n = 200", the exponent of the growth is added.
    """
    ratio = second / first
    sizes = re.search(r"\bn = ([\d,]+) \| n = ([\d,]+)", title)
    small, large = (int(x.replace(",", "")) for x in sizes.groups()) if sizes else (1, 1)
    exponent = math.log(ratio) / math.log(large / small) if large != small and ratio > 0 else None
    bar = f"at least {at_least}" if at_least is not None else ""
    bar = f"at most {at_most}" if at_most is not None else bar
    holds = (at_least is None or ratio >= at_least) and (at_most is None or ratio <= at_most)
    ROWS.append(Row(title, first, second, ratio, bar, holds, exponent, peak()))
    return holds


def table():
    """The rows as text."""
    yield "Processor time of one process on one core, in seconds; ratios within this run."
    yield "Growth is the exponent from one size to the other, GB the peak of the process so far."
    yield ""
    width = max([52, *(len(row.title) for row in ROWS)])
    head = f"{'first':>9} {'second':>9} {'ratio':>8} {'growth':>6} {'GB':>5}"
    yield f"{'':{width}} {head}   bar"
    for row in ROWS:
        mark = ("pass" if row.holds else "FAIL") if row.bar else ""
        growth = "" if row.exponent is None else f"{row.exponent:.2f}"
        numbers = f"{row.first:9.5f} {row.second:9.5f} {row.ratio:8.2f} {growth:>6}"
        numbers += f" {row.gigabytes:5.2f}"
        yield f"{row.title:{width}} {numbers}   {row.bar:15} {mark}".rstrip()
