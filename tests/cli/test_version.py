"""`fsmeu --version` reports what is really loaded."""

from importlib import metadata

from typer.testing import CliRunner

from fsmeu.cli.main import app


def test_every_version_is_the_installed_one():
    """The five lines agree with the package metadata that pip wrote."""
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    shown = dict(line.split() for line in result.output.splitlines())
    assert list(shown) == ["fsmeu", "pynini", "OpenFst", "numpy", "Python"]
    for package in ("fsmeu", "pynini", "numpy"):
        assert shown[package] == metadata.version(package)


def test_no_arguments_show_the_commands():
    """A bare `fsmeu` explains itself."""
    assert "demo" in CliRunner().invoke(app, []).output
