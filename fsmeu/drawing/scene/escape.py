"""Text that cannot break out of the format it is put into.

Labels, names of losses and contents of registers come from files of strangers. Each output format
has one function here, and nothing is written into a format without it.
"""

from __future__ import annotations

import html
import json

from fsmeu.errors import visible

_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "-": r"{-}",
    "…": r"\ldots{}",
}
_SCRIPT = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def xml_text(text: object) -> str:
    """Text between tags of SVG or HTML."""
    return html.escape(visible(text), quote=True)


def xml_attribute(text: object) -> str:
    """An attribute value of SVG or HTML, with its quotes."""
    return f'"{xml_text(text)}"'


def dot_text(*lines: object) -> str:
    """A quoted string of the dot language; Graphviz would read entities, so & is one itself."""
    shown = (visible(line).replace("&", "&amp;") for line in lines)
    return '"' + r"\n".join(x.replace("\\", "\\\\").replace('"', '\\"') for x in shown) + '"'


def tex_text(text: object) -> str:
    """Text of LaTeX; minus signs stay single, so that they do not join into dashes."""
    return "".join(_TEX.get(character, character) for character in visible(text))


def script_json(data: object) -> str:
    """JSON in ASCII that may stand inside a script element: it holds no <, > and &."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.translate(_SCRIPT)
