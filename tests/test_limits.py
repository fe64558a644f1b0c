"""Every threshold that is shared has its reason beside it, and is what modules ask for."""

import ast
from itertools import pairwise
from pathlib import Path

import fsmeu

PACKAGE = Path(fsmeu.__file__).parent
BODY = ast.parse((PACKAGE / "limits.py").read_text(encoding="utf-8")).body
NAMES = [node.targets[0].id for node in BODY if isinstance(node, ast.Assign)]


def is_text(node):
    """True for a string that stands by itself."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def test_each_has_its_reason():
    bare = [
        node.targets[0].id
        for node, after in pairwise([*BODY, None])
        if isinstance(node, ast.Assign) and not is_text(after)
    ]
    assert bare == []
    assert len(NAMES) == len(set(NAMES)) > 10


def test_each_is_asked_for():
    """A threshold that no module imports decides nothing."""
    asked = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "fsmeu.limits":
                asked |= {alias.name for alias in node.names}
    assert asked == set(NAMES)
