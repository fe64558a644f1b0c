"""Pictures for LaTeX: a document of TikZ that needs no other package and can be included as it is.

Coordinates are fixed, so that the picture is the same as in every other format.
"""

from __future__ import annotations

from fsmeu.drawing.render.picture import Box, Line, Picture, Shape, Text, decimals
from fsmeu.drawing.scene.escape import tex_text

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
    used = {code for shape in picture.shapes for code in _colours(shape)} - {"none"}
    names = {code: f"fsmeu{k}" for k, code in enumerate(sorted(used))}
    colours = "\n".join(
        rf"\definecolor{{{name}}}{{HTML}}{{{code[1:].upper()}}}" for code, name in names.items()
    )
    head = _HEAD.format(title=tex_text(picture.title), colours=colours)
    ground = rf"\path[use as bounding box] (0,0) rectangle {_at(picture.width, picture.height)};"
    body = "\n".join([ground, *(_shape(shape, names) for shape in picture.shapes)])
    return f"{head}{body}\n{_TAIL}"


def _colours(shape: Shape) -> tuple[str, ...]:
    if isinstance(shape, Box):
        return shape.fill, shape.stroke
    return (shape.stroke if isinstance(shape, Line) else shape.colour,)


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
    points = [_at(x, y) for x, y in line.shaft]
    drawn = points[0]
    for k in range(1, len(points), 3):
        drawn += f" .. controls {points[k]} and {points[k + 1]} .. {points[k + 2]}"
    colour = names[line.stroke]
    text = rf"\draw[{colour}, line width={_points(line.line)}] {drawn};"
    if line.corners:
        corners = " -- ".join(_at(x, y) for x, y in line.corners)
        text += "\n" + rf"\fill[{colour}] {corners} -- cycle;"
    return text


def _text(text: Text, names: dict[str, str]) -> str:
    size = text.size * 0.75
    font = rf"\fontsize{{{decimals(size)}bp}}{{{decimals(1.2 * size)}bp}}\selectfont"
    if text.bold:
        font += r"\bfseries"
    options = [f"anchor={_ANCHOR[text.anchor]}", "inner sep=0pt", "outer sep=0pt"]
    options += [f"text={names[text.colour]}", f"font={font}"]
    at = _at(text.x, text.y + 0.35 * text.size)
    return rf"\node[{', '.join(options)}] at {at} {{{tex_text(text.text)}}};"


def _at(x: float, y: float) -> str:
    return f"({decimals(x)},{decimals(y)})"


def _points(pixels: float) -> str:
    return f"{decimals(pixels * 0.75)}bp"
