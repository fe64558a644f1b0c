"""Source files as syntax trees, each parsed once in a process."""

import ast
from functools import cache


@cache
def nodes(path):
    """All nodes of the syntax tree of a file, the module first."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
