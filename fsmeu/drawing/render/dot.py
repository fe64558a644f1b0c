"""Machines in the dot language of Graphviz, as text: nothing needs to be installed to write it."""

from __future__ import annotations

from fsmeu.drawing.render.bars import Summary
from fsmeu.drawing.render.picture import INK, MASS, ROUTE, flow_of, mix, shade_of
from fsmeu.drawing.scene.escape import dot_text
from fsmeu.drawing.scene.frame import Bundle, Frame
from fsmeu.drawing.scene.parts import Route
from fsmeu.exchange.automaton import Automaton

_HEAD = [
    "  rankdir=LR; labelloc=t; labeljust=l; ranksep=0.6; nodesep=0.2;",
    '  node [shape=box, style="rounded,filled", fillcolor="#ffffff", fontname="Helvetica", '
    "fontsize=12, margin=0.1, height=0.4];",
    '  edge [fontname="Helvetica", fontsize=11, arrowsize=0.7];',
]


def dot(automaton: Automaton, frame: Frame, route: Route) -> str:
    """A machine in the dot language: columns by depth, final states with a double outline."""
    lines = [f"digraph {dot_text(frame.title)} {{", f"  label={dot_text(frame.title)};", *_HEAD]
    if automaton.table.start >= 0:
        lines.append('  start [shape=point, label="", width=0.05];')
    states = range(automaton.states)
    lines += [_node(automaton, frame, state, state in route.states) for state in states]
    for layer in automaton.layers:  # states of one depth stand in one column
        lines.append(f"  {{ rank=same; {' '.join(f'{state};' for state in layer)} }}")
    if automaton.table.start >= 0:
        lines.append(f"  start -> {automaton.table.start};")
    lines += [_edge(automaton, bundle, route.takes(bundle.arcs)) for bundle in frame.bundles]
    return "\n".join([*lines, "}", ""])


def _node(automaton: Automaton, frame: Frame, state: int, marked: bool) -> str:
    caption = frame.captions[state]
    rows = [*caption.lines, *([caption.value] if caption.value else [])]
    parts = [f"label={dot_text(*rows)}", f"tooltip={dot_text(caption.tip)}"]
    if automaton.ending[state]:
        parts.append("peripheries=2")
    shade = shade_of(automaton, state)
    if shade is not None:
        parts.append(f'fillcolor="{mix(MASS, shade)}"')
    if marked:
        parts.append(f'color="{ROUTE}", penwidth=2')
    return f"  {state} [{', '.join(parts)}];"


def _edge(automaton: Automaton, bundle: Bundle, marked: bool) -> str:
    parts = [f"label={dot_text(*bundle.lines)}", f"tooltip={dot_text(bundle.tip)}"]
    flow = flow_of(automaton, bundle)
    if flow is not None:
        parts.append(f"penwidth={0.7 + 4.3 * flow:.3g}")
    if marked:
        parts.append(f'color="{ROUTE}", fontcolor="{ROUTE}"')
        if flow is None:
            parts.append("penwidth=2")
    return f"  {bundle.source} -> {bundle.target} [{', '.join(parts)}];"


def summary_dot(summary: Summary) -> str:
    """The layers of a machine that is too large to be drawn, as a chain."""
    lines = [f"digraph {dot_text(summary.name)} {{", f"  label={dot_text(*summary.notes)};", *_HEAD]
    for depth, width in enumerate(summary.widths):
        rows = (f"depth {depth}", f"{width:,} states")
        lines.append(f'  {depth} [label={dot_text(*rows)}, color="{INK}"];')
    for depth, arcs in enumerate(summary.onward):
        lines.append(f"  {depth} -> {depth + 1} [label={dot_text(f'{arcs:,} arcs')}];")
    return "\n".join([*lines, "}", ""])
