"""Bounds of expected values hold what rounding did to a model before: potentials, logarithms."""

import random
from decimal import Decimal, localcontext
from itertools import pairwise, product

import numpy as np
import pytest

import fsmeu
from fsmeu import load, models

SIZES = (1, 30, 100, 400, 1e4, 1e8)
N, LABELS = 4, 3


@pytest.fixture(autouse=True)
def many_digits():
    with localcontext() as context:
        context.prec = 60
        yield


def sequences(n=N, labels=LABELS):
    return list(product(range(labels), repeat=n))


def field(rng, size, shared):
    """Unary and pairwise potentials up to a size, with a few that are close to each other."""
    unary = [[rng.uniform(-size, size) for _ in range(LABELS)] for _ in range(N)]
    tables = [
        [[rng.uniform(-size, size) for _ in range(LABELS)] for _ in range(LABELS)]
        for _ in range(1 if shared else N - 1)
    ]
    if rng.random() < 0.5:  # great potentials that nearly cancel
        base = [[rng.uniform(-size, size)] * LABELS for _ in range(N)]
        unary = [[b + rng.random() for b in row] for row in base]
        tables = [[[size + rng.random() for _ in row] for row in table] for table in tables]
    return np.array(unary), np.array(tables[0] if shared else tables)


def field_chances(unary, pairwise, power=Decimal(1), allowed=lambda y: True):
    """P(y) by decimals, of all sequences that are allowed."""
    scores = {}
    for y in filter(allowed, sequences(*np.shape(unary))):
        score = sum(Decimal(float(unary[i, label])) for i, label in enumerate(y))
        for i in range(len(y) - 1):
            table = pairwise if pairwise.ndim == 2 else pairwise[i]
            score += Decimal(float(table[y[i], y[i + 1]]))
        scores[y] = score * power
    return normalised(scores)


def normalised(scores):
    top = max(scores.values())
    weights = {y: (score - top).exp() for y, score in scores.items()}
    total = sum(weights.values())
    return {y: weight / total for y, weight in weights.items()}


def wrong_share(z, chances):
    """The expected share of wrong labels."""
    pairs = ((sum(a != b for a, b in zip(z, y, strict=True)), p) for y, p in chances.items())
    return sum(Decimal(wrong) * p for wrong, p in pairs) / len(z)


def assert_held(z, model, chances, widest=1e-13):
    """Bounds of both engines, and of many at once, hold the truth and are not wide."""
    loss, truth = load("hamming", labels=list(model.labels)), wrong_share(z, chances)
    for engine in ("auto", "openfst"):
        found = fsmeu.expect(loss, z, model, engine=engine)
        assert Decimal(found.lower) <= truth <= Decimal(found.upper), engine
        if engine == "auto":
            assert found.upper - found.lower <= widest * max(found.value, 1e-300)
    zero_one = fsmeu.expect(load("zero_one", labels=list(model.labels)), z, model)
    assert Decimal(zero_one.lower) <= 1 - chances.get(tuple(z), 0) <= Decimal(zero_one.upper)
    kept = fsmeu.expect(loss, z, model, keep=10**6)
    assert Decimal(kept.lower) <= truth <= Decimal(kept.upper)


@pytest.mark.thirds
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", range(25))
def test_fields(size, seed):
    rng = random.Random(f"{size} {seed}")
    unary, pairwise = field(rng, size, shared=seed % 2 == 0)
    z = [rng.randrange(LABELS) for _ in range(N)]
    assert_held(z, models.from_potentials(unary, pairwise), field_chances(unary, pairwise))


@pytest.mark.parametrize("size", SIZES[:4])
def test_decisions_under_fields(size):
    rng = random.Random(size)
    loss = load("hamming", labels=list(range(LABELS)))
    for _ in range(10):
        unary, pairwise = field(rng, size, shared=False)
        chances = field_chances(unary, pairwise)
        decision = fsmeu.decode(loss, models.from_potentials(unary, pairwise))
        best = min(wrong_share(z, chances) for z in sequences())
        if decision.exact:
            assert wrong_share(decision.labels, chances) <= best * (1 + Decimal(10) ** -8)
        assert abs(Decimal(decision.value) - wrong_share(decision.labels, chances)) <= 1e-13


