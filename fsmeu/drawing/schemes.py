"""Colours of SVG files in a dark scheme.

The elements of a file name the colours of a light ground, and every program shows these. A style
sheet in the file has browsers replace each colour by one of the same hue for a dark ground, where
the reader's scheme is dark. It holds where the picture is a document of its own, also as an image
of a page, and says nothing about a page that has the picture among its elements.
"""

from __future__ import annotations

import colorsys
import re

_ROOT = re.compile(r"<svg\b[^>]*>")
# Colours as attributes, which our pictures have, or as properties, which matplotlib writes.
_COLOUR = re.compile(r'\b(fill|stroke)(?:="|: )(#[0-9a-f]{6})\b')
_AREA = re.compile(r'<rect [^>]*\bfill="(#[0-9a-f]{6})"')
_GROUND = 0.07  # the lightness of the ground in the dark scheme, which is 1 in the light one
_ON_AREAS = 1.5  # the power by which areas are darker than lines, for texts that stand on them
_BLACK = "#000000"


def dark(colour: str, area: bool = False) -> str:
    """The colour #rrggbb of the same hue with the lightness reversed; white becomes dark grey.

    Args:
        colour: a colour #rrggbb.
        area: whether texts stand on the colour, which then is darker.

    >>> dark("#ffffff"), dark("#000000")
    ('#121212', '#ffffff')
    """
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    reversed_lightness = (1.0 - lightness) ** (_ON_AREAS if area else 1.0)
    shown = _GROUND + (1.0 - _GROUND) * reversed_lightness
    parts = colorsys.hls_to_rgb(hue, shown, saturation)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


def with_dark_scheme(svg: str) -> str:
    """The text of an SVG file, with a style sheet that has its colours follow the reader's scheme.

    Paper stays white: colours are replaced on screens alone.
    """
    root = _ROOT.search(svg)
    if root is None:
        return svg
    rules = [f"svg:root {{ fill: {dark(_BLACK)} }}"]  # what names no colour is black
    for name, colour in sorted(set(_COLOUR.findall(svg))):
        places = f'svg:root [{name}="{colour}"], svg:root [style*="{name}: {colour}"]'
        rules.append(f"{places} {{ {name}: {dark(colour)} !important }}")
    for colour in sorted(set(_AREA.findall(svg))):
        shown = dark(colour, area=True)
        rules.append(f'svg:root rect[fill="{colour}"] {{ fill: {shown} !important }}')
    lines = ["<style>@media screen and (prefers-color-scheme: dark) {", *rules, "}</style>"]
    return "\n".join([svg[: root.end()], *lines]) + svg[root.end() :]
