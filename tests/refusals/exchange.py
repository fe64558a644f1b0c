"""Machines from other tools, and for them."""

import networkx as nx

import fsmeu
from fsmeu.errors import FstError, InputError

LABELLED = (0, 1, {"label": "a"})
NAMES = {name: getattr(fsmeu, name) for name in fsmeu.__all__} | {
    "F1": fsmeu.load("fscore"),
    "graph": lambda *edges, **held: nx.MultiDiGraph(list(edges), **held),
    "undirected": nx.Graph(),
    "a": LABELLED,
    "below": (0, 1, {"ilabel": -1, "olabel": 2}),
    "nan": (0, 1, {"label": "a", "weight": float("nan")}),
}
ROWS = [
    ("from_networkx(graph((0, 1)))", InputError, "each edge must have an input"),
    ("from_networkx(undirected)", InputError, "a directed graph is needed"),
    ("from_networkx(graph(a, start=7))", InputError, "the start must be a node"),
    ("from_networkx(graph(a, inputs={1: 'b'}))", InputError, "one of the graph's inputs"),
    ("from_networkx(graph(below))", InputError, "numbered 0 to 2147483647. Got -1"),
    ("to_openfst(graph(nan))", FstError, "each weight must be a number"),
    ("to_networkx(F1)", InputError, "a compiled loss ... by loss.compile(3)"),
    ("from_openfst(to_openfst(F1.compile(2))[:-9])", FstError, "they end too soon"),
    ("from_openfst(b'no machine')", FstError, "do not begin as an OpenFst file does"),
    ("from_openfst('/nowhere/m.fst')", InputError, "/nowhere/m.fst: the file cannot be read"),
]
