"""Pictures in the formats of files: SVG, TikZ, dot, and by matplotlib (extra ``plot``) PNG and PDF.

SVG has no script, no links, no fonts, and fetches nothing; states and arcs are groups with the
classes ``node`` and ``edge``, by which a page can mark them. Coordinates are fixed, so that a
picture is the same in every format. Labels, names of losses and contents of registers come from
files of strangers: each format has one function that escapes texts, and nothing is written into it
without.
"""

from __future__ import annotations

import html
import io
import json
import warnings
from collections.abc import Callable
from itertools import groupby
from typing import Any

from fsmeu.drawing.frame import Bundle, Caption, Frame
from fsmeu.drawing.picture import INK, MASS, ROUTE, Box, Line, Picture, Shape, Summary, Text, mix
from fsmeu.drawing.subject import Route
from fsmeu.errors import need_installed, visible
from fsmeu.exchange.automaton import Automaton

_TEX = {sign: f"\\{sign}" for sign in "{}$&#%_"} | {
    "\\": r"\textbackslash{}",
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


def decimals(value: float) -> str:
    """A coordinate as files of pictures have it: up to two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def xml_text(text: object) -> str:
    """Text between tags, or between the quotes of an attribute, of SVG or HTML."""
    return html.escape(visible(text), quote=True)


def dot_text(*lines: object) -> str:
    """A quoted string of the dot language; Graphviz would read entities, so & is one itself."""
    texts = (visible(line).replace("&", "&amp;") for line in lines)
    return '"' + r"\n".join(x.replace("\\", "\\\\").replace('"', '\\"') for x in texts) + '"'


def tex_text(text: object) -> str:
    """Text of LaTeX; minus signs stay single, so that they do not join into dashes."""
    return "".join(_TEX.get(character, character) for character in visible(text))


def script_json(data: object) -> str:
    """JSON in ASCII that may stand inside a script element: it holds no <, > and &."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.translate(_SCRIPT)


_FONTS = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"
_TEX_HEAD = r"""% {title}
% \input this file through the package standalone, or compile it by itself; characters outside
% Latin scripts need lualatex or xelatex and a font that has them.
\documentclass[tikz]{{standalone}}
\usepackage[T1]{{fontenc}}
\usepackage{{textcomp}}
{colours}
\begin{{document}}
\sffamily
\begin{{tikzpicture}}[x=0.75bp, y=-0.75bp, line join=round]
"""
_TEX_TAIL = "\\end{tikzpicture}\n\\end{document}\n"
_TEX_ANCHOR = {"start": "base west", "middle": "base", "end": "base east"}
_WITHOUT = ".svg, .dot, .html and .tex work without it"
_PIXELS_PER_INCH = 96.0
_POINT = 72.0 / _PIXELS_PER_INCH
_FINE = 2.0  # dots of a PNG per pixel of a picture
_LARGEST = 16_000.0  # dots along a side of a PNG
_ALIGN: dict[str, Any] = {"start": "left", "middle": "center", "end": "right"}
_FAMILIES = ["DejaVu Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "Unifont"]


def svg(picture: Picture, scale: float = 1.0) -> str:
    """A picture as an SVG document that may also stand inside HTML, drawn at some scale."""
    width = decimals(picture.width)
    height = decimals(picture.height)
    size = [decimals(scale * side) for side in (picture.width, picture.height)]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{xml_text(picture.title)}" '
        f'font-family="{_FONTS}">'
    )
    ground = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    together = groupby(picture.shapes, key=lambda shape: shape.group or id(shape))
    body = [_svg_group(list(shapes)) for _, shapes in together]
    return "\n".join([head, f"<title>{xml_text(picture.title)}</title>", ground, *body, "</svg>\n"])


def _svg_group(shapes: list[Shape]) -> str:
    """The SVG elements of one shape, or of a group, with its tip as a title."""
    body = "".join(_SVG[type(shape)](shape) for shape in shapes)
    tip = "".join(shape.tip for shape in shapes)
    if not tip and not shapes[0].group:
        return body
    title = f"<title>{xml_text(tip)}</title>" if tip else ""
    return f"<g {shapes[0].group}".rstrip() + f">{title}{body}</g>"


def _svg_box(box: Box) -> str:
    """The SVG element of a rectangle."""
    left = decimals(box.x - box.width / 2)
    top = decimals(box.y - box.height / 2)
    round_ = f' rx="{decimals(box.radius)}"' if box.radius else ""
    outline = f' stroke="{box.stroke}" stroke-width="{decimals(box.line)}"' if box.line else ""
    return (
        f'<rect x="{left}" y="{top}" width="{decimals(box.width)}" height="{decimals(box.height)}"'
        f'{round_} fill="{box.fill}"{outline}/>'
    )


def _svg_line(line: Line) -> str:
    """The SVG elements of a curve and its arrow head."""
    shaft, corners = line.drawn
    first, *rest = (f"{decimals(x)} {decimals(y)}" for x, y in shaft)
    data = f"M{first}" + "".join("C" + " ".join(rest[k : k + 3]) for k in range(0, len(rest), 3))
    points = " ".join(f"{decimals(x)},{decimals(y)}" for x, y in corners)
    head = f'<polygon points="{points}" fill="{line.stroke}"/>' if corners else ""
    outline = f'fill="none" stroke="{line.stroke}" stroke-width="{decimals(line.line)}"'
    return f'<path d="{data}" {outline}/>{head}'


def _svg_text(text: Text) -> str:
    """The SVG element of a text."""
    weight = ' font-weight="bold"' if text.bold else ""
    return (
        f'<text x="{decimals(text.x)}" y="{decimals(text.y + 0.35 * text.size)}" '
        f'font-size="{decimals(text.size)}" text-anchor="{text.anchor}" fill="{text.colour}"'
        f"{weight}>{xml_text(text.text)}</text>"
    )


_SVG: dict[type, Callable[..., str]] = {Box: _svg_box, Line: _svg_line, Text: _svg_text}


def tikz(picture: Picture) -> str:
    """A picture as a LaTeX document of its own."""
    attributes = ("fill", "stroke", "colour")
    codes = {getattr(shape, name, "none") for shape in picture.shapes for name in attributes}
    names = {code: f"fsmeu{k}" for k, code in enumerate(sorted(codes - {"none"}))}
    colours = "\n".join(
        rf"\definecolor{{{name}}}{{HTML}}{{{code[1:].upper()}}}" for code, name in names.items()
    )
    head = _TEX_HEAD.format(title=tex_text(picture.title), colours=colours)
    ground = rf"\path[use as bounding box] (0,0) rectangle {_at(picture.width, picture.height)};"
    body = "\n".join([ground, *(_TEX_SHAPE[type(shape)](shape, names) for shape in picture.shapes)])
    return f"{head}{body}\n{_TEX_TAIL}"


def _tex_box(box: Box, names: dict[str, str]) -> str:
    """The TikZ command of a rectangle."""
    options = [f"rounded corners={_points(box.radius * 0.999)}"] if box.radius else []
    if box.fill != "none":
        options.append(f"fill={names[box.fill]}")
    if box.line:
        options += [f"draw={names[box.stroke]}", f"line width={_points(box.line)}"]
    left = box.x - box.width / 2
    top = box.y - box.height / 2
    corners = f"{_at(left, top)} rectangle {_at(left + box.width, top + box.height)}"
    return rf"\path[{', '.join(options)}] {corners};"


def _tex_line(line: Line, names: dict[str, str]) -> str:
    """The TikZ commands of a curve and its arrow head."""
    shaft, corners = line.drawn
    points = [_at(x, y) for x, y in shaft]
    path = points[0]
    for k in range(1, len(points), 3):
        path += f" .. controls {points[k]} and {points[k + 1]} .. {points[k + 2]}"
    colour = names[line.stroke]
    text = rf"\draw[{colour}, line width={_points(line.line)}] {path};"
    if corners:
        triangle = " -- ".join(_at(x, y) for x, y in corners)
        text += "\n" + rf"\fill[{colour}] {triangle} -- cycle;"
    return text


def _tex_text(text: Text, names: dict[str, str]) -> str:
    """The TikZ command of a text."""
    size = text.size * 0.75
    font = rf"\fontsize{{{decimals(size)}bp}}{{{decimals(1.2 * size)}bp}}\selectfont"
    if text.bold:
        font += r"\bfseries"
    options = [f"anchor={_TEX_ANCHOR[text.anchor]}", "inner sep=0pt", "outer sep=0pt"]
    options += [f"text={names[text.colour]}", f"font={font}"]
    at = _at(text.x, text.y + 0.35 * text.size)
    return rf"\node[{', '.join(options)}] at {at} {{{tex_text(text.text)}}};"


_TEX_SHAPE: dict[type, Callable[..., str]] = {Box: _tex_box, Line: _tex_line, Text: _tex_text}


def _at(x: float, y: float) -> str:
    """A point as TikZ writes it."""
    return f"({decimals(x)},{decimals(y)})"


def _points(pixels: float) -> str:
    """Points as an SVG attribute writes them."""
    return f"{decimals(pixels * 0.75)}bp"


def paint(picture: Picture, kind: str) -> bytes:
    """The picture as a file of this kind, "png" or "pdf"."""
    need_installed("matplotlib", "plot", f"a .{kind} file", _WITHOUT)
    from matplotlib import font_manager, rc_context
    from matplotlib.figure import Figure

    installed = {font.name for font in font_manager.fontManager.ttflist}
    families = [name for name in _FAMILIES if name in installed] or ["sans-serif"]
    size = (picture.width / _PIXELS_PER_INCH, picture.height / _PIXELS_PER_INCH)
    fine = min(_FINE, _LARGEST / max(picture.width, picture.height))
    with rc_context({"pdf.fonttype": 42}), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # characters that no font at hand has
        figure = Figure(figsize=size, dpi=_PIXELS_PER_INCH * fine, facecolor="white")
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, picture.width), ylim=(picture.height, 0))
        axes.axis("off")
        for layer, shape in enumerate(picture.shapes):
            for artist in _artists(shape, families):
                artist.set_zorder(layer)
                axes.add_artist(artist)
        stream = io.BytesIO()
        stamp = {"CreationDate": None} if kind == "pdf" else {"Software": None}
        figure.savefig(stream, format=kind, metadata={"Title": picture.title, **stamp})
    return stream.getvalue()


