"""Tables of probabilities: any precision, columns, rows that are divided by their sums once."""

import json
from fractions import Fraction

import numpy as np
import pytest

import fsmeu
from fsmeu import models as m

OFF = (1.0 - 9e-10, 1.0, 1.0 + 9e-10)


class Tensor:
    """What another library records derivatives of: no array before it is detached and widened."""

    dtype, attached = "torch.bfloat16", True

    def __init__(self, array):
        self.array = array

    def detach(self):
        self.attached = False
        return self

    def double(self):
        assert not self.attached
        return np.asarray(self.array, np.float64)

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("this tensor cannot become an array")


def single(random, *shape):
    """Distributions along the last axis, in single precision."""
    weights = np.exp(random.normal(size=shape).astype(np.float32) * np.float32(3))
    return weights / weights.sum(axis=-1, keepdims=True, dtype=np.float32)


@pytest.mark.parametrize("size", [2, 23, 200])
def test_rows_in_single_precision(size, rounds):
    for seed in rounds(20):
        rows = single(np.random.default_rng(seed), 40, size)
        exact = rows.astype(np.float64)
        exact /= exact.sum(axis=1, keepdims=True)
        text = json.dumps({"model": "independent", "probabilities": rows.tolist()})
        for model in (m.Independent(rows), m.as_model(rows.tolist()), m.from_json(text)):
            np.testing.assert_allclose(model.marginals(), exact, rtol=1e-14)


def test_other_precisions_and_models():
    random = np.random.default_rng(5)
    first, links = single(random, 3), single(random, 3, 3)
    parts = [m.Markov(first, links, n=4), m.Independent(np.float16(single(random, 4, 3)).tolist())]
    made = [*parts, m.Mixture(parts, single(random, 2)), m.hmm(first, links, links, [0, 1, 2])]
    coarse = m.Independent(Tensor([[0.5, 0.25, 0.24609375]]))
    for model in (*made, coarse, m.Independent([[0.3, 0.7 - 5e-10]])):
        assert model.total_mass() == pytest.approx(1.0, abs=1e-13)
    assert m.Bernoulli([Fraction(1, 2), 0.25]).p.tolist() == [0.5, 0.25]
    assert m.Bernoulli([1 + 1e-15, -1e-17]).p.tolist() == [1.0, 0.0]


def rows_off(rng, *shape):
    """Random distributions over the last axis, their sums off 1 by up to the tolerance."""
    array = rng.random(shape) ** 3 + 1e-3
    array /= array.sum(axis=-1, keepdims=True)
    return array * rng.choice(OFF, (*shape[:-1], 1))


def test_rows_off_one_sum_to_one_and_stay(rounds):
    """Also through a file; products of 1,000 of them would be off by 1e-6."""
    for seed in rounds(20):
        rng = np.random.default_rng(seed)
        rows = rows_off(rng, 4, 3)
        chains = [
            m.Markov(rows[0], rows_off(rng, 3, 3, 3)),
            m.Markov(rows_off(rng, 9).reshape(3, 3), rows_off(rng, 3, 3, 3), n=4),
        ]
        tables = [m.Independent(rows).probabilities, chains[0].initial[None]]
        tables += [model.transition.reshape(-1, 3) for model in chains]
        for row in (row for table in tables for row in table.tolist()):
            assert abs(sum(map(Fraction, row)) - 1) <= Fraction(2.01 * 2.0**-53)
        for model in (m.Independent(rows), m.Mixture(chains, rows_off(rng, 2)), *chains):
            again = m.from_json(json.dumps(model.to_json()))
            assert again.to_json() == model.to_json()
            assert again.total_mass() == pytest.approx(1.0, abs=1e-14)


def test_columns_of_probabilities_are_those_of_ones():
    """As predict_proba(X)[:, [1]], or a frame of one column, has them."""
    column = np.float32([[0.9], [0.625], [0.3]])
    logits = np.log(column.astype(float)) - np.log1p(-column.astype(float))
    wanted = fsmeu.decode("fscore", m.Bernoulli(np.ravel(column)))
    for found in (
        fsmeu.decode("fscore", column),
        fsmeu.decode_many("fscore", [column])[0],
        fsmeu.decode("fscore", m.Bernoulli(column.T)),
        fsmeu.decode("fscore", m.from_logits(logits)),
    ):
        assert found.labels == wanted.labels
        assert found.value == pytest.approx(wanted.value, rel=1e-14)
    ones = fsmeu.decode("fscore", np.ones((3, 1)))  # certain ones, and no table of one label
    assert ones.labels == [1, 1, 1]
