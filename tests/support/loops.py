"""Compiles the loops that the tests use, so that no two of their processes do so at once.

``python -m tests.support.loops K`` compiles a half of them, K = 0 or 1. What the tests ask for and
this does not is compiled by them. Only what every installation has is imported.
"""

import sys

import numpy as np

import fsmeu
from fsmeu.learning import online
from fsmeu.searn import CostOracle, Searn
from tests.support.kernels import kernels_that_run

TAGS = ["O", "B-A", "I-A"]


def field():
    """A loss of chunks, a label model and a hypothesis."""
    scores = np.random.default_rng(0).normal(size=(4, 3))
    loss = fsmeu.load("chunk_fscore", labels=TAGS)
    return loss, fsmeu.models.from_potentials(scores, scores[:3], TAGS), ["O", "B-A", "I-A", "O"]


def sentences():
    """Expectations, decisions and gradients of sentences; costs of SEARN."""
    loss, model, z = field()
    fsmeu.expect(loss, fsmeu.decode(loss, model).labels, model)
    fsmeu.gradient(loss, z, model)
    jaccard, p = fsmeu.load("jaccard"), fsmeu.models.Bernoulli([0.3, 0.6, 0.4])
    fsmeu.expect(jaccard, p, p)
    fsmeu.gradient(jaccard, "101", p)
    fsmeu.decode(jaccard, p, method="search")
    fsmeu.decode_corpus(loss, [model] * 2)
    CostOracle(loss, z).costs([])
    for learner in ("logistic", "perceptron"):
        searn = Searn(learner=learner, iterations=1, bits=8, loss="hamming")
        searn.fit([[["a"], ["b"]]] * 4, [["O", "B-A"]] * 4)


def long_ones():
    """Long sequences, documents and large corpora, by generating functions; learners."""
    loss = fsmeu.load("chunk_fscore", labels=TAGS)
    scores = np.random.default_rng(0).normal(size=(200, 3))
    document = fsmeu.models.from_potentials(scores, scores[:3], TAGS)
    z = fsmeu.decode(loss, document).labels
    fsmeu.expect(loss, z, document)
    fsmeu.gradient(loss, z, document)
    fsmeu.decode_corpus(loss, [document] * 5)
    f1, p = fsmeu.load("fscore"), np.linspace(0.1, 0.9, 1000)
    chains = [
        fsmeu.models.Markov([1 - top, top], [[1 - top, top], [0.5, 0.5]], n=1000)
        for top in (0.4, 1e-4)
    ]
    for one in (p, p / 500, *chains):
        fsmeu.expect(f1, fsmeu.decode(f1, one).labels, one)
    x, y = np.random.default_rng(1).normal(size=(30, 2)), np.arange(30) % 2
    for learner in ("FOFO", "OFO", "OnlineLogistic"):
        getattr(online, f"{learner}Classifier")().fit(x, y)


if __name__ == "__main__":
    with kernels_that_run("compiled"):
        (sentences, long_ones)[int(sys.argv[1])]()
