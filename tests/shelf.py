"""Every loss on the shelf, loaded with something for each parameter that has no default."""

import fsmeu
from fsmeu.fst.tags import tag_labels
from fsmeu.losses.loss import read_spec
from tests.strategies import LossCase

TYPES = ("X", "Y")


def case(name, size=2):
    """The file; ``size`` is the number of labels where it leaves them open."""
    spec = read_spec(name)
    labels = spec.labels or (tag_labels(TYPES, spec.scheme) if spec.scheme else tuple(range(size)))
    given = {
        p.name: _cost(len(labels)) if p.type == "table" else 2
        for p in spec.params
        if p.default is None
    }
    return LossCase(spec.source, tuple(labels), spec.labels is None, given)


def load(name, size=2):
    """The loss itself."""
    known = case(name, size)
    return fsmeu.load(name, labels=known.labels if known.ask else None, **known.given)


def _cost(size):
    return [[a * size + b - 1.5 for b in range(size)] for a in range(size)]
