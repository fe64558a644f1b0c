"""What the documents show is what happens: examples in docstrings, and the README's Python."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import fsmeu

ROOT = Path(__file__).parent.parent
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "fsmeu").rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    tried = doctest.testmod(import_module(name))
    assert tried.attempted > 0
    assert tried.failed == 0


def test_python_of_the_readme(capsys, monkeypatch):
    """The blocks are one session; a comment behind print begins with the numbers it prints."""
    monkeypatch.chdir(ROOT)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
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
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```\n(loss +pk.*?)```", text, re.DOTALL)
    shown, shelf = (one.compile(16) for one in (fsmeu.loads(block, k=3), fsmeu.load("pk", k=3)))
    assert shown.states == shelf.states
    np.testing.assert_array_equal(shown.values, shelf.values)
