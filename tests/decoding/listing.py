"""The best sequence by listing: every z against every y, nothing of the decoders in it."""

from dataclasses import dataclass
from functools import cache

import numpy as np

import fsmeu
from fsmeu.decoding.problem import RefusalError
from fsmeu.fst.alphabet import Alphabet
from tests import brute_force, shelf
from tests.label_models import ModelSpec
from tests.strategies import listed, model_case
from tests.support.values import value_table

TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Listing:
    """A loss and its value for every pair of sequences of one length.

    Attributes:
        loss: the loss, over the labels.
        labels: the labels.
        sequences: every sequence.
        table: the value of every pair, rows are hypotheses.
    """

    loss: fsmeu.losses.protocol.Loss
    labels: tuple
    sequences: list
    table: np.ndarray

    @property
    def sign(self):
        return 1.0 if self.loss.kind == "utility" else -1.0

    def expected(self, distribution):
        """The expected value of every hypothesis."""
        return self.table @ np.array([distribution[y] for y in self.sequences])

    def best(self, distribution, allowed=None):
        """The best expected value, among the allowed hypotheses."""
        values = self.sign * self.expected(distribution)
        if allowed is not None:
            values = values[[allowed(z) for z in self.sequences]]
        return self.sign * values.max()


def make_listing(loss, labels, n):
    """Lists all pairs of length n."""
    labels = tuple(labels)
    if loss.labels_open:
        loss = loss.with_labels(Alphabet(labels))
    every = brute_force.sequences(labels, n)
    return Listing(loss, labels, every, value_table(loss, every, every))


@cache
def shelf_listing(name, n, size=2):
    """A loss from the shelf over its own labels, or 0, 1, ... where it leaves them open."""
    loss = shelf.load(name, size)
    return make_listing(loss, loss.labels, n)


def probabilities(rng, n):
    """Probabilities of ones: drawn, all equal, in quarters (0 and 1 among them), or rare."""
    p = rng.random(n)
    kind = rng.integers(0, 5)
    if kind == 1:
        return np.full(n, rng.random())
    if kind == 2:
        return np.round(p * 4) / 4
    if kind == 3:
        return p * 0.2
    return p


def random_model(rng, labels, n):
    """A model of order 0, 1 or 2, or a random field, with the probability of every sequence."""
    kind = int(rng.integers(0, 5))
    if kind == 3 and labels == (0, 1):
        return listed(ModelSpec("bernoulli", labels, n, {"p": probabilities(rng, n)}))
    if kind == 4 and n >= 1:
        return random_field(rng, labels, n)
    return model_case(rng, labels, n, kind % 3)


def random_field(rng, labels, n):
    """A conditional random field, its probabilities by listing."""
    unary, pairwise = rng.normal(size=(n, len(labels))), rng.normal(size=(len(labels),) * 2)
    return listed(ModelSpec("potentials", labels, n, {"unary": unary, "pairwise": pairwise}))


def ask(loss, model, **options):
    """The decision, or None where the method refuses."""
    try:
        return fsmeu.decode(loss, model, **options)
    except RefusalError:
        return None


def check(listing, case, decision, allowed=None):
    """A decision has the value that it says, and if it says so, the best value."""
    values = listing.expected(case.distribution)
    own = values[listing.sequences.index(tuple(decision.labels))]
    assert abs(decision.value - own) <= TOLERANCE * max(1.0, abs(own)), (decision, own)
    best = listing.best(case.distribution, allowed)
    if allowed is not None:
        assert allowed(tuple(decision.labels)), decision
    short = listing.sign * (best - own)
    assert short >= -TOLERANCE * max(1.0, abs(best))
    if decision.exact:
        assert short <= TOLERANCE * max(1.0, abs(best)), (decision, best, case.model)
