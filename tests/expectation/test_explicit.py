"""The explicit engine by itself: what it composes, weights of acceptors, messages about sizes."""

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import SizeLimitError
from tests import brute_force
from tests.expectation.checks import engines
from tests.label_models import random_layers


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


@pytest.mark.parametrize("ask", [fsmeu.expect, fsmeu.gradient])
def test_what_is_too_large_is_said_to_have_another_engine(ask, monkeypatch):
    monkeypatch.setenv("FSMEU_MAX_STATES", "20")
    with pytest.raises(SizeLimitError, match="The default engine has no such limit"):
        ask(fsmeu.load("jaccard"), [1, 0] * 4, [0.3, 0.4] * 4, engine="openfst")
