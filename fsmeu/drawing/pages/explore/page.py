"""Pages as text: the template with its style, script and data put in, all of it known beforehand.

Nothing that came from outside is ever part of the script: names are data, read as JSON and shown as
text. The page's own policy allows just this one script and style, and no connection at all.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fsmeu.drawing.layout.curves import Curve, arrow_head, shorten_end
from fsmeu.drawing.layout.placement import START_LENGTH, Placement
from fsmeu.drawing.render.look import flow_of, room_above, writing_above
from fsmeu.drawing.render.svg import path_data
from fsmeu.drawing.scene.escape import script_json, xml_text
from fsmeu.drawing.scene.frame import SMALL, text_width
from fsmeu.errors import visible

if TYPE_CHECKING:
    from fsmeu.drawing.draw import Drawing
    from fsmeu.drawing.scene.frame import Frame
    from fsmeu.exchange.automaton import Automaton

__all__ = ["assemble", "graph_data", "picture_page"]

_SCRIPTS = ("machine.js", "graph.js", "explore.js")
_HEAD = 8.0


def picture_page(drawing: Drawing) -> str:
    """A drawing as a page to move, zoom and search in."""
    if drawing.summary is not None:
        return assemble(drawing.summary.name, "", {"kind": "still"}, drawing.svg)
    data = graph_data(drawing.automaton, drawing.frame, drawing.placement)
    _add_marks(data, drawing)
    size = f"{drawing.automaton.states} states, {drawing.automaton.arcs} arcs"
    return assemble(drawing.frame.title, size, {"kind": "picture", "machines": [data]})


def assemble(title: str, summary: str, data: dict[str, Any], picture: str = "") -> str:
    """A whole page.

    Args:
        title: its heading.
        summary: what stands below.
        data: what the script reads; plain lists, numbers and texts.
        picture: SVG of our own to be shown as it is.
    """
    style = _part("page.css")
    script = '"use strict";(() => {' + "".join(_part(name) for name in _SCRIPTS) + "})();"
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "title": xml_text(title),
        "summary": xml_text(summary),
        "style": style,
        "picture": picture,
        "script": script,
        "data": script_json(data),
    }
    pieces = _part("page.html").split("{{")
    page = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        page += [parts[name], rest]
    return "".join(page)


def _part(name: str) -> str:
    return files("fsmeu.drawing.pages.explore").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    found = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{found}'"


def graph_data(automaton: Automaton, frame: Frame, placement: Placement) -> dict[str, Any]:
    """What the script needs to draw a machine."""
    start = automaton.table.start
    nodes = []
    for state, caption in enumerate(frame.captions):
        x, y = placement.centres[state]
        named = [
            f"{visible(r)}={visible(automaton.register_text(r, state))}"
            for r in automaton.registers
        ]
        nodes.append(
            {
                "x": round(x, 2),
                "y": round(y, 2),
                "width": round(caption.width, 2),
                "height": round(caption.height, 2),
                "lines": caption.lines,
                "value": caption.value,
                "tip": caption.tip,
                "words": [*named, str(state)],
                "ending": bool(automaton.ending[state]),
            }
        )
    edges = []
    for bundle, curve, at in zip(frame.bundles, placement.curves, placement.labels, strict=True):
        edges.append(
            {
                **_line(curve, bundle.tip),
                "source": bundle.source,
                "target": bundle.target,
                "lines": bundle.lines,
                "widths": [round(text_width(line, SMALL), 1) for line in bundle.lines],
                "at": [round(at[0], 2), round(at[1], 2)],
            }
        )
    data: dict[str, Any] = {"title": frame.title, "nodes": nodes, "edges": edges, "start": start}
    room = room_above(frame)
    data["above"] = [
        {"x": round(x, 2), "y": round(y - room, 2), "text": text, "anchor": anchor}
        for x, y, text, anchor in writing_above(automaton, frame, placement)
    ]
    data |= {"width": round(placement.width, 2), "height": round(placement.height, 2)}
    data["top"] = -round(room, 2)
    if start >= 0:
        data["entry"] = _entry(nodes[start])
    return data


def _line(curve: Curve, tip: str) -> dict[str, Any]:
    corners = " ".join(f"{x:.2f},{y:.2f}" for x, y in arrow_head(curve, _HEAD))
    return {"path": path_data(shorten_end(curve, 0.7 * _HEAD)), "head": corners, "tip": tip}


def _entry(node: dict[str, Any]) -> dict[str, Any]:
    x, y = node["x"] - node["width"] / 2, node["y"]
    tail = x - START_LENGTH
    return _line(((tail, y), (tail + 8, y), (x - 8, y), (x, y)), "the start")


def _add_marks(data: dict[str, Any], drawing: Drawing) -> None:
    """Route and probabilities of a drawing."""
    automaton, route = drawing.automaton, drawing.route
    for state, node in enumerate(data["nodes"]):
        node["marked"] = route is not None and state in route.states
        if automaton.masses is not None:
            node["mass"] = min(1.0, float(automaton.masses[state]))
    for bundle, edge in zip(drawing.frame.bundles, data["edges"], strict=True):
        edge["marked"] = route is not None and any(arc in route.arcs for arc in bundle.arcs)
        flow = flow_of(automaton, bundle)
        if flow is not None:
            edge["line"] = round(0.7 + 4.3 * flow, 2)
