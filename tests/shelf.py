"""Every loss on the shelf, loaded with something for each parameter that has no default."""

import math

import fsmeu
from fsmeu.fst.tags import tag_labels
from fsmeu.losses.loss import read_spec
from fsmeu.losses.semantics.evaluator import constant
from tests.strategies import LossCase

TYPES = ("X", "Y")


def fitting(spec, parameter, values):
    """Those of the values that a parameter may take; if none, what the file's examples give it."""
    low, high = (
        free if side is None else constant(side, {}, spec)
        for side, free in ((parameter.low, -math.inf), (parameter.high, math.inf))
    )
    whole = parameter.type == "int"
    fits = [x for x in values if low <= x <= high and (not whole or x == int(x))]
    bound = [expr for e in spec.examples for name, expr in e.bindings if name == parameter.name]
    return fits or [constant(expr, {}, spec) for expr in bound]


def case(name, size=2):
    """The file; ``size`` is the number of labels where it leaves them open."""
    spec = read_spec(name)
    labels = spec.labels or (tag_labels(TYPES, spec.scheme) if spec.scheme else tuple(range(size)))
    many = range(len(labels))
    cost = [[a * len(labels) + b - 1.5 for b in many] for a in many]
    open_ones = [p for p in spec.params if p.default is None]
    given = {p.name: cost if p.type == "table" else fitting(spec, p, [2])[0] for p in open_ones}
    return LossCase(spec.source, tuple(labels), spec.labels is None, given)


def load(name, size=2):
    """The loss itself."""
    known = case(name, size)
    return fsmeu.load(name, labels=known.labels if known.ask else None, **known.given)
