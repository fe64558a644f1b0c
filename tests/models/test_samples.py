"""Models of samples: probabilities against fractions, tags as seqeval reads them."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from seqeval.scheme import IOB1, IOB2, IOBES, Entities

import fsmeu
from fsmeu.models import NBest, from_json, from_samples

SCHEMES = {"bio": IOB2, "iob1": IOB1, "iobes": IOBES}


def test_probabilities_are_shares_of_weight():
    """Weights of equal samples add up, side by side and as a trie; so do they in a file."""
    rows, weights = ["012", "011", "012", "200"], [1, 2, 3, 4]
    model, trie = from_samples(rows, weights), NBest(rows, weights)
    again = from_json(model.to_json())
    for y in map("".join, product("012", repeat=3)):
        share = sum(w for row, w in zip(rows, weights, strict=True) if row == y) / 10
        for one in (model, trie, again):
            assert one.probability(y) == pytest.approx(share, rel=1e-15)
    assert model.most_probable(5) == trie.most_probable(5)


def test_sets_are_rows_in_sorted_order():
    model = from_samples([{"b", "c"}, {"a"}])
    assert model.sequences.tolist() == [[0, 1, 1], [1, 0, 0]]
    mixed = from_samples([{"x", 2}, {(1, 2)}, {2}])  # by type: int, str, tuple
    assert mixed.sequences.tolist() == [[0, 0, 1], [1, 0, 0], [1, 1, 0]]


@pytest.mark.parametrize("smooth", [0.25, 1.0])
def test_smoothing(smooth):
    """Every probability against fractions; marginals stay."""
    samples, share = ["011", "001", "111", "000"], Fraction(smooth)
    model = from_samples(samples, smooth=smooth)
    p = [Fraction(sum(s[i] == "1" for s in samples), 4) for i in range(3)]
    for y in map("".join, product("01", repeat=3)):
        alone = Fraction(samples.count(y), 4)
        independent = Fraction(1)
        for i, label in enumerate(y):
            independent *= p[i] if label == "1" else 1 - p[i]
        wanted = float((1 - share) * alone + share * independent)
        assert model.probability(y) == pytest.approx(wanted, rel=1e-14)
    np.testing.assert_allclose(model.marginals()[:, 1], [float(x) for x in p], rtol=1e-14)


def test_smoothed_tags_are_well_formed():
    """A chunk begins with B, goes on in its own type, and may end anywhere."""
    model = from_samples([{(0, 2, "A")}, {(1, 2, "B")}, set()], smooth=0.5, scheme="bio")
    for tags in product(model.labels, repeat=model.n):
        steps = zip(("O", *tags), tags, strict=False)
        if any(b[0] == "I" and a[1:] != b[1:] for a, b in steps):
            assert model.probability(tags) == 0
    assert model.total_mass() == pytest.approx(1, rel=1e-14)


def chunkings(n):
    """All sets of chunks of n tokens, of types A and B."""
    if n <= 0:
        return [set()] if n == 0 else []
    last = [(n - size, n, kind) for size in range(1, n + 1) for kind in "AB"]
    longer = [{*chunks, one} for one in last for chunks in chunkings(one[0])]
    return [*chunkings(n - 1), *longer]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_chunks_are_written_and_read(scheme):
    """Each as seqeval reads it, all of them apart, and back to the same chunks."""
    full = {(0, 4, "A")}, {(3, 4, "B")}
    seen = set()
    for chunks in chunkings(4):
        model = from_samples([chunks, *full], [8, 1, 1], scheme=scheme)
        [(tags, _)] = model.most_probable()
        [found] = Entities([tags], SCHEMES[scheme]).entities
        assert {(one.start, one.end, one.tag) for one in found} == chunks
        seen.add(tuple(tags))
    assert len(seen) == len(chunkings(4)) == 153


def test_many_samples_are_a_trie(lowered):
    lowered(MOST_SAMPLE_ARCS=5)
    lowered(MOST_SAMPLE_TAG_ARCS=5)
    assert type(from_samples(["01", "10"])) is NBest
    samples = [{(0, 2, "A")}, {(0, 1, "A")}, {(0, 2, "A")}]
    assert type(from_samples(samples, scheme="bio")) is NBest
    assert fsmeu.consensus(samples, "chunk_fscore") == {(0, 2, "A")}