def _artists(shape: Shape, families: list[str]) -> list[Any]:
    """The artists of matplotlib for a shape."""
    from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
    from matplotlib.path import Path
    from matplotlib.text import Text as Words

    if isinstance(shape, Box):
        corner = (shape.x - shape.width / 2, shape.y - shape.height / 2)
        style = f"round,pad=0,rounding_size={shape.radius}" if shape.radius else "square,pad=0"
        box = FancyBboxPatch(corner, shape.width, shape.height, boxstyle=style)
        box.set(facecolor=shape.fill, edgecolor=shape.stroke, linewidth=shape.line * _POINT)
        return [box]
    if isinstance(shape, Line):
        curve, corners = shape.drawn
        path = Path(list(curve), [Path.MOVETO, *[Path.CURVE4] * (len(curve) - 1)])
        shaft = PathPatch(path, facecolor="none", edgecolor=shape.stroke, capstyle="butt")
        shaft.set_linewidth(shape.line * _POINT)
        head = [Polygon(corners, facecolor=shape.stroke, edgecolor="none")] if corners else []
        return [shaft, *head]
    words = Words(shape.x, shape.y + 0.35 * shape.size, shape.text, parse_math=False)
    words.set(fontsize=shape.size * _POINT, fontfamily=families, color=shape.colour)
    words.set(horizontalalignment=_ALIGN[shape.anchor], verticalalignment="baseline")
    words.set(fontweight="bold" if shape.bold else "normal")
    return [words]


