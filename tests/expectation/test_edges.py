"""The ends of the scale: certainty, tiny numbers, acceptors."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from tests import brute_force, shelf
from tests.expectation.checks import ENGINES, close, engines
from tests.label_models import random_layers

ALMOST = math.nextafter(1.0, 0.0)
EXTREME = [0.0, 1.0, 5e-324, ALMOST, 1e-300, 1 - 1e-16, 0.5, 1e-16]


@settings(max_examples=100, deadline=None)
@given(
    name=st.sampled_from(fsmeu.library()),
    rows=st.lists(st.sampled_from(EXTREME), max_size=6),
    data=st.data(),
)
def test_no_probability_makes_a_nan(name, rows, data):
    """Each row is spread over the first and the last label."""
    loss = shelf.load(name)
    labels, n = loss.alphabet.labels, len(rows)
    z = data.draw(st.lists(st.sampled_from(labels), min_size=n, max_size=n))
    table = np.zeros((n, len(labels)))
    table[:, 0] = 1.0 - np.array(rows)
    table[:, -1] = rows if len(labels) > 1 else 1.0
    model = fsmeu.models.Independent(table, labels)
    ends = np.array(list(itertools.product((0, len(labels) - 1), repeat=n))).reshape(2**n, n)
    values = loss.pair_values(np.tile(loss.alphabet.encode(z), (2**n, 1)), ends)
    answers = [fsmeu.expect(loss, z, model, engine=engine) for engine in ENGINES]
    answers.append(fsmeu.expect(loss, z, model, keep=data.draw(st.integers(1, 5))))
    for known in answers:
        numbers = [known.value, known.lower, known.upper, known.kept, known.variance]
        numbers += [*known.levels.values, *known.levels.probabilities, known.quantile(0.3)]
        assert all(map(math.isfinite, numbers))
        assert known.variance >= 0
        assert (np.diff(known.levels.values) > 0).all()
    exact, built, some = answers
    scale = np.abs(values).max()
    room = 1e-12 * scale
    assert values.min() - room <= exact.value <= values.max() + room
    assert exact.value == close(built.value, scale)
    assert some.lower - room <= exact.value <= some.upper + room


def test_a_step_that_no_state_that_is_kept_may_take_is_not_looked_at():
    """A second 4, which follows only what is not kept, would leave the bounds of r."""
    update = "register r in 0..2 start 1 next if y == 4 and i > 1 then 3 else 1"
    loss = fsmeu.loads(f"loss f labels 0 4 {update} value r range 0 .. 3")
    pairs = fsmeu.models.NBest([[0, 0], [4, 4]], [0.75, 0.25], [0, 4])
    answer = fsmeu.expect(loss, [0, 0], pairs, keep=1)
    assert (answer.kept, answer.lower, answer.upper) == pytest.approx((0.75, 0.75, 1.5))


# -- acceptors -------------------------------------------------------------------------------------


@engines
@pytest.mark.parametrize("n", [0, 1, 3])
def test_weights_at_the_ends_of_an_acceptor_count(engine, n):
    """Starts and ends of an acceptor that is not normalised are factors of the expectation."""
    layered = random_layers(np.random.default_rng(n), (0, 1), n)
    f1, z, weights = fsmeu.load("fscore"), [1, 0, 1][:n], brute_force.path_distribution(layered)
    wanted = sum(p * fsmeu.evaluate(f1, z, y) for y, p in weights.items())
    model = fsmeu.models.Acceptor(layered, normalize=False)
    answer = fsmeu.expect(f1, z, model, engine=engine)
    assert answer.value == pytest.approx(wanted, rel=1e-13)
    assert answer.kept == pytest.approx(sum(weights.values()), rel=1e-13)
    assert answer.levels.mean == pytest.approx(wanted, rel=1e-13)
