"""What every label model is: data that can be read as a layered acceptor.

``Model`` is the base of all, ``Parametrized`` of those through which derivatives are pulled back.
The methods that ask something of a model only pass its layers to a function of the same name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from fsmeu.display import Text
from fsmeu.errors import shorten
from fsmeu.fst.alphabet import Alphabet, Label
from fsmeu.fst.layers import Floats, Layered, all_weights
from fsmeu.models.distances import total
from fsmeu.models.marginals import log_probability, marginals, probability
from fsmeu.models.most_probable import most_probable
from fsmeu.models.sample import sample

__all__ = [
    "Gradient",
    "Model",
    "Parametrized",
    "layered_many",
    "marginal_roundings",
    "marginals_many",
    "prepare_many",
]

Gradient = Floats | dict[str, Floats]


class Model(Text, ABC):
    """A probability distribution over label sequences of one length.

    Attributes:
        labels: the labels, in the order of their indices.
        n: the length of every sequence.
    """

    labels: tuple[Label, ...]
    n: int

    @abstractmethod
    def _build(self) -> Layered:
        """Builds the layers; called once."""

    @classmethod
    def _prepare(cls, models: Sequence[Model]) -> None:
        """Computes what building several models of this class needs, for each to keep its own.

        For classes that do so faster together than one by one.
        """
        return

    @classmethod
    def _marginals_many(cls, models: Sequence[Any]) -> Floats:
        """P(y_i = l) under models of this class, of one length and number of labels."""
        return np.stack([model.marginals() for model in models])

    @property
    def structure(self) -> Hashable | None:
        """What the arcs of the layers depend on beside their weights; None when they may differ.

        Models of equal structure have the same sources, labels and targets in the same order at
        every position that both have.
        """
        return None

    @property
    def title(self) -> str:
        """What kind of distribution it is, in words, for pictures and cards."""
        return type(self).__name__

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The model as plain lists and numbers, for ``fsmeu.models.from_json``."""

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

    def all_weights(self) -> Floats:
        """Start weights, weights of the arcs of all positions, and final weights, in one array."""
        return all_weights(self.layered())

    def probability(self, sequence: Iterable[object]) -> float:
        """The probability of a label sequence (0.0 where a double cannot hold it)."""
        return probability(self.layered(), self.alphabet.encode(sequence))

    def log_probability(self, sequence: Iterable[object]) -> float:
        """The natural logarithm of the probability, -inf if the sequence is impossible."""
        return log_probability(self.layered(), self.alphabet.encode(sequence))

    def marginals(self) -> Floats:
        """P(y_i = l) as an array of shape (n, L)."""
        return marginals(self.layered())

    def sample(
        self, size: int | None = None, seed: int | np.random.Generator | None = None
    ) -> list[Label] | list[list[Label]]:
        """One random sequence (a list of labels), or ``size`` of them (a list of lists)."""
        drawn = sample(self.layered(), 1 if size is None else size, seed)
        names = np.array(self.labels, dtype=object)
        if size is None:
            return list(names[drawn[0]])
        return [list(row) for row in names[drawn]]

    def most_probable(self, k: int = 1) -> list[tuple[list[Label], float]]:
        """The k most probable sequences with their probabilities, best first.

        Fewer than k when fewer have positive probability; ties in the order of the labels.
        """
        best = most_probable(self.layered(), k)
        return [(self.alphabet.decode(map(int, indices)), p) for indices, p in best]

    def given(self, constraint: Any) -> Model:
        """The model of the same labels, given that the sequence is one of those allowed.

        Args:
            constraint: a regular expression over labels, an OpenFst acceptor, or one of
                ``fsmeu.constraints``.

        Raises:
            EmptyError: no sequence that is allowed has positive probability.
        """
        from fsmeu.models.given import given  # which makes models of several classes

        return given(self, constraint)

    def total_mass(self) -> float:
        """The sum of the weights of all paths: 1 up to rounding."""
        return total(self.layered())

    def _keep(self, **fields: object) -> None:
        """Sets the fields of a frozen dataclass; for ``__init__`` alone."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """Names the kind, the length and the labels."""
        return f"{type(self).__name__}(n={self.n}, labels={shorten(self.labels)})"


class Parametrized(Model):
    """A model with parameters, every one of which weighs at least one arc of ``layered()``.

    Its layers have one start state of weight 1, and keep the arcs of probability 0, in an order
    that the class documents.

    Attributes:
        zeros_stay: whether arcs of probability 0 keep it when the parameters change a little, so
            that no derivative depends on what follows them.
    """

    zeros_stay: ClassVar[bool] = False

    @abstractmethod
    def pullback(self, arc_gradients: Sequence[Floats], value: float) -> Gradient:
        """Derivatives of an expectation E with respect to the parameters.

        Args:
            arc_gradients: for each layer, dE/d(weight) of its arcs, parallel to them, every arc
                being a free variable.
            value: E itself.

        Returns:
            The derivatives in the shapes of the parameters; a dict by name if there are several.
        """


def layered_many(models: Sequence[Model]) -> list[Layered]:
    """The layers of each model, as ``layered()`` gives them; together where that is faster."""
    prepare_many(models)
    return [model.layered() for model in models]


def prepare_many(models: Sequence[Model]) -> None:
    """Computes together what building the layers of models needs, of those that have none yet."""
    fresh: dict[type[Model], dict[int, Model]] = {}
    for model in models:
        if "_layered" not in model.__dict__:
            fresh.setdefault(type(model), {})[id(model)] = model
    for kind, some in fresh.items():
        kind._prepare(list(some.values()))


def marginals_many(models: Sequence[Model]) -> Floats:
    """P(y_i = l) under each model, (models, n, L); together where that is faster.

    Requires models of one length and one number of labels.
    """
    rows: dict[type[Model], list[int]] = {}
    for row, model in enumerate(models):
        rows.setdefault(type(model), []).append(row)
    found = np.empty((len(models), models[0].n, len(models[0].labels)))
    for kind, places in rows.items():
        found[places] = kind._marginals_many([models[row] for row in places])
    return found


def marginal_roundings(model: Model) -> int | None:
    """A bound on the number of roundings behind each marginal; None where the model is no chain."""
    if not isinstance(model.structure, tuple):
        return None
    _, labels, order = model.structure
    if order == 0:
        return 4
    return int(2 * model.n * (labels + 4) + labels ** (order + 1))
