"""Pictures as SVG text: no script, no links, no fonts, nothing fetched."""

from __future__ import annotations

from fsmeu.drawing.layout.curves import Curve, arrow_head, shorten_end
from fsmeu.drawing.render.shapes import Box, Line, Picture, Shape, Text
from fsmeu.drawing.scene.escape import xml_attribute, xml_text

__all__ = ["path_data", "svg"]

_FONTS = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"


def svg(picture: Picture, scale: float = 1.0) -> str:
    """A picture as an SVG document that may also stand inside HTML, drawn at some scale."""
    width, height = _number(picture.width), _number(picture.height)
    size = [_number(scale * side) for side in (picture.width, picture.height)]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label={xml_attribute(picture.title)} '
        f'font-family="{_FONTS}">'
    )
    ground = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    body = [_shape(shape) for shape in picture.shapes]
    return "\n".join([head, f"<title>{xml_text(picture.title)}</title>", ground, *body, "</svg>\n"])


def _shape(shape: Shape) -> str:
    if isinstance(shape, Box):
        return _box(shape)
    return _line(shape) if isinstance(shape, Line) else _text(shape)


def _box(box: Box) -> str:
    drawn = (
        f'<rect x="{_number(box.x - box.width / 2)}" y="{_number(box.y - box.height / 2)}" '
        f'width="{_number(box.width)}" height="{_number(box.height)}" rx="{_number(box.radius)}" '
        f'fill="{box.fill}" stroke="{box.stroke}" stroke-width="{_number(box.line)}"/>'
    )
    return _with_tip(drawn, box.tip)


def _line(line: Line) -> str:
    curve = shorten_end(line.curve, line.head * 0.7) if line.head else line.curve
    drawn = (
        f'<path d="{path_data(curve)}" fill="none" stroke="{line.stroke}" '
        f'stroke-width="{_number(line.line)}"/>'
    )
    if line.head:
        corners = " ".join(
            f"{_number(x)},{_number(y)}" for x, y in arrow_head(line.curve, line.head)
        )
        drawn += f'<polygon points="{corners}" fill="{line.stroke}"/>'
    return _with_tip(drawn, line.tip)


def _text(text: Text) -> str:
    weight = ' font-weight="bold"' if text.bold else ""
    plate = ""
    if text.plate:
        x, y = _number(text.x - text.plate / 2), _number(text.y - 0.6 * text.size)
        plate = (
            f'<rect x="{x}" y="{y}" width="{_number(text.plate)}" '
            f'height="{_number(1.2 * text.size)}" fill="#ffffff"/>'
        )
    return (
        f'{plate}<text x="{_number(text.x)}" y="{_number(text.y + 0.35 * text.size)}" '
        f'font-size="{_number(text.size)}" text-anchor="{text.anchor}" fill="{text.colour}"'
        f"{weight}>{xml_text(text.text)}</text>"
    )


def _with_tip(drawn: str, tip: str) -> str:
    return f"<g><title>{xml_text(tip)}</title>{drawn}</g>" if tip else drawn


def path_data(curve: Curve) -> str:
    """The ``d`` attribute of a path."""
    points = [f"{_number(x)} {_number(y)}" for x, y in curve]
    pieces = [" ".join(points[k : k + 3]) for k in range(1, len(points), 3)]
    return f"M{points[0]}" + "".join(f"C{piece}" for piece in pieces)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
