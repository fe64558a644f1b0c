"""`fsmeu doctor`: every package with its version, what is missing, and what to do."""

import json
from importlib import metadata

from fsmeu.cli import doctor


def test_packages_are_those_of_the_project(fsmeu):
    ran = fsmeu("doctor", "--json")
    assert ran.code == 0
    told = json.loads(ran.out)
    assert told["computes"]
    shown = {row["package"]: row["installed"] for row in told["packages"]}
    assert {"pynini", "numpy", "matplotlib", "distributed"} <= set(shown)
    assert shown["numpy"] == metadata.version("numpy")
    assert "pytest" not in shown


def test_what_is_missing(fsmeu, monkeypatch):
    """An extra that is not there is named with the line that installs it, and is no failure."""
    real = doctor.installed
    monkeypatch.setattr(doctor, "installed", lambda name: name != "matplotlib" and real(name))
    ran = fsmeu("doctor")
    assert ran.code == 0
    assert "matplotlib missing: pip install 'fsmeu[plot]'" in ran.out


def test_what_cannot_compute(fsmeu, monkeypatch):
    """A broken pynini is told in words, with the way out, and the exit code is 1."""

    def broken(*_):
        message = "libfst.so is missing"
        raise ImportError(message)

    monkeypatch.setattr("fsmeu.load", broken)
    ran = fsmeu("doctor")
    assert ran.code == 1
    assert "libfst.so is missing" in ran.out
    assert "./run wheel" in ran.out


def test_other_commands_lead_here(fsmeu, monkeypatch):
    def broken(*_, **__):
        message = "No module named 'pywrapfst'"
        raise ModuleNotFoundError(message, name="pywrapfst")

    monkeypatch.setattr("fsmeu.cli.evaluate.load_loss", broken)
    fsmeu("evaluate", "hamming", "01", "10").is_refused("pywrapfst", "fsmeu doctor")
