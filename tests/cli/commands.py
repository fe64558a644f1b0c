"""Commands run in this process, and files for them."""

import json
import sys

from typer.testing import CliRunner

from fsmeu.cli.main import app
from tests.support.missing import skip_if_refused

PROGRAM = [sys.executable, "-m", "fsmeu.cli.main"]


class Ran:
    """What a command printed and how it ended."""

    def __init__(self, result):
        self.code = result.exit_code
        self.out = result.stdout
        self.err = result.stderr
        self.exception = result.exception
        skip_if_refused(self.err)

    @property
    def json(self):
        """What was printed, read as one JSON document."""
        assert self.code in (0, 1), self.err
        return json.loads(self.out)

    @property
    def records(self):
        """The JSON documents of the printed lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    def rows(self):
        """The cells of the printed lines."""
        return [line.split() for line in self.out.splitlines()]

    def is_refused(self, *parts):
        """Checks for exit code 2, nothing on stdout, and one message that says these parts."""
        assert self.code == 2, (self.code, self.out, self.err, self.exception)
        assert self.out == ""
        assert self.err.startswith("fsmeu: ")
        assert "Traceback" not in self.err
        assert [part for part in parts if part not in self.err] == [], self.err
        first, *shown = self.err.rstrip("\n").split("\n")
        assert first.endswith((".", "?"))
        assert not shown or (len(shown) == 2 and set(shown[1].strip()) == {"^"})


def fsmeu(*args, stdin=None):
    """Runs a command line, with stdin if it is given."""
    return Ran(CliRunner().invoke(app, list(map(str, args)), input=stdin))


def write(path, content):
    """The path of a file that now holds a text, bytes, a JSON document, or a list of them."""
    if isinstance(content, list):
        content = "".join(json.dumps(one) + "\n" for one in content)
    content = json.dumps(content) if isinstance(content, dict) else content
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
