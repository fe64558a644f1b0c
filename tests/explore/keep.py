"""``./run explore-tests --keep FILE``: chooses random cases that reach all code that many reach.

For each case and check it records the branches of the core that are taken, by which a fuzzer keeps
its inputs. Then it takes greedily, by new branches for each second, cases that together take all of
them, three times over with other cases. A line of the file is a case, a check and its outcome, and
``tests/matrix`` runs them. Lines that are there stay: a regression is one more.
"""

import itertools
import time
from array import array
from dataclasses import dataclass

import coverage

from tests.explore.trial import CHECKS, run_case
from tests.support import loops
from tests.support.kernels import kernels_that_run

CORE = ("fst", "losses", "models", "trellis", "expectation", "decoding", "searn/oracle")
"""The packages whose branches count."""
SLOWEST = 1.0
"""Seconds that a case may take to be kept."""
COVERS = 3
"""How many sets of cases are chosen, each of which reaches every branch that is left to it."""


@dataclass(frozen=True)
class Run:
    """What a check of a case reached: branches by number, and seconds of processor time."""

    branches: array
    seconds: float


def parsed(line):
    """The seed, the number of the case, the check and the outcome of a line."""
    case, _, rest = line.partition(" ")
    check, _, outcome = rest.rpartition(": ")
    return *(int(x) for x in case.split(":")), check, outcome


def branches_of(seed, k, check, meter, numbers):
    """Runs a check of a case; returns the line of it, and the Run, or None if it is of no use."""
    meter.erase()
    meter.start()
    begin = time.process_time()
    _, [outcome] = run_case(seed, k, check)
    seconds = time.process_time() - begin
    meter.stop()
    line = f"{seed}:{k} {check}: {outcome.result}"
    if outcome.result not in ("passed", "refused") or seconds > SLOWEST:
        return line, None
    data = meter.get_data()
    taken = (
        numbers.setdefault((file, arc), len(numbers))
        for file in data.measured_files()
        for arc in data.arcs(file)
    )
    return line, Run(array("l", taken), seconds)


def reached(seed, minutes, kept, tell=lambda *_: None):
    """Runs the kept cases, and others for some minutes, whose checks take turns; Runs by line."""
    source = [f"*/fsmeu/{name}/*" for name in CORE]
    meter = coverage.Coverage(data_file=None, include=source, branch=True, config_file=False)
    with kernels_that_run("compiled"):
        loops.sentences()
    found, numbers, end = {}, {}, time.monotonic() + 60 * minutes
    drawn = ((seed, k, check) for k, check in enumerate(itertools.cycle(CHECKS)))
    for case in itertools.chain((parsed(line)[:3] for line in kept), drawn):
        if time.monotonic() > end:
            break
        line, run = branches_of(*case, meter, numbers)
        if run is not None:
            found[line] = run
        tell(len(found), len(numbers))
    return found


def chosen(found, kept):
    """The kept lines, and those taken greedily until they reach all branches, COVERS times."""
    lines = list(kept)
    for _ in range(COVERS):
        left = {line: set(run.branches) for line, run in found.items() if line not in lines}
        while left:
            best = max(left, key=lambda line: len(left[line]) / (found[line].seconds + 0.02))
            new = left.pop(best)
            lines.append(best)
            left = {line: branches - new for line, branches in left.items() if branches - new}
    return lines


def keep(path, seed, minutes, console):
    """Adds to the file the cases that reach what its own do not; returns the exit code."""
    kept = path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def tell(cases, branches):
        if cases % 200 == 0:
            console.print(f"{cases:,} cases, {branches:,} branches", highlight=False)

    found = reached(seed, minutes, kept, tell)
    lines = chosen(found, kept)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    seconds = sum(found[line].seconds for line in lines if line in found)
    text = f"{len(lines)} of {len(found):,} cases reach every branch, in {seconds:.0f} s"
    console.print(text, highlight=False)
    return 0
