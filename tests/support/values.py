"""Numbers that tests hold others against, and probabilities that they are asked for."""

import numpy as np
import pytest

from fsmeu.losses.machine.view import SpecAutomaton

CHANCES = {
    "uniform": lambda random, n: random.random(n),
    "Beta(2, 5)": lambda random, n: random.beta(2, 5, n),
    "all .3": lambda random, n: np.full(n, 0.3),
    "two values": lambda random, n: np.where(random.random(n) < 0.5, 0.1, 0.9),
    "Beta(.1, 1)": lambda random, n: random.beta(0.1, 1, n),
    "Beta(.05, 5)": lambda random, n: random.beta(0.05, 5, n),
}
"""Probabilities of long sequences: concentrated counts, ties, rare ones."""


def near(text):
    """What equals the number of a text up to 1e-12; ``json.loads`` takes it as ``parse_float``."""
    return pytest.approx(float(text), rel=1e-12)


def value_table(loss, hypotheses, references):
    """The value of each pair, array (hypotheses, references): one call for all of them."""
    z, y = (
        np.array([loss.alphabet.encode(one, "sequence") for one in some])
        for some in (hypotheses, references)
    )
    pairs = loss.pair_values(np.repeat(z, len(y), axis=0), np.tile(y, (len(z), 1)))
    return pairs.reshape(len(z), len(y))


def watched_cells(monkeypatch):
    """A list that gets the cells of every step that a view is asked for from now on."""
    asked, plain = [], SpecAutomaton.advance

    def advance(self, i, codes, symbols=None):
        asked.append(len(codes) * (self.symbols if symbols is None else len(symbols)))
        assert asked[-1] <= 40_000_000
        return plain(self, i, codes, symbols)

    monkeypatch.setattr(SpecAutomaton, "advance", advance)
    return asked


def count_weights(pairs):
    """The weight of each number of events; a pair weighs the absence of an event and the event."""
    found = np.array([1], dtype=object)
    for none, one in pairs:
        longer = np.append(found * none, 0)
        longer[1:] += found * one
        found = longer
    return found


def differences(function, array, step=1e-6):
    """Central differences of a function of an array, for every entry."""
    found = np.empty(array.shape)
    for place in np.ndindex(array.shape):
        move = np.zeros(array.shape)
        move[place] = step
        found[place] = (function(array + move) - function(array - move)) / (2 * step)
    return found
