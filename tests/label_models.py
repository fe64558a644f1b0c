"""Random label models as data: they can be built, listed, written down and made simpler."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

import fsmeu
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.layers import Layer, Layered
from tests import brute_force

KINDS = ("bernoulli", "independent", "markov", "potentials", "hmm", "nbest", "mixture")
STEP = 1e-30  # the complex step
_EDGES = (0.0, 1.0, 0.5, 0.5, 1e-9, 1 - 1e-9, 1e-30, 0.1, 0.25)


_CALLS = {
    "bernoulli": ("Bernoulli", (), ()),
    "independent": ("Independent", ("labels",), ("labels",)),
    "markov": ("Markov", ("n", "labels"), ("labels", "n")),
    "potentials": ("from_potentials", ("labels",), ("labels", "n")),
    "hmm": ("hmm", ("labels",), ("labels",)),
    "nbest": ("NBest", ("labels",), ("labels", "n")),
    "acceptor": ("Acceptor", (), ()),
    "mixture": ("Mixture", (), ()),
}
"""For each kind what builds it, and what this and its function in ``brute_force`` take beside its
parts."""


class _Verbatim(str):
    """A text that is shown as it is."""

    __slots__ = ()
    __repr__ = str.__str__


@dataclass(frozen=True, eq=False)
class ModelSpec:
    """A model that is not yet built; acceptors are neither written down nor made simpler."""

    kind: str
    labels: tuple
    n: int
    parts: dict

    def build(self):
        """The model of the package."""
        name, more, _ = _CALLS[self.kind]
        return getattr(fsmeu.models, name)(*self._given(ModelSpec.build, more))

    def chances(self):
        """The probability of every sequence, in the order of ``brute_force.sequences``."""
        return np.array(list(self.listed().values()))

    def listed(self):
        """The probability of every sequence."""
        return getattr(brute_force, self.kind)(*self._given(ModelSpec.listed, _CALLS[self.kind][2]))

    def text(self):
        """The call that builds it."""
        name, more, _ = _CALLS[self.kind]
        given = self._given(lambda model: _Verbatim(model.text()), more)
        return f"fsmeu.models.{name}({', '.join(str(plain(one)) for one in given)})"

    def _given(self, make, more):
        """Its parts, made of the specs among them, and the attributes that a call takes as well."""
        parts = self.parts.items()
        made = [[make(m) for m in part] if name == "models" else part for name, part in parts]
        return [*made, *(getattr(self, name) for name in more)]

    def shorter(self):
        """The same for sequences that are shorter by one, or None."""
        if not self.n:
            return None
        n, p = self.n - 1, dict(self.parts)
        for name in ("p", "probabilities", "unary", "observations"):
            if name in p:
                p[name] = p[name][:-1]
        each = {"markov": np.ndim(p.get("initial", 0)) + 2, "potentials": 3}.get(self.kind)
        for name in ("transition", "pairwise"):
            if name in p and np.ndim(p[name]) == each:
                p[name] = p[name][:-1]
        if "sequences" in p:
            p["sequences"] = [y[:-1] for y in p["sequences"]]
        if "models" in p:
            p["models"] = [m.shorter() for m in p["models"]]
        return replace(self, n=n, parts=p)

    def simpler(self):
        """Models of the same length that are simpler, the simplest first."""
        size, at = len(self.labels), np.arange(self.n)
        even = np.full((self.n, size), 1 / size)
        slanted = np.tile((np.arange(size) + 1) / (size * (size + 1) / 2), (self.n, 1))
        if self.kind == "bernoulli":
            p = self.parts["p"]
            tried = [np.full(self.n, x) for x in (0.5, 0.25)]
            for i in np.flatnonzero(p != 0.5):
                numbers = (0.5, 0.25, round(p[i], 1), round(p[i], 2))
                tried += [np.where(at == i, x, p) for x in numbers if x != p[i]]
            yield from (replace(self, parts={"p": one}) for one in tried)
            return
        if self.kind == "independent":
            table = self.parts["probabilities"]
            if self.labels == (0, 1):
                yield ModelSpec("bernoulli", self.labels, self.n, {"p": table[:, 1]})
            for i in np.flatnonzero((table != even).any(axis=1)):
                parts = {"probabilities": np.where((at == i)[:, None], even, table)}
                yield replace(self, parts=parts)
            return
        for table in (even, slanted, brute_force.marginals(self.listed(), self.labels, self.n)):
            yield ModelSpec("independent", self.labels, self.n, {"probabilities": table})
        if self.kind == "mixture":
            yield from self.parts["models"]
        if self.kind == "nbest" and len(self.parts["sequences"]) > 1:
            for k in range(len(self.parts["sequences"])):
                some = [y for j, y in enumerate(self.parts["sequences"]) if j != k]
                yield replace(self, parts={"sequences": some, "weights": np.ones(len(some))})


def plain(value):
    """Arrays as lists."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return type(value)(plain(x) for x in value)
    return value