@pytest.mark.thirds
@pytest.mark.parametrize("size", SIZES[:4])
@pytest.mark.parametrize("seed", range(5))
def test_models_made_of_fields(size, seed):
    rng = random.Random(f"{size} {seed}")
    unary, pairwise = field(rng, size, shared=False)
    model, z = models.from_potentials(unary, pairwise), [rng.randrange(LABELS) for _ in range(N)]
    whole = field_chances(unary, pairwise)
    other = models.from_potentials(*field(rng, size, shared=True))
    mixed = models.Mixture([model, other], [0.25, 0.75])
    parts = [
        (Decimal("0.25"), whole),
        (Decimal("0.75"), field_chances(other.unary, other.pairwise)),
    ]
    assert_held(z, mixed, {y: sum(w * part[y] for w, part in parts) for y in whole})
    local = field_chances(unary, pairwise, allowed=lambda y: y[0] != 2)
    assert_held(z, model.given("(0|1)(0|1|2)*"), local)
    odd = field_chances(unary, pairwise, allowed=lambda y: y.count(2) % 2 == 1)
    assert_held(z, model.given("(0|1)*2(0|1)*((2(0|1)*){2})*"), odd, 1e-12)
    hot = field_chances(unary, pairwise, 1 / Decimal("3.7"))
    assert_held(z, models.tempered(model, 3.7), hot, 1e-11)


@pytest.mark.parametrize("least", [0.3, 1e-6, 1e-200])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.thirds
def test_logarithms_of_probabilities(least, seed):
    rng = np.random.default_rng(seed)
    rows = rng.random((8 + LABELS, LABELS)) * least ** rng.random((8 + LABELS, LABELS))
    rows /= rows.sum(axis=1, keepdims=True)
    first, transition, emission = rows[0], rows[1 : 1 + LABELS], rows[4 : 4 + LABELS]
    seen = rng.integers(LABELS, size=N).tolist()
    z = rng.integers(LABELS, size=N).tolist()

    def exact(row):
        total = sum(Decimal(float(x)) for x in row)
        return [Decimal(float(x)) / total for x in row]

    starts, steps = exact(first), [exact(row) for row in transition]
    outputs = [exact(row) for row in emission]
    joint, chain = {}, {}
    for y in sequences():
        p = starts[y[0]]
        for a, b in pairwise(y):
            p *= steps[a][b]
        chain[y] = p
        for label, symbol in zip(y, seen, strict=True):
            p *= outputs[label][symbol]
        joint[y] = p
    total = sum(joint.values())
    posterior = {y: p / total for y, p in joint.items()}
    assert_held(z, models.hmm(first, transition, emission, seen), posterior, 1e-11)
    markov = models.Markov(first, transition, n=N)
    assert_held(z, markov, chain)
    some = {y: p for y, p in chain.items() if y[0] != 2}
    some = {y: p / sum(some.values()) for y, p in some.items()}
    assert_held(z, markov.given("(0|1)(0|1|2)*"), some, 1e-11)
    cold = normalised({y: p.ln() * 2 for y, p in chain.items()})
    assert_held(z, models.tempered(markov, 0.5), cold, 1e-11)


@pytest.mark.parametrize("size", [1.0, 300.0, 1e6])
@pytest.mark.thirds
def test_lists_and_acceptors(size):
    rng = random.Random(size)
    for _ in range(10):
        chosen = rng.sample(sequences(), 30)
        logs = [rng.uniform(-size, size) + 1e3 for _ in chosen]
        chances = normalised({y: Decimal(x) for y, x in zip(chosen, logs, strict=True)})
        z = list(rng.choice(chosen))
        model = models.NBest(chosen, logs, list(range(LABELS)), log=True)
        assert_held(z, model, chances)
        if size < 700:
            machine = models.Acceptor(model.layered())
            assert_held(z, machine, chances)
            unary, pairwise = field(rng, size, shared=False)
            trained = models.from_potentials(unary, pairwise)
            again = models.Acceptor(models.Acceptor(trained.layered()).fst, trained.labels)
            assert_held(z, again, field_chances(unary, pairwise), 1e-12)


@pytest.mark.parametrize("size", [1.0, 30.0, 400.0])
def test_long_chains(size):
    """A chain of a thousand labels that forgets everything is a product of positions."""
    n, rng = 1000, np.random.default_rng(int(size))
    unary = np.stack([np.zeros(n), rng.uniform(-size, size, n)], axis=1)
    z, truth = np.zeros(n, int).tolist(), Decimal(0)
    for score in unary[:, 1].tolist():
        truth += Decimal(score).exp() / (1 + Decimal(score).exp())
    found = fsmeu.expect(load("hamming"), z, models.from_potentials(unary, np.zeros((2, 2))))
    assert Decimal(found.lower) <= truth / n <= Decimal(found.upper)
