"""A picture as plain shapes: what every output format can draw."""

from __future__ import annotations

from dataclasses import dataclass

from fsmeu.drawing.layout.curves import Curve

__all__ = ["Box", "Line", "Picture", "Shape", "Text", "mix"]


@dataclass(frozen=True)
class Box:
    """A rectangle with rounded corners around a centre; ``tip`` is told when pointed at."""

    x: float
    y: float
    width: float
    height: float
    radius: float
    fill: str
    stroke: str
    line: float
    tip: str = ""


@dataclass(frozen=True)
class Line:
    """A Bézier curve, with an arrow head of the given size at its end if that is not 0."""

    curve: Curve
    stroke: str
    line: float
    head: float = 0.0
    tip: str = ""


@dataclass(frozen=True)
class Text:
    """A line of text, vertically centred; ``anchor`` is start, middle or end.

    A middle one with a ``plate`` (its width) has a patch of the ground behind it.
    """

    x: float
    y: float
    text: str
    size: float
    colour: str
    anchor: str = "middle"
    bold: bool = False
    plate: float = 0.0


Shape = Box | Line | Text


@dataclass(frozen=True)
class Picture:
    """Shapes on a white ground, painted in their order; colours are #rrggbb."""

    title: str
    width: float
    height: float
    shapes: tuple[Shape, ...]


def mix(colour: str, share: float, ground: str = "#ffffff") -> str:
    """A colour laid over a ground, as much of it as the share says."""
    parts = [(int(colour[k : k + 2], 16), int(ground[k : k + 2], 16)) for k in (1, 3, 5)]
    return "#" + "".join(f"{round(b + (a - b) * share):02x}" for a, b in parts)
