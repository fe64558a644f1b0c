"""``./run fuzz``: every reader on files that are nearly right.

An input may end in a value or in an FsmeuError, within two seconds of processor time and a gigabyte
of memory. Anything else fails; the file is kept in out/fuzz.
"""

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import traceback
import warnings
from functools import partial
from pathlib import Path

from rich.console import Console

from fsmeu.errors import FsmeuError
from tests.fuzz.mutate import mutated
from tests.fuzz.readers import READERS, seeds
from tests.support.batches import Tally, interruptible, run_batches

SECONDS = 2
SILENCE = 120  # seconds without a result after which a process is taken to hang
MEMORY = 1 << 30
BATCH = 200
RARE = 0.01  # the probability of a file that unpacks to hundreds of megabytes: these take time
KEPT = 5  # files of each kind of failure


class Slow(BaseException):
    """An input took too long."""


def make_input(reader, seed, k, files):
    """The name and the bytes of an input; always the same for the same good files."""
    draw = random.Random(f"{seed}/{reader}/{k}")
    large = [name for name in files if name.startswith("zeros")]
    small = [name for name in files if name not in large]
    if large and draw.random() < RARE:
        name = draw.choice(large)
        return name, files[name]
    name = draw.choice(small)
    return name, mutated(name, files[name], [files[one] for one in small], draw)


def read_good(files, folder):
    """Reads every good file."""
    for reader, good in files.items():
        for name, content in good.items():
            if not name.startswith("zeros"):
                (folder / name).write_bytes(content)
                READERS[reader](folder / name)


def outcome(read, path):
    """What became of reading a file, in words."""
    before = _memory("VmRSS")
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        read(path)
        result = "value"
    except FsmeuError:
        result = "refused"
    except Slow:
        result = "slow " + traceback.format_exc(limit=-6)
    except BaseException:
        result = traceback.format_exc(limit=-6)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    grown = _memory("VmHWM") - before
    return result if grown <= MEMORY else f"large {grown:,}"


def _memory(name):
    """Bytes in use now (VmRSS), or at most since this was asked last (VmHWM); 0 where unknown."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/status").read_text().splitlines()
        if name == "VmHWM":
            Path("/proc/self/clear_refs").write_text("5")
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))
    return 0


def reading(files, seed, reader, first, end):
    """Reads inputs first, ..., end - 1, and yields what became of each."""

    def slow(number, frame):
        raise Slow

    signal.signal(signal.SIGPROF, slow)
    warnings.simplefilter("ignore")
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    with tempfile.TemporaryDirectory() as folder:
        for k in range(first, end):
            name, content = make_input(reader, seed, k, files[reader])
            path = Path(folder) / name
            path.write_bytes(content)
            _memory("VmHWM")
            yield outcome(READERS[reader], path)


def fuzz(readers, seed, inputs, jobs, files):
    """{reader: Tally} of so many inputs of each reader, or until Ctrl-C."""
    starts = range(0, inputs, BATCH)
    todo = [(reader, k, min(k + BATCH, inputs)) for reader in readers for k in starts]
    tallies, work = {reader: Tally() for reader in readers}, partial(reading, files, seed)
    with contextlib.suppress(KeyboardInterrupt):
        for reader, k, told in run_batches(work, todo, jobs, SILENCE, 2 * MEMORY):
            kind = told if told in ("value", "refused") else "other"
            tallies[reader].counts[kind] += 1
            if kind == "other":
                tallies[reader].failures.append((k, told.strip()))
    return tallies


def keep(tallies, seed, files, folder, console):
    """Prints each kind of failure, and keeps a few files of it."""
    kinds = {}
    for reader, k, text in [(r, *one) for r, tally in tallies.items() for one in tally.failures]:
        kinds.setdefault((reader, *text.splitlines()[-3:]), []).append((k, text))
    for (reader, *_), cases in kinds.items():
        folder.mkdir(parents=True, exist_ok=True)
        for k, _ in cases[:KEPT]:
            name, content = make_input(reader, seed, k, files[reader])
            path = folder / f"{reader}-{seed}-{k}-{name}".replace(" ", "_")
            path.write_bytes(content)
        console.rule(f"{reader}: {len(cases)} times, as in {path}")
        console.print(cases[0][1], markup=False, highlight=False, soft_wrap=True)


def main(words=None):
    """Runs the command; returns the exit code: 1 when something failed."""
    parser = argparse.ArgumentParser(prog="./run fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=1000, help="how many files for each reader")
    parser.add_argument("--seed", type=int, default=0, help="input k of a seed is always the same")
    parser.add_argument("--reader", choices=READERS, action="append", help="only this one")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    given, console = parser.parse_args(words), Console()
    interruptible()
    with tempfile.TemporaryDirectory() as folder:
        files = seeds(Path(folder))
        read_good(files, Path(folder))  # imports, and what is kept, are no part of the costs
    tallies = fuzz(given.reader or list(READERS), given.seed, given.inputs, given.jobs, files)
    interruptible(False)
    keep(tallies, given.seed, files, Path("out/fuzz"), console)
    for reader, tally in tallies.items():
        counts = ", ".join(f"{tally.counts[x]:,} {x}" for x in ("value", "refused", "other"))
        console.print(f"{reader}: {counts}", highlight=False)
    return int(any(tally.failures for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
