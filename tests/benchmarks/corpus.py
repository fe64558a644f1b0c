"""A large corpus by two processes: how long it takes, in how much memory, and killed and resumed.

    ./run python tests/benchmarks/corpus.py --records 200000

Chains of order 1 of 5 to 60 labels are decided twice: in one run, and in one that is killed
(SIGKILL) and resumed as often as asked. Both must have written the same bytes. A run of 200,000
chains takes about 150 s of processor time for F1 and 900 s for chunk F1, beside reading them.
"""

import argparse
import filecmp
import gzip
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

LOSSES = {"fscore": [0, 1], "chunk_fscore": ["O", "B-X", "I-X"]}
"""A loss, and the labels of its chains."""

SAMPLES = 12
"""Rows of the table of memory over time."""


def main():
    """Runs what the command line asks for, and returns 0 where all files agree."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--records", type=int, default=200_000)
    asked.add_argument("--loss", choices=LOSSES, action="append")
    asked.add_argument("--kills", type=int, default=2)
    asked.add_argument("--jobs", type=int, default=2)
    asked.add_argument("--scheduler", help="a Dask scheduler in place of --jobs")
    asked.add_argument("--seed", type=int, default=0)
    given = asked.parse_args()
    screen = Console(soft_wrap=True, highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        return max([judged(name, Path(folder), given, screen) for name in given.loss or LOSSES])


def judged(name, folder, given, screen):
    """1 where the run that was killed wrote other bytes than the other, else 0."""
    corpus, whole, killed = (folder / f"{name}.{end}" for end in ("gz", "whole", "killed"))
    write(corpus, given.records, LOSSES[name], given.seed)
    processes = ["--jobs", str(given.jobs)]
    if given.scheduler:
        processes = ["--scheduler", given.scheduler]
    command = [sys.executable, "-m", "fsmeu.cli.main", "decode", name, "--corpus", corpus]
    command += ["--format", "jsonl", *processes]
    screen.print(f"{name}, {given.records:,} chains, {' '.join(processes)}")
    seconds, samples = watched([*command, "-o", whole])
    lines = sum(1 for _ in whole.open())
    screen.print(f"  {seconds:.0f} s, {lines / seconds:,.0f} a second, {lines:,} results")
    for row in table(samples):
        screen.print(f"  {row}")
    again = interrupted([*command, "-o", killed, "--resume"], killed, whole, given)
    same = lines == given.records and filecmp.cmp(whole, killed, shallow=False)
    screen.print(f"  killed after {again} bytes; {'the same' if same else 'OTHER'} bytes")
    return 0 if same else 1


def write(path, records, labels, seed):
    """Writes chains of order 1, one a line."""
    rng, size = np.random.default_rng(seed), len(labels)
    with gzip.open(path, "wt", compresslevel=1) as file:
        for k in track(range(records), "corpus", transient=True):
            record = {
                "id": k,
                "model": "markov",
                "initial": rng.dirichlet([1.0] * size).tolist(),
                "transition": rng.dirichlet([0.7] * size, size).tolist(),
                "labels": labels,
                "n": int(rng.integers(5, 61)),
            }
            file.write(json.dumps(record) + "\n")


def watched(command):
    """Seconds of a command, and samples of (seconds, MB of it, MB of its processes)."""
    begin, samples = time.monotonic(), []
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            own, others = memory(process.pid)
            samples.append((time.monotonic() - begin, own, others))
            time.sleep(0.5)
    if process.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {process.returncode}")
    return time.monotonic() - begin, samples


def interrupted(command, output, whole, given):
    """The sizes of the output when the command was killed; then it has come to its end."""
    sizes = np.random.default_rng(given.seed).uniform(0.1, 0.9, given.kills) * whole.stat().st_size
    seen = []
    for size in sorted(sizes):
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            while process.poll() is None:
                if output.exists() and output.stat().st_size >= size:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                time.sleep(0.02)
        seen.append(output.stat().st_size)
    watched(command)
    return seen


def memory(pid):
    """The memory of a process, and of each of its children, in MB; 0 where it is gone."""
    try:
        tasks = Path(f"/proc/{pid}/task").glob("*/children")
        children = sorted(int(child) for task in tasks for child in task.read_text().split())
    except OSError:
        children = []
    return held(pid), tuple(held(child) for child in children)


def held(pid):
    """The memory of a process in MB."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if "VmRSS" in line), 0) // 1024


def table(samples):
    """Rows of memory over time."""
    places = np.unique(np.linspace(0, len(samples) - 1, SAMPLES).astype(int))
    yield "seconds   main MB   workers MB"
    for at, own, others in (samples[k] for k in places.tolist()):
        yield f"{at:7.0f} {own:9} {'  ' + ' '.join(str(one) for one in others)}"


if __name__ == "__main__":
    sys.exit(main())
