"""Label models: tables, chains, fields, lists, mixtures, machines, files of them, temperatures."""

import json

import numpy as np

import fsmeu
from fsmeu import models
from fsmeu.errors import EmptyError, InputError, SizeLimitError

HALF = [[0.5, 0.5], [0.5, 0.5]]
INF, NAN = float("inf"), float("nan")
LAYER = {"width": 1, "source": [0], "label": [0], "target": [0], "weight": [1.0]}


def wide(number, *shape):
    """An array of any shape that takes no room."""
    return np.broadcast_to(number, shape)


def file(text):
    """A model from the text of a file."""
    return models.from_json(text)


def layer(**changes):
    """An acceptor of one layer from a file, with changes of the layer."""
    whole = {"model": "acceptor", "labels": [0, 1], "start": [1], "final": [1]}
    return models.from_json(json.dumps({**whole, "layers": [{**LAYER, **changes}]}))


def nested(depth):
    """Mixtures of mixtures from a file."""
    return file('{"model": "mixture", "weights": [1], "models": [' * depth + "]}" * depth)


def arc(*arcs, labels="ab", **options):
    """The model of a machine with states 0 to 2 and arcs (source, label, target, weight)."""
    from tests.fst.machines import fst_from_table, table

    rows = [(source, label, label, weight, target) for source, label, target, weight in arcs]
    return models.Acceptor(fst_from_table(table(0, rows, [INF, INF, 0.0])), labels, **options)


NAMES = {name: getattr(models, name) for name in models.__all__} | {
    "calibrate": fsmeu.calibrate,
    "wide": wide, "file": file, "layer": layer, "nested": nested, "arc": arc, "np": np,
    "HALF": HALF, "INF": INF, "NAN": NAN, "TURNED": [[0.5, 0.2], [0.5, 0.8]],
    "EVEN": models.Independent([[0.5, 0.5]]), "TWO": models.Independent([[1.0, 0.0]] * 2, "ab"),
}  # fmt: skip
TURN = "The columns sum to 1: exchange rows and columns"
MANY = "at most 20,000,000 ... FSMEU_MAX_ARCS"
EXP = "exponentiate ... np.exp"
ROWS = [
    # numbers that are no probabilities
    ("as_model([[0.4, 0.3, 0.1]])", InputError, "row 0"),
    ("Independent([[0.5, 0.2, 0.1], [0.5, 0.8, 0.9]])", InputError, TURN),
    ("as_model([-0.1, -2.5])", InputError, EXP),
    ('NBest(["01", "10"], [0.0, -3.0])', InputError, "exponentiate ... log=True"),
    ("from_potentials([[INF, 0]], HALF)", InputError, "unary ... inf"),
    # shapes, lengths, labels
    ("Bernoulli(HALF)", InputError, "one-dimensional ... Independent"),
    ('NBest(["01", "011"], [1, 1])', InputError, "lengths 2 at entry 0 and 3 at entry 1"),
    ('Mixture([EVEN, Independent([[1, 0]], "ab")], [0.5, 0.5])', InputError, "[0, 1] ... ['a',"),
    # nothing is possible
    ("from_potentials([[0, -INF], [-INF, 0]], [[0, -INF], [0, 0]])", EmptyError, "entry 1"),
    ("arc((0, 1, 1, 0.0))", EmptyError, "Acceptor fst ... at least one sequence"),
    # too large; no machine could hold these
    ("Markov([0.5, 0.5], HALF, n=10**15)", SizeLimitError, MANY),
    ("Bernoulli(wide(0.5, 10**12))", SizeLimitError, MANY),
    # temperatures
    ("tempered(Mixture([EVEN] * 2, [0.5, 0.5]), 2.0)", InputError, "no two paths"),
    ("calibrate([[0.5, 0.0]], [[1, 1]])", InputError, "references[0]: must have positive"),
    # machines
    ("arc((0, 1, 1, 0.0), (1, 1, 0, 0.0), (1, 1, 2, 0.0))", InputError, "same length"),
    ("arc((0, 0, 1, 0.0), (1, 1, 2, 0.0))", InputError, "epsilon"),
    ("arc((0, 1, 2, 900.0), normalize=False)", InputError, "must hold the weight ... exp(-900"),
    # files
    ('file("{")', InputError, "JSON ... line 1"),
    ("file('{\"probs\": [' + '9' * 5000 + ']}')", InputError, "model JSON"),
    ('file(\'{"probs": [0.5, "0.5"]}\')', InputError, "Bernoulli p ... number"),
    ("file('{\"probs\": [NaN]}')", InputError, "finite ... NaN"),
    ("layer(source=[1])", InputError, "layers[0] source ... from 0 to 0"),
    ("layer(width=10**15)", SizeLimitError, "width ... FSMEU_MAX_ARCS"),
    ("nested(100_000)", InputError, "nested"),
]
