"""The interface of label models: data that can be read as a layered acceptor.

The methods that compute something of a model pass its layers to a function of the same name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property, wraps
from hashlib import blake2b
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from fsmeu.arrays import Floats, Ints
from fsmeu.display import Text
from fsmeu.errors import InputError, shorten
from fsmeu.fst.alphabet import Alphabet, Label
from fsmeu.fst.constraint import ConstraintLike
from fsmeu.fst.layers import ArcWeights, Layer, Layered, LogLayered, arc_weights
from fsmeu.models import paths
from fsmeu.models.checks import SUM_TOLERANCE, check_entries

Gradient = Floats | dict[str, Floats]


class Model(Text, ABC):
    """A probability distribution over label sequences of one length.

    A class of models has ``labels``, ``n`` and ``layered()``; all else follows from these. Layers
    are asked for once, checked (``check_promises``) and kept. ``fsmeu.testing.check_model``
    compares what a model answers with enumeration.

    Attributes:
        labels: the labels, in the order of their indices.
        n: the length of every sequence.
        title: what kind of distribution it is, in words, for pictures and cards.
        normalized: whether the weights of all sequences add up to 1. Where they need not, expected
            values come in the weights as they are.
    """

    labels: tuple[Label, ...]
    n: int
    title: str = "label model"
    normalized: bool = True
    _arguments: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Has the layers that a class makes in a ``layered()`` of its own checked, and kept."""
        super().__init_subclass__(**arguments)
        if "layered" in vars(cls):
            if cls._build is not Model._build:  # whose other answers would be those of its base
                must = "a class with layers of its own must be derived from fsmeu.Model"
                raise InputError(cls.__name__, must, given=f"one of {cls.__bases__[0].__name__}")
            cls.layered = _checked_once(cls.layered)  # type: ignore[assignment, method-assign]

    def _build(self) -> Layered:
        """Builds the layers of a class of this package, which are not checked; called once."""
        must = "a label model must have layered(), which returns its acceptor in layers"
        raise InputError(type(self).__name__, must)

    @classmethod
    def _prepare(cls, models: Sequence[Model]) -> None:
        """Computes what building several models needs, where that is faster than one by one."""
        return

    @cached_property
    def structure(self) -> Hashable:
        """A key of the arcs, weights aside: digests of them, unless a class has a shorter one.

        Models of equal structure have the same sources, labels and targets in the same order at
        every position that both have.
        """
        layered = self.layered()
        return arcs_key(layered.layers), len(layered.start)

    @property
    def repeats(self) -> bool:
        """True when further positions of a longer model would have the arcs of the last one."""
        return last_arcs_repeat(self.layered().layers)

    @property
    def _parts(self) -> dict[str, Any]:
        """The kind of the model and its arguments by name, as a file has them.

        A class that has no ``_arguments`` of its own is written as the acceptor of its layers.
        """
        if "_arguments" not in vars(type(self)):
            parts = {"model": "acceptor", "labels": self.labels, **layer_parts(self.layered())}
            return parts if self.normalized else {**parts, "normalize": False}
        from fsmeu.models.adapters import KINDS  # which imports all classes

        name = type(self).__name__
        if KINDS.get(name.lower(), (None,))[0] is not type(self):
            must = "from_json must know the class of a model that is written by its arguments"
            remedy = "Add it to KINDS in fsmeu/models/adapters.py, or leave its _arguments out: it "
            remedy += "is then written as its layers"
            raise InputError(name, must, remedy=remedy)
        return {"model": name.lower(), **{x: getattr(self, x) for x in self._arguments}}

    def to_json(self) -> dict[str, Any]:
        """The model as plain lists and numbers, for ``fsmeu.models.from_json``."""
        return _plain(self)  # type: ignore[no-any-return]

    @cached_property
    def alphabet(self) -> Alphabet:
        """The labels as an alphabet."""
        return Alphabet(self.labels)

    @cached_property
    def _layered(self) -> Layered:
        return self._build()

    def layered(self) -> Layered:
        """The acyclic acceptor of the model, in layers; built once and kept."""
        return self._layered

    @property
    def is_unambiguous(self) -> bool:
        """Whether no two paths of positive weight read the same labels."""
        return self.layered().unambiguous

    def arc_weights(self) -> ArcWeights:
        """The weights of the arcs of ``layered()``; a class may compute them without the layers."""
        return arc_weights(self.layered())

    def probability(self, sequence: Iterable[object]) -> float:
        """The probability of a label sequence (0.0 where a double cannot hold it)."""
        return paths.probability(self.layered(), self.alphabet.encode(sequence))

    def log_probability(self, sequence: Iterable[object]) -> float:
        """The natural logarithm of the probability, -inf if the sequence is impossible."""
        return paths.log_probability(self.layered(), self.alphabet.encode(sequence))

    def marginals(self) -> Floats:
        """P(y_i = l) as an array of shape (n, L)."""
        return paths.marginals(self.layered())

    def sample(
        self, size: int | None = None, seed: int | np.random.Generator | None = None
    ) -> list[Label] | list[list[Label]]:
        """One random sequence (a list of labels), or ``size`` of them (a list of lists)."""
        drawn = paths.sample(self.layered(), 1 if size is None else size, seed)
        rows = [list(row) for row in np.array(self.labels, dtype=object)[drawn]]
        return rows[0] if size is None else rows

    def most_probable(self, k: int = 1) -> list[tuple[list[Label], float]]:
        """The k most probable sequences with their probabilities, best first.

        Fewer than k when fewer have positive probability; ties in the order of the labels.
        """
        best = paths.most_probable(self.layered(), k)
        return [(self.alphabet.decode(map(int, indices)), p) for indices, p in best]

    def given(self, constraint: ConstraintLike) -> Model:
        """The model of the same labels, given that the sequence is one of those allowed.

        It says what is known of the reference: what is not allowed gets the probability 0, and all
        expectations change. It does not restrict answers, as ``decode(constraint=...)`` does.
        A constraint is a regular expression over labels, an OpenFst acceptor, or one of
        ``fsmeu.constraints``; an EmptyError if nothing that is allowed has positive probability.
        """
        from fsmeu.models.derived import given  # which makes models of several classes

        return given(self, constraint)

    def total_mass(self) -> float:
        """The sum of the weights of all paths: 1 up to rounding."""
        return paths.total(self.layered())

    def _keep(self, **fields: object) -> None:
        """Sets the fields of a frozen dataclass, for ``__init__``; arrays are not to be written."""
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """Names the kind, the length and the labels."""
        return f"{type(self).__name__}(n={self.n}, labels={shorten(self.labels)})"


