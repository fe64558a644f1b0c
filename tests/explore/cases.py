"""A case: a loss file and label models of one length. Case k of seed S is always the same."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import fsmeu
from fsmeu.errors import FsmeuError
from tests.explore.programs import random_program
from tests.explore.truth import truth_of
from tests.label_models import ModelSpec, random_model
from tests.strategies import LossCase

LENGTHS = {
    2: (0, 1, 2, 2, 3, 3, 3, 4, 4, 5, 6),
    3: (0, 1, 2, 2, 3, 3, 4),
    4: (0, 1, 2, 2, 3),
    5: (0, 1, 2, 2),
}
"""Lengths to draw from, by the number of labels: a few thousand pairs at most."""


@dataclass(frozen=True, eq=False)
class Case:
    """What a check is given.

    Attributes:
        program: the loss file, with what it is loaded with.
        models: three label models of one length; the first is the reference's.
    """

    program: LossCase
    models: tuple[ModelSpec, ...]

    @property
    def n(self):
        return self.models[0].n

    @property
    def labels(self):
        return self.program.labels

    @cached_property
    def loss(self):
        """The loss, asked for a shorter sequence before: what it keeps must not harm."""
        loss = self.program.load()
        if self.n:
            with suppress(FsmeuError):
                fsmeu.expect(loss, self.shorter_z, self.models[0].shorter().build())
        return loss

    @property
    def shorter_z(self):
        return [self.labels[-1]] * (self.n - 1)

    @cached_property
    def truth(self):
        """Every pair, by the second reading of the language."""
        return truth_of(self.loss.spec, self.labels, self.program.given, self.n)

    @cached_property
    def built(self):
        return tuple(spec.build() for spec in self.models)

    @cached_property
    def chances(self):
        """The probability of every sequence, for each model."""
        return tuple(spec.chances() for spec in self.models)


def random_case(seed, k):
    """Case k of a seed."""
    source = random.Random(f"fsmeu {seed} {k}")
    program = random_program(source)
    n = source.choice(LENGTHS[len(program.labels)])
    rng = np.random.default_rng(source.getrandbits(64))
    first = random_model(rng, program.labels, n)
    alike = random_model(rng, program.labels, n, (first.kind,))
    return Case(program, (first, alike, random_model(rng, program.labels, n)))
