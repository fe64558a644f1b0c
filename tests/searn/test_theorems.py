"""Theorems 1 and 2 and footnote 7 of Daumé et al. (2009), in exact sums over all outputs."""

from itertools import product
from math import ceil, log

import numpy as np
import pytest

import fsmeu
from fsmeu.searn import CostOracle, Searn
from fsmeu.searn.learners.linear import Logistic
from fsmeu.searn.search import Mixture, interpolated, interpolation_rule, iterations_of

LABELS = ["B-X", "I-X", "O"]


class Example:
    """A gold sequence and sums over outputs; a policy is a dictionary from prefixes to labels."""

    def __init__(self, loss, y, labels):
        self.n, self.actions, self.labels = len(y), range(len(labels)), labels
        outputs = list(product(self.actions, repeat=self.n))
        values = [loss([labels[k] for k in z], y) for z in outputs]
        sign = -1 if loss.kind == "utility" else 1
        self.losses = {z: (sign < 0) + sign * v for z, v in zip(outputs, values, strict=True)}
        self.oracle = CostOracle(loss, y)
        self.prefixes = [p for t in range(self.n) for p in product(self.actions, repeat=t)]

    def optimal(self):
        costs = ((p, self.oracle.costs([self.labels[k] for k in p])) for p in self.prefixes)
        return {p: int(np.argmin(c)) for p, c in costs}

    def shares(self, policy, own):
        """The probability of each label after each prefix, under a mixture."""
        found = {p: np.zeros(len(self.actions)) for p in self.prefixes}
        parts = zip((policy.optimal, *policy.weights), [[own], *policy.models], strict=True)
        for weight, (table,) in parts:
            for p in self.prefixes:
                found[p][table[p]] += weight
        return found

    def values(self, shares):
        """The expected loss after each prefix; that of the empty one is L(D, h)."""
        found = dict(self.losses)
        for p in reversed(self.prefixes):
            found[p] = sum(x * found[(*p, a)] for a, x in zip(self.actions, shares[p], strict=True))
        return found

    def regret(self, shares, table):
        """The mean over time steps of what the table's decisions cost in the states of h."""
        values, chance, total = self.values(shares), {(): 1.0}, 0.0
        for p in self.prefixes:
            after = [values[(*p, a)] for a in self.actions]
            total += chance[p] * (after[table[p]] - min(after)) / self.n
            for a in self.actions:
                chance[(*p, a)] = chance[p] * shares[p][a]
        return total


def drawn_policy(example, rng, errors):
    """The optimal policy with a share of other decisions."""
    best, count = example.optimal(), len(example.actions)
    return {p: int(rng.integers(count)) if rng.random() < errors else best[p] for p in best}


def worst_policy(example, shares):
    """The decision of the greatest cost in every state."""
    values = example.values(shares)
    return {p: int(np.argmax([values[(*p, a)] for a in example.actions])) for p in example.prefixes}


def searn_losses(loss, ys, beta, iterations, learn, labels=LABELS):
    """L(D, pi), L(D, h_last), the mean of the learned losses and c_max; D is uniform over ys."""
    sums = np.zeros(4)
    for y in ys:
        example = Example(loss, y, labels)
        own, policy, learned = example.optimal(), Mixture(), []
        for _ in range(iterations):
            shares = example.shares(policy, own)
            table = learn(example, shares)
            learned.append(example.regret(shares, table))
            policy = interpolated(policy, beta, [table])
        assert policy.optimal == pytest.approx((1 - beta) ** iterations)
        last = example.values(example.shares(policy.without_optimal(), own))[()]
        first = example.values(example.shares(Mixture(), own))[()]
        sums += [first, last, np.mean(learned), max(example.losses.values())]
    return sums / len(ys)


def learners(seed):
    rng = np.random.default_rng(seed)
    found = {f"{e:.0%} wrong": lambda x, shares, e=e: drawn_policy(x, rng, e) for e in (0, 0.1, 1)}
    return {**found, "worst": worst_policy}


