"""Machines as networkx graphs and back, for its algorithms and for other tools.

Every state is a node, every arc an edge of a ``MultiDiGraph``; the edge attribute ``weight`` is
-log of the factor, so that shortest paths are most probable paths. Nothing is lost on the way:
weights are kept bit for bit, arcs in their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Ints
from fsmeu.errors import InputError
from fsmeu.exchange.automaton import Automaton, exported
from fsmeu.fst.image import EPSILON, MAX_NUMBER, ArcTable

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

    automaton = exported(thing, "to_networkx")
    table = automaton.table
    graph = nx.MultiDiGraph(
        name=automaton.name,
        start=table.start if table.start >= 0 else None,
        inputs=dict(automaton.inputs),
        outputs=dict(automaton.outputs),
        acceptor=automaton.acceptor,
    )
    for state in range(automaton.states):
        registers = {name: _plain(values[state]) for name, values in automaton.registers.items()}
        ends = bool(automaton.ending[state])
        graph.add_node(state, registers=registers, final=float(table.final[state]), ending=ends)
        if not np.isnan(automaton.values[state]):
            graph.nodes[state]["value"] = float(automaton.values[state])
        if automaton.masses is not None:
            graph.nodes[state]["mass"] = float(automaton.masses[state])
    columns = (table.source, table.target, table.ilabel, table.olabel, table.weight)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for arc, (source, target, ilabel, olabel, weight) in enumerate(rows):
        names = {
            "input": automaton.inputs.get(ilabel, str(ilabel)),
            "output": automaton.outputs.get(olabel, str(olabel)),
        }
        numbers = {"ilabel": ilabel, "olabel": olabel, "weight": weight, "arc": arc}
        graph.add_edge(source, target, **names, **numbers)
    return graph


def _plain(value: Any) -> Any:
    """A value of numpy as one of Python."""
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
        must = "a directed graph is needed"
        raise InputError("from_networkx", must, given=type(graph).__name__)
    nodes = list(graph.nodes)
    if set(nodes) == set(range(len(nodes))):
        nodes.sort()
    number = {node: k for k, node in enumerate(nodes)}
    node_data = [graph.nodes[node] for node in nodes]
    edges = [(number[a], number[b], data) for a, b, data in graph.edges(data=True)]
    edges.sort(key=lambda edge: (edge[0], edge[2].get("arc", 0)))
    labels = [data for _, _, data in edges]
    inputs, outputs = (_names(graph, labels, tape) for tape in ("input", "output"))
    final = np.array([float(data.get("final", np.inf)) for data in node_data], np.float64)
    table = ArcTable(
        _start(graph, nodes),
        np.array([source for source, _, _ in edges], np.int64),
        _numbers(labels, "input", inputs),
        _numbers(labels, "output", outputs),
        np.array([float(data.get("weight", 0.0)) for data in labels], np.float64),
        np.array([target for _, target, _ in edges], np.int64),
        final,
    )
    ending = [d.get("ending", end) for d, end in zip(node_data, np.isfinite(final), strict=True)]
    has_mass = bool(node_data) and all("mass" in data for data in node_data)
    return Automaton(
        str(graph.graph.get("name", "") or "graph"),
        table,
        np.array(ending, bool),
        np.array([data.get("value", np.nan) for data in node_data], np.float64),
        inputs,
        outputs,
        _registers([data.get("registers", {}) for data in node_data]),
        masses=np.array([data["mass"] for data in node_data], np.float64) if has_mass else None,
        acceptor=bool(graph.graph.get("acceptor", False)),
    )


def _start(graph: Any, nodes: list[Any]) -> int:
    """The number of the start among the nodes: the graph's, else the first; -1 for none."""
    start = graph.graph.get("start", next(iter(graph.nodes), None))
    if start is None or not nodes:
        return -1
    if start not in nodes:
        raise InputError("from_networkx", "the start must be a node", given=start)
    return nodes.index(start)


def _names(graph: Any, labels: Sequence[Mapping[str, Any]], tape: str) -> dict[int, str]:
    """The names of the numbers on a tape: as the graph says, else labels in the order of edges."""
    named = graph.graph.get(f"{tape}s")
    if named is not None:
        return {int(k): str(name) for k, name in named.items()}
    if labels and all(f"{tape[0]}label" in data and tape not in data for data in labels):
        return {}
    both = [_text(data, key) for key in ("input", "output") for data in labels]
    names = [name for name in dict.fromkeys(both) if name != EPSILON]
    return dict(enumerate([EPSILON, *names]))


def _text(data: Mapping[str, Any], tape: str) -> str:
    """The label of an edge on a tape, or its one label; an InputError where it has none."""
    text = data.get(tape, data.get("label"))
    if text is None:
        must = f"each edge must have an {tape}, a label, or numbers"
        raise InputError("from_networkx", must, given=dict(data))
    return str(text)


def _numbers(labels: Sequence[Mapping[str, Any]], tape: str, names: dict[int, str]) -> Ints:
    """The number on a tape of each edge, (edges,)."""
    by_name = {name: number for number, name in names.items()}
    numbers = []
    for data in labels:
        number = data.get(f"{tape[0]}label")
        number = by_name.get(_text(data, tape)) if number is None else int(number)
        if number is None or not 0 <= number <= MAX_NUMBER:
            must = f"each {tape} must be one of the graph's {tape}s, numbered 0 to {MAX_NUMBER}"
            raise InputError("from_networkx", must, given=data.get(tape, number))
        numbers.append(number)
    return np.array(numbers, np.int64)


def _registers(by_state: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
    """By name, what a register holds in each state, (states,)."""
    columns = {}
    for name in dict.fromkeys(name for registers in by_state for name in registers):
        values = [registers.get(name) for registers in by_state]
        numbers = all(isinstance(value, int | float) for value in values)
        columns[name] = np.empty(len(values), np.float64 if numbers else object)
        columns[name][:] = values
    return columns
