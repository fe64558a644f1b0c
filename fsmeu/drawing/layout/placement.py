"""A placed machine: where its states, lines and labels are, inside the margins of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsmeu.drawing.layout.curves import Box, Curve, Point
from fsmeu.drawing.scene.frame import Frame

__all__ = ["START_LENGTH", "Placement", "fit"]

_MARGIN = 16.0
START_LENGTH = 26.0


@dataclass(frozen=True)
class Placement:
    """Where everything is, in pixels from the top left corner.

    Attributes:
        centres: the centre of each state.
        curves: the line of each bundle of arcs.
        labels: the centre of each bundle's label.
        width: of the whole.
        height: of the whole.
    """

    centres: tuple[Point, ...]
    curves: tuple[Curve, ...]
    labels: tuple[Point, ...]
    width: float
    height: float


def _box(centre: Point, width: float, height: float) -> Box:
    x, y = centre
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def fit(
    frame: Frame, centres: Sequence[Point], curves: Sequence[Curve], labels: Sequence[Point]
) -> Placement:
    """Everything moved so that it lies inside the margins."""
    boxes = [_box(c, f.width, f.height) for c, f in zip(centres, frame.captions, strict=True)]
    boxes += [_box(p, b.width, b.height) for p, b in zip(labels, frame.bundles, strict=True)]
    boxes += [(x, y, x, y) for curve in curves for x, y in curve]
    if not boxes:
        return Placement((), (), (), 2 * _MARGIN, 2 * _MARGIN)
    left = min(box[0] for box in boxes) - _MARGIN - START_LENGTH
    top = min(box[1] for box in boxes) - _MARGIN
    width = max(box[2] for box in boxes) + _MARGIN - left
    height = max(box[3] for box in boxes) + _MARGIN - top
    return Placement(
        tuple((x - left, y - top) for x, y in centres),
        tuple(tuple((x - left, y - top) for x, y in curve) for curve in curves),
        tuple((x - left, y - top) for x, y in labels),
        width,
        height,
    )
