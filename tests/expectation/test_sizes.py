"""Queries over very many labels: an answer or a sentence, before memory is taken."""

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import SizeLimitError
from fsmeu.losses.machine.view import SpecView
from fsmeu.models import Independent, Markov

TYPES = [f"T{k}" for k in range(149)]


@pytest.fixture
def widest(monkeypatch):
    """The cells of the widest step that a view was asked for."""
    asked = [0]
    plain = SpecView.advance

    def advance(self, i, codes, symbols=None):
        asked[0] = max(asked[0], len(codes) * (self.symbols if symbols is None else len(symbols)))
        assert asked[0] <= 40_000_000
        return plain(self, i, codes, symbols)

    monkeypatch.setattr(SpecView, "advance", advance)
    return asked


def test_a_space_of_many_steps_is_walked_as_it_is_reached(widest):
    """A million contents of the registers times 299 labels are never stepped from at once.

    How long it would take is seen after a few positions.
    """
    loss = fsmeu.load("chunk_fscore", types=TYPES)
    model = Independent(np.full((80, 299), 1 / 299), loss.labels)
    view = loss.view(80, np.zeros(80, np.int64), weights=True)
    assert view.space is not None
    assert view.space * view.symbols > 200_000_000
    with pytest.raises(SizeLimitError, match="a walk may take at most 40,000,000 steps"):
        fsmeu.expect(loss, ["O"] * 80, model, max_states=500_000)
    assert 0 < widest[0] < 2_000_000


def test_the_spread_of_a_gradient_is_seen_before(widest, monkeypatch):
    monkeypatch.setenv("FSMEU_MAX_STATES", "100000")
    loss = fsmeu.load("span_fscore", types=TYPES)
    rows = np.full((300, 299), 1 / 299)
    model = Markov(rows[0], rows[1:], n=80, labels=loss.labels)
    with pytest.raises(SizeLimitError, match="gradient: a machine may have at most"):
        fsmeu.gradient(loss, ["B-T0", "I-T0"] * 40, model)
