"""The yardstick is right: against enumeration, which shares no code with it, and against fsmeu."""

from itertools import product

import numpy as np
import pytest

import fsmeu
from fsmeu.models import from_potentials
from tests.benchmarks.plain_chunks import (
    conditionals,
    decide,
    expected,
    quadrature,
    roots_of_unity,
)

TYPES = ("X", "Y")
POINTS = [roots_of_unity, quadrature]


def field(tags, n, seed, sharp=1.5):
    """Random log-potentials; some are forbidden where the seed is odd."""
    random = np.random.default_rng((n, seed))
    unary, pairwise = random.normal(size=(n, len(tags))), random.normal(size=(len(tags),) * 2)
    if seed % 2:
        unary[:, -1] = -np.inf
    return sharp * unary, sharp * pairwise


def listed(tags, unary, pairwise):
    """All sequences as rows of indices into the tags, and their probabilities."""
    n = len(unary)
    y = np.array(list(product(range(len(tags)), repeat=n)))
    score = unary[np.arange(n), y].sum(axis=1)
    score += sum(pairwise[y[:, i], y[:, i + 1]] for i in range(n - 1))
    p = np.exp(score - score.max())
    return y, p / p.sum()


def chunk_table(tags, y):
    """Which sequence (rows) has which chunk (columns: first position, last position, type)."""
    n = y.shape[1]
    kind = np.array([tag[0] for tag in tags])[y]
    name = np.array([tag[2:] for tag in tags])[y]
    goes = np.zeros((len(y), n + 1), bool)
    goes[:, 1:n] = (kind[:, 1:] == "I") & (name[:, 1:] == name[:, :-1])
    opens = (kind != "O") & ~goes[:, :n]
    columns = [
        opens[:, i] & (name[:, i] == t) & goes[:, i + 1 : j + 1].all(axis=1) & ~goes[:, j + 1]
        for i in range(n)
        for j in range(i, n)
        for t in TYPES
    ]
    return np.array(columns).T.astype(np.float64)


def listed_values(hypotheses, references, p):
    """The expected F1 of each row of a table of chunks."""
    both = hypotheses.sum(axis=1)[:, None] + references.sum(axis=1)
    scores = 2.0 * (hypotheses @ references.T) / np.where(both > 0, both, 1.0)
    return np.where(both > 0, scores, 1.0) @ p


@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(4))
def test_best_of_all_sequences(points, n, seed):
    tags = ["B-Y", "I-X", "O", "B-X", "I-Y"]
    unary, pairwise = field(tags, n, seed)
    labels, value = decide(*conditionals(from_potentials(unary, pairwise, tags)), tags, points)
    y, p = listed(tags, unary, pairwise)
    table = chunk_table(tags, y)
    values = listed_values(table, table, p)
    assert value == pytest.approx(values.max(), rel=1e-12)
    row = (y == [tags.index(tag) for tag in labels]).all(axis=1).argmax()
    assert values[row] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_value_of_every_sequence(points, n):
    """Ill-formed sequences too."""
    tags = ["B-Y", "I-X", "O", "B-X", "I-Y"]
    unary, pairwise = field(tags, n, seed=0)
    chain = conditionals(from_potentials(unary, pairwise, tags))
    y, p = listed(tags, unary, pairwise)
    table = chunk_table(tags, y)
    ours = [expected(*chain, tags, [tags[k] for k in row], points) for row in y]
    np.testing.assert_allclose(ours, listed_values(table, table, p), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("n", [6, 7, 8])
def test_value_of_the_labels(points, n):
    tags = fsmeu.load("chunk_fscore", types=TYPES).labels
    unary, pairwise = field(tags, n, seed=0)
    labels, value = decide(*conditionals(from_potentials(unary, pairwise, tags)), tags, points)
    y, p = listed(tags, unary, pairwise)
    one = chunk_table(tags, np.array([[tags.index(tag) for tag in labels]]))
    assert listed_values(one, chunk_table(tags, y), p)[0] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("n", range(1, 9))
@pytest.mark.parametrize("seed", range(3))
def test_same_value_as_ours(points, n, seed):
    loss = fsmeu.load("chunk_fscore", types=TYPES)
    model = from_potentials(*field(loss.labels, n, seed), loss.labels)
    labels, value = decide(*conditionals(model), loss.labels, points)
    assert fsmeu.decode(loss, model).value == pytest.approx(value, rel=1e-12)
    assert fsmeu.expect(loss, labels, model).value == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("n", [25, 80])
def test_both_kinds_of_points(n):
    tags = fsmeu.load("chunk_fscore", types=[f"T{t}" for t in range(11)]).labels
    chain = conditionals(from_potentials(*field(tags, n, seed=2, sharp=3.0), tags))
    roots, real = (decide(*chain, tags, points)[1] for points in POINTS)
    assert roots == pytest.approx(real, rel=1e-12)


def test_no_chunk_at_all():
    """Where O is likely, the empty hypothesis is best, and is worth P(no chunk)."""
    tags = fsmeu.load("chunk_fscore", types=TYPES).labels
    unary = np.where(np.array(tags) == "O", 5.0, 0.0) * np.ones((6, 1))
    labels, value = decide(*conditionals(from_potentials(unary, np.zeros((5, 5)), tags)), tags)
    assert labels == ["O"] * 6
    assert value == pytest.approx((np.exp(5) / (np.exp(5) + 4)) ** 6, rel=1e-12)
