"""ROUGE-N is that of its definition, computed by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsmeu.errors import InputError
from searn.rouge import rouge

WORDS = st.lists(st.sampled_from("abc"), max_size=7)


@pytest.mark.parametrize(
    ("summary", "references", "n", "value"),
    [
        # of police killed the gunman (Lin 2004, section 3), "the gunman" alone
        ("police kill the gunman", ["police killed the gunman"], 2, 1 / 3),
        ("the gunman kill police", ["police killed the gunman"], 2, 1 / 3),
        # a bigram that both references have counts for both
        ("a b", ["a b", "a b c"], 2, 2 / 3),
        ("a b", [], 2, 0),
    ],
)
def test_by_hand(summary, references, n, value):
    found = rouge(summary.split(), [one.split() for one in references], n)
    assert found == pytest.approx(value, rel=1e-15)


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3), st.integers(1, 3))
def test_from_the_definition(summary, references, n):
    """Each n-gram of a reference is struck off the summary's list once, if it is there."""
    hit = total = 0
    for reference in references:
        left = [summary[i : i + n] for i in range(len(summary) - n + 1)]
        for i in range(len(reference) - n + 1):
            total += 1
            if reference[i : i + n] in left:
                left.remove(reference[i : i + n])
                hit += 1
    assert rouge(summary, references, n) == (hit / total if total else 0.0)


def test_strange_arguments():
    with pytest.raises(InputError, match="list of words"):
        rouge("a b", [["a"]])
    with pytest.raises(InputError, match="at least 1"):
        rouge(["a"], [["a"]], n=0)
