"""Models whose numbers are great or small keep their digits: against decimals of 60 digits."""

from decimal import Decimal, localcontext
from itertools import pairwise, product

import numpy as np
import pytest

import fsmeu
from fsmeu import models

N, LABELS = 4, 3
SEQUENCES = list(product(range(LABELS), repeat=N))


@pytest.fixture(autouse=True)
def many_digits():
    with localcontext() as context:
        context.prec = 60
        yield


def normalised(scores):
    """Probabilities from logarithms."""
    top = max(scores.values())
    weights = {y: (score - top).exp() for y, score in scores.items()}
    total = sum(weights.values())
    return {y: weight / total for y, weight in weights.items()}


def check(z, model, chances, off=1e-12):
    """The expected share of wrong labels, and the chance that some are, by both engines."""
    wrong = sum(p * sum(a != b for a, b in zip(z, y, strict=True)) for y, p in chances.items()) / N
    for name, want in (("hamming", wrong), ("zero_one", 1 - chances.get(tuple(z), 0))):
        for engine in ("auto", "openfst"):
            loss = fsmeu.load(name, labels=list(range(LABELS)))
            found = fsmeu.expect(loss, z, model, engine=engine).value
            assert found == pytest.approx(float(want), rel=off, abs=off)


@pytest.mark.parametrize("size", [1, 30, 400, 1e4, 1e8])
@pytest.mark.parametrize("cancels", [False, True])
def test_potentials(size, cancels):
    """Great ones that nearly cancel, too; and models that are made of fields."""
    rng = np.random.default_rng(int(size))
    unary, table = rng.uniform(-size, size, (N, LABELS)), rng.uniform(-size, size, (LABELS, LABELS))
    if cancels:
        unary = rng.uniform(-size, size, (N, 1)) + rng.random((N, LABELS))
        table = size + rng.random((LABELS, LABELS))
    scores = {}
    for y in SEQUENCES:
        terms = [unary[i, label] for i, label in enumerate(y)]
        terms += [table[before, label] for before, label in pairwise(y)]
        scores[y] = sum(map(Decimal, map(float, terms)))
    z, model = rng.integers(0, LABELS, N).tolist(), models.from_potentials(unary, table)
    chances, off = normalised(scores), 1e-12 + size * 1e-15
    check(z, model, chances, off)
    later = normalised({y: score for y, score in scores.items() if y[0] != 2})
    check(z, model.given("(0|1)(0|1|2)*"), later, off)
    hot = normalised({y: score / Decimal("3.7") for y, score in scores.items()})
    check(z, models.tempered(model, 3.7), hot, off)
    mixed = {y: (p + 3 * later.get(y, 0)) / 4 for y, p in chances.items()}
    parts = [model, model.given("(0|1)(0|1|2)*")]
    check(z, models.Mixture(parts, [0.25, 0.75]), mixed, off)


@pytest.mark.parametrize("size", [30, 1e6])
def test_logarithms_of_weights_of_a_list(size):
    rng = np.random.default_rng(5)
    chosen = [SEQUENCES[k] for k in rng.choice(len(SEQUENCES), 30, replace=False)]
    logs = rng.uniform(-size, size, 30) + 1e3
    model = models.NBest(chosen, logs, list(range(LABELS)), log=True)
    chances = normalised({y: Decimal(x) for y, x in zip(chosen, logs.tolist(), strict=True)})
    check(list(chosen[3]), model, chances, 1e-12 + size * 1e-15)
