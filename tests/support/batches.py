"""Numbered cases in forked processes: one may fail, grow, hang or die without the others.

``./run explore-tests``, ``./run fuzz`` and the larger benchmarks run by this.
"""

import gc
import multiprocessing
import resource
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path


@dataclass
class Tally:
    """What came of some cases: how many had each outcome, and (case, text) of those that failed."""

    counts: Counter = field(default_factory=Counter)
    failures: list = field(default_factory=list)


def run_batches(work, batches, jobs, silence, memory):
    """Yields (key, k, result) of each case as it comes: what ``work`` yields for it, or a text.

    A batch is (key, first, end). A process without a result for ``silence`` seconds is ended and
    its case "hangs"; one that dies, as by taking ``memory`` bytes beyond what this one has, leaves
    "died" and its exit code. The cases behind it are run by another.
    """
    batches, running = iter(batches), {}
    try:
        while True:
            while len(running) < jobs and (batch := next(batches, None)):
                _start(running, work, batch, memory)
            if not running:
                return
            wait(list(running), timeout=1)
            for pipe, (process, key, k, end, since) in list(running.items()):
                result = _received(pipe, process, time.monotonic() - since > silence)
                if result is None:
                    continue
                yield key, k, result
                running[pipe] = (process, key, k + 1, end, time.monotonic())
                ended = isinstance(result, str) and result.startswith(("died", "hangs"))
                if ended or k + 1 == end:
                    process.join()
                    pipe.close()
                    del running[pipe]
                if ended and k + 1 < end:
                    _start(running, work, (key, k + 1, end), memory)
    finally:
        for process, *_ in running.values():
            process.kill()


def _start(running, work, batch, memory):
    forks = multiprocessing.get_context("fork")
    ours, theirs = forks.Pipe(duplex=False)
    process = forks.Process(target=_run, args=(theirs, work, batch, memory))
    process.start()
    theirs.close()
    running[ours] = (process, *batch, time.monotonic())


def _run(pipe, work, batch, memory):
    """Leaves Ctrl-C to the parent; growing past the limit is an error, not the machine's end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.freeze()  # the parent's objects: looking through them again and again would copy their pages
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + memory
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = limit if most == resource.RLIM_INFINITY else min(limit, most)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for result in work(*batch):
        pipe.send(result)


def _received(pipe, process, too_long):
    try:
        if pipe.poll():
            return pipe.recv()
    except EOFError:
        process.join()
        return f"died {process.exitcode}"
    if too_long:
        process.kill()
        return "hangs"
    return None


def interruptible(on=True):
    """Has the first Ctrl-C end the run, also in the background, and the next ones do nothing."""
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, _interrupt if on else signal.SIG_IGN)


def _interrupt(*_):
    interruptible(False)
    if multiprocessing.parent_process() is None:  # else a fork that has yet to leave it to this one
        raise KeyboardInterrupt
