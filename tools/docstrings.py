"""An extension of griffe, which reads docstrings for the API pages.

Examples become code blocks. A field of a class is described by the comment behind it.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"  # (.+)$")


class Docstrings(griffe.Extension):  # type: ignore[misc, unused-ignore]
    """Fences what begins with >>> and ends with an empty line; makes comments docstrings."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Changes the docstring of an object that was read."""
        if obj.docstring:
            obj.docstring.value = _EXAMPLE.sub(r"\n```pycon\n\g<0>\n```", obj.docstring.value)

    def on_attribute(self, *, attr: Any, **_: Any) -> None:
        """Gives a field of a class the comment on its line, where it has no other text."""
        of_class = attr.parent is not None and attr.parent.is_class
        comment = _COMMENT.search(attr.source.split("\n")[0]) if of_class else None
        if comment and not attr.docstring:
            attr.docstring = griffe.Docstring(comment[1], parent=attr)
