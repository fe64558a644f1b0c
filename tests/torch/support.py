"""PyTorch for the tests of this folder, which are skipped where it is not installed; and truth.

What is expected is found by listing all label sequences, or by the engine, whose sweeps and
algorithms are others.
"""

import numpy as np
import pytest

import fsmeu
from tests import brute_force

torch = pytest.importorskip("torch", reason="./run test --torch installs PyTorch")
torch.set_num_threads(1)  # small products of matrices wait for each other

RESTRICTED = ("event_fscore",)  # a loss that is not defined for all sequences of a model
NAMES = [name for name in fsmeu.library() if name not in RESTRICTED]


class Batch:
    """Random scores and tags of sequences of several lengths, padded by what must not matter."""

    def __init__(self, loss, lengths, seed=0, spread=1.0):
        rng = np.random.default_rng(seed)
        size = len(loss.alphabet)
        n = max(lengths)
        self.loss = loss
        self.lengths = list(lengths)
        self.emissions = torch.tensor(rng.normal(size=(len(lengths), n, size)) * spread)
        self.transitions = torch.tensor(rng.normal(size=(size, size)) * spread)
        self.by_position = torch.tensor(rng.normal(size=(len(lengths), n - 1, size, size)))
        self.start = torch.tensor(rng.normal(size=size))
        self.end = torch.tensor(rng.normal(size=size))
        self.tags = torch.tensor(rng.integers(0, size, (len(lengths), n)))
        self.tags[0] = 0  # nothing is counted of it, in most losses
        self.mask = torch.arange(n) < torch.tensor(self.lengths)[:, None]

    def tables(self, row, transitions=None, ends=False):
        """Scores of a sequence, unary (n, L) and pairwise (L, L) or (n - 1, L, L), in numpy."""
        n = self.lengths[row]
        unary = self.emissions[row, :n].detach().double().numpy().copy()
        if ends:
            unary[0] += self.start.detach().double().numpy()
            unary[-1] += self.end.detach().double().numpy()
        if transitions is None:
            return unary, np.zeros((unary.shape[1], unary.shape[1]))
        moves = transitions.detach().double().numpy()
        return unary, moves if moves.ndim == 2 else moves[row, : n - 1]

    def reference(self, row):
        """The tags of a sequence as labels."""
        return [self.loss.labels[k] for k in self.tags[row, : self.lengths[row]].tolist()]

    def listed(self, transitions=None, ends=False):
        """The expected values by listing all label sequences, (B,)."""
        values = []
        for row, n in enumerate(self.lengths):
            unary, moves = self.tables(row, transitions, ends)
            model = brute_force.potentials(unary, moves, self.loss.labels, n)
            zs = list(model)
            worth = fsmeu.evaluate_many(self.loss, zs, [self.reference(row)] * len(zs))
            values.append(float(np.dot(list(model.values()), worth)))
        return np.array(values)

    def asked(self, transitions=None):
        """The references and the models of all sequences, as the engine takes them."""
        rows = range(len(self.lengths))
        tables = [self.tables(row, transitions) for row in rows]
        models = [fsmeu.models.from_potentials(*table, self.loss.labels) for table in tables]
        return [self.reference(row) for row in rows], models

    def by_engine(self, transitions=None):
        """Values (B,), and derivatives for emissions and transitions, of the engine."""
        values, slopes = fsmeu.value_and_gradient_many(self.loss.swapped, *self.asked(transitions))
        single = np.zeros(self.emissions.shape)
        for row, n in enumerate(self.lengths):
            single[row, :n] = slopes[row]["unary"]
        return values, single, sum(slope["pairwise"] for slope in slopes)


def difference(tensor, wanted):
    """The greatest difference of a tensor from an array."""
    return float(np.abs(tensor.detach().double().numpy() - wanted).max())
