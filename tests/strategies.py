"""Random losses, label models with their listed distributions, and sequences, drawn together."""

import random
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

import fsmeu
from fsmeu.losses.language.read import read
from fsmeu.models import Bernoulli, Independent, Markov, Model
from tests import brute_force
from tests.losses.meaning import World
from tests.losses.writer import LABEL_SETS, Writer

LONGEST = {1: 4, 2: 9, 3: 5, 4: 4}
"""How long sequences get, by the number of labels: a few hundred of them at most."""


@dataclass(frozen=True)
class LossCase:
    """A loss file with what it is loaded with."""

    text: str
    labels: tuple
    ask: bool
    given: dict

    def load(self):
        return fsmeu.loads(self.text, labels=self.labels if self.ask else None, **self.given)

    def world(self, n):
        return World(read(self.text), self.labels, n, **self.given)

    def __repr__(self):
        return f"{self.text}# labels={self.labels if self.ask else None} {self.given}"


@st.composite
def losses(draw, label_sets=LABEL_SETS, risky=False):
    labels = draw(st.sampled_from(label_sets))
    writer = Writer(random.Random(draw(st.integers(0, 2**32))), labels, risky)
    text, ask = writer.file()
    return LossCase(text, labels, ask, writer.given)


def rows(rng, *shape):
    """Distributions along the last axis; some with zeros, some certain."""
    array = rng.random(shape) + 1e-3
    kind = rng.integers(0, 6, shape[:-1])
    one = np.eye(shape[-1])[rng.integers(0, shape[-1], shape[:-1])]
    array = np.where((kind == 0)[..., None], one, array)
    array = np.where((kind == 1)[..., None] & (rng.random(shape) < 0.4), one, array)
    array = np.where(array.sum(axis=-1, keepdims=True) == 0, one, array)
    return array / array.sum(axis=-1, keepdims=True)


@dataclass(frozen=True)
class ModelCase:
    """A model and the probability of every sequence."""

    model: Model
    distribution: dict
    order: int


def model_case(rng, labels, n, order):
    """A model of the given Markov order, with every probability listed."""
    size = len(labels)
    if order == 0 and labels == (0, 1) and rng.random() < 0.5:
        p = rows(rng, n, 2)[:, 1]
        listed = brute_force.independent(np.stack([1 - p, p], axis=1), labels)
        return ModelCase(Bernoulli(p), listed, 0)
    if order == 0:
        table = rows(rng, n, size)
        return ModelCase(Independent(table, labels), brute_force.independent(table, labels), 0)
    initial = rows(rng, size**order).reshape((size,) * order)
    each = (max(0, n - order),) if rng.random() < 0.5 else ()
    transition = rows(rng, *each, *(size,) * (order + 1))
    listed = brute_force.markov(initial, transition, labels, n)
    return ModelCase(Markov(initial, transition, n, labels), listed, order)


@st.composite
def model_cases(draw, labels, n):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return model_case(rng, labels, n, draw(st.integers(0, 3)))


@st.composite
def lengths(draw, labels, most=None):
    top = LONGEST[len(labels)] if most is None else most
    return draw(st.integers(0, top))


@dataclass(frozen=True)
class Question:
    """A loss, a hypothesis and a model that fit together, and every value of the loss."""

    case: LossCase
    z: tuple
    model: ModelCase

    @property
    def pairs(self):
        """(value, probability) of every y, by the second reading of the file."""
        values = self.case.world(len(self.z)).every_y(self.z)
        return brute_force.joint(values, self.model.distribution)


@st.composite
def questions(draw, label_sets=LABEL_SETS, most=None):
    case = draw(losses(label_sets))
    n = draw(lengths(case.labels, most))
    z = tuple(draw(st.lists(st.sampled_from(case.labels), min_size=n, max_size=n)))
    return Question(case, z, draw(model_cases(case.labels, n)))
