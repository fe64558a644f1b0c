"""Random losses, label models with their listed distributions, and sequences, drawn together."""

import random
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

import fsmeu
from fsmeu.losses.language.read import read
from fsmeu.models import Model
from tests.label_models import PLAIN_KINDS, plain_model
from tests.losses.meaning import World
from tests.losses.writer import LABEL_SETS, Writer

NAMES = ("O", "B-x", "I-x", "B-y")


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


@dataclass(frozen=True)
class ModelCase:
    """A model and the probability of every sequence."""

    model: Model
    distribution: dict


def listed(spec):
    """The model of a spec with every probability."""
    return ModelCase(spec.build(), spec.listed())


@st.composite
def cases(draw, kinds=PLAIN_KINDS, most=5):
    """A model of one of the kinds: 2 to 4 labels, n from 0 to ``most`` (one more for two)."""
    kind = draw(st.sampled_from(list(kinds)))
    size = draw(st.integers(2, 4)) if kind != "bernoulli" else 2
    n = draw(st.integers(0, most + 1 if size == 2 else most - (size == 4)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    named = kind != "bernoulli" and rng.random() < 0.5
    return listed(plain_model(rng, kind, NAMES[:size] if named else tuple(range(size)), n))
