"""Sentences in columns, as two taggers print them."""

import numpy as np
import pytest

from fsmeu.corpora.columns import read_sentence
from fsmeu.errors import FsmeuError

CRFSUITE = "the\tDT\tB:0.75\tO:0.25\nend\tNN\tO:0.5\tB:0.5"
CRF_TEST = (
    "# 0.478113\n"
    "Rockwell NNP B B/0.992465 B/0.992465 I/0.00144946 O/0.00608594\n"
    "# # I B/0.4 B/0.4 I/0.3 O/0.3"
)


def test_probabilities_after_a_colon():
    """Labels may stand in any order."""
    model, tags = read_sentence(CRFSUITE, 2)
    assert model.labels == ("B", "O")
    np.testing.assert_allclose(model.marginals(), [[0.75, 0.25], [0.5, 0.5]], rtol=1e-15)
    assert tags == ["DT", "NN"]


def test_probabilities_after_a_slash():
    """The chosen label before them is a column; digits that were cut off are made up for."""
    model, tags = read_sentence(CRF_TEST, 4)
    row = np.array([0.992465, 0.00144946, 0.00608594])
    np.testing.assert_allclose(model.marginals()[0], row / row.sum(), rtol=1e-12)
    np.testing.assert_allclose(model.marginals()[1], [0.4, 0.3, 0.3], rtol=1e-12)
    assert tags == ["B/0.992465", "B/0.4"]
    assert read_sentence(CRF_TEST, 3)[1] == ["B", "I"]


def test_labels_that_are_numbers():
    model, tags = read_sentence("a 0:0.25 1:0.75", 0)
    assert model.labels == (0, 1)
    assert tags == []


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("a b c", 0, "probability of each label"),
        ("# alone", 0, "comments alone"),
        ("a A:0.5 B:0.5\nb A:0.5 C:0.5", 0, "those of the first token"),
        ("a A:0.5 B:0.6", 0, "add up to 1"),
        ("a A:-0.5 B:1.5", 0, "from 0 to 1"),
        ("a A:nan B:0.5", 0, "add up to 1"),
        ("a A:inf B:0.5", 0, "add up to 1"),
        ("a A:0.5 B:0.5", 2, "column 2 must be there"),
    ],
)
def test_bad_sentences(text, column, said):
    with pytest.raises(FsmeuError, match=said):
        read_sentence(text, column)
