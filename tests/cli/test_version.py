"""`fsmeu --version` reports what is really loaded."""

from importlib import metadata

import pytest
from typer.testing import CliRunner

from fsmeu.cli.main import app
from fsmeu.fst import versions


def test_every_version_is_the_installed_one():
    """The five lines agree with the package metadata that pip wrote."""
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    shown = dict(line.split() for line in result.output.splitlines())
    assert list(shown) == ["fsmeu", "pynini", "OpenFst", "numpy", "Python"]
    for package in ("fsmeu", "pynini", "numpy"):
        assert shown[package] == metadata.version(package)


def test_unknown_pynini_has_unknown_openfst(monkeypatch: pytest.MonkeyPatch):
    """OpenFst's version is never guessed."""
    monkeypatch.setattr(versions, "pynini_version", lambda: "9.9")
    assert versions.openfst_version() == "unknown"


def test_no_arguments_show_the_commands():
    """A bare `fsmeu` explains itself."""
    assert "demo" in CliRunner().invoke(app, []).output
