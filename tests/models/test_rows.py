"""Tables of probabilities: any precision, columns, rows that are divided by their sums once."""

import json
from fractions import Fraction

import numpy as np
import pytest

import fsmeu
from fsmeu import models as m

OFF = (1.0 - 9e-10, 1.0, 1.0 + 9e-10)


class Tensor:
    """An array of another library: it records derivatives until it is detached."""

    def __init__(self, array, dtype, attached=True):
        self.array, self.dtype, self.attached = np.asarray(array), dtype, attached

    def detach(self):
        return Tensor(self.array, self.dtype, attached=False)

    def cpu(self):
        return self

    def double(self):
        return Tensor(self.array.astype(np.float64), "torch.float64", self.attached)

    def __array__(self, dtype=None, copy=None):
        if self.attached or self.dtype == "torch.bfloat16":
            raise RuntimeError("this tensor cannot become an array")
        return self.array.astype(dtype or self.array.dtype)


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
        tensor = m.Independent(Tensor(rows, "torch.float32"))
        for model in (m.Independent(rows), m.as_model(rows.tolist()), tensor, m.from_json(text)):
            np.testing.assert_allclose(model.marginals(), exact, rtol=1e-14)


def test_other_precisions_and_models():
    random = np.random.default_rng(5)
    first, links = single(random, 3), single(random, 3, 3)
    parts = [m.Markov(first, links, n=4), m.Independent(np.float16(single(random, 4, 3)).tolist())]
    made = [*parts, m.Mixture(parts, single(random, 2)), m.hmm(first, links, links, [0, 1, 2])]
    coarse = m.Independent(Tensor([[0.5, 0.25, 0.24609375]], "torch.bfloat16"))
    for model in (*made, coarse, m.Independent([[0.3, 0.7 - 5e-10]])):
        assert model.total_mass() == pytest.approx(1.0, abs=1e-13)
    half = np.float16([[0.1, 0.2, 0.7], [0.3333, 0.3333, 0.3333]])
    exact = half.astype(np.float64) / half.astype(np.float64).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(m.Independent(half).marginals(), exact, rtol=1e-14)
    assert m.Bernoulli(np.float32([0.1, 1.0])).p[0] == np.float64(np.float32(0.1))
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
            m.Markov(rows[0], rows_off(rng, 3, 3), n=4),
            m.Markov(rows[0], rows_off(rng, 3, 3, 3)),
            m.Markov(rows_off(rng, 9).reshape(3, 3), rows_off(rng, 3, 3, 3), n=4),
        ]
        tables = [m.Independent(rows).probabilities]
        tables += [model.transition.reshape(-1, 3) for model in chains]
        tables += [model.initial.reshape(1, -1) for model in chains]
        tables.append(m.Mixture(chains[:2], rows_off(rng, 2)).weights[None])
        for row in (row for table in tables for row in table.tolist()):
            assert abs(sum(map(Fraction, row)) - 1) <= Fraction(2.01 * 2.0**-53)
        for model in (m.Independent(rows), m.Mixture(chains, rows_off(rng, 3)), *chains):
            again = m.from_json(json.dumps(model.to_json()))
            assert again.to_json() == model.to_json()
            assert again.total_mass() == pytest.approx(1.0, abs=1e-14)
    long = m.Independent(rows_off(np.random.default_rng(0), 1000, 2))
    exact = [Fraction(y1) / (Fraction(y0) + Fraction(y1)) for y0, y1 in long.probabilities.tolist()]
    found = fsmeu.expect("hamming", [0] * 1000, long).value
    assert found == pytest.approx(float(sum(exact) / 1000), rel=1e-14)


@pytest.mark.parametrize("size", [2, 3, 7, 100, 1001])
def test_rows_that_sum_to_one_by_rounding_are_left_alone(size):
    once = m.Independent(single(np.random.default_rng(size), 20, size)).probabilities
    assert (m.Independent(once).probabilities == once).all()
    assert (m.Independent([[1 / size] * size]).probabilities == 1 / size).all()


@pytest.mark.parametrize("kind", ["decode", "decode_many", "Bernoulli", "a row", "from_logits"])
def test_columns_of_probabilities_are_those_of_ones(kind):
    """As predict_proba(X)[:, [1]], or a frame of one column, has them."""
    column = np.float32([[0.9], [0.625], [0.3]])
    logits = np.log(column.astype(float)) - np.log1p(-column.astype(float))
    found = {
        "decode": lambda: fsmeu.decode("fscore", column),
        "decode_many": lambda: fsmeu.decode_many("fscore", [column])[0],
        "Bernoulli": lambda: fsmeu.decode("fscore", m.Bernoulli(column)),
        "a row": lambda: fsmeu.decode("fscore", m.Bernoulli(column.T)),
        "from_logits": lambda: fsmeu.decode("fscore", m.from_logits(logits)),
    }[kind]()
    wanted = fsmeu.decode("fscore", m.Bernoulli(np.ravel(column)))
    assert found.labels == wanted.labels
    assert found.value == pytest.approx(wanted.value, rel=1e-14)
    ones = fsmeu.decode("fscore", np.ones((3, 1)))  # certain ones, and no table of one label
    assert ones.labels == [1, 1, 1]
