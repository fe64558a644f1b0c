"""Places found by Graphviz, where its program ``dot`` is installed.

Only the places are taken from it: the shapes stay ours, so that a picture looks the same with both
layouts and in every format. Names never reach the program; it is told sizes and gives back places.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from typing import Any

import numpy as np

from fsmeu.drawing.layout.curves import Curve, Point
from fsmeu.drawing.layout.placement import Placement, fit
from fsmeu.drawing.scene.frame import Caption, Frame
from fsmeu.errors import FsmeuError, sentence

__all__ = ["DotFailed", "dot_program", "place_with_dot"]

_PIXELS_PER_POINT = 96 / 72
_SECONDS = 20


class DotFailed(FsmeuError, RuntimeError):
    """Graphviz is not there, or did not give a layout in time."""


def dot_program() -> str | None:
    """Where Graphviz's dot is, or None."""
    return shutil.which("dot")


def place_with_dot(frame: Frame, depth: np.ndarray) -> Placement:
    """Places the states and arcs of a machine with Graphviz.

    Raises:
        DotFailed: it is not installed, takes longer than 20 seconds, or fails.
    """
    program = dot_program()
    if program is None:
        must = "Graphviz's program dot must be installed"
        raise DotFailed(
            sentence("layout 'dot'", must, None, "Use layout='own', or install Graphviz")
        )
    try:
        done = subprocess.run(
            [program, "-Tjson"],
            input=_skeleton(frame, depth).encode(),
            capture_output=True,
            timeout=_SECONDS,
            check=True,
        )
        return _read(frame, json.loads(done.stdout))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        must = f"dot must give a layout within {_SECONDS} seconds"
        raise DotFailed(sentence("layout 'dot'", must, str(error), "Use layout='own'")) from error


def _skeleton(frame: Frame, depth: np.ndarray) -> str:
    """Boxes and labels of the right sizes, without words."""
    lines = [
        "digraph {",
        "rankdir=LR; nodesep=0.18; ranksep=0.35;",
        'node [shape=box, label="", fixedsize=true]; edge [label=" "];',
    ]
    for state, caption in enumerate(frame.captions):
        size = f"width={caption.width / 96:.4f}, height={caption.height / 96:.4f}"
        lines.append(f"{state} [{size}];")
    for column in range(int(depth.max(initial=-1)) + 1):
        inside = " ".join(f"{state};" for state in np.flatnonzero(depth == column))
        lines.append(f"{{ rank=same; {inside} }}")
    for k, bundle in enumerate(frame.bundles):
        wide, high = (max(1, round(s / _PIXELS_PER_POINT)) for s in (bundle.width, bundle.height))
        cell = f'<TD FIXEDSIZE="TRUE" WIDTH="{wide}" HEIGHT="{high}"></TD>'
        table = f'<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="0"><TR>{cell}</TR></TABLE>'
        lines.append(f"{bundle.source} -> {bundle.target} [id={k}, label=<{table}>];")
    return "\n".join([*lines, "}"])


def _read(frame: Frame, drawn: Any) -> Placement:
    centres: list[Point] = [(0.0, 0.0)] * len(frame.captions)
    for thing in drawn.get("objects", []):
        if "pos" in thing:
            centres[int(thing["name"])] = _point(thing["pos"])
    curves: list[Curve] = [()] * len(frame.bundles)
    labels: list[Point] = [(0.0, 0.0)] * len(frame.bundles)
    for edge in drawn.get("edges", []):
        k = int(edge["id"])
        bundle = frame.bundles[k]
        spline = _curve(edge["pos"])
        first, last = (
            _on_outline(point, centres[state], frame.captions[state])
            for point, state in ((spline[0], bundle.source), (spline[-1], bundle.target))
        )
        curves[k] = (first, first, spline[0], *spline, spline[-1], last, last)
        labels[k] = _point(edge["lp"])
    return fit(frame, centres, curves, labels)


def _curve(text: str) -> Curve:
    """The spline ``e,x,y x,y ...``: its control points, then straight on to the arrow's tip.

    dot knows boxes with corners; ``_on_outline`` finds the way to our rounded ones.
    """
    words = text.split()
    tip = _point(words[0][2:]) if words[0].startswith("e,") else None
    points = [_point(word) for word in words if not word.startswith(("e,", "s,"))]
    if tip is not None:
        points += [points[-1], tip, tip]
    return tuple(points)


def _point(text: str) -> Point:
    x, y = (float(part) * _PIXELS_PER_POINT for part in text.split(",")[:2])
    return x, -y


def _on_outline(point: Point, centre: Point, caption: Caption) -> Point:
    """The point moved towards the centre of its state, until it meets the rounded outline."""
    radius = caption.height / 2
    straight = caption.width / 2 - radius
    outside, inside = point, centre
    for _ in range(12):
        x, y = (outside[0] + inside[0]) / 2, (outside[1] + inside[1]) / 2
        beyond = max(abs(x - centre[0]) - straight, 0.0)
        if math.hypot(beyond, y - centre[1]) > radius:
            outside = (x, y)
        else:
            inside = (x, y)
    return inside if math.dist(inside, point) > 1.0 else point
