"""Labels in another order: every order of the same labels gives the same values and decisions."""

from itertools import permutations, product

import numpy as np
import pytest

import fsmeu
from fsmeu.models import Independent, Mixture
from tests.support.values import value_table

TABLE = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.25, 0.35, 0.4]])
COST = [[0, 1, 5], [2, 0, 1], [7, 1, 0.5]]
NAMES = ("a", "b", "c")


def listed(loss, z, model):
    """The expectation by definition: the value of each pair, weighed by its probability."""
    sequences = list(product(model.labels, repeat=model.n))
    return value_table(loss, [z], sequences)[0] @ [model.probability(y) for y in sequences]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_tables_follow_the_labels(order):
    loss = fsmeu.load("cost_matrix", labels=NAMES, cost=COST)
    names = [NAMES[k] for k in order]
    model = Independent(TABLE[:, order], names)
    by_hand = sum(TABLE[i] @ np.array(COST)[NAMES.index(x)] for i, x in enumerate("cab"))
    found = fsmeu.expect(loss, "cab", model).value
    assert found == pytest.approx(listed(loss, "cab", model), rel=1e-13)
    assert found in (pytest.approx(by_hand, rel=1e-13), pytest.approx(by_hand / 3, rel=1e-13))
    assert fsmeu.expect_many(loss, ["cab", "bbb"], [model] * 2)[0] == pytest.approx(found)


@pytest.mark.parametrize("name", ["fscore", "recall", "jaccard", "precision"])
@pytest.mark.parametrize("labels", [(0, 1), (1, 0)])
def test_decisions_know_which_label_is_positive(name, labels):
    loss = fsmeu.load(name, empty=0) if name != "jaccard" else fsmeu.load(name)
    p = np.array([0.45, 0.1, 0.35, 0.6])
    rows = np.stack((1 - p, p) if labels == (0, 1) else (p, 1 - p), axis=1)
    model = Independent(rows, labels)
    decided = fsmeu.decode(loss, model)
    values = {z: listed(loss, z, model) for z in product((0, 1), repeat=4)}
    assert decided.value == pytest.approx(max(values.values()), rel=1e-12)
    assert values[tuple(decided.labels)] == pytest.approx(decided.value, rel=1e-12)
    [many] = fsmeu.decode_many(loss, [model])
    assert many.labels == decided.labels


def test_new_names_of_the_files_labels_keep_their_meaning():
    loss = fsmeu.load("fscore", labels=("no", "yes"))
    model = Independent([[0.9, 0.1], [0.3, 0.7]], ("yes", "no"))
    found = fsmeu.expect(loss, ["yes", "yes"], model).value
    assert found == pytest.approx(listed(loss, ["yes", "yes"], model), rel=1e-13)
    assert found == pytest.approx(fsmeu.expect(fsmeu.load("fscore"), [1, 1], [0.9, 0.3]).value)


def test_a_distribution_as_hypothesis_may_have_its_own_order():
    loss = fsmeu.load("cost_matrix", labels=NAMES, cost=COST)
    model = Independent(TABLE, NAMES)
    one, other = Independent(TABLE[::-1], NAMES), Independent(TABLE[::-1, ::-1], NAMES[::-1])
    expected = sum(
        one.probability(z) * listed(loss, z, model) for z in product(NAMES, repeat=model.n)
    )
    assert fsmeu.expect(loss, other, model).value == pytest.approx(expected, rel=1e-12)


def test_mixture_of_orders():
    parts = [Independent(TABLE, NAMES), Independent(TABLE[:, ::-1], NAMES[::-1])]
    mixed = Mixture(parts, [0.25, 0.75])
    for y in product(NAMES, repeat=3):
        expected = np.prod([TABLE[i, NAMES.index(x)] for i, x in enumerate(y)])
        assert mixed.probability(y) == pytest.approx(expected, rel=1e-12)


def test_losses_over_chunk_tags_take_them_from_the_model():
    tags = ("I-X", "B-X", "O")
    model = Independent(TABLE, tags)
    loss = fsmeu.load("chunk_fscore")
    known = fsmeu.load("chunk_fscore", types=["X"])
    decided = fsmeu.decode(loss, model)
    best = max(listed(known, z, model) for z in product(tags, repeat=3))
    assert decided.value == pytest.approx(best, rel=1e-12)
    z = ["B-X", "I-X", "O"]
    assert fsmeu.expect(loss, z, model).value == pytest.approx(listed(known, z, model), rel=1e-12)
