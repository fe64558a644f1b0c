"""Commands run in this process."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from fsmeu.cli.main import app

PROGRAM = [sys.executable, "-m", "fsmeu.cli.main"]


class Ran:
    """What a command printed and how it ended."""

    def __init__(self, result: Any) -> None:
        self.code = result.exit_code
        self.out = result.stdout
        self.err = result.stderr
        self.exception = result.exception

    @property
    def json(self) -> Any:
        """What was printed, read as one JSON document."""
        assert self.code in (0, 1), self.err
        return json.loads(self.out)

    def rows(self) -> list[list[str]]:
        """The cells of the printed lines."""
        return [line.split() for line in self.out.splitlines()]

    def is_refused(self, *parts: str) -> None:
        """Checks for exit code 2, nothing on stdout, and one message that says these parts."""
        assert self.code == 2, (self.code, self.out, self.err, self.exception)
        assert self.out == ""
        assert self.err.startswith("fsmeu: ")
        assert "Traceback" not in self.err
        for part in parts:
            assert part in self.err
        first, *shown = self.err.rstrip("\n").split("\n")
        assert first.endswith((".", "?"))
        assert not shown or (len(shown) == 2 and set(shown[1].strip()) == {"^"})


def on_terminal(*args: str, **environment: str) -> tuple[str, int]:
    """What the program shows on a terminal of 80 columns, and its exit code."""
    ours, theirs = pty.openpty()
    settings = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", **environment}
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    process = subprocess.Popen([*PROGRAM, *args], env=settings, **streams)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # Linux says so when the other end is closed
        pass
    os.close(ours)
    return shown.decode(), process.wait(timeout=120)


@pytest.fixture
def fsmeu() -> Callable[..., Ran]:
    """Runs a command line, with stdin if it is given."""

    def run(*args: object, stdin: str | bytes | None = None) -> Ran:
        return Ran(CliRunner().invoke(app, [str(a) for a in args], input=stdin))

    return run
