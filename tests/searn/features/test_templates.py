"""Feature templates: one hash for each template and position, equal exactly where texts are."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsmeu.errors import InputError
from fsmeu.searn.features.sentences import indices, mixed
from fsmeu.searn.features.templates import (
    FUNCTIONS,
    SETS,
    case_pattern,
    columns_of,
    lists,
    parse_template,
    parse_templates,
    shape,
    stem,
    template_hashes,
    template_set,
)

ROWS = st.tuples(st.sampled_from(["the", "The", "cat", "ran"]), st.sampled_from(["DT", "NN", "V"]))
CORPORA = st.lists(st.lists(ROWS, max_size=4), min_size=1, max_size=4)


def as_texts(corpus, template):
    """What a template says of each position, spelled out."""
    found = []
    for rows in corpus:
        for i in range(len(rows)):
            said = []
            for name, offset in parse_template(template):
                k = i + offset
                if not 0 <= k < len(rows):
                    said.append("before" if k < 0 else "after")
                elif name == "pos":
                    said.append("=" + rows[k][1])
                else:
                    said.append("=" + FUNCTIONS[name](rows[k][0]))
            found.append(tuple(said))
    return found


@given(CORPORA, st.sampled_from(["word", "pos[-1] lower[0]", "lower[-2] pos[+1]", "suffix1[1]"]))
def test_hashes_are_equal_where_texts_are(corpus, template):
    columns = columns_of(corpus, [parse_template(template)])
    hashes = template_hashes(columns, [parse_template(template)])[:, 0]
    texts = as_texts(corpus, template)
    for (a, s), (b, t) in product(zip(hashes, texts, strict=True), repeat=2):
        assert (a == b) == (s == t)


def test_order_and_template_matter():
    corpus = [[("a", "b"), ("b", "a")]]
    three = parse_templates(["word[0] pos[0]", "pos[0] word[0]", "word[0] word[1]"])
    assert len(set(template_hashes(columns_of(corpus, three), three).ravel())) == 6


def test_indices_spread_evenly():
    """Of 2^12 numbers, 2^16 hashes take each 16 times on average; the chi-square test agrees."""
    hashes = mixed(np.arange(1 << 16, dtype=np.uint64), np.uint64(5))
    seen = np.bincount(indices(hashes, 12), minlength=1 << 12)
    square = ((seen - 16) ** 2 / 16).sum()
    assert abs(square - 4095) < 5 * np.sqrt(2 * 4095)
    assert len(seen) == 1 << 12


def test_sets_have_the_shape_that_is_promised():
    corpus = [[("Great", "JJ"), ("American", "NNP")], [("said", "VBD")]]
    for name, held in SETS.items():
        found = template_hashes(columns_of(corpus, held.static), held.static)
        assert found.shape == (3, len(held.static)), name
        assert len(set(held.static)) == len(held.static)


def test_a_file_of_templates(tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text("word  # as it stands\n\npos[-1] pos[0]\ncross lower[0]\n")
    found = template_set(str(file))
    assert found.static == ((("word", 0),), (("pos", -1), ("pos", 0)))
    assert found.crossed == ((("lower", 0),),)


@pytest.mark.parametrize("text", ["word[", "word[x]", "[0]", "", "word[1000]", "wo rd[1]]"])
def test_strange_templates_are_refused(text):
    with pytest.raises(InputError, match="template"):
        parse_template(text)


def test_strange_columns_are_refused():
    with pytest.raises(InputError, match="Did you mean 'lower'"):
        columns_of([[("a",)]], parse_templates(["lowr"]))
    with pytest.raises(InputError, match="needs 2 texts"):
        columns_of([[("a",)]], parse_templates(["pos"]))
    with pytest.raises(InputError, match="chunking, names, words"):
        template_set("chunkin")


@pytest.mark.parametrize(
    ("word", "base", "pattern", "form"),
    [
        ("rises", "rise", "lower", "xx"),
        ("companies", "company", "lower", "xx"),
        ("reviewing", "review", "lower", "xx"),
        ("running", "run", "lower", "xx"),
        ("boss", "boss", "lower", "xx"),
        ("its", "its", "lower", "xx"),
        ("U.S.", "u.s.", "upper", "X.X."),
        ("1,200.5", "1,200.5", "number", "0,00.0"),
        ("B", "b", "initial", "X"),
        ("McDonald", "mcdonald", "mixed", "XxXxx"),
        ("García", "garcía", "first", "Xxx"),
        ("747s", "747", "digits", "00x"),
        ("--", "--", "other", "--"),
    ],
)
def test_words(word, base, pattern, form):
    assert (stem(word), case_pattern(word), shape(word)) == (base, pattern, form)


def test_lists():
    assert lists("The") == "stop"
    assert lists("U.S.").split() == ["abbreviation", "joined"]
    assert lists(",") == "sign"
    assert lists("house") == ""
