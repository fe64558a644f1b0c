"""An extension of griffe, which reads docstrings for the API pages: examples become code blocks."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)


class Doctests(griffe.Extension):  # type: ignore[misc, unused-ignore]
    """Fences what begins with >>> and ends with an empty line."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Changes the docstring of an object that was read."""
        if obj.docstring:
            obj.docstring.value = _EXAMPLE.sub(r"\n```pycon\n\g<0>\n```", obj.docstring.value)