ModelLike: TypeAlias = Model | ArrayLike
"""A label model; or probabilities of ones for ``Bernoulli``, or a table for ``Independent``."""

HypothesisLike: TypeAlias = Iterable[object] | Model
"""A label sequence; or a model, for a distribution on the tape of the hypothesis."""


class Parametrized(Model):
    """A model with parameters, every one of which weighs at least one arc of ``layered()``.

    Its layers have one start state of weight 1, and keep the arcs of probability 0, in an order
    that the class documents.

    Attributes:
        fixed_support: whether arcs of probability 0 keep it when the parameters change a little, so
            that no derivative depends on what follows them.
    """

    fixed_support: ClassVar[bool] = False

    @abstractmethod
    def pullback(self, arc_gradients: Sequence[Floats], value: float) -> Gradient:
        """Derivatives of an expectation E in the shapes of the parameters; by name, if several.

        Args:
            arc_gradients: for each layer, dE/d(weight) of its arcs, every arc a free variable.
            value: E itself.
        """


def _checked_once(layered: Callable[[Any], Layered]) -> Callable[[Any], Layered]:
    """The method of a class that makes layers: what it returns is checked, and kept in the model.

    A method that a derived class calls by ``super()`` is neither: its layers need not be the
    model's.
    """

    @wraps(layered)
    def once(model: Model) -> Layered:
        if type(model).layered is not once:
            return layered(model)
        if "_layered" not in model.__dict__:
            model.__dict__["_layered"] = check_promises(model, layered(model))
        return model._layered

    return once


def check_promises(model: Model, layered: object) -> Layered:
    """The layers, if they are what ``Layered`` promises for the model; else an InputError.

    Labels and length are the model's; sources, labels and targets are indices within their layer,
    as many as weights; weights are finite and at least 0; the weights of all paths add up to 1,
    unless the model is not ``normalized``.
    """
    where = f"{type(model).__name__}.layered()"
    if not isinstance(layered, Layered) or isinstance(layered, LogLayered):
        must = "must return Layered, with weights as factors"
        raise InputError(where, must, given=type(layered).__name__)
    if layered.alphabet != model.alphabet or layered.n != model.n:
        must = f"must have the labels and the length of the model, {shorten(model.labels)}"
        given = f"{shorten(layered.alphabet.labels)} and {layered.n} layers"
        raise InputError(where, f"{must} and {model.n}", given=given)
    widths = layered.widths
    for k, layer in enumerate(layered.layers):
        limits = (("source", widths[k]), ("label", len(model.labels)), ("target", layer.width))
        for name, limit in limits:
            _check_column(f"{where}.layers[{k}].{name}", getattr(layer, name), layer, limit)
        _check_column(f"{where}.layers[{k}].weight", layer.weight, layer)
    for name, width in (("start", widths[0]), ("final", widths[-1])):
        weights = getattr(layered, name)
        if np.shape(weights) != (width,):
            must = f"must have a weight for each of the {width} states of its layer"
            raise InputError(f"{where}.{name}", must, given=f"shape {np.shape(weights)}")
        _check_column(f"{where}.{name}", weights)
    mass = paths.total(layered)
    if model.normalized and not abs(mass - 1.0) <= SUM_TOLERANCE:
        must = "the weights of all paths must add up to 1"
        remedy = "Return fsmeu.models.paths.normalize(layers), or set normalized = False in the "
        remedy += "class, where expected values are to come in these weights"
        raise InputError(where, must, given=f"a sum of {mass!r}", remedy=remedy)
    return layered


