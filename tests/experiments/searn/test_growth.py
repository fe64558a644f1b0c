"""Vine growth: what may be added, what it is worth, and the beam's answers beside enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from searn import growth as grown
from searn.collection import Collection, checked
from searn.rouge import matches_of, rouge


def collection(words, heads, sentences, references, query=()):
    n = len(words)
    return Collection(
        tuple(words),
        ("X",) * n,
        ("r",) * n,
        np.array(heads, np.int64),
        np.array(sentences, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, bool),
        tuple(query),
        tuple(tuple(one) for one in references),
    )


FIGURE_7 = collection(
    ["the", "man", "ate", "a", "big", "sandwich", "with", "pickles"],
    [1, 2, -1, 5, 5, 2, 5, 6],
    [0] * 8,
    [["the", "man", "ate", "a", "sandwich"]],
)


@st.composite
def small_collections(draw):
    words, heads, sentences = [], [], []
    for number in range(draw(st.integers(1, 3))):
        begin = len(words)
        for k in range(draw(st.integers(1, 3))):
            words.append(draw(st.sampled_from("abc")))
            heads.append(-1 if k == 0 else begin + draw(st.integers(0, k - 1)))
            sentences.append(number)
    texts = st.lists(st.sampled_from("abc"), min_size=2, max_size=6)
    references = draw(st.lists(texts, min_size=1, max_size=2))
    return checked(collection(words, heads, sentences, references))


def finished(growth, state):
    """Every finished summary that can be reached, by walking all ways."""
    found, waiting = set(), {state}
    while waiting:
        one = waiting.pop()
        more = grown.actions(growth, one)
        if not more:
            found.add(one)
        waiting |= {grown.step(one, unit) for unit in more}
    return found


def test_figure_7():
    """Steps of no cost end in the sentence that is printed."""
    growth, matches, state = grown.vine_growth(FIGURE_7, 5), matches_of(FIGURE_7), ()
    assert grown.actions(growth, ()) == [2]  # ate
    assert grown.actions(growth, (2, 5)) == [1, 3, 4, 6]  # man, a, big, with
    while grown.actions(growth, state):
        units, costs = grown.action_costs(growth, matches, state)
        state = grown.step(state, units[int(costs.argmin())])
    assert grown.summary(growth, state) == ["the", "man", "ate", "a", "sandwich"]


@settings(max_examples=40)
@given(
    small_collections(), st.integers(1, 6), st.sampled_from([grown.vine_growth, grown.extraction])
)
def test_a_wide_beam_is_exact(held, limit, space):
    growth, matches = space(held, limit), matches_of(held)

    def worth(state):
        texts = (grown.summary(growth, one) for one in finished(growth, state))
        return max(rouge(text, held.references) for text in texts)

    state = ()
    while grown.actions(growth, state):
        units, costs = grown.action_costs(growth, matches, state, width=10_000)
        values = np.array([worth(grown.step(state, unit)) for unit in units])
        assert units == grown.actions(growth, state)
        assert costs == pytest.approx(values.max() - values, abs=1e-12)
        best = grown.best_completion(growth, matches, state, width=10_000)
        assert rouge(grown.summary(growth, best), held.references) == pytest.approx(values.max())
        state = grown.step(state, units[-1])


# -- ROUGE-N is that of its definition -------------------------------------------------------------


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
def test_rouge_by_hand(summary, references, n, value):
    found = rouge(summary.split(), [one.split() for one in references], n)
    assert found == pytest.approx(value, rel=1e-15)
