"""Pictures for LaTeX: a document of TikZ that needs no other package and can be included as it is.

Coordinates are fixed, so that the picture is the same as in every other format.
"""

from __future__ import annotations

from fsmeu.drawing.layout.curves import arrow_head, shorten_end
from fsmeu.drawing.render.shapes import Box, Line, Picture, Shape, Text
from fsmeu.drawing.scene.escape import tex_text

__all__ = ["tikz"]

_HEAD = r"""% {title}
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
_TAIL = "\\end{tikzpicture}\n\\end{document}\n"
_ANCHOR = {"start": "base west", "middle": "base", "end": "base east"}


def tikz(picture: Picture) -> str:
    """A picture as a LaTeX document of its own."""
    names = {code: f"fsmeu{k}" for k, code in enumerate(_colours(picture))}
    colours = "\n".join(
        rf"\definecolor{{{name}}}{{HTML}}{{{code[1:].upper()}}}" for code, name in names.items()
    )
    head = _HEAD.format(title=tex_text(picture.title), colours=colours)
    size = f"({_number(picture.width)},{_number(picture.height)})"
    ground = rf"\path[use as bounding box] (0,0) rectangle {size};"
    body = "\n".join([ground, *(_shape(shape, names) for shape in picture.shapes)])
    return f"{head}{body}\n{_TAIL}"


def _colours(picture: Picture) -> list[str]:
    used = set()
    for shape in picture.shapes:
        if isinstance(shape, Box):
            used |= {shape.fill, shape.stroke}
        else:
            used.add(shape.stroke if isinstance(shape, Line) else shape.colour)
    return sorted(used - {"none"})


def _shape(shape: Shape, names: dict[str, str]) -> str:
    if isinstance(shape, Box):
        return _box(shape, names)
    return _line(shape, names) if isinstance(shape, Line) else _text(shape, names)


def _box(box: Box, names: dict[str, str]) -> str:
    options = [f"rounded corners={_points(box.radius * 0.999)}"] if box.radius else []
    if box.fill != "none":
        options.append(f"fill={names[box.fill]}")
    if box.line:
        options += [f"draw={names[box.stroke]}", f"line width={_points(box.line)}"]
    left, top = box.x - box.width / 2, box.y - box.height / 2
    corners = f"{_at(left, top)} rectangle {_at(left + box.width, top + box.height)}"
    return rf"\path[{', '.join(options)}] {corners};"


def _line(line: Line, names: dict[str, str]) -> str:
    curve = shorten_end(line.curve, line.head * 0.7) if line.head else line.curve
    points = [_at(x, y) for x, y in curve]
    drawn = points[0]
    for k in range(1, len(points), 3):
        drawn += f" .. controls {points[k]} and {points[k + 1]} .. {points[k + 2]}"
    colour = names[line.stroke]
    text = rf"\draw[{colour}, line width={_points(line.line)}] {drawn};"
    if line.head:
        corners = " -- ".join(_at(x, y) for x, y in arrow_head(line.curve, line.head))
        text += "\n" + rf"\fill[{colour}] {corners} -- cycle;"
    return text


def _text(text: Text, names: dict[str, str]) -> str:
    size = text.size * 0.75
    font = rf"\fontsize{{{_number(size)}bp}}{{{_number(1.2 * size)}bp}}\selectfont"
    if text.bold:
        font += r"\bfseries"
    options = [f"anchor={_ANCHOR[text.anchor]}", "inner sep=0pt", "outer sep=0pt"]
    options += [f"text={names[text.colour]}", f"font={font}"]
    plate = ""
    if text.plate:
        left, top = text.x - text.plate / 2, text.y - 0.6 * text.size
        corner = _at(left + text.plate, top + 1.2 * text.size)
        plate = rf"\fill[white] {_at(left, top)} rectangle {corner};" + "\n"
    at = _at(text.x, text.y + 0.35 * text.size)
    return rf"{plate}\node[{', '.join(options)}] at {at} {{{tex_text(text.text)}}};"


def _at(x: float, y: float) -> str:
    return f"({_number(x)},{_number(y)})"


def _points(pixels: float) -> str:
    return f"{_number(pixels * 0.75)}bp"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
