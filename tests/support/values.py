"""Values of many pairs of sequences at once, each as the file of a loss says it."""

import numpy as np


def value_table(loss, hypotheses, references):
    """The value of each pair, array (hypotheses, references): one call for all of them."""
    z, y = (
        np.array([loss.alphabet.encode(one, "sequence") for one in some])
        for some in (hypotheses, references)
    )
    pairs = loss.pair_values(np.repeat(z, len(y), axis=0), np.tile(y, (len(z), 1)))
    return pairs.reshape(len(z), len(y))