def _check_column(
    where: str, column: Any, layer: Layer | None = None, limit: int | None = None
) -> None:
    """Refuses a column of a layer that has another length than its sources, or bad entries."""
    kinds = "iu"
    must = f"must be an array of whole numbers from 0 to {(limit or 0) - 1}"
    if limit is None:
        kinds = "fiu"
        must = "must be an array of finite numbers, at least 0"
    if not isinstance(column, np.ndarray) or column.ndim != 1 or column.dtype.kind not in kinds:
        raise InputError(where, must, given=column)
    if layer is not None and len(column) != len(layer.source):
        must = f"must have an entry for each of the {len(layer.source)} sources"
        raise InputError(where, must, given=f"{len(column)}")
    good = (column >= 0) & (column < (np.inf if limit is None else limit))
    check_entries(np.asarray(column, np.float64), good, where, must)


def layer_parts(machine: Layered) -> dict[str, Any]:
    """The layers of an acceptor by name, as a file has them."""
    layers = [vars(layer) for layer in machine.layers]
    return {"start": machine.start, "layers": layers, "final": machine.final}


def _plain(value: Any) -> Any:
    """The value as JSON can write it: arrays as lists, and -inf, no number of JSON, as text."""
    if isinstance(value, Model):
        value = value._parts
    if isinstance(value, np.ndarray):
        if value.dtype == np.float64 and np.isneginf(value).any():
            value = np.where(np.isneginf(value), "-inf", value.astype(object))
        return value.tolist()
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def arcs_key(layers: Sequence[Layer]) -> tuple[bytes, ...]:
    """Digests of the arcs of each layer, weights aside; one for all that repeat the last."""
    keys = list[bytes]()
    known = dict[int, bytes]()  # positions may share a layer
    for layer in layers:
        if id(layer) not in known:
            columns = (layer.source, layer.label, layer.target, np.array([layer.width]))
            arcs = np.concatenate(columns).astype(np.int64)
            known[id(layer)] = blake2b(arcs.tobytes()).digest()
        keys.append(known[id(layer)])
    while len(keys) > 1 and keys[-1] == keys[-2]:
        keys.pop()
    return tuple(keys)


def last_arcs_repeat(layers: Sequence[Layer]) -> bool:
    """Whether the last two layers have the same arcs, and some state more than one arc into it."""
    last = layers[-2:]
    return len(arcs_key(last)) < len(last) and len(last[-1].source) > last[-1].width


def arc_weights_many(models: Sequence[Model]) -> ArcWeights:
    """The arc weights of models of equal structure, a row each; layers of several are dropped."""
    fresh = prepare_many(models)
    weights = [model.arc_weights() for model in models]
    forget(fresh if len(models) > 1 else ())  # those of a corpus would hold gigabytes
    arcs, start, final = (
        np.concatenate(rows)
        for rows in zip(*((one.arcs, one.start, one.final) for one in weights), strict=True)
    )
    is_stochastic = all(one.is_stochastic for one in weights)
    return ArcWeights(models[0].n, arcs, start, final, is_stochastic=is_stochastic)


def most_probable_many(models: Sequence[Model]) -> list[Ints | None]:
    """Label indices of the most probable sequence of each of several models with the same arcs.

    None where ``most_probable`` must decide (``paths.best_paths``).
    """
    if not all(model.is_unambiguous for model in models):
        return [None] * len(models)
    best = paths.best_paths(models[0].layered(), arc_weights_many(models).joined())
    return [pair and pair[0] for pair in best]


def prepare_many(models: Sequence[Model]) -> list[Model]:
    """The models without cached layers, after what building these needs was computed at once."""
    new = (model for model in models if not {"_layered", "_prepared"} & model.__dict__.keys())
    fresh = list({id(model): model for model in new}.values())
    for kind in {type(model) for model in fresh}:
        kind._prepare([model for model in fresh if type(model) is kind])
    return fresh


def forget(models: Iterable[Model]) -> None:
    """Drops the cached layers of models; they are built again when asked for."""
    for model in models:
        model.__dict__.pop("_prepared", None)
        model.__dict__.pop("_layered", None)
