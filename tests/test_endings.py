"""One list of endings says what files are."""

import pytest

from fsmeu import endings
from fsmeu.endings import CORPORA, EXAMPLES, TRAINING, ending_of, format_by_ending


@pytest.mark.parametrize(
    ("name", "want"),
    [("a.JSON", "json"), ("b.c/d.svg", "svg"), ("b.c/d", ""), (".gz", ""), ("x.tar.gz", "gz")],
)
def test_the_ending_of_a_name(name, want):
    """It is what follows the last dot of the name, which does not begin with it."""
    assert ending_of(name) == want


@pytest.mark.parametrize(
    ("name", "corpus", "examples", "training"),
    [
        ("a.conll", "conll", "svmlight", "conll"),
        ("a.IOB2.gz", "conll", "svmlight", "conll"),
        ("a.tsv", "conll", "csv", "csv"),
        ("a.csv.bz2", "jsonl", "csv", "csv"),
        ("a.npz", "jsonl", "npz", "npz"),
        ("a.jsonl.gz", "jsonl", "svmlight", "svmlight"),
        ("-", "jsonl", "svmlight", "svmlight"),
    ],
)
def test_formats_by_ending(name, corpus, examples, training):
    """A table in tabs is sentences to who scores a corpus, and examples to who trains with it."""
    formats = [format_by_ending(name, table) for table in (CORPORA, EXAMPLES, TRAINING)]
    assert formats == [corpus, examples, training]


def test_no_ending_says_two_formats_of_one_table():
    """Whatever reads a file can go by its ending."""
    for table in (CORPORA, EXAMPLES, TRAINING):
        listed = [ending for endings_of in table.values() for ending in endings_of]
        assert len(listed) == len(set(listed))
    assert set(endings.PLOTS) <= set(endings.PICTURES)
