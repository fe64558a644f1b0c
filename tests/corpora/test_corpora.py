"""Corpora: records of files, sentences in columns, scores that are compared with a baseline."""

import gzip
import io
import pickle
import sys
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fsmeu
from fsmeu.corpora import records as module
from fsmeu.corpora import run as corpus_run
from fsmeu.corpora.records import Item, Record, RecordFields, blocks, read_record, read_sentences
from fsmeu.corpora.run import ModelQuestion
from fsmeu.corpora.score import ScoreQuestion, Tally, rows_of
from fsmeu.errors import FsmeuError, InputError
from fsmeu.progress import silent


def read(content, form="jsonl"):
    return [
        one for block in blocks(module.Source("stdin", io.BytesIO(content)), form) for one in block
    ]


def test_lines_and_sentences_are_records():
    """Empty lines are none, but are counted as lines; a mark at the beginning is no text."""
    found = read(b'\xef\xbb\xbf{"a": 1}\r\n\n  \n{"b": 2}')
    assert found == [Record(1, 1, b'{"a": 1}'), Record(2, 4, b'{"b": 2}')]
    assert read(b"") == []
    found = read(b"\n\na b\nc d\n\n \ne\n", "conll")
    assert found == [Record(1, 3, b"a b\nc d"), Record(2, 7, b"e")]


def test_compressed_files(tmp_path):
    """By the first bytes, whatever the name; the place in the file is that of its bytes."""
    for name in ("c.jsonl.gz", "c.jsonl"):
        file = tmp_path / name
        file.write_bytes(gzip.compress(b"1\n2\n3\n"))
        with module.open_corpus(file) as source:
            assert list(*blocks(source, "jsonl")) == [(1, 1, b"1"), (2, 2, b"2"), (3, 3, b"3")]
            assert source.raw.tell() == source.size == file.stat().st_size
    whole = gzip.compress(bytes(range(48, 58)) * 50 + b"\n")
    for damaged in (whole[:-9], whole[:30] + bytes(9) + whole[39:]):
        file.write_bytes(damaged)
        with (
            module.open_corpus(file) as source,
            pytest.raises(FsmeuError, match="readable to its end"),
        ):
            list(blocks(source, "jsonl"))


@pytest.mark.parametrize("form", ["jsonl", "conll"])
def test_records_that_are_too_long(lowered, form):
    """They are passed over without being held, and those behind them are read."""
    lowered(RECORD_BYTES=10)
    long = b"x" * 35
    found = read(b"ab\n\n" + long + b"\n\ncd\n\n" + long, form)
    assert found == [(1, 1, b"ab"), (2, 3, None), (3, 5, b"cd"), (4, 7, None)]
    (sentence,) = read(b"abcd\nabcd\nabcd\n", "conll")
    with pytest.raises(InputError, match="at most 10 bytes"):
        read_record(sentence, "conll", RecordFields())


def test_blocks_end_by_count_or_by_size(lowered):
    lowered(RECORDS_AT_ONCE=3)
    lowered(BLOCK_BYTES=10)
    sizes = [1, 1, 1, 12, 4, 4, 4, 1]
    content = b"\n".join(b"x" * size for size in sizes)
    made = blocks(module.Source("stdin", io.BytesIO(content)), "jsonl")
    assert [[r.number for r in block] for block in made] == [[1, 2, 3], [4], [5, 6, 7], [8]]


def test_format_by_the_ending():
    tags = (f"a.{ending}" for ending in ("txt", "bio", "BIO", "iob", "iob1", "iob2", "iobes"))
    for form, names in {"jsonl": ("a.jsonl", "-"), "conll": ("a.conll.gz", *tags)}.items():
        assert {name: module.format_of(name, None) for name in names} == dict.fromkeys(names, form)
    assert module.format_of("a.jsonl", "conll") == "conll"


CRFSUITE = "the\tDT\tB:0.75\tO:0.25\nend\tNN\tO:0.5\tB:0.5"
CRF_TEST = (
    "# 0.478113\n"
    "Rockwell NNP B B/0.992465 B/0.992465 I/0.00144946 O/0.00608594\n"
    "# # I B/0.4 B/0.4 I/0.3 O/0.3"
)
CUT = np.array([0.992465, 0.00144946, 0.00608594])


