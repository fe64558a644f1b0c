"""Scores of decisions, compared with a baseline."""

import pytest

import fsmeu
from fsmeu.corpora.parse import Item
from fsmeu.corpora.score import ScoreQuestion, Tally, rows_of


@pytest.mark.parametrize("draws", [0, 50])
def test_differences_are_those_to_the_baseline(draws):
    """Which need not be the first; by Hamming, errors of three labels."""
    question, tally = ScoreQuestion((("errors", fsmeu.load("hamming")),)), Tally()
    systems = {"none": (0, 1, 1), "one": (1, 1, 1), "two": (1, 0, 1)}
    items = [Item(k, k, None, None, gold=(0, 1, 1), systems=systems) for k in (1, 2)]
    tally.add(question.answers(items))
    wanted = {"none": -1 / 3, "one": None, "two": 1 / 3}
    for row in rows_of(tally, question.losses, "one", draws, seed=0):
        less, expected = row.difference, wanted[row.decision]
        assert (less and less.value) == (expected and pytest.approx(expected))
        if draws and less is not None:
            assert less.low == less.high == pytest.approx(expected)  # all sentences are alike
