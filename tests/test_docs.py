"""What the documents show is what happens: docstrings, the README's Python and commands."""

import doctest
import re
import shlex
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import fsmeu
from fsmeu.cli.main import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = [
    shlex.split(line)
    for line in re.findall(r"^\./run fsmeu (.+?)(?: +#.*)?$", README, re.MULTILINE)
]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "fsmeu").rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


def is_needed(word):
    """Whether a word of a command is a file that must be there, or takes long (the gallery)."""
    return word == "gallery" or word.endswith((".svm", ".conll", ".gz", ".json", ".npz"))


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    tried = doctest.testmod(import_module(name))
    assert tried.attempted > 0
    assert tried.failed == 0


def test_python_of_the_readme(capsys, monkeypatch):
    """The blocks are one session; a comment behind print begins with the numbers it prints."""
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) >= 2
    names = {}
    for block in blocks:
        exec(block, names)
    printed = capsys.readouterr().out.splitlines()
    (sizes,) = (line.split() for line in printed if line.startswith("1771 800 21 "))
    assert float(sizes[-1]) == pytest.approx(names["e"].value, rel=1e-12)
    assert printed[-1] == "[['B-NP', 'I-NP', 'O']]"


def test_loss_file_of_the_readme():
    """It is the shelf's Pk, which is held against nltk: as many states, and the same values."""
    (block,) = re.findall(r"```\n(loss +pk.*?)```", README, re.DOTALL)
    shown, shelf = (one.compile(16) for one in (fsmeu.loads(block, k=3), fsmeu.load("pk", k=3)))
    assert shown.states == shelf.states
    np.testing.assert_array_equal(shown.values, shelf.values)


@pytest.mark.parametrize("words", [one for one in SHOWN if not any(map(is_needed, one))])
def test_commands_of_the_readme(words, tmp_path, monkeypatch):
    """Those that need no file of one's own, in a folder where nothing else is."""
    (tmp_path / "grammars").symlink_to(ROOT / "grammars")
    monkeypatch.chdir(tmp_path)
    ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 0, ran.stderr
    assert ran.output