def read_sentence(text, column):
    """The model of a sentence, and the labels in a column."""
    places = RecordFields("", (str(column),) if column else ())
    item = read_record(Record(1, 1, text.encode()), "conll", places)
    return item.model, list(*item.systems.values())


@pytest.mark.parametrize(
    ("text", "column", "tags", "labels", "rows"),
    [
        (CRFSUITE, 2, ["DT", "NN"], ("B", "O"), [[0.75, 0.25], [0.5, 0.5]]),
        (CRF_TEST, 3, ["B", "I"], ("B", "I", "O"), [CUT / CUT.sum(), [0.4, 0.3, 0.3]]),
        (CRF_TEST, 4, ["B/0.992465", "B/0.4"], ("B", "I", "O"), [CUT / CUT.sum(), [0.4, 0.3, 0.3]]),
        ("a 0:0.25 1:0.75", 0, [], (0, 1), [[0.25, 0.75]]),
    ],
)
def test_probabilities_of_tags(text, column, tags, labels, rows):
    """In any order; the chosen label before is a column; digits that were cut off are made up."""
    model, found = read_sentence(text, column)
    assert (model.labels, found) == (labels, tags)
    np.testing.assert_allclose(model.marginals(), rows, rtol=1e-15)


@pytest.mark.parametrize(
    ("text", "columns"), [("a {} 0:0.25 1:0.5 X:0.25", ("2",)), ("a {} 1", (None, "-1"))]
)
def test_labels_are_matched_by_their_text(text, columns):
    """A sentence may have numbers alone, and its model or another sentence other labels too."""
    hamming = fsmeu.load("hamming")
    question = ScoreQuestion(
        (("hamming", hamming),), "conll", RecordFields(columns[0], columns[1:])
    )
    records = [Record(k, k, text.format(tag).encode()) for k, tag in enumerate("01X")]
    items = [read_record(record, "conll", question.places) for record in records]
    assert [one["scores"][0][0] for one in question.answers(items)] == [1, 0, 1]
    if len(columns) == 1:
        asked = ModelQuestion("expect", hamming, "conll", RecordFields("", columns))
        items = [read_record(record, "conll", asked.places) for record in records]
        found = [one["value"] for one in asked.answers(items)]
        assert found == pytest.approx([0.75, 0.5, 0.75])
        assert asked.answers(items[:1])[0]["value"] == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a b c", "probability of each label"),
        ("# alone", "comments alone"),
        ("a A:0.5 B:0.5\nb A:0.5 C:0.5", "those of the first token"),
        ("a A:0.5 B:0.6", "add up to 1"),
        ("a A:-0.5 B:1.5", "from 0 to 1"),
        ("a A:inf B:0.5", "add up to 1"),
        ("a A:inf B:-inf", "add up to 1"),
        ("a A:0.5 B:0.5", "column 2 must be there"),
    ],
)
def test_bad_sentences(text, says):
    with pytest.raises(FsmeuError, match=says):
        read_sentence(text, 2 if says.startswith("column") else 0)


TOKENS = st.text(st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=4)
WORDS = TOKENS.filter(lambda word: not word.startswith("#"))  # which may be a comment
SENTENCES = st.lists(st.tuples(WORDS, TOKENS), min_size=1, max_size=3)


@given(st.lists(SENTENCES, min_size=1, max_size=3))
def test_there_and_back(tmp_path_factory, corpus):
    inputs, tags = module.inputs_and_tags(corpus)
    file = tmp_path_factory.mktemp("conll") / "a.txt.gz"
    file.write_bytes(gzip.compress(module.written(inputs, tags).encode()))
    assert read_sentences(file) == corpus


def test_bad_files(tmp_path):
    for content, says in (
        (b"a B\nb\n", "line 2: each row must have 2 columns. Got b"),
        (b"a\n", "line 1: each row must have 2 columns"),
        (b"\n \n", "there must be a sentence in it"),
        (b"a \xff\n", "must be UTF-8 text"),
    ):
        (tmp_path / "a.txt").write_bytes(content)
        with pytest.raises(InputError, match=says):
            read_sentences(tmp_path / "a.txt", least=2)
    for name in ("nothing", ".", "a\0b"):
        with pytest.raises(InputError, match="the file cannot be read"):
            read_sentences(tmp_path / name)


