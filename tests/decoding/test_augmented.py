"""The loss-augmented argmax against a list of every sequence."""

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import EmptyError
from tests import shelf
from tests.decoding.listing import TOLERANCE, make_listing, random_model


def check(listing, case, y, allowed=None, **options):
    """The decision has the greatest log p(z) + loss(z, y) of all allowed sequences, and says so."""
    p = np.array([case.distribution[z] for z in listing.sequences])
    with np.errstate(divide="ignore"):
        sums = np.log(p) - listing.sign * listing.table[:, listing.sequences.index(tuple(y))]
    if allowed is not None:
        sums[[not allowed(z) for z in listing.sequences]] = -np.inf
    best = sums.max()
    decision = fsmeu.decode(listing.loss, case.model, augment=y, **options)
    own = sums[listing.sequences.index(tuple(decision.labels))]
    scale = TOLERANCE * max(1.0, abs(best))
    assert abs(own - best) <= scale
    assert abs(decision.value - best) <= scale
    assert decision.lower - scale <= best <= decision.upper + scale
    assert decision.upper - decision.lower <= 2.1e-9 * max(1.0, abs(best))
    assert decision.exact


@pytest.mark.parametrize("name", fsmeu.library())
def test_every_built_in_loss(name):
    """Losses of counts, of chunks, of windows, with requirements: against all sequences."""
    loss = shelf.load(name)
    labels = shelf.case(name).labels
    n = {2: 5, 3: 4}.get(len(labels), 2)
    listing = make_listing(loss, labels, n)
    random = np.random.default_rng(len(name))
    defined = loss.allowed(n)
    allowed = None
    if defined is not None:
        allowed = lambda z: defined.accepts(loss.alphabet.encode(z))  # noqa: E731
    for _ in range(2):
        case = random_model(random, labels, n)
        check(listing, case, listing.sequences[random.integers(len(listing.sequences))], allowed)


def test_with_a_constraint():
    listing = make_listing(fsmeu.load("fscore"), (0, 1), 5)
    random = np.random.default_rng(3)
    for _ in range(10):
        case = random_model(random, (0, 1), 5)
        y = listing.sequences[random.integers(32)]
        try:
            check(listing, case, y, lambda z: sum(z) <= 2, constraint="0*1?0*1?0*")
        except EmptyError:
            assert not any(case.distribution[z] for z in listing.sequences if sum(z) <= 2)


def test_many_labels_under_hamming():
    """Counts with one slope pay on arcs: 3,000 positions take no 3,000 states."""
    random = np.random.default_rng(1)
    scores = random.normal(size=(3000, 4))
    field = fsmeu.models.from_potentials(scores, np.zeros((4, 4)), labels="abcd")
    y = random.choice(list("abcd"), 3000)
    found = fsmeu.decode("hamming", field, augment=list(y))
    # Hamming loss is the share of wrong labels, so that each position decides for itself.
    wrong = np.array(list("abcd"))[None, :] != y[:, None]
    best = (scores + wrong / 3000).argmax(axis=1)
    assert found.labels == [*np.array(list("abcd"))[best]]
