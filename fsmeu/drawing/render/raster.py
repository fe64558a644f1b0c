"""Pictures as PNG and PDF, painted by matplotlib (the extra ``plot``)."""

from __future__ import annotations

import io
import warnings
from typing import Any

from fsmeu.drawing.layout.curves import arrow_head, shorten_end
from fsmeu.drawing.render.plotting import need_matplotlib
from fsmeu.drawing.render.shapes import Box, Line, Picture, Text

__all__ = ["paint"]

_PIXELS_PER_INCH = 96.0
_POINT = 72.0 / _PIXELS_PER_INCH
_FINE = 2.0  # dots of a PNG per pixel of a picture
_LARGEST = 16_000.0  # dots along a side of a PNG
_ALIGN = {"start": "left", "middle": "center", "end": "right"}
_FAMILIES = ["DejaVu Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "Unifont"]


def paint(picture: Picture, kind: str) -> bytes:
    """The picture as a PNG or PDF file.

    Args:
        picture: the shapes.
        kind: "png" or "pdf".
    """
    need_matplotlib(f"a .{kind} file")
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = (picture.width / _PIXELS_PER_INCH, picture.height / _PIXELS_PER_INCH)
    fine = min(_FINE, _LARGEST / max(picture.width, picture.height))
    with rc_context({"pdf.fonttype": 42, "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # characters that no font at hand has
        figure = Figure(figsize=size, dpi=_PIXELS_PER_INCH * fine, facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, picture.width)
        axes.set_ylim(picture.height, 0)
        axes.axis("off")
        for layer, shape in enumerate(picture.shapes):
            _add(axes, shape, _families(), layer)
        stream = io.BytesIO()
        stamp = {"CreationDate": None} if kind == "pdf" else {"Software": None}
        figure.savefig(stream, format=kind, metadata={"Title": picture.title, **stamp})
    return stream.getvalue()


def _families() -> list[str]:
    from matplotlib import font_manager

    known = {font.name for font in font_manager.fontManager.ttflist}
    return [name for name in _FAMILIES if name in known] or ["sans-serif"]


def _add(axes: Any, shape: Box | Line | Text, families: list[str], layer: int) -> None:
    if isinstance(shape, Box):
        _add_box(axes, shape, layer)
    elif isinstance(shape, Line):
        _add_line(axes, shape, layer)
    else:
        _add_text(axes, shape, families, layer)


def _add_box(axes: Any, box: Box, layer: int) -> None:
    from matplotlib.patches import FancyBboxPatch

    corner = (box.x - box.width / 2, box.y - box.height / 2)
    style = f"round,pad=0,rounding_size={box.radius}" if box.radius else "square,pad=0"
    axes.add_patch(
        FancyBboxPatch(
            corner,
            box.width,
            box.height,
            boxstyle=style,
            facecolor=box.fill,
            edgecolor=box.stroke,
            linewidth=box.line * _POINT,
            zorder=layer,
        )
    )


def _add_line(axes: Any, line: Line, layer: int) -> None:
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path

    curve = shorten_end(line.curve, line.head * 0.7) if line.head else line.curve
    codes = [Path.MOVETO, *[Path.CURVE4] * (len(curve) - 1)]
    path = Path(list(curve), codes)
    axes.add_patch(
        PathPatch(
            path,
            facecolor="none",
            edgecolor=line.stroke,
            linewidth=line.line * _POINT,
            capstyle="butt",
            zorder=layer,
        )
    )
    if line.head:
        corners = arrow_head(line.curve, line.head)
        axes.add_patch(Polygon(corners, facecolor=line.stroke, edgecolor="none", zorder=layer))


def _add_text(axes: Any, text: Text, families: list[str], layer: int) -> None:
    if text.plate:
        corner = (text.x - text.plate / 2, text.y - 0.6 * text.size)
        axes.add_patch(_plate(corner, text.plate, 1.2 * text.size, layer))
    axes.text(
        text.x,
        text.y + 0.35 * text.size,
        text.text,
        fontsize=text.size * _POINT,
        fontfamily=families,
        color=text.colour,
        ha=_ALIGN[text.anchor],
        va="baseline",
        fontweight="bold" if text.bold else "normal",
        parse_math=False,
        zorder=layer,
    )


def _plate(corner: tuple[float, float], width: float, height: float, layer: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(corner, width, height, facecolor="white", zorder=layer)