_DOT_HEAD = [
    "  rankdir=LR; labelloc=t; labeljust=l; ranksep=0.6; nodesep=0.2;",
    '  node [shape=box, style="rounded,filled", fillcolor="#ffffff", fontname="Helvetica", '
    "fontsize=12, margin=0.1, height=0.4];",
    '  edge [fontname="Helvetica", fontsize=11, arrowsize=0.7];',
]


def dot(automaton: Automaton, frame: Frame, route: Route) -> str:
    """A machine in the dot language: columns by depth, final states with a double outline."""
    lines = [f"digraph {dot_text(frame.title)} {{", f"  label={dot_text(frame.title)};", *_DOT_HEAD]
    if automaton.table.start >= 0:
        lines.append('  start [shape=point, label="", width=0.05];')
    for state, caption in enumerate(frame.captions):
        lines.append(_node(state, caption, bool(automaton.ending[state]), state in route.states))
    columns = (" ".join(f"{state};" for state in layer) for layer in automaton.layers)
    lines += [f"  {{ rank=same; {column} }}" for column in columns]
    if automaton.table.start >= 0:
        lines.append(f"  start -> {automaton.table.start};")
    lines += [_edge(bundle, route.takes(bundle.arcs)) for bundle in frame.bundles]
    return "\n".join([*lines, "}", ""])


def _node(state: int, caption: Caption, ending: bool, marked: bool) -> str:
    """The line of dot for a state."""
    rows = [*caption.lines, *([caption.value] if caption.value else [])]
    parts = [f"label={dot_text(*rows)}", f"tooltip={dot_text(caption.tip)}"]
    if ending:
        parts.append("peripheries=2")
    if caption.shade is not None:
        parts.append(f'fillcolor="{mix(MASS, caption.shade)}"')
    if marked:
        parts.append(f'color="{ROUTE}", penwidth=2')
    return f"  {state} [{', '.join(parts)}];"


def _edge(bundle: Bundle, marked: bool) -> str:
    """The line of dot for the arcs between two states."""
    parts = [f"label={dot_text(*bundle.lines)}", f"tooltip={dot_text(bundle.tip)}"]
    if bundle.flow is not None:
        parts.append(f"penwidth={0.7 + 4.3 * bundle.flow:.3g}")
    if marked:
        parts.append(f'color="{ROUTE}", fontcolor="{ROUTE}"')
    if marked and bundle.flow is None:
        parts.append("penwidth=2")
    return f"  {bundle.source} -> {bundle.target} [{', '.join(parts)}];"


def summary_dot(summary: Summary) -> str:
    """The layers of a machine that is too large to be drawn, as a chain."""
    title = f"digraph {dot_text(summary.name)} {{"
    lines = [title, f"  label={dot_text(*summary.notes)};", *_DOT_HEAD]
    for depth, width in enumerate(summary.widths):
        rows = (f"depth {depth}", f"{width:,} states")
        lines.append(f'  {depth} [label={dot_text(*rows)}, color="{INK}"];')
    for depth, arcs in enumerate(summary.onward):
        lines.append(f"  {depth} -> {depth + 1} [label={dot_text(f'{arcs:,} arcs')}];")
    return "\n".join([*lines, "}", ""])
