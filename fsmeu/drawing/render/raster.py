"""Pictures as PNG and PDF, painted by matplotlib (the extra ``plot``)."""

from __future__ import annotations

import io
import warnings
from typing import Any

from fsmeu.drawing.render.picture import Box, Line, Picture, Shape, Text
from fsmeu.errors import need_installed

_PIXELS_PER_INCH = 96.0
_POINT = 72.0 / _PIXELS_PER_INCH
_FINE = 2.0  # dots of a PNG per pixel of a picture
_LARGEST = 16_000.0  # dots along a side of a PNG
_ALIGN: dict[str, Any] = {"start": "left", "middle": "center", "end": "right"}
_FAMILIES = ["DejaVu Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "Unifont"]


def need_matplotlib(what: str, instead: str = ".svg, .dot, .html and .tex work without it") -> None:
    """Refuses to go on without matplotlib.

    Args:
        what: what it is needed for.
        instead: what can be had without it.

    Raises:
        MissingExtra: it is not installed.
    """
    need_installed("matplotlib", "plot", what, instead)


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
        families = _families()
        for layer, shape in enumerate(picture.shapes):
            for artist in _artists(shape, families):
                artist.set_zorder(layer)
                axes.add_artist(artist)
        stream = io.BytesIO()
        stamp = {"CreationDate": None} if kind == "pdf" else {"Software": None}
        figure.savefig(stream, format=kind, metadata={"Title": picture.title, **stamp})
    return stream.getvalue()


def _families() -> list[str]:
    from matplotlib import font_manager

    known = {font.name for font in font_manager.fontManager.ttflist}
    return [name for name in _FAMILIES if name in known] or ["sans-serif"]


def _artists(shape: Shape, families: list[str]) -> list[Any]:
    """What matplotlib draws for a shape."""
    if isinstance(shape, Text):
        return [_text(shape, families)]
    return _line(shape) if isinstance(shape, Line) else [_box(shape)]


def _box(box: Box) -> Any:
    from matplotlib.patches import FancyBboxPatch

    corner = (box.x - box.width / 2, box.y - box.height / 2)
    style = f"round,pad=0,rounding_size={box.radius}" if box.radius else "square,pad=0"
    drawn = FancyBboxPatch(corner, box.width, box.height, boxstyle=style, facecolor=box.fill)
    drawn.set(edgecolor=box.stroke, linewidth=box.line * _POINT)
    return drawn


def _line(line: Line) -> list[Any]:
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path

    curve = line.shaft
    path = Path(list(curve), [Path.MOVETO, *[Path.CURVE4] * (len(curve) - 1)])
    drawn: list[Any] = [PathPatch(path, facecolor="none", edgecolor=line.stroke, capstyle="butt")]
    drawn[0].set_linewidth(line.line * _POINT)
    if line.corners:
        drawn.append(Polygon(line.corners, facecolor=line.stroke, edgecolor="none"))
    return drawn


def _text(text: Text, families: list[str]) -> Any:
    from matplotlib.text import Text as Words

    return Words(
        text.x,
        text.y + 0.35 * text.size,
        text.text,
        fontsize=text.size * _POINT,
        fontfamily=families,
        color=text.colour,
        horizontalalignment=_ALIGN[text.anchor],
        verticalalignment="baseline",
        fontweight="bold" if text.bold else "normal",
        parse_math=False,
    )
