"""Loops on top of their states, and their labels: beside the loop, or above it if they are wide."""

from __future__ import annotations

import math

from fsmeu.drawing.layout.curves import LOOP_HEIGHT, Curve, Point, loop
from fsmeu.drawing.scene.frame import LOOP_ROOM, Bundle, Caption

__all__ = ["LOOP_LIFT", "loop_curve", "loop_label", "loop_rise"]

LOOP_LIFT = 3.0


def loop_rise(caption: Caption, bundle: Bundle, beside: float) -> float:
    """How high a loop is: a label above it must clear the rows beside its state.

    Args:
        caption: the state's.
        bundle: the loop.
        beside: how far rows beside the state reach above it.
    """
    over = bundle.width + LOOP_ROOM > caption.width
    return max(LOOP_HEIGHT, beside) if over else LOOP_HEIGHT


def loop_curve(centre: Point, caption: Caption, bundle: Bundle, rise: float) -> Curve:
    """The line of a loop, whose feet stand on the outline of its state."""
    x, y = centre
    middle = _place(caption, bundle)
    feet = [(x + at, y + _top(caption, at)) for at in (middle - 6, middle + 6)]
    higher = min(feet[0][1], feet[1][1]) - (y - caption.height / 2)
    return loop(feet[0], feet[1], rise + higher)


def _place(caption: Caption, bundle: Bundle) -> float:
    """Where a loop stands, from the middle of its state: its label is to fit in beside it."""
    beside = bundle.width + LOOP_ROOM <= caption.width
    return -(bundle.width + 4) / 2 if beside else 0.0


def _top(caption: Caption, along: float) -> float:
    """The height of a state's upper outline at a distance from its middle."""
    radius = caption.height / 2
    corner = min(max(abs(along) - (caption.width / 2 - radius), 0.0), radius)
    return -math.sqrt(radius**2 - corner**2)


def loop_label(caption: Caption, bundle: Bundle, rise: float) -> Point:
    """The centre of a loop's label, from the middle of its state's upper edge.

    It is to the right of the loop, or above it if it would reach beyond its state.
    """
    if bundle.width + LOOP_ROOM <= caption.width:
        x = _place(caption, bundle) + 13 + bundle.width / 2
        return x, -LOOP_LIFT - bundle.height / 2
    return 0.0, -rise - LOOP_LIFT - bundle.height / 2
