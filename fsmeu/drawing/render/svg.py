"""Pictures as SVG text: no script, no links, no fonts, nothing fetched.

States and arcs are groups with the classes ``node`` and ``edge``, by which a page can mark them.
"""

from __future__ import annotations

from itertools import groupby

from fsmeu.drawing.layout.curves import Curve
from fsmeu.drawing.render.picture import Box, Line, Picture, Shape, Text, decimals
from fsmeu.drawing.scene.escape import xml_attribute, xml_text

_FONTS = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"


def svg(picture: Picture, scale: float = 1.0) -> str:
    """A picture as an SVG document that may also stand inside HTML, drawn at some scale."""
    width, height = decimals(picture.width), decimals(picture.height)
    size = [decimals(scale * side) for side in (picture.width, picture.height)]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label={xml_attribute(picture.title)} '
        f'font-family="{_FONTS}">'
    )
    ground = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    together = groupby(picture.shapes, key=lambda shape: shape.group or id(shape))
    body = [_group(list(shapes)) for _, shapes in together]
    return "\n".join([head, f"<title>{xml_text(picture.title)}</title>", ground, *body, "</svg>\n"])


def _group(shapes: list[Shape]) -> str:
    """One shape, or those of a group, with what is told of them."""
    drawn, tip = "".join(map(_shape, shapes)), "".join(shape.tip for shape in shapes)
    if not tip and not shapes[0].group:
        return drawn
    title = f"<title>{xml_text(tip)}</title>" if tip else ""
    return f"<g {shapes[0].group}".rstrip() + f">{title}{drawn}</g>"


def _shape(shape: Shape) -> str:
    if isinstance(shape, Box):
        return _box(shape)
    return _line(shape) if isinstance(shape, Line) else _text(shape)


def _box(box: Box) -> str:
    left, top = decimals(box.x - box.width / 2), decimals(box.y - box.height / 2)
    round_ = f' rx="{decimals(box.radius)}"' if box.radius else ""
    outline = f' stroke="{box.stroke}" stroke-width="{decimals(box.line)}"' if box.line else ""
    return (
        f'<rect x="{left}" y="{top}" width="{decimals(box.width)}" height="{decimals(box.height)}"'
        f'{round_} fill="{box.fill}"{outline}/>'
    )


def _line(line: Line) -> str:
    corners = " ".join(f"{decimals(x)},{decimals(y)}" for x, y in line.corners)
    head = f'<polygon points="{corners}" fill="{line.stroke}"/>' if corners else ""
    return (
        f'<path d="{_path_data(line.shaft)}" fill="none" stroke="{line.stroke}" '
        f'stroke-width="{decimals(line.line)}"/>{head}'
    )


def _text(text: Text) -> str:
    weight = ' font-weight="bold"' if text.bold else ""
    return (
        f'<text x="{decimals(text.x)}" y="{decimals(text.y + 0.35 * text.size)}" '
        f'font-size="{decimals(text.size)}" text-anchor="{text.anchor}" fill="{text.colour}"'
        f"{weight}>{xml_text(text.text)}</text>"
    )


def _path_data(curve: Curve) -> str:
    points = [f"{decimals(x)} {decimals(y)}" for x, y in curve]
    pieces = [" ".join(points[k : k + 3]) for k in range(1, len(points), 3)]
    return f"M{points[0]}" + "".join(f"C{piece}" for piece in pieces)
