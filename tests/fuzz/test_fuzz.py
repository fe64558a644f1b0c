"""The command that mutates files: a few inputs of every reader pass, planted faults are found."""

import os
import sys

import pytest

from fsmeu.errors import InputError
from tests.fuzz import run
from tests.fuzz.readers import READERS, seeds

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs forks and /proc")
GOOD = {"faulty": {"a.txt": b"1 2 3 4 5 6 7 8"}}


@pytest.mark.nightly
def test_a_few_inputs_of_every_reader(tmp_path):
    """An abort inside OpenFst would be the death of its process, and a failure."""
    files = seeds(tmp_path)
    run.read_good(files, tmp_path)
    assert files.keys() == READERS.keys()
    quick = [reader for reader in READERS if reader != "check"]
    tallies = run.fuzz(quick, 4, 40, 2, files)
    assert {reader: tally.failures for reader, tally in tallies.items() if tally.failures} == {}
    assert {sum(tally.counts.values()) for tally in tallies.values()} == {40}
    assert all(tally.counts["refused"] and tally.counts["value"] for tally in tallies.values())


def faulty(path):
    kind = sum(path.read_bytes()) % 5
    if kind == 0:
        raise KeyError(kind)
    if kind == 1:
        os._exit(3)
    if kind == 2:
        while True:
            pass
    if kind == 3:
        raise InputError("reader", "refused")


@pytest.mark.nightly
def test_planted_faults_are_found_and_kept(monkeypatch, tmp_path):
    monkeypatch.setitem(READERS, "faulty", faulty)
    monkeypatch.setattr(run, "SECONDS", 0.1)
    alone, together = (run.fuzz(["faulty"], 1, 30, jobs, GOOD)["faulty"] for jobs in (1, 2))
    assert alone.counts == together.counts
    assert sum(alone.counts.values()) == 30
    told = " ".join(text for _, text in alone.failures)
    assert all(word in told for word in ("KeyError", "died", "slow"))
    console = run.Console(quiet=True)
    run.keep({"faulty": alone}, 1, GOOD, tmp_path, console)
    k, _ = alone.failures[0]
    kept = (tmp_path / f"faulty-1-{k}-a.txt").read_bytes()
    assert kept == run.make_input("faulty", 1, k, GOOD["faulty"])[1]
