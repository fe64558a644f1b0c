"""A model class that somebody adds: labels, n and layered() are all that it needs."""

import json
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import FsmeuError
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.layers import Layer, Layered
from fsmeu.models import Acceptor, Bernoulli, Mixture, Model, from_json

SEQUENCES = {n: list(product("ab", repeat=n)) for n in (0, 1, 3)}


@dataclass(frozen=True, eq=False, repr=False)
class Sticky(Model):
    """Labels a and b, the first of either with probability 1/2; p is that of repeating a label."""

    p: float
    n: int
    labels: tuple = ("a", "b")

    def layered(self):
        same, other = self.p, 1 - self.p
        label, first = np.array([0, 1]), np.zeros(2, np.int64)
        layers = [Layer(first, label, label, np.array([0.5, 0.5]), 2)]
        source, read = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
        layers += [Layer(source, read, read, np.array([same, other, other, same]), 2)] * (
            self.n - 1
        )
        ends = np.ones(2 if self.n else 1)
        return Layered(Alphabet(self.labels), np.ones(1), tuple(layers[: self.n]), ends, True)

    def by_hand(self, y):
        """The probability of a sequence, by its definition."""
        repeats = sum(a == b for a, b in pairwise(y))
        return 0.5 * self.p**repeats * (1 - self.p) ** (len(y) - 1 - repeats) if y else 1.0


class Steeper(Bernoulli):
    """A class of a class: independent labels, p squared."""

    def __init__(self, p):
        super().__init__(np.square(p))


@dataclass(frozen=True, eq=False, repr=False)
class Unregistered(Sticky):
    """One that says how it is written, which from_json does not know."""

    _arguments = ("p", "n")


class Nothing(Model):
    """A class without layers."""

    labels, n = (0, 1), 1


@pytest.mark.parametrize("n", SEQUENCES)
def test_it_answers_as_by_enumeration(n):
    model, truth = Sticky(0.8, n), {y: Sticky(0.8, n).by_hand(y) for y in SEQUENCES[n]}
    assert [model.probability(y) for y in truth] == pytest.approx(list(truth.values()), rel=1e-14)
    for i, row in enumerate(model.marginals()):
        assert row[0] == pytest.approx(sum(p for y, p in truth.items() if y[i] == "a"), rel=1e-14)
    expected = {
        z: sum(p * sum(a == b for a, b in zip(z, y, strict=True)) for y, p in truth.items())
        for z in truth
    }
    loss = fsmeu.loads("utility right labels any count c when z == y value c")
    assert fsmeu.decode(loss, model).value == pytest.approx(max(expected.values()), rel=1e-13)
    for z, value in expected.items():
        assert fsmeu.expect(loss, z, model).value == pytest.approx(value, rel=1e-13)


@pytest.mark.parametrize(
    "model",
    [
        *(Sticky(0.8, n) for n in SEQUENCES),
        Mixture([Sticky(0.8, 3), Sticky(0.1, 3)], [0.25, 0.75]),
        Steeper([0.5, 0.3]),
    ],
    ids=lambda model: f"{type(model).__name__} {model.n}",
)
def test_its_json_is_right(model):
    """It is written as the acceptor of its layers."""
    again = from_json(json.dumps(model.to_json(), allow_nan=False))
    assert (again.labels, again.n) == (model.labels, model.n)
    for y in product(model.labels, repeat=model.n):
        assert again.probability(y) == pytest.approx(model.probability(y), rel=1e-14)


def test_what_is_written_is_an_acceptor():
    assert isinstance(from_json(Sticky(0.8, 3).to_json()), Acceptor)
    assert Steeper([0.5]).probability([1]) == 0.25


def test_a_class_that_only_its_writer_knows_is_refused():
    with pytest.raises(FsmeuError, match=r"Unregistered.*KINDS in fsmeu/models/adapters\.py"):
        Unregistered(0.8, 3).to_json()


@pytest.mark.parametrize("ask", [Model.layered, Model.marginals, Model.to_json])
def test_a_class_without_layers_is_refused(ask):
    with pytest.raises(FsmeuError, match=r"Nothing: a label model must have layered\(\)"):
        ask(Nothing())
