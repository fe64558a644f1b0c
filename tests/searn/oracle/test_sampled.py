"""Costs by samples: unbiased, repeatable, and without noise where tied numbers cancel."""

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import InputError
from fsmeu.searn.oracle.expected import ExpectedCosts
from fsmeu.searn.oracle.sampled import SampledCosts

LABELS = ("O", "B-X", "I-X")
BOUND = 5.0
"""Standard errors that a mean may be off; chance exceeds it once in 1.7 million draws."""


def chain(n, seed):
    """Probabilities given the last label, and a policy that draws by them."""
    rng = np.random.default_rng(seed)
    first, rest = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), (n - 1, 3))

    def policy(prefix, random):
        chances = rest[len(prefix) - 1, LABELS.index(prefix[-1])] if prefix else first
        return LABELS[int(np.searchsorted(np.cumsum(chances)[:-1], random.random()))]

    return [first, *rest], policy


@pytest.mark.parametrize("tied", [True, False])
def test_means_are_unbiased(tied):
    n, samples = 5, 400
    loss = fsmeu.load("chunk_fscore", labels=LABELS)
    tables, policy = chain(n, 3)
    y = ["B-X", "I-X", "O", "B-X", "O"]
    sampled = SampledCosts(loss, y, policy, samples=samples, tied=tied, seed=11)
    for prefix in ([], ["B-X"], ["O", "B-X", "I-X"]):
        draws, truth = sampled.draws(prefix), ExpectedCosts(loss, y, tables).values(prefix)
        error = draws.std(axis=0, ddof=1) / np.sqrt(samples)
        assert (np.abs(draws.mean(axis=0) - truth) <= BOUND * error + 1e-12).all()
        assert (sampled.values(prefix) == draws.mean(axis=0)).all()


def test_one_tied_sample_is_exact_where_completions_do_not_depend_on_the_label():
    """Hamming loss and a policy without history: what follows is the same for all labels."""
    loss = fsmeu.load("hamming", labels=LABELS)
    y = ["O", "B-X", "I-X", "O"]

    def coin(prefix, random):
        return LABELS[int(random.integers(3))]

    exact = ExpectedCosts(loss, y, [[1 / 3] * 3] * 4)
    for seed in range(5):
        tied = SampledCosts(loss, y, coin, seed=seed)
        np.testing.assert_allclose(tied.costs(["B-X"]), exact.costs(["B-X"]), rtol=1e-12)
    untied = [SampledCosts(loss, y, coin, seed=s, tied=False).costs(["B-X"]) for s in range(5)]
    assert any(not np.allclose(costs, exact.costs(["B-X"])) for costs in untied)


def test_tied_numbers_are_those_of_the_position():
    """Every label sees the same number at each position, however many were drawn before."""
    drawn = {}

    def policy(prefix, random):
        drawn[len(prefix), prefix[0]] = random.random()
        random.random(prefix[0])  # the next position has numbers of its own all the same
        return 0

    SampledCosts(fsmeu.load("hamming"), [0, 1, 1, 0], policy, seed=5).costs([])
    for position in (1, 2, 3):
        assert drawn[position, 0] == drawn[position, 1]
    assert len({drawn[position, 0] for position in (1, 2, 3)}) == 3


def test_policy_with_unbounded_history():
    """It sees all labels so far: here it repeats the first."""
    loss = fsmeu.load("fscore")
    sampled = SampledCosts(loss, [1, 1, 0, 1], lambda prefix, random: prefix[0])
    assert sampled.values([]).tolist() == [loss([a] * 4, [1, 1, 0, 1]) for a in (0, 1)]
    assert sampled.costs([]).tolist() == pytest.approx([6 / 7, 0.0])
    assert sampled.values([1, 0]).tolist() == [loss([1, 0, a, 1], [1, 1, 0, 1]) for a in (0, 1)]


@pytest.mark.parametrize(
    "arguments",
    [
        {"policy": "no"},
        {"samples": 0},
        {"samples": 1.5},
        {"tied": "yes"},
        {"seed": -1},
        {"labels": "ab"},
    ],
)
def test_strange_arguments_are_refused(arguments):
    given = {"policy": lambda prefix, random: 0, **arguments}
    with pytest.raises(InputError):
        SampledCosts(fsmeu.load("fscore"), [0, 1], **given)


def test_strange_answers_are_refused():
    sampled = SampledCosts(fsmeu.load("fscore"), [0, 1, 1], lambda prefix, random: "x")
    with pytest.raises(InputError, match="must return a label"):
        sampled.costs([1])
    with pytest.raises(InputError, match="fewer than 3"):
        sampled.costs([1, 0, 1])
