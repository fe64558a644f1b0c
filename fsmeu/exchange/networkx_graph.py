"""Machines as networkx graphs and back, for its algorithms and for other tools.

Every state is a node, every arc an edge of a ``MultiDiGraph``; the edge attribute ``weight`` is
-log of the factor, so that shortest paths are most probable paths. Nothing is lost on the way:
weights are kept bit for bit, arcs in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence
from fsmeu.exchange.automaton import Automaton, as_automaton
from fsmeu.fst.arcs import ArcTable
from fsmeu.fst.symbols import EPSILON

if TYPE_CHECKING:
    import networkx as nx  # type: ignore[import-untyped]

__all__ = ["from_networkx", "to_networkx"]


def to_networkx(thing: Any) -> nx.MultiDiGraph:
    """A machine as a graph.

    The graph has ``name``, ``start``, ``acceptor`` and names of labels (``inputs``, ``outputs``).
    A node has ``registers`` (a dictionary), ``final`` (-log of its final weight, inf where paths do
    not end in OpenFst's sense), ``ending`` and, where they are known, ``value`` and ``mass``. An
    edge has ``input``, ``output``, their numbers ``ilabel`` and ``olabel``, ``weight``, and
    ``arc``, its place among all arcs.

    Args:
        thing: a compiled loss, a composition, a label model or an OpenFst machine.
    """
    import networkx as nx

    automaton = as_automaton(thing)
    table = automaton.table
    graph = nx.MultiDiGraph(
        name=automaton.name,
        start=table.start if table.start >= 0 else None,
        inputs=dict(automaton.inputs),
        outputs=dict(automaton.outputs),
        acceptor=automaton.acceptor,
    )
    for state in range(automaton.states):
        graph.add_node(state, **_node(automaton, state))
    columns = (table.source, table.target, table.ilabel, table.olabel, table.weight)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for arc, (source, target, ilabel, olabel, weight) in enumerate(rows):
        graph.add_edge(
            source,
            target,
            input=automaton.inputs.get(ilabel, str(ilabel)),
            output=automaton.outputs.get(olabel, str(olabel)),
            ilabel=ilabel,
            olabel=olabel,
            weight=weight,
            arc=arc,
        )
    return graph


def _node(automaton: Automaton, state: int) -> dict[str, Any]:
    held = {name: _plain(values[state]) for name, values in automaton.registers.items()}
    parts: dict[str, Any] = {"registers": held, "final": float(automaton.table.final[state])}
    parts["ending"] = bool(automaton.ending[state])
    if not np.isnan(automaton.values[state]):
        parts["value"] = float(automaton.values[state])
    if automaton.masses is not None:
        parts["mass"] = float(automaton.masses[state])
    return parts


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def from_networkx(graph: Any) -> Automaton:
    """The machine of a graph such as ``to_networkx`` makes, or one written by hand.

    Edges need ``input`` and ``output`` (or one ``label`` for both), or the numbers ``ilabel`` and
    ``olabel``; a missing ``weight`` is 0, a missing ``final`` inf. The start is the graph's
    attribute ``start``, else its first node.

    Raises:
        InputError: an edge has no label, or the start is not a node.
    """
    if not getattr(graph, "is_directed", lambda: False)():
        raise InputError(
            sentence("from_networkx", "a directed graph is needed", type(graph).__name__)
        )
    number = _numbers(list(graph.nodes))
    nodes = sorted(graph.nodes(data=True), key=lambda node: number[node[0]])
    edges = [(number[a], number[b], data) for a, b, data in graph.edges(data=True)]
    edges.sort(key=lambda edge: (edge[0], edge[2].get("arc", 0)))
    inputs, outputs = (_names(graph, edges, tape) for tape in ("input", "output"))
    table = ArcTable(
        _start(graph, number),
        np.array([source for source, _, _ in edges], np.int64),
        _labels(edges, "input", inputs),
        _labels(edges, "output", outputs),
        np.array([float(data.get("weight", 0.0)) for _, _, data in edges], np.float64),
        np.array([target for _, target, _ in edges], np.int64),
        np.array([float(data.get("final", np.inf)) for _, data in nodes], np.float64),
    )
    attributes = [data for _, data in nodes]
    return Automaton(
        str(graph.graph.get("name", "") or "graph"),
        table,
        _column(attributes, lambda d: d.get("ending", np.isfinite(d.get("final", np.inf))), bool),
        _column(attributes, lambda d: d.get("value", np.nan), np.float64),
        inputs,
        outputs,
        _registers(attributes),
        masses=_masses(attributes),
        acceptor=bool(graph.graph.get("acceptor", False)),
    )


def _numbers(nodes: list[Hashable]) -> dict[Hashable, int]:
    """The number of each node: its own if they are 0, 1, ..., else its place."""
    if set(nodes) == set(range(len(nodes))):
        return {node: int(node) for node in nodes}  # type: ignore[call-overload]
    return {node: k for k, node in enumerate(nodes)}


def _start(graph: Any, number: dict[Hashable, int]) -> int:
    if not number:
        return -1
    start = graph.graph.get("start", next(iter(graph.nodes)))
    if start is None:
        return -1
    if start not in number:
        raise InputError(sentence("from_networkx", "the start must be a node", start))
    return number[start]


def _names(graph: Any, edges: list[Any], tape: str) -> dict[int, str]:
    """What the numbers on a tape are called: as the graph says, else numbered as labels are met."""
    given = graph.graph.get(f"{tape}s")
    numbered = f"{tape[0]}label"
    if given is not None:
        return {int(k): str(name) for k, name in given.items()}
    if edges and all(numbered in data and tape not in data for _, _, data in edges):
        return {}
    both = [_text(data, key) for key in ("input", "output") for _, _, data in edges]
    names = [name for name in dict.fromkeys(both) if name != EPSILON]
    return {0: EPSILON, **{k + 1: name for k, name in enumerate(names)}}


def _text(data: Mapping[str, Any], tape: str) -> str:
    text = data.get(tape, data.get("label"))
    if text is None:
        must = f"each edge must have an {tape}, a label, or numbers"
        raise InputError(sentence("from_networkx", must, dict(data)))
    return str(text)


def _labels(edges: list[Any], tape: str, names: dict[int, str]) -> NDArray[np.int64]:
    numbered = f"{tape[0]}label"
    by_name = {name: number for number, name in names.items()}
    found = []
    for _, _, data in edges:
        if numbered in data:
            found.append(int(data[numbered]))
        elif _text(data, tape) in by_name:
            found.append(by_name[_text(data, tape)])
        else:
            must = f"each {tape} must be one of the graph's {tape}s"
            raise InputError(sentence("from_networkx", must, _text(data, tape)))
    return np.array(found, np.int64)


def _column(
    attributes: list[dict[str, Any]], get: Callable[[dict[str, Any]], Any], kind: Any
) -> NDArray[Any]:
    return np.array([get(data) for data in attributes], kind)


def _registers(attributes: list[dict[str, Any]]) -> dict[str, NDArray[Any]]:
    names = dict.fromkeys(name for data in attributes for name in data.get("registers", {}))
    columns = {}
    for name in names:
        held = [data.get("registers", {}).get(name) for data in attributes]
        if all(isinstance(x, int | float) for x in held):
            columns[name] = np.array(held, np.float64)
        else:
            columns[name] = np.empty(len(held), object)
            columns[name][:] = held
    return columns


def _masses(attributes: list[dict[str, Any]]) -> NDArray[np.float64] | None:
    if not attributes or not all("mass" in data for data in attributes):
        return None
    return np.array([data["mass"] for data in attributes], np.float64)
