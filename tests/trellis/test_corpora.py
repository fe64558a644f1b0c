"""One trellis for sentences of all lengths: the same as a fresh loss for each, and as OpenFst."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities

import fsmeu
from fsmeu.expectation.expect import value_and_gradient, value_and_gradient_many
from fsmeu.fst.tags import bio
from fsmeu.models import from_potentials
from fsmeu.trellis.trellis_cache import split_trellis_of
from tests.decoding.listing import make_listing
from tests.label_models import by_name, plain_model
from tests.support.nightly import every_third

TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]
READS_N = """
utility half
labels any
count late when i > n / 2 and z == y
count ref when y == "B-A"
value late / (1 + ref)
"""
COSTS = np.arange(25.0).reshape(5, 5) % 7
LOSSES = {
    "chunk_fscore": lambda: fsmeu.load("chunk_fscore", labels=TAGS),
    "span_fscore": lambda: fsmeu.load("span_fscore", labels=TAGS),
    "hamming": lambda: fsmeu.load("hamming", labels=TAGS),
    "cost_matrix": lambda: fsmeu.load("cost_matrix", labels=TAGS, cost=COSTS),
    "reads_n": lambda: fsmeu.loads(READS_N, labels=TAGS),
}
LENGTHS = [3, 1, 0, 2, 3, 1, 2, 0, 3]


def corpus(seed, kind="potentials", scale=1, dtype=float):
    """A hypothesis and a model of each length, some tags impossible."""
    random = np.random.default_rng(seed)
    zs = [[TAGS[k] for k in random.integers(0, 5, n)] for n in LENGTHS]
    specs = [plain_model(random, kind, TAGS, n) for n in LENGTHS]
    for spec in specs if kind == "potentials" else ():
        spec.parts["unary"] = (scale * spec.parts["unary"]).astype(dtype)
    return zs, [spec.build() for spec in specs]


@pytest.mark.parametrize("scores", [(200, float), (1, np.float32)])
@pytest.mark.parametrize("name", LOSSES)
def test_expectations_of_a_ragged_corpus(name, scores):
    (zs, models), (_, others) = (corpus(1, "potentials", *scores) for _ in range(2))
    loss = LOSSES[name]()
    found = fsmeu.expect_many(loss, zs, models).values
    for k, (z, model, other) in enumerate(zip(zs, models, others, strict=True)):
        explicit = fsmeu.expect(LOSSES[name](), z, other, engine="openfst").value
        assert found[k] == pytest.approx(explicit, rel=1e-12, abs=1e-14)
        assert fsmeu.expect(loss, z, model).value == pytest.approx(found[k], rel=1e-14)
    assert fsmeu.expect_many(loss, zs, models).values == pytest.approx(found, rel=1e-14)


@pytest.mark.thirds
@pytest.mark.parametrize("rule", [None, bio()])
@pytest.mark.parametrize("kind", [("potentials", 200), ("potentials", 1), ("mixture", 1)])
@pytest.mark.parametrize("name", LOSSES)
def test_decisions_of_a_ragged_corpus(name, kind, rule):
    (_, models), tried = corpus(3, *kind), {"method": "exhaustive", "seconds": None}
    made = fsmeu.decode_many(LOSSES[name](), models, constraint=rule)
    for found, model in zip(made, models, strict=True):
        alone = fsmeu.decode(LOSSES[name](), model, constraint=rule, **tried)
        assert found.exact
        assert found.value == pytest.approx(alone.value, rel=1e-12, abs=1e-14)
        again = fsmeu.expect(LOSSES[name](), found.labels, model, engine="openfst").value
        assert again == pytest.approx(found.value, rel=1e-12, abs=1e-14)


def test_a_step_that_is_undefined_at_a_later_position_is_not_asked_for():
    """The memory of i is past its bounds from position 4 on, which no sequence of 3 reaches."""
    loss = fsmeu.loads(
        "loss f\nlabels 0 1\nmemory r of i in 0..3 last 1\ncount c when z != y\nvalue c"
    )
    for n in (0, 1, 3):
        found = fsmeu.decode(loss, fsmeu.models.Bernoulli([0.25] * n), method="additive")
        assert (found.value, found.exact) == (n / 4, True)


def test_values_of_counts_that_no_sequence_has_are_not_asked_for():
    """2^1200 is no double, but at most two of four positions count."""
    loss = fsmeu.loads(
        "utility runs labels 0 1 2 memory mz of z last 1 count tp when z == y "
        "count hyp by 300 when z == 1 and old mz[0] != 1 value tp * 2^hyp"
    )
    found = fsmeu.decode(loss, fsmeu.models.Independent(np.full((4, 3), 1 / 3)))
    assert found.exact
    assert found.value == pytest.approx(4 / 3 * 2.0**600, rel=1e-12)


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("kind", ["potentials", "independent", "markov"])
@pytest.mark.parametrize("name", every_third(LOSSES))
def test_gradients_of_a_ragged_corpus(name, kind, swapped):
    loss, explicit = LOSSES[name](), LOSSES[name]()
    if swapped:
        loss, explicit = loss.swapped, explicit.swapped
    zs, models = corpus(5, kind)
    zs[4] = fsmeu.models.Independent(np.full((3, 5), 0.2), TAGS)
    values, found = value_and_gradient_many(loss, zs, models)
    for k, (z, model) in enumerate(zip(zs, models, strict=True)):
        value, slopes = value_and_gradient(explicit, z, model, engine="openfst")
        assert values[k] == pytest.approx(value, rel=1e-11, abs=1e-13)
        alone, again = value_and_gradient(loss, z, model)
        assert alone == pytest.approx(value, rel=1e-11, abs=1e-13)
        for array, one in by_name(slopes).items():
            assert by_name(found[k])[array] == pytest.approx(one, rel=1e-9, abs=1e-12)
            assert by_name(again)[array] == pytest.approx(one, rel=1e-9, abs=1e-12)


def test_gradients_of_long_sentences_equal_differences():
    """Long enough for counts beyond the room that sweeps begin with."""
    random, loss = np.random.default_rng(6), LOSSES["chunk_fscore"]().swapped
    unary, pairwise = random.normal(size=(30, 5)), random.normal(size=(5, 5))
    z = [TAGS[k] for k in random.integers(0, 5, 30)]
    slopes = fsmeu.gradient(loss, z, from_potentials(unary, pairwise, TAGS))
    towards, ahead = random.normal(size=unary.shape), random.normal(size=pairwise.shape)

    def moved(step):
        model = from_potentials(unary + step * towards, pairwise + step * ahead, TAGS)
        return fsmeu.expect(loss, z, model).value

    expected = (moved(1e-5) - moved(-1e-5)) / 2e-5
    found = (slopes["unary"] * towards).sum() + (slopes["pairwise"] * ahead).sum()
    assert found == pytest.approx(expected, rel=1e-6)


# -- ends of z's counter that are left out ---------------------------------------------------------


@pytest.mark.parametrize("most", [1, 100])
@pytest.mark.parametrize("seed", range(3))
def test_every_end_is_valued_or_bounded_from_above(seed, most):
    loss, one = LOSSES["chunk_fscore"](), corpus(seed)[1][0]
    listing = make_listing(loss, TAGS, 3)
    worth = listing.worths({y: one.probability(y) for y in listing.sequences})
    ends = np.array([len(get_entities(list(z))) for z in listing.sequences])
    found = split_trellis_of(loss, one).decide(one.arc_weights(), 1.0, most)
    for k in range(4):
        assert found.values[0, k] + found.errors[0, k] >= worth[ends == k].max() - 1e-15
        assert most == 1 or found.values[0, k] <= found.values[0, int(found.best[0])]
    assert most > 1 or found.tried[0] == 1


def test_ends_are_tried_as_long_as_there_is_time():
    """Hardly ever a one: all values are about 0, and no bound leaves an end out."""
    model = fsmeu.models.Markov([1.0, 1e-100], [[1.0, 1e-100], [0.5, 0.5]], n=30)
    found = fsmeu.decode(fsmeu.load("kappa"), model, method="counting", seconds=1e-9)
    assert (found.exact, "1 of 31 counts of z were tried" in found.why) == (False, True)


@pytest.mark.parametrize("least", [-2, 0])
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_counts_that_are_proven_not_to_be_negative(least, data):
    """Random amounts of pairs of labels, the last of them only after a pair of ones.

    No count that gets negative is taken for one that does not, and counts whose amounts are not
    negative are recognised.
    """
    *amounts, later = data.draw(st.lists(st.integers(least, 2), min_size=5, max_size=5))
    pairs = list(product((0, 1), repeat=2))
    terms = [f"{a} * (z == {z} and y == {y})" for a, (z, y) in zip(amounts, pairs, strict=True)]
    loss = fsmeu.loads(
        "utility f labels 0 1 memory mz of z last 1 memory my of y last 1 "
        f"count tp by {' + '.join(terms)} + {later} * (old mz[0] == 1 and old my[0] == 1) value tp"
    )
    proven = split_trellis_of(loss, fsmeu.models.Bernoulli([0.4, 0.3, 0.6])).is_nonnegative
    every = [list(product((0, 1), repeat=n)) for n in (1, 2, 3)]
    negative = any(loss(*both) < 0 for some in every for both in product(some, repeat=2))
    assert not (proven and negative)
    assert proven or least < 0


def test_a_range_that_is_declared_wrongly_prunes_nothing():
    """The count gets negative, whatever the file says: all ends are valued."""
    loss = fsmeu.loads(
        "utility loses labels 0 1 count tp by (z == 1 and y == 1) - 2 * (z == 0 and y == 1) "
        "count hyp when z == 1 count ref when y == 1 "
        "value tp / (hyp + ref) or 1 when hyp + ref == 0 range 0 .. 1"
    )
    one = fsmeu.models.Bernoulli(np.array([0.4, 0.3, 0.6, 0.2]))
    structure = split_trellis_of(loss, one)
    assert not structure.is_nonnegative
    assert structure.decide(one.arc_weights(), 1.0).tried[0] == 5
