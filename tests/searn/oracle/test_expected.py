"""Expected costs equal sums over all completions, and ``expect`` with a chain as hypothesis."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import InputError
from fsmeu.models import Independent, Markov
from fsmeu.searn.oracle.expected import ExpectedCosts
from tests.strategies import losses

LONGEST = {1: 5, 2: 6, 3: 4, 4: 3}


def fractions(rng, *shape):
    """Rows of fractions that sum to 1; some entries are 0, some rows certain."""
    table = np.empty(shape, object)
    for at in np.ndindex(shape[:-1]):
        parts = [rng.choice([0, 1, 2, 5]) for _ in range(shape[-1])]
        parts[rng.randrange(shape[-1])] += 1
        table[at] = [Fraction(part, sum(parts)) for part in parts]
    return table


def policy_of(rng, size, n, order):
    """For each position the probabilities of the next label given the last few."""
    return [fractions(rng, *(size,) * (min(t, order) + 1)) for t in range(n)]


def expectation(world, y, policy, order, prefix):
    """The expected value after a prefix, a fraction where values are."""
    labels = world.labels

    def visit(state, z):
        if len(z) == len(y):
            return world.value(state)
        last = z[max(0, len(z) - order) :] if order else ()
        chances = policy[len(z)][tuple(labels.index(a) for a in last)]
        total = 0
        for a, chance in zip(labels, chances, strict=True):
            if chance:
                after = world.step(state, a, y[len(z)], len(z) + 1)
                total += chance * visit(after, (*z, a))
        return total

    state = world.start()
    for t, a in enumerate(prefix):
        state = world.step(state, a, y[t], t + 1)
    return visit(state, tuple(prefix))


@settings(max_examples=40)
@given(case=losses(), seed=st.integers(0, 2**32), order=st.integers(0, 2))
def test_equals_enumeration(case, seed, order):
    rng = random.Random(seed)
    n = rng.randint(0, LONGEST[len(case.labels)])
    y = tuple(rng.choices(case.labels, k=n))
    policy = policy_of(rng, len(case.labels), n, order)
    loss, world = case.load(), case.world(n)
    expected = ExpectedCosts(loss, y, [table.astype(float) for table in policy])
    scale = 1 + max(abs(float(v)) for v in case.world(n).every_y(y).values())
    for t in {0, n // 2, max(0, n - 1)} & set(range(n)):
        prefix = tuple(rng.choices(case.labels, k=t))
        truth = [expectation(world, y, policy, order, (*prefix, a)) for a in case.labels]
        found = expected.values(prefix)
        sign = 1 if loss.kind == "utility" else -1
        scale = max(scale, *(abs(float(v)) for v in truth))
        np.testing.assert_allclose(found, np.array(truth, float), rtol=1e-12, atol=1e-12 * scale)
        best = max(sign * v for v in truth)
        costs = [float(best - sign * v) for v in truth]
        np.testing.assert_allclose(expected.costs(prefix), costs, rtol=1e-12, atol=1e-12 * scale)
        value = expectation(world, y, policy, order, prefix)
        assert expected.value(prefix) == pytest.approx(float(value), rel=1e-12, abs=1e-12 * scale)


@pytest.mark.parametrize("name", ["chunk_fscore", "hamming", "windowdiff"])
def test_equals_expect_with_the_chain_as_hypothesis(name):
    """By the other engine: the chain on the tape of z, all mass of the reference on y."""
    rng = np.random.default_rng(7)
    labels = ("O", "B-X", "I-X") if name == "chunk_fscore" else (0, 1)
    loss = fsmeu.load(name, labels=labels if name != "windowdiff" else None, **PARAMS.get(name, {}))
    n, size = 6, len(labels)
    initial, steps = rng.dirichlet(np.ones(size)), rng.dirichlet(np.ones(size), (n - 1, size))
    chain = Markov(initial, steps, labels=labels)
    y = [labels[k] for k in rng.integers(0, size, n)]
    point = Independent(np.eye(size)[[labels.index(a) for a in y]], labels)
    truth = fsmeu.expect(loss, chain, point, engine="openfst").value
    assert ExpectedCosts(loss, y, chain).value() == pytest.approx(truth, rel=1e-9)


PARAMS = {"windowdiff": {"k": 2}}


def test_certain_policy_is_its_own_completion():
    loss = fsmeu.load("fscore")
    y = (1, 0, 1, 1)
    certain = [[0.0, 1.0]] * 4
    expected = ExpectedCosts(loss, y, certain)
    for prefix in itertools.product((0, 1), repeat=2):
        assert expected.value(prefix) == loss((*prefix, 1, 1), y)


def test_model_that_excludes_a_prefix():
    loss = fsmeu.load("hamming")
    chain = Markov([[0.5, 0.5], [0.0, 0.0]], np.full((2, 2, 2), 0.5), n=4)
    expected = ExpectedCosts(loss, [0, 1, 0, 1], chain)
    assert expected.value([0]) == pytest.approx(3 / 8)
    with pytest.raises(InputError, match="probability 0"):
        expected.value([1])


@pytest.mark.parametrize(
    "policy",
    [
        [[0.5, 0.5]],
        [[0.5, 0.6]] * 3,
        [[0.5, 0.5, 0.0]] * 3,
        [[0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], [0.5, 0.5]],
        ["a", "b", "c"],
        3,
        Independent([[0.5, 0.5]] * 2),
        fsmeu.models.NBest(["000", "111"], [1, 1], labels=(0, 1)),
    ],
)
def test_strange_policies_are_refused(policy):
    with pytest.raises(InputError):
        ExpectedCosts(fsmeu.load("hamming"), [0, 1, 0], policy)
