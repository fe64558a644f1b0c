"""Measures and their intervals, mirrored tags, and the chain of Theorem 3."""

import warnings
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fsmeu
from searn.chain import markov_loss
from searn.measures import counts_of
from searn.task import mirrored_tags

# -- chunk F1 is that of seqeval -------------------------------------------------------------------

TAGS = ["O", "B-NP", "I-NP", "B-VP", "I-VP"]
LINES = st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), min_size=1, max_size=8)
PAIRS = st.lists(LINES, min_size=1, max_size=6).map(
    lambda both: ([[z for z, _ in one] for one in both], [[y for _, y in one] for one in both])
)


@given(PAIRS)
def test_scores_are_those_of_seqeval(pair):
    metrics = pytest.importorskip("seqeval.metrics")
    z, y = pair
    found = counts_of(z, y).scores()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, score in (
            ("F1", metrics.f1_score),
            ("precision", metrics.precision_score),
            ("recall", metrics.recall_score),
            ("accuracy", metrics.accuracy_score),
        ):
            assert found[name] == pytest.approx(score(y, z), abs=1e-12), name
    assert found["sequences"] == np.mean([a == b for a, b in zip(z, y, strict=True)])


# -- from right to left: mirrored chunk tags have the same chunks, losses of chunks their value ----


@given(LINES)
def test_chunk_losses_have_the_same_value(pairs):
    z, y = ([pair[k] for pair in pairs] for k in (0, 1))
    for name in ("chunk_fscore", "chunk_precision", "chunk_recall"):
        loss = fsmeu.load(name, labels=TAGS)
        assert loss(mirrored_tags(z), mirrored_tags(y)) == pytest.approx(loss(z, y), abs=1e-15)


# -- Theorem 3: equation 14 beside enumeration, and the chain on which an MEMM fails --------------


@pytest.mark.parametrize("length", range(1, 7))
@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1, 3)])
def test_equation_14_is_enumeration(length, epsilon):
    """Over all patterns of wrong looks; a position is wrong after an odd number of them."""
    total = Fraction(0)
    for wrong in product((0, 1), repeat=length):
        chance = prod(epsilon if one else 1 - epsilon for one in wrong)
        total += chance * sum(sum(wrong[: t + 1]) % 2 for t in range(length))
    assert markov_loss(length, epsilon) == pytest.approx(float(total), rel=1e-12)
