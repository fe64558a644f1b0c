"""Measuring: the processor time of this process, the least of several rounds; memory, apart."""

import math
import multiprocessing
import os
import re
import resource
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

ROWS = []
"""What has been measured, in order; printed at the end of the run."""


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes:
        title: what is compared.
        first: seconds of the one.
        second: seconds of the other.
        ratio: how many times slower the other is.
        bar: what the ratio must be, in words; empty where nothing is asked.
        holds: whether it is.
        exponent: of the growth from the one to the other, where their sizes differ; else None.
        gigabytes: the greatest memory of the process that measures, up to here.
    """

    title: str
    first: float
    second: float
    ratio: float
    bar: str = ""
    holds: bool = True
    exponent: float | None = None
    gigabytes: float = 0.0


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


@dataclass(frozen=True)
class Run:
    """One call in a process of its own.

    Attributes:
        result: what it returned.
        seconds: its processor time.
        gigabytes: by how much it raised the memory of the process at its peak.
    """

    result: object
    seconds: float
    gigabytes: float


SPARE = 4
"""A run apart may take this many times the time and the memory that its bar allows ..."""

START = 30
"""... and this many seconds more, so that a few sentences can be tried with a slow engine."""


STOPPED = 99
"""The exit code of a run that took too long."""


def apart(title, function, seconds, gigabytes=1.0):
    """Calls a function in a forked process, which is stopped where it takes far too much.

    The test then fails, and a row says why: a slow or greedy engine costs minutes, not hours or
    the machine.

    Args:
        title: what is measured.
        function: what is called; what it returns comes back through a pipe.
        seconds: the bar for its processor time.
        gigabytes: the bar for its memory.
    """
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    limits = (int(seconds * SPARE) + START, int(gigabytes * SPARE * 2**30))
    child = context.Process(target=_child, args=(there, function, *limits))
    child.start()
    there.close()
    try:
        fault, run = here.recv()
    except EOFError:
        fault, run = f"was stopped after {limits[0]} s of processor time", None
    child.join()
    if fault:
        if child.exitcode not in (0, STOPPED):
            fault = f"ended with code {child.exitcode}"
        ROWS.append(Row(f"{title} {fault}", seconds, math.inf, math.inf, "at most 1", False))
        pytest.fail(f"{title} {fault}")
    return run


def _child(pipe, function, seconds, size):
    """Sends what was wrong, and the run; memory is counted from what the fork brought along."""
    threading.Thread(target=_stop_after, args=(seconds,), daemon=True).start()
    if sys.platform == "linux":
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        size += pages * resource.getpagesize()
        size = size if hard == resource.RLIM_INFINITY else min(size, hard)
        resource.setrlimit(resource.RLIMIT_AS, (size, hard))
    before, begin = peak(), time.process_time()
    try:
        result = function()
    except MemoryError:
        pipe.send(("ran out of memory", None))
    except Exception as error:
        pipe.send((f"raised {type(error).__name__}: {error}", None))
    else:
        pipe.send(("", Run(result, time.process_time() - begin, peak() - before)))


def _stop_after(seconds):
    """Ends this process; a limit of the system would make its clock as coarse as the system's."""
    while time.process_time() < seconds:
        time.sleep(0.5)
    os._exit(STOPPED)


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
