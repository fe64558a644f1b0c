"""Models of samples: probabilities against fractions, tags against a writer of their own."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import fsmeu
from fsmeu.fst.tags import chunk_tags, tagged_chunks
from fsmeu.models import from_samples


def test_probabilities_are_shares_of_weight():
    model = from_samples(["ab", "aa", "ab"], [1, 2, 4])
    assert model.labels == ("a", "b")
    assert model.probability("ab") == pytest.approx(5 / 7, rel=1e-15)
    assert model.probability("aa") == pytest.approx(2 / 7, rel=1e-15)
    assert model.probability("bb") == 0


def test_sets_are_rows_in_sorted_order():
    model = from_samples([{"b", "c"}, {"a"}])
    assert model.sequences.tolist() == [[0, 1, 1], [1, 0, 0]]
    mixed = from_samples([{"x", 2}, {(1, 2)}, {2}])  # by type: int, str, tuple
    assert mixed.sequences.tolist() == [[0, 0, 1], [1, 0, 0], [1, 1, 0]]


@pytest.mark.parametrize("smooth", [0.0, 0.25, 1.0])
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
    model = from_samples([{(0, 2, "A")}, {(1, 2, "B")}, set()], smooth=0.5, scheme="bio")
    for tags in product(model.labels, repeat=model.n):
        before = ("O", *tags)
        inside = [(a, b) for a, b in zip(before, tags, strict=False) if b[0] == "I"]
        if any(a[1:] != b[1:] for a, b in inside):
            assert model.probability(tags) == 0
    assert model.total_mass() == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize("scheme", ["bio", "iob1", "iobes"])
def test_chunks_are_written_and_read(scheme):
    """What is written is what the scheme allows, and is read back, for all chunks of 5 tokens."""
    labels = fsmeu.fst.tags.tag_labels(["A", "B"], scheme)
    limits = fsmeu.fst.tags.SCHEMES[scheme]().over(fsmeu.fst.alphabet.Alphabet(labels))
    index = {label: k for k, label in enumerate(labels)}
    count, seen = 0, set()
    for cuts in product((0, 1), repeat=4):
        ends = [i + 1 for i, cut in enumerate(cuts) if cut] + [5]
        parts = list(zip([0, *ends], ends, strict=False))
        for types in product("ABO", repeat=len(parts)):
            pairs = list(zip(parts, types, strict=True))
            if any(kind == "O" and end - begin > 1 for (begin, end), kind in pairs):
                continue  # what is outside is one token, so that each set is met once
            chunks = [(begin, end, kind) for (begin, end), kind in pairs if kind != "O"]
            tags = chunk_tags(chunks, 5, scheme)
            assert limits.accepts([index[tag] for tag in tags])
            assert tagged_chunks(tags) == chunks
            seen.add(tuple(tags))
            count += 1
    assert len(seen) == count


def test_marginals_of_a_list_are_those_of_its_layers():
    random = np.random.default_rng(0)
    rows = random.integers(0, 3, (6, 7))
    model = fsmeu.models.NBest(rows, random.random(6), labels=(0, 1, 2))
    layered = fsmeu.models.paths.marginals(model.layered())
    np.testing.assert_allclose(model.marginals(), layered, rtol=1e-14, atol=1e-16)


def test_list_with_one_sequence_of_a_kind_from_some_position_on():
    """Layers behind the last branching: every listed sequence keeps its probability."""
    rows = ["000110", "001010", "100001", "000110"]
    model = fsmeu.models.NBest(rows, [1, 2, 3, 4])
    for row, weight in (("000110", 5), ("001010", 2), ("100001", 3), ("000111", 0)):
        assert model.probability(row) == pytest.approx(weight / 10, rel=1e-15)
    assert model.total_mass() == pytest.approx(1, rel=1e-15)


def test_refused_scheme():
    with pytest.raises(fsmeu.FsmeuError, match="scheme must be one of bio, iob1, iobes"):
        from_samples([set()], scheme="iob2")


def test_paths_side_by_side_are_the_list():
    """Weights of equal samples add up; lists of one size have one structure, of any length."""
    rows = ["012", "011", "012", "200"]
    model = from_samples(rows, [1, 2, 3, 4])
    trie = fsmeu.models.NBest(rows, [1, 2, 3, 4])
    for y in product("012", repeat=3):
        assert model.probability(y) == pytest.approx(trie.probability(y), rel=1e-15)
    assert model.most_probable(5) == trie.most_probable(5)
    assert model.structure == from_samples(["10", "12", "00", "10"]).structure
    again = fsmeu.models.from_json(model.to_json())
    assert again.probability("012") == pytest.approx(0.4, rel=1e-15)
    layers = model.layered().layers
    np.testing.assert_array_equal(layers[0].label, layers[2].label)


def test_many_samples_are_a_trie(lowered):
    lowered(MOST_SAMPLE_ARCS=5)
    lowered(MOST_SAMPLE_TAG_ARCS=5)
    assert type(from_samples(["01", "10"])) is fsmeu.models.NBest
    samples = [{(0, 2, "A")}, {(0, 1, "A")}, {(0, 2, "A")}]
    assert type(from_samples(samples, scheme="bio")) is fsmeu.models.NBest
    assert fsmeu.consensus(samples, "chunk_fscore") == {(0, 2, "A")}
