"""A value that no pair of sequences betters is proven best, whichever method found it."""

from itertools import product

import pytest

import fsmeu
from fsmeu.decoding.decode import METHODS
from fsmeu.errors import FsmeuError

TRIVIAL = {
    "nothing to find": (fsmeu.load("fscore", empty=0), 0.0, 0.0),
    "everything found": (fsmeu.load("fscore"), 1.0, 1.0),
    "boundaries everywhere": (fsmeu.load("pk", k=3), 1.0, 0.0),
    "no error": (fsmeu.load("hamming", labels=[0, 1]), 0.0, 0.0),
}


@pytest.mark.parametrize("n", [5, 14])
@pytest.mark.parametrize("case", TRIVIAL)
def test_trivial_optima(case, n):
    loss, p, best = TRIVIAL[case]
    found = fsmeu.decode(loss, [p] * n)
    assert found.exact
    assert found.value == pytest.approx(best, abs=1e-15)
    assert found.method != "search"
    assert fsmeu.decode_many(loss, [[p] * n] * 2)[1].exact
    whole = fsmeu.decode_corpus(loss, [[p] * n] * 2)
    assert whole.exact
    assert whole.value == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_whichever_method(method):
    for loss, p, best in TRIVIAL.values():
        try:
            found = fsmeu.decode(loss, [p] * 6, method=method)
        except FsmeuError:  # its condition does not hold
            continue
        assert found.exact
        assert found.value == pytest.approx(best, abs=1e-15)


def test_a_search_of_long_sequences_ends_at_once():
    """A loss of which no algebra is known, and a reference that is certain."""
    loss = fsmeu.loads(
        "loss runs\nlabels 0 1\nage a since z != y up to 3\ncount c by a * a when z != y\n"
        "count d when z != y\nvalue sqrt(c + d)\nrange 0 .. n"
    )
    found = fsmeu.decode(loss, [1.0, 0.0] * 60)
    assert (found.labels, found.value, found.exact) == ([1, 0] * 60, 0.0, True)
    assert found.candidates == 1


def test_what_is_not_at_the_end_is_not_proven():
    """Neither by a range that is wide, nor by one label that is certain."""
    loss = fsmeu.loads("utility u\nlabels 0 1\ncount c when z == y\nvalue c * c\nrange 0 .. 10^9")
    for p in ([0.5] * 6, [1.0, *[0.5] * 5]):
        assert not fsmeu.decode(loss, p, method="marginal").exact
    found = fsmeu.decode(loss, [1.0] * 6, method="marginal")
    assert (found.value, found.exact) == (36.0, True)


@pytest.mark.parametrize("method", ["ranking", "counting", "exhaustive"])
def test_great_values_of_both_signs_are_no_measure(method):
    """They cancel in the mean and hide the digits that decide; F1 alone says what is best."""
    great = "10^14 * (2 * ref - n)"
    loss = fsmeu.loads(
        "utility u\nlabels 0 1\ncount tp when z == 1 and y == 1\ncount hyp when z == 1\n"
        f"count ref when y == 1\nvalue {great} + 2 * tp / (hyp + ref) "
        f"or {great} + 1 when hyp + ref == 0"
    )
    p, f1 = [0.5, 0.25, 0.75, 0.375, 0.625, 0.5], fsmeu.load("fscore")
    values = {z: fsmeu.expect(f1, z, p).value for z in product((0, 1), repeat=6)}
    found = fsmeu.decode(loss, p, method=method)
    own = values[tuple(found.labels)]
    assert not found.exact or own == pytest.approx(max(values.values()), rel=1e-9)


def test_keep_proves_nothing():
    assert not fsmeu.decode(fsmeu.load("fscore"), [1.0] * 5, keep=1).exact