def rows(rng, *shape):
    """Distributions along the last axis; a third of them with zeros, some of them certain."""
    array = rng.random(shape) + 1e-3
    kind = rng.integers(0, 6, shape[:-1])
    array[rng.random(shape) < 0.5 * (kind == 0)[..., None]] = 0.0
    sure = (kind == 1) | (array.sum(axis=-1) == 0)
    one = np.eye(shape[-1])[rng.integers(0, shape[-1], shape[:-1])]
    array = np.where(sure[..., None], one, array)
    return array / array.sum(axis=-1, keepdims=True)


def scores(rng, *shape):
    """Normal numbers, some of them -inf."""
    array = rng.normal(size=shape) * 3
    array[rng.random(shape) < 0.15] = -np.inf
    return array


def plain_model(rng, kind, labels, n, **options):
    """A model of one kind over these labels; a Markov chain takes its ``order``."""
    return ModelSpec(kind, tuple(labels), n, _PARTS[kind](rng, tuple(labels), n, **options))


def random_model(rng, labels, n, kinds=KINDS):
    """A model over these labels, of any kind that has them; some have extreme numbers."""
    kinds = [kind for kind in kinds if kind != "bernoulli" or labels == (0, 1)]
    weights = np.array([6.0 if kind == "bernoulli" else 1.0 for kind in kinds])
    kind = str(rng.choice(kinds, p=weights / weights.sum()))
    if kind == "bernoulli":
        return ModelSpec(kind, (0, 1), n, {"p": _probabilities(rng, n)})
    if kind == "mixture":
        few = ("independent", "markov", "potentials", "nbest")
        models = [random_model(rng, labels, n, few) for _ in range(int(rng.integers(1, 4)))]
        parts = {"models": models, "weights": rows(rng, len(models))}
        return ModelSpec(kind, tuple(labels), n, parts)
    model = plain_model(rng, kind, labels, n)
    if kind == "potentials":
        model.parts["unary"] *= rng.choice([1.0, 1.0, 20.0])
    return model


def _probabilities(rng, n):
    """Probabilities of ones: any, all equal, in quarters, rare, extreme."""
    match rng.integers(0, 6):
        case 0:
            return np.full(n, rng.random())
        case 1:
            return np.round(rng.random(n) * 4) / 4
        case 2:
            return rng.random(n) * 0.2
        case 3:
            return rng.choice(_EDGES, n)
    return rng.random(n)


def _markov(rng, labels, n, order=None):
    size, order = len(labels), int(rng.integers(1, 4)) if order is None else order
    shape = (max(0, n - order),) * int(rng.random() < 0.5) + (size,) * (order + 1)
    initial = rows(rng, size**order).reshape((size,) * order)
    return {"initial": initial, "transition": rows(rng, *shape)}


def _potentials(rng, labels, n):
    """Scores, some of them -inf; one sequence stays allowed."""
    size, each = len(labels), rng.random() < 0.5
    unary, links = scores(rng, n, size), scores(rng, *(max(0, n - 1),) * int(each), size, size)
    path = rng.integers(0, size, n)
    unary[np.arange(n), path] = 0.5
    for i in range(n - 1):
        (links[i] if each else links)[path[i], path[i + 1]] = -0.25
    return {"unary": unary, "pairwise": links}