def test_rows_and_tags_of_standard_input(monkeypatch):
    text = b"Great JJ B-NP\nAmerican NNP I-NP\n\n\nsaid VBD B-VP"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    inputs, tags = module.inputs_and_tags(read_sentences("-", least=3))
    assert inputs == [[("Great", "JJ"), ("American", "NNP")], [("said", "VBD")]]
    assert tags == [["B-NP", "I-NP"], ["B-VP"]]


@pytest.mark.parametrize("draws", [0, 50])
def test_differences_are_those_to_the_baseline(draws):
    """Which need not be the first; by Hamming, errors of three labels."""
    question, tally = ScoreQuestion((("errors", fsmeu.load("hamming")),)), Tally()
    systems = {"none": (0, 1, 1), "one": (1, 1, 1), "two": (1, 0, 1)}
    items = [Item(k, k, None, None, gold=(0, 1, 1), systems=systems) for k in (1, 2)]
    tally.add(question.answers(items))
    wanted = {"none": -1 / 3, "one": None, "two": 1 / 3}
    for row in rows_of(tally, question.losses, "one", draws, 0, silent):
        expected = wanted[row["decision"]]
        assert row["difference"] == (expected and pytest.approx(expected))
        ends = row["difference_low"], row["difference_high"]  # all sentences are alike
        drawn = draws and expected is not None
        assert ends == (pytest.approx((expected, expected)) if drawn else (None, None))


@pytest.mark.parametrize("assigned", [0, 1, 2])
def test_an_interrupted_question_is_not_taken_for_another(monkeypatch, assigned):
    """The first question stays, or the second takes its place, wherever that is interrupted."""

    class Interrupted:
        left = 10

        def __setattr__(self, name, value):
            if self.left == 0:
                raise KeyboardInterrupt
            super().__setattr__(name, value)
            type(self).left -= 1

    monkeypatch.setattr(corpus_run, "_cached", Interrupted())
    monkeypatch.setattr(corpus_run, "_answers", lambda question, block: question)
    first, second, block = (pickle.dumps(x) for x in ("first", "second", []))
    assert corpus_run.answer_block(first, block) == "first"
    Interrupted.left = assigned
    with suppress(KeyboardInterrupt):
        corpus_run.answer_block(second, block)
    Interrupted.left = 10
    assert corpus_run.answer_block(first, block) == "first"
    assert corpus_run.answer_block(second, block) == "second"


CHUNKED = "the DT B-NP\ndog NN I-NP\n"
FIRST = "# # B-NP\n200 CD I-NP\nmillion CD I-NP\nof IN B-PP\n"
"""The beginning of a sentence of CoNLL-2000, whose first token is a number sign."""


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (f"# a comment\n{CHUNKED}", 2),
        (f"# sent_id = 1\n# text = the dog\n#\n{CHUNKED}", 2),
        (f"# of three\n{CHUNKED}", 2),  # as many columns, but no tag in the last
        (f"#comment here too\n{CHUNKED}", 2),
        (FIRST, 4),
        (f"# sentence 17\n{FIRST}", 4),
        ("of IN B-PP\n# # B-NP\n", 2),
        ("# # O\n", 1),
        ("#tag O\n#other B-NP\n", 2),
        ("#tag O\nthe O\n", 2),
        ("# newdoc\nthe DT\n", 1),
        ("# id = X\nthe cat NN X\n", 1),
        ("# #\nthe DT\n", 2),  # parts of speech
        ("# NN\n5 CD\n", 2),
        ("# 0.47\nthe DT B B:0.75 O:0.25\n# # B B:0.5 O:0.5\n", 2),
        ("# # B B:0.5 O:0.5\nthe DT B B:0.75 O:0.25\n", 2),
    ],
)
def test_comments_and_tokens_of_number_signs(text, rows, tmp_path):
    """One reader: what is a comment to score is one to train and predict."""
    wanted = [tuple(line.split()) for line in text.splitlines()][-rows:]
    (tmp_path / "a.txt").write_text(f"{text}\nlast{' x' * (len(wanted[0]) - 1)}\n")
    assert read_sentences(tmp_path / "a.txt")[0] == wanted
    item = read_record(Record(1, 1, text.strip().encode()), "conll", RecordFields("1", ("1",)))
    assert item.gold == [row[0] for row in wanted]


def test_sentences_of_comments_alone_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text(f"{CHUNKED}\n# licence\n# of this\n\n{CHUNKED}")
    with pytest.raises(InputError, match=r"a\.txt, line 4: .*comments alone"):
        read_sentences(tmp_path / "a.txt")
