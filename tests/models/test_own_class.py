"""A model class that somebody adds: labels, n and layered() are all that it needs.

What it promises, and losses of one's own, are checked by ``fsmeu.testing``.
"""

import json
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import FsmeuError
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.layers import Layer, Layered
from fsmeu.models import Bernoulli, Mixture, Model, NBest, from_json
from fsmeu.testing import check_loss, check_model
from tests.support.python_losses import Mistakes


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
        return Layered(Alphabet(self.labels), np.ones(1), tuple(layers[: self.n]), ends)

    def by_hand(self, y):
        """The probability of a sequence, by its definition."""
        repeats = sum(a == b for a, b in pairwise(y))
        return 0.5 * self.p**repeats * (1 - self.p) ** (len(y) - 1 - repeats) if y else 1.0


@dataclass(frozen=True, eq=False, repr=False)
class Twice(Sticky):
    """One of three chains, two of which are alike: three paths read each sequence."""

    def layered(self):
        parts = [Sticky(p, self.n) for p in (self.p, 0.3, 0.3)]
        return Mixture(parts, [0.3, 0.35, 0.35]).layered()


@dataclass(frozen=True, eq=False, repr=False)
class Half(Sticky):
    """Sticky, each weight being half of what it must be."""

    def layered(self):
        whole = super().layered()
        return replace(whole, start=whole.start / 2)


@dataclass(frozen=True, eq=False, repr=False)
class Declared(Half):
    """The same, which says so."""

    normalized = False


RIGHT = [
    *(Sticky(0.8, n) for n in (0, 1, 3)),
    Twice(0.9, 3),
    Declared(0.8, 3),
    Mixture([Sticky(0.8, 3), Sticky(0.1, 3)], [0.25, 0.75]),
    NBest(["0110", "0111", "0000"], [5, 3, 2]),
]


@pytest.mark.parametrize("model", RIGHT, ids=lambda model: f"{type(model).__name__} {model.n}")
def test_models_that_are_right_pass(model):
    """All queries agree; what is written is the acceptor of its layers."""
    check_model(model, model.by_hand if type(model) is Sticky else None)
    again = from_json(json.dumps(model.to_json(), allow_nan=False))
    assert (again.labels, again.n) == (model.labels, model.n)
    for y in product(model.labels, repeat=model.n):
        assert again.probability(y) == pytest.approx(model.probability(y), rel=1e-14)


def test_layers_of_a_class_are_not_replaced():
    with pytest.raises(FsmeuError, match=r"Other.*derived from fsmeu\.Model.*one of Bernoulli"):
        type("Other", (Bernoulli,), {"layered": lambda self: Sticky(0.8, 3).layered()})
    with pytest.raises(FsmeuError, match=r"Nothing: a label model must have layered\(\)"):
        type("Nothing", (Model,), {"labels": (0, 1), "n": 1})().marginals()


def changed(**columns):
    """Sticky with other columns in its second layer."""

    class Changed(Sticky):
        def layered(self):
            whole = super().layered()
            first, second, third = whole.layers
            return replace(whole, layers=(first, replace(second, **columns), third))

    return Changed(0.8, 3)


def overridden(name, answer):
    """Sticky with one answer of its own."""
    return type("Odd", (Sticky,), {name: answer})(0.8, 3)


BROKEN = [
    (changed(source=np.array([0, 0, 1, 2])), r"layers\[1\]\.source.*from 0 to 1.*2\.0 at entry 3"),
    (changed(target=np.array([0, 1, 0])), r"layers\[1\]\.target.*each of the 4 sources.*Got 3"),
    (changed(weight=np.array([0.8, 0.2, np.nan, 1])), r"layers\[1\]\.weight.*finite"),
    (
        overridden("layered", lambda self: Sticky(0.8, 2).layered()),
        r"length of the model.*and 2 layers",
    ),
    (Half(0.8, 3), r"Half\.layered\(\).*add up to 1.*sum of 0\.5.*normalize"),
]


@pytest.mark.parametrize(("model", "words"), BROKEN)
def test_layers_are_what_they_promise(model, words):
    for ask in (
        lambda: fsmeu.decode("hamming", model),
        lambda: fsmeu.expect("zero_one", "abb", model),
        lambda: Mixture([model, Sticky(0.5, 3)], [0.5, 0.5]).marginals(),
        lambda: check_model(model),
    ):
        with pytest.raises(FsmeuError, match=words):
            ask()


ODD = [
    (
        overridden("marginals", lambda self: np.full((3, 2), [0.4, 0.6])),
        r"marginals\(\)\[0, 0\]",
    ),
    (
        overridden("probability", lambda self, y: 0.0),
        r"probability\(\['a', 'a', 'a'\]\) must be 0\.32",
    ),
    (Sticky(0.8, 9), "at most 65,536 pairs of sequences"),
]


@pytest.mark.parametrize(("model", "words"), ODD)
def test_models_that_are_not_right_are_told_so(model, words):
    with pytest.raises(FsmeuError, match=words):
        check_model(model)
    with pytest.raises(FsmeuError, match=r"by layers must be 0\.125, by definition\. Got 0\.32"):
        check_model(Sticky(0.8, 3), lambda y: 0.125)


@pytest.mark.parametrize("loss", [Mistakes(), "event_fscore"])
def test_losses_that_are_right_pass(loss):
    check_loss(loss, n=2)


RANDOM = np.random.default_rng(0)


def lossy(**methods):
    """Mistakes with other methods."""
    return type("Lossy", (Mistakes,), methods)()


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (lossy(start=lambda self: [0]), r"start\(\).*can be hashed.*\[0\].*tuples"),
        (lossy(step=lambda self, s, z, y: object()), r"step\(0, 0, 0\).*equal states each time"),
        (lossy(value=lambda self, s: float("inf")), r"value\(0\).*finite.*inf"),
        (lossy(value=lambda self, s, drawn=RANDOM: drawn.random()), r"value\(0\), asked again"),
        (fsmeu.loads("loss a labels 0 1 count c when z != y range 0..1 value c"), "range"),
    ],
)
def test_losses_that_are_not_right_are_told_so(loss, words):
    with pytest.raises(FsmeuError, match=words):
        check_loss(loss)
