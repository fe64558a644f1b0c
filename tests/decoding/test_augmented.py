"""The loss-augmented argmax against a list of every sequence."""

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import EmptyError, InputError, SizeLimitError
from tests import brute_force, shelf
from tests.decoding.listing import make_listing, random_model

TOLERANCE = 1e-12


def listed_sums(listing, case, y):
    """log p(z) + loss(z, y), or minus the utility, of every sequence z."""
    p = np.array([case.distribution[z] for z in listing.sequences])
    with np.errstate(divide="ignore"):
        return np.log(p) - listing.sign * listing.table[:, listing.sequences.index(tuple(y))]


def check(listing, case, y, allowed=None, **options):
    """The decision has the greatest sum of all allowed sequences, and says so."""
    sums = listed_sums(listing, case, y)
    if allowed is not None:
        sums[[not allowed(z) for z in listing.sequences]] = -np.inf
    best = sums.max()
    decision = fsmeu.decode(listing.loss, case.model, augment=y, **options)
    own = sums[listing.sequences.index(tuple(decision.labels))]
    scale = TOLERANCE * max(1.0, abs(best))
    assert abs(own - best) <= scale
    assert abs(decision.value - best) <= scale
    assert decision.lower - scale <= best <= decision.upper + scale
    assert decision.upper - decision.lower <= 1e-9 * max(1.0, abs(best))
    assert decision.exact


@pytest.mark.parametrize("name", fsmeu.library())
@pytest.mark.thirds
def test_every_built_in_loss(name):
    """Losses of counts, of chunks, of windows, with requirements: against all sequences."""
    loss = shelf.load(name)
    labels = shelf.case(name).labels
    n = 3 if len(labels) > 3 else 5
    listing = make_listing(loss, labels, n)
    random = np.random.default_rng(len(name))
    defined = loss.allowed(n)
    allowed = None
    if defined is not None:
        allowed = lambda z: defined.accepts(loss.alphabet.encode(z))  # noqa: E731
    for _ in range(4):
        case = random_model(random, labels, n)
        y = listing.sequences[random.integers(len(listing.sequences))]
        check(listing, case, y, allowed)


def test_with_a_constraint():
    loss = fsmeu.load("fscore")
    listing = make_listing(loss, (0, 1), 5)
    random = np.random.default_rng(3)
    for _ in range(10):
        case = random_model(random, (0, 1), 5)
        y = listing.sequences[random.integers(32)]
        try:
            check(listing, case, y, lambda z: sum(z) <= 2, constraint="0*1?0*1?0*")
        except EmptyError:
            p = [case.distribution[z] for z in listing.sequences if sum(z) <= 2]
            assert not any(p)


def test_hypotheses_that_a_loss_requires():
    """Events that stand too near each other are no answers."""
    loss = fsmeu.load("event_fscore", tolerance=1)
    every = brute_force.sequences((0, 1), 6)
    texts = {z: "".join(map(str, z)) for z in every}
    apart = [z for z in every if "11" not in texts[z] and "101" not in texts[z]]
    random = np.random.default_rng(7)
    for _ in range(5):
        p = random.uniform(0.05, 0.95, 6)
        y = every[random.integers(64)]
        sums = [np.log(np.where(z, p, 1 - p)).sum() - loss(z, y) for z in apart]
        found = fsmeu.decode(loss, p, augment=y)
        assert abs(found.value - max(sums)) <= TOLERANCE * max(1.0, abs(max(sums)))
        assert tuple(found.labels) in apart


def test_a_loss_in_python():
    class Runs:
        """The difference of the numbers of runs."""

        def start(self):
            return (0, None, None)

        def step(self, state, a, b):
            return (state[0] + (a != state[1]) - (b != state[2]), a, b)

        def value(self, state):
            return abs(state[0])

    loss = fsmeu.function_loss(Runs(), (0, 1), name="runs")
    listing = make_listing(loss, (0, 1), 4)
    random = np.random.default_rng(5)
    for y in listing.sequences[::3]:
        check(listing, random_model(random, (0, 1), 4), y)


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


def test_margin_of_a_structured_svm():
    """The most violated constraint is at least as violated as that of any other sequence."""
    random = np.random.default_rng(2)
    labels = ("O", "B-X", "I-X")
    unary = random.normal(size=(4, 3))
    pairwise = random.normal(size=(3, 3))
    field = fsmeu.models.from_potentials(unary, pairwise, labels=labels)
    y = ["B-X", "I-X", "O", "B-X"]
    found = fsmeu.decode("chunk_fscore", field, augment=y)
    violated = found.value + 1.0 - field.log_probability(y)  # 1 - F1 in place of -F1
    score = fsmeu.load("chunk_fscore", labels=labels)
    for z, _ in field.most_probable(81):
        margin = field.log_probability(z) + 1.0 - score(z, y) - field.log_probability(y)
        assert margin <= violated + TOLERANCE


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"method": "counting"}, "method='counting'"),
        ({"k": 2}, "k=2"),
        ({"keep": 3}, "keep=3"),
        ({"engine": "openfst"}, "engine='openfst'"),
        ({"seconds": 1.0}, "seconds=1.0"),
    ],
)
def test_other_options_are_refused(options, told):
    with pytest.raises(InputError, match="one method finds the best path") as caught:
        fsmeu.decode("fscore", [0.5, 0.2], augment=[1, 0], **options)
    assert told in str(caught.value)


def test_bad_references_and_models(monkeypatch):
    with pytest.raises(InputError, match="length of the model, 2"):
        fsmeu.decode("fscore", [0.5, 0.2], augment=[1])
    with pytest.raises(InputError, match="reference"):
        fsmeu.decode("fscore", [0.5, 0.2], augment=[1, 7])
    twice = fsmeu.models.Mixture(
        [fsmeu.models.Bernoulli([0.5, 0.2]), fsmeu.models.Bernoulli([0.1, 0.9])], [0.5, 0.5]
    )
    with pytest.raises(InputError, match="no two paths"):
        fsmeu.decode("fscore", twice, augment=[1, 0])
    with pytest.raises(EmptyError, match="probability above 0"):
        fsmeu.decode("fscore", [1.0, 1.0], augment=[1, 0], constraint="00")
    monkeypatch.setenv("FSMEU_MAX_STATES", "1000")
    with pytest.raises(SizeLimitError, match="FSMEU_MAX_STATES"):
        fsmeu.decode("fscore", np.full(500, 0.5), augment=[1] * 500)