def _hmm(rng, labels, n):
    size = len(labels)
    initial, transition, emission = rows(rng, size), rows(rng, size, size), rows(rng, size, 3)
    seen, state = [], 0
    for i in range(n):
        state = int(rng.choice(size, p=transition[state] if i else initial))
        seen.append(int(rng.choice(3, p=emission[state])))
    tables = {"initial": initial, "transition": transition, "emission": emission}
    return {**tables, "observations": seen}


def _nbest(rng, labels, n):
    count = int(rng.integers(1, 9))
    sequences = [[labels[k] for k in rng.integers(0, len(labels), n)] for _ in range(count)]
    weights = rng.random(count) * (rng.random(count) < 0.8)
    weights[0] = 0.3
    return {"sequences": sequences, "weights": weights}


def _mixture(rng, labels, n):
    """Parts of which several paths may read one sequence."""
    kinds = rng.choice(["independent", "markov", "potentials", "acceptor"], rng.integers(1, 4))
    models = [plain_model(rng, str(kind), labels, n) for kind in kinds]
    return {"models": models, "weights": rows(rng, len(models))}


def random_layers(rng, labels, n, scale=0.0):
    """Any layers: several starts, parallel arcs, dead ends; some path has positive weight."""
    widths = rng.integers(1, 4, n + 1)
    layers = []
    for before, after in pairwise(widths):
        arcs = int(rng.integers(1, 8))
        weight = rng.random(arcs) * np.exp(scale * rng.normal(size=arcs))
        weight[1:] *= rng.random(arcs - 1) < 0.8
        source, target = rng.integers(0, before, arcs), rng.integers(0, after, arcs)
        source[0] = target[0] = 0
        label = rng.integers(0, len(labels), arcs)
        layers.append(Layer(source, label, target, weight, int(after)))
    start, final = rng.random(widths[0]) + 0.1, rng.random(widths[-1]) + 0.1
    return Layered(Alphabet(tuple(labels)), start, tuple(layers), final)


_PARTS = {
    "bernoulli": lambda rng, labels, n: {"p": rows(rng, n, 2)[:, 1]},
    "independent": lambda rng, labels, n: {"probabilities": rows(rng, n, len(labels))},
    "markov": _markov,
    "potentials": _potentials,
    "hmm": _hmm,
    "nbest": _nbest,
    "acceptor": lambda rng, labels, n: {"layered": random_layers(rng, labels, n)},
    "mixture": _mixture,
}
PLAIN_KINDS = tuple(_PARTS)


def parameters(model):
    """Each parameter by name, with the listed distribution as a function of it."""
    labels, n = model.labels, model.n
    if isinstance(model, fsmeu.models.Bernoulli):
        return {"": (model.p, brute_force.bernoulli)}
    if isinstance(model, fsmeu.models.Independent):
        return {"": (model.probabilities, lambda x: brute_force.independent(x, labels))}
    if isinstance(model, fsmeu.models.Markov):
        initial, transition = model.initial, model.transition
        return {
            "initial": (initial, lambda x: brute_force.markov(x, transition, labels, n)),
            "transition": (transition, lambda x: brute_force.markov(initial, x, labels, n)),
        }
    unary, pairwise = model.unary, model.pairwise
    return {
        "unary": (unary, lambda x: brute_force.potentials(x, pairwise, labels, n)),
        "pairwise": (pairwise, lambda x: brute_force.potentials(unary, x, labels, n)),
    }


def derivatives(model, values):
    """The gradient by name where y has ``values[y]``, by the complex step: Im E(x + ih) / h."""
    found = {}
    for name, (array, distribution) in parameters(model).items():
        found[name] = np.zeros(array.shape)
        for index in np.ndindex(array.shape):
            moved = array.astype(complex)
            moved[index] += STEP * 1j
            found[name][index] = brute_force.expectation(distribution(moved), values).imag / STEP
    return found


def by_name(gradient):
    return gradient if isinstance(gradient, dict) else {"": gradient}
