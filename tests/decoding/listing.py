"""The best sequence by listing: every z against every y, nothing of the decoders in it."""

from dataclasses import dataclass
from functools import cache

import numpy as np

import fsmeu
from fsmeu.decoding.choice import METHODS
from fsmeu.decoding.problem import RefusalError
from fsmeu.fst.alphabet import Alphabet
from tests import brute_force, label_models, shelf
from tests.strategies import listed
from tests.support.values import value_table

TOLERANCE = 1e-12
METHODS = tuple(METHODS)
BY_ALGEBRA = ("ratios", "additive", "counting", "viterbi", "ranking")
TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]
COUNTS = "labels 0 1 count tp when z == 1 and y == 1 count hyp when z == 1 count ref when y == 1 "


@dataclass(frozen=True, eq=False)
class Listing:
    """A loss and its value for every pair of sequences of one length; rows are hypotheses."""

    loss: fsmeu.losses.protocol.Loss
    labels: tuple
    sequences: list
    table: np.ndarray

    @property
    def sign(self):
        return 1.0 if self.loss.kind == "utility" else -1.0

    def worths(self, distribution):
        """The expected value of every hypothesis, losses with a minus."""
        return self.sign * self.table @ np.array([distribution[y] for y in self.sequences])

    def rounding(self, distribution):
        """What sums and products of the listing itself may lose: the terms of kappa cancel."""
        sizes = np.abs(self.table) @ np.array([distribution[y] for y in self.sequences])
        return 2 * len(self.sequences) * np.finfo(float).eps * sizes.max(initial=0.0)

    def worth(self, labels, distribution):
        return self.worths(distribution)[self.sequences.index(tuple(labels))]


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


def random_model(rng, labels, n):
    """A model of order 0 to 3, or a random field, with the probability of every sequence."""
    kinds = ("bernoulli", "independent", "markov", "potentials")
    return listed(label_models.random_model(rng, tuple(labels), n, kinds))


def random_field(random, n, scale=1.0, tags=TAGS, rare=0.0):
    """A random field over tags; the greater ``rare``, the fewer chunks."""
    unary = random.normal(size=(n, len(tags))) * scale
    unary[:, 0] += rare
    pairwise = random.normal(size=(len(tags), len(tags))) * scale
    return fsmeu.models.from_potentials(unary, pairwise, tags)


def ask(loss, model, **options):
    """The decision, or None where the method refuses."""
    try:
        return fsmeu.decode(loss, model, **options)
    except RefusalError:
        return None


def check(listing, case, decision, allowed=None):
    """A decision has the value that it says, and if it says so, the best value."""
    own = listing.worth(decision.labels, case.distribution)
    value = listing.sign * decision.value
    assert abs(value - own) <= TOLERANCE * max(1.0, abs(own)), (decision, own)
    worths = listing.worths(case.distribution)
    if allowed is not None:
        assert allowed(tuple(decision.labels)), decision
        worths = worths[[allowed(z) for z in listing.sequences]]
    best = worths.max()
    assert best - own >= -TOLERANCE * max(1.0, abs(best))
    low, high = sorted((listing.sign * decision.lower, listing.sign * decision.upper))
    slack = TOLERANCE * abs(best) + listing.rounding(case.distribution)
    assert low - slack <= best <= high + slack, (decision, best)
    if decision.exact:
        assert best - own <= TOLERANCE * max(1.0, abs(best)), (decision, best, case.model)
