"""Vine growth: what may be added, what it is worth, and the beam's answers beside enumeration."""

from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsmeu.errors import InputError, SizeLimitError
from fsmeu.searn.spaces import CustomSpace
from searn import growth as grown
from searn.collection import Collection, checked
from searn.rouge import matches_of, rouge
from searn.synthetic import synthetic_collections
from searn.vine import GrowingSummary, SummarySpace, action_features, unit_features


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


@pytest.mark.nightly
def test_figure_7():
    growth = grown.vine_growth(FIGURE_7, 5)
    assert grown.actions(growth, ()) == [2]  # ate
    assert grown.actions(growth, (2,)) == [1, 5]  # man, sandwich
    assert grown.actions(growth, (2, 5)) == [1, 3, 4, 6]  # a big, with
    assert grown.actions(growth, (0, 1, 2, 3, 5)) == []
    matches = matches_of(FIGURE_7)
    state = ()
    while grown.actions(growth, state):
        units, costs = grown.action_costs(growth, matches, state)
        state = grown.step(state, units[int(costs.argmin())])
    assert grown.summary(growth, state) == ["the", "man", "ate", "a", "sandwich"]


@given(small_collections(), st.sampled_from([grown.vine_growth, grown.extraction]))
def test_matches_are_those_of_rouge(held, space):
    """Of every set of units, and of every set with one unit more."""
    table, growth = matches_of(held), space(held, 9)
    numbers = range(len(growth.units))
    sets = list(chain.from_iterable(combinations(numbers, k) for k in range(len(numbers) + 1)))
    added = np.array([[unit in one for unit in numbers] for one in sets])
    rows, units = np.nonzero(~added)
    begins = np.array([unit[0] for unit in growth.units])[units]
    own, after = table.count(
        grown.words_of(growth, added), rows, begins, begins + growth.sizes[units]
    )
    larger = [grown.step(sets[row], unit) for row, unit in zip(rows, units, strict=True)]
    for one, found in zip([*sets, *larger], [*own, *after], strict=True):
        text = grown.summary(growth, one)
        totals = (table.total, sum(map(len, held.references)))
        for n, count, total in zip((2, 1), found, totals, strict=True):
            assert count / total == pytest.approx(rouge(text, held.references, n), rel=1e-12)


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


def test_too_large_beams_are_refused(monkeypatch):
    monkeypatch.setattr(grown, "MOST_BEAM_CELLS", 10)
    with pytest.raises(SizeLimitError, match="at most 10 cells"):
        grown.best_completion(grown.vine_growth(FIGURE_7, 5), matches_of(FIGURE_7), ())


def test_synthetic_collections():
    """They are those of their seed, and words along the trees can reach what sentences cannot."""
    one, same, other = (synthetic_collections(3, seed) for seed in (5, 5, 6))
    assert [c.words for c in one] == [c.words for c in same] != [c.words for c in other]
    values = np.array(
        [
            [
                rouge(
                    grown.summary(g, grown.best_completion(g, matches_of(held), ())),
                    held.references,
                )
                for g in (grown.vine_growth(held, 15), grown.extraction(held, 15))
            ]
            for held in (*one, *other)
        ]
    )
    assert values.min() > 0
    assert values[:, 0].mean() > values[:, 1].mean() + 0.1


def test_features_of_actions():
    growth = grown.vine_growth(replace(FIGURE_7, query=("sandwich",)), 5)
    known = unit_features(growth)
    first, second = action_features(growth, known, (2,), [1, 5])
    assert first["word=man"] == second["stem=sandwich"] == 1.0
    assert second["below=5"] == 1.0  # a big sandwich with pickles
    assert second["query unit"] > 0 > first["query unit"]
    assert second["query unit over"] == 1.0
    later = action_features(growth, known, (2, 5), [3])[0]
    assert later["left=1 new=False"] == 1.0
    # p(sandwich | query) = (1 + 5/8) / 6 with five pseudo-counts, 1/8 in the collection
    assert second["query unit"] == pytest.approx(np.log((1 + 5 / 8) / 6 * 8), rel=1e-12)


def test_the_space_agrees_with_its_parts():
    """Values after each action, less the least of them, are the costs that a wide beam tells."""
    held = synthetic_collections(1, 3, documents=1, sentences=2, facts=1)[0]
    gold = held.references
    space = GrowingSummary(limit=6, width=100)
    state = space.start(held)
    while space.actions(state):
        chosen = space.actions(state)
        values = np.array([space.value(space.step(state, a), gold) for a in chosen])
        assert space.costs(state, gold) == pytest.approx(values - values.min(), abs=1e-12)
        assert space.features(state, chosen[0])["bias"] == 1.0
        state = space.step(state, chosen[int(values.argmin())])
    told = space.loss(space.output(state), gold)
    assert told == space.value(state, gold) == 1 - rouge(space.output(state), gold)
    with pytest.raises(InputError, match="word, sentence"):
        GrowingSummary(unit="page").start(held)


# -- ROUGE-N is that of its definition -------------------------------------------------------------

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
def test_rouge_by_hand(summary, references, n, value):
    found = rouge(summary.split(), [one.split() for one in references], n)
    assert found == pytest.approx(value, rel=1e-15)


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3), st.integers(1, 3))
def test_rouge_from_the_definition(summary, references, n):
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


@pytest.mark.parametrize("unit", ["word", "sentence"])
def test_all_actions_of_a_state_at_once(unit):
    """Features and costs are those that actions have one by one, along a search."""
    held = synthetic_collections(2, seed=5)
    searches = []
    for kind in (CustomSpace, SummarySpace):
        space = kind(GrowingSummary(10, unit=unit, width=3)).fitted(None)
        inputs = space.read_inputs(held, 12, (), "test")
        searches.append(space.over(inputs, [list(one.references) for one in held]))
    states = searches[0].start(np.arange(2))
    while not searches[0].is_done(states).any():
        one_by_one, together = ((space.rows(states), space.costs(states)) for space in searches)
        assert together[0][1].tolist() == one_by_one[0][1].tolist()
        assert np.allclose(together[0][0].toarray(), one_by_one[0][0].toarray(), atol=1e-12)
        assert np.allclose(together[1][0], one_by_one[1][0], atol=1e-12)
        states = searches[0].step(states, one_by_one[1][0].argmin(axis=1))
