"""Names from outside stay names in every format: they are shown, never obeyed."""

import base64
import hashlib
import json
import re
import xml.etree.ElementTree as ET

import pytest

import fsmeu
from tests.support.html import Page

NAMES = [
    '"', "'", "<b>", "</script><script>alert(1)</script>", "</title><img src=x onerror=alert(1)>",
    "a\nb", "\x1b[31m", "&lt;", "\\", "\\n", "$x^2_{", "%", "日本", "é", "\u202eabc", "a b", "]]>",
    "{{data}}", "<!--", "x;y", "--", "\ufffe",
]  # fmt: skip
HOSTILE = """
loss f "</pre><script>alert(1)</script> & <img src=x onerror=alert(2)>"
reference "<b onmouseover='alert(3)'>\u202e &amp; co"
labels "<i>" "</svg><script>" # <!-- ]]> "
count bad when z != y
value bad
example "<i> <i>" "<i> </svg><script>" = 1
"""
EVIL = "</script><script>alert('name')</script>\"><svg onload=alert(2)>\n]]>"


class Last:
    """A loss whose states carry the labels they read."""

    def start(self):
        return "start <i>&"

    def step(self, state, z, y):
        return f"{z}|{y}"

    def value(self, state):
        return float(len(state))


LOSS = fsmeu.function_loss(Last(), NAMES[:6], name=EVIL)
STATES = fsmeu.draw(LOSS, n=1)
ARCS = fsmeu.draw(fsmeu.load("hamming", labels=NAMES), n=1)  # every name at once, on two states
either = pytest.mark.parametrize("drawing", [STATES, ARCS], ids=["states", "arcs"])


@either
def test_svg_has_only_shapes(drawing):
    root = ET.fromstring(drawing.svg)
    tags = {element.tag.split("}")[1] for element in root.iter()}
    assert tags <= {"svg", "title", "rect", "g", "path", "polygon", "text"}
    names = {name for element in root.iter() for name in element.attrib}
    assert not any(name.startswith("on") or "href" in name or name == "style" for name in names)
    texts = {shape.text for shape in drawing.picture.shapes if hasattr(shape, "text")}
    assert {element.text for element in root.iter() if element.tag.endswith("text")} == texts


def test_pages_hold_nothing_but_their_own_elements():
    """Nor any address but the names of XML; the policy allows the page's own script."""
    of_file = fsmeu.explore(fsmeu.loads(HOSTILE), n=1).html
    for text in (STATES.html, fsmeu.explore(LOSS, n=1).html, of_file):
        text.encode("utf-8")
        page = Page(text)
        assert not {"img", "i", "b", "iframe"} & {one["tag"] for one in page.elements}
        given = [both for one in page.elements for both in one["at"].items()]
        assert not any(name.startswith("on") for name, _ in given)
        led = {value for name, value in given if name in ("src", "href", "action", "data")}
        assert led == {"data:,"}  # an empty icon
        *data, script = page.texts("script")
        assert not set("<>&") & set("".join(data))
        policy = next(m["at"]["content"] for m in page.all("meta") if "http-equiv" in m["at"])
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"script-src 'sha256-{digest}'" in policy
        assert policy.startswith("default-src 'none'")
        assert "alert" not in script
        assert set(re.findall(r"(?:https?:)?//[\w.]+", text)) <= {"http://www.w3.org"}
        assert not re.search(r"\b(?:fetch|XMLHttpRequest|import|WebSocket|eval)\s*\(", text)
    assert "\u202e" not in of_file


def test_notebook_keeps_the_page_in_a_frame():
    """Which may run its script and nothing else; what is typed is compared with whole labels."""
    page = fsmeu.explore(fsmeu.load("hamming", labels=NAMES), n=1)
    (frame,) = Page(page._repr_html_()).elements
    assert frame["tag"] == "iframe"
    assert (frame["at"]["srcdoc"], frame["at"]["sandbox"]) == (page.html, "allow-scripts")
    data, _ = Page(page.html).texts("script")
    assert data.isascii()
    assert json.loads(data)["labels"] == NAMES


@either
def test_dot_strings_hold_all_names(drawing):
    """Outside its quoted strings the text is made of the words of any machine, as of hamming's."""

    def outside(text):
        return re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)

    assert re.fullmatch(r'[\w\s{}\[\]=;,.>"-]*', outside(drawing.dot))
    plain = outside(fsmeu.draw(fsmeu.load("hamming"), n=1).dot)
    ours, words = (set(re.findall(r"[A-Za-z_]\w*", one)) for one in (plain, outside(drawing.dot)))
    assert words <= ours


UNTEX = {
    r"\textbackslash{}": "\\", r"\{": "{", r"\}": "}", r"\$": "$", r"\&": "&", r"\#": "#",
    r"\%": "%", r"\_": "_", r"\textasciicircum{}": "^", r"\textasciitilde{}": "~",
    r"\textless{}": "<", r"\textgreater{}": ">", r"\textbar{}": "|", r"\textquotedbl{}": '"',
    r"\textasciigrave{}": "`", r"\textquotesingle{}": "'", r"{-}": "-", r"\ldots{}": "…",
}  # fmt: skip


def read_tex(text):
    """The characters that LaTeX would print, by a reading of its own; fails on other commands."""
    pattern = "|".join(re.escape(command) for command in sorted(UNTEX, key=len, reverse=True))
    pieces = re.split(f"({pattern})", text)
    plain = "".join(pieces[0::2])
    assert not set("\\{}$&#%_^~") & set(plain), text
    return "".join(UNTEX.get(piece, piece) for piece in pieces)


@either
def test_tex_prints_the_names(drawing):
    nodes = re.findall(r"^\\node\[.*?\] at \([\d.,-]+\) \{(.*)\};$", drawing.tex, re.MULTILINE)
    texts = [shape.text for shape in drawing.picture.shapes if hasattr(shape, "text")]
    assert [read_tex(node) for node in nodes] == texts


@either
def test_terminal_gets_no_controls(drawing):
    assert all(line.isprintable() for line in drawing.text.splitlines())
    cells = drawing.cells(10_000)
    assert all(character.isprintable() for row in cells for character, _ in row)