@pytest.mark.parametrize(("name", "size"), [("hamming", 2), ("chunk_fscore", 2), ("hamming", 3)])
def test_theorem_2(name, size):
    """The printed bound: below the greatest loss, and wrong without its middle term."""
    labels = LABELS[:2] if size > 2 else LABELS
    loss = fsmeu.load(name, labels=labels)
    beta = interpolation_rule("theory", "", size, None)(Mixture(), [])
    iterations = iterations_of(None, "theory", 0.01, size, "")
    assert (beta, iterations) == (1 / size**3, ceil(2 * size**3 * log(size)))
    ys, found = [labels[:1] * size, labels[:2] + labels[:1] * (size - 2)], {}
    for told, learn in learners(5).items():
        first, last, mean, most = searn_losses(loss, ys, beta, iterations, learn, labels)
        rest = (1 + log(size)) * most / size
        assert last <= first + 2 * size * mean * log(size) + rest + 1e-12
        found[told] = (last, rest, most)
    assert found["0% wrong"][0] == 0 < found["0% wrong"][1] < found["0% wrong"][2]
    assert found["worst"][0] > found["worst"][1]


@pytest.mark.parametrize("name", ["hamming", "chunk_fscore"])
def test_theorem_1(name):
    """With w = 0, argmax w Phi(x, z) - l(y, z) after a prefix is the policy; not without l."""
    loss, rng, wrong = fsmeu.load(name, labels=LABELS), np.random.default_rng(1), 0
    sign = -1 if loss.kind == "utility" else 1
    outputs = list(product(LABELS, repeat=3))
    for y in outputs:
        oracle = CostOracle(loss, y)
        scores = rng.normal(size=(3, len(LABELS)))
        moves = rng.normal(size=(len(LABELS), len(LABELS)))
        at = {z: [LABELS.index(label) for label in z] for z in outputs}
        score = {z: scores[range(3), k].sum() + moves[k[:-1], k[1:]].sum() for z, k in at.items()}
        lost = {z: sign * loss(z, y) for z in outputs}

        def opt(prefix, weight, scale, score=score, lost=lost):
            """The next label of the best output that begins with the prefix."""
            begun = (z for z in outputs if z[: len(prefix)] == prefix)
            best = max(begun, key=lambda z: weight * score[z] - scale * lost[z])
            return best[len(prefix)]

        for prefix in [(), *product(LABELS, repeat=1), *product(LABELS, repeat=2)]:
            costs = dict(zip(LABELS, oracle.costs(prefix), strict=True))
            assert costs[opt(prefix, 0, 1)] == 0
            wrong += costs[opt(prefix, 1, 0)] > 1e-12
    assert wrong > 0


SAFE = """
loss    safe "a safe first label costs .3; after another one, the second label must be right"
labels  s c d
register is_safe in 0..1 start 0 next if i == 1 then (if z == "s" then 1 else 0) else is_safe
count   wrong when i == 2 and z != y
value   if is_safe == 1 then 3/10 else wrong
"""


def test_footnote_7():
    """Nothing tells c from d: a safe label loses .3, others .5; optimal costs see .3 and 0."""
    loss = fsmeu.loads(SAFE)
    ys = [["s", "c"], ["s", "d"]] * 10  # the first one is not asked for
    words = [[{"one": 1.0}, {"two": 1.0}]] * 20
    learner = Logistic(importance="cost", dropout=0.0, rate=0.3)
    found = {}
    for costs in ("optimal", "expected"):
        settings = {"costs": costs, "ties": "all", "beta": 1.0, "iterations": 4, "folds": 1}
        model = Searn(loss, learner=learner, beam=1, bits=8, random_state=0, **settings)
        predicted = model.fit(words, ys).predict(words)
        found[costs] = np.mean([loss(z, y) for z, y in zip(predicted, ys, strict=True)])
    assert found == {"optimal": 0.5, "expected": pytest.approx(0.3)}
