"""A picture of a machine as small as a stamp: its shape, without words."""

from __future__ import annotations

from dataclasses import replace

from fsmeu.drawing.render.look import MASS
from fsmeu.drawing.render.shapes import Box, Line, Picture, Shape
from fsmeu.drawing.render.svg import svg

__all__ = ["thumbnail"]

_WIDE, _HIGH = 132.0, 66.0


def thumbnail(picture: Picture) -> str:
    """The lines and states of a picture as SVG, thick enough to be seen at this size."""
    share = min(_WIDE / picture.width, _HIGH / picture.height, 0.5)
    drawn = [kept for shape in picture.shapes if (kept := _bold(shape, share)) is not None]
    small = Picture(picture.title, picture.width, picture.height, tuple(drawn))
    return svg(small, share)


def _bold(shape: Shape, share: float) -> Shape | None:
    """The shape with lines that are still there when it is made smaller; no words, no tips."""
    if isinstance(shape, Box):
        if shape.fill == "none":
            return None
        return replace(shape, fill=MASS, line=max(shape.line, 0.4 / share), tip="")
    if isinstance(shape, Line):
        return replace(shape, line=max(shape.line, 0.55 / share), head=0.0, tip="")
    return None
