"""HTML from templates: names from outside are shown as text, and a page runs its own script alone.

Nothing that came from outside is ever part of a script: names are text, or data that is read as
JSON. The policy of a page allows just its script and style, and no connection at all.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from fsmeu.errors import visible


def fill(template: str, **values: Any) -> str:
    """The text of a template in this folder with values put in; those that are markup stay so."""
    return _environment().get_template(template).render(values)


def page(template: str, styles: Sequence[str], scripts: Sequence[str], **values: Any) -> str:
    """A whole page: one file with its styles and scripts inside.

    Args:
        template: a file of this folder.
        styles: files of this folder.
        scripts: the same.
        **values: what the template asks for.
    """
    style = "".join(map(_part, styles))
    script = '"use strict";(() => {' + "".join(map(_part, scripts)) + "})();"
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {"policy": policy, "style": Markup(style), "script": Markup(script)}
    return fill(template, **parts, **values)


@cache
def _environment() -> Environment:
    loader = PackageLoader("fsmeu.drawing", "pages")
    return Environment(
        loader=loader, autoescape=True, finalize=_shown, trim_blocks=True, lstrip_blocks=True
    )


def _shown(value: Any) -> Any:
    return value if isinstance(value, Markup) else visible(value)


def _part(name: str) -> str:
    return files("fsmeu.drawing.pages").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
