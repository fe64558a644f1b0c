"""Every loss on the shelf, loaded with something for each parameter that has no default."""

import numpy as np

import fsmeu
from fsmeu.losses.library import read_spec

TYPES = ("X", "Y")


def load(name, size=None):
    """The loss by name; ``size`` chooses the number of labels where the file leaves it open."""
    spec = read_spec(name)
    labels = None
    if spec.labels is None and not spec.bio and size is not None:
        labels = tuple(range(size))
    count = len(spec.labels) if spec.labels is not None else size or 2
    given = {
        p.name: _cost(count) if p.type == "table" else 2 for p in spec.params if p.default is None
    }
    return fsmeu.load(name, labels=labels, types=TYPES if spec.bio else None, **given)


def _cost(size):
    return np.arange(size * size, dtype=float).reshape(size, size) - 1.5
