"""Measuring: the processor time of this process, the least of several rounds."""

import time
from dataclasses import dataclass

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
    """

    title: str
    first: float
    second: float
    ratio: float
    bar: str = ""
    holds: bool = True


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


def record(title, first, second, at_least=None, at_most=None):
    """Adds a row, and says whether the bar holds."""
    ratio = second / first
    bar = f"at least {at_least}" if at_least is not None else ""
    bar = f"at most {at_most}" if at_most is not None else bar
    holds = (at_least is None or ratio >= at_least) and (at_most is None or ratio <= at_most)
    ROWS.append(Row(title, first, second, ratio, bar, holds))
    return holds


def table():
    """The rows as text."""
    yield "Processor time of one process, the least of several rounds; ratios within this run."
    yield ""
    yield f"{'':52} {'seconds':>9} {'against':>9} {'ratio':>8}   bar"
    for row in ROWS:
        mark = ("pass" if row.holds else "FAIL") if row.bar else ""
        line = f"{row.title:52} {row.first:9.5f} {row.second:9.5f} {row.ratio:8.2f}   {row.bar}"
        yield f"{line:100} {mark}".rstrip()
