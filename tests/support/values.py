"""Numbers that tests hold others against."""

import numpy as np
import pytest


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
