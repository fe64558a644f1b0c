"""Chains whose next state is the label, on both engines."""

import numpy as np
import pytest

import fsmeu

TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]
JOINT = """
utility joint
labels any
flag    apart when z != y
age     both since z == y up to 2
count   good when not apart and both < 2
value   good / (1 + apart)
"""
LOSSES = {
    "zero_one": lambda: fsmeu.load("zero_one", labels=TAGS),
    "run_length": lambda: fsmeu.load("run_length", labels=TAGS),
    "joint": lambda: fsmeu.loads(JOINT, labels=TAGS),
}


def question(seed, n=4):
    random = np.random.default_rng(seed)
    pairwise = np.where(random.random((5, 5)) < 0.2, -np.inf, random.normal(size=(5, 5)))
    np.fill_diagonal(pairwise, 0.0)
    model = fsmeu.models.from_potentials(random.normal(size=(n, 5)), pairwise, TAGS)
    return [TAGS[k] for k in random.integers(0, 5, n)], model


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", LOSSES)
def test_both_engines_agree(name, seed):
    loss, (z, model) = LOSSES[name](), question(seed)
    one, two = (fsmeu.expect(loss, z, model, engine=engine) for engine in ("lattice", "openfst"))
    assert one.value == pytest.approx(two.value, rel=1e-12, abs=1e-15)
    assert one.variance == pytest.approx(two.variance, rel=1e-11, abs=1e-15)
    left, right = (
        fsmeu.gradient(loss, z, model, engine=engine) for engine in ("lattice", "openfst")
    )
    for part in left:
        assert left[part] == pytest.approx(right[part], rel=1e-11, abs=1e-15)
