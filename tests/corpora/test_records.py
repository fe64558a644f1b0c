"""Records: lines, sentences, compression, what is too long, and where blocks begin."""

import gzip
import io

import pytest

from fsmeu.corpora import records as module
from fsmeu.corpora.records import Record, Source, blocks, format_of, open_corpus, records
from fsmeu.errors import FsmeuError


def read(content, form="jsonl"):
    return list(records(Source("stdin", io.BytesIO(content)).lines(), form))


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
        with open_corpus(file) as source:
            assert list(source.lines()) == [(1, b"1"), (2, b"2"), (3, b"3")]
            assert source.position == source.size == file.stat().st_size
    whole = gzip.compress(bytes(range(48, 58)) * 50 + b"\n")
    for damaged in (whole[:-9], whole[:30] + bytes(9) + whole[39:]):
        file.write_bytes(damaged)
        with open_corpus(file) as source, pytest.raises(FsmeuError, match="readable to its end"):
            list(source.lines())


@pytest.mark.parametrize("form", ["jsonl", "conll"])
def test_records_that_are_too_long(monkeypatch, form):
    """They are passed over without being held, and those behind them are read."""
    monkeypatch.setattr(module, "RECORD_BYTES", 10)
    long = b"x" * 35
    found = read(b"ab\n\n" + long + b"\n\ncd\n\n" + long, form)
    texts = [(r.number, r.line, r.text, bool(r.fault)) for r in found]
    good, bad = [(1, 1, b"ab", False), (3, 5, b"cd", False)], [(2, 3, b"", True), (4, 7, b"", True)]
    assert texts == sorted(good + bad)
    if form == "conll":
        (sentence,) = read(b"abcd\nabcd\nabcd\n", "conll")
        assert "at most 10 bytes" in sentence.fault
        assert sentence.text == b""


def test_blocks_end_by_count_or_by_size(monkeypatch):
    monkeypatch.setattr(module, "RECORDS_AT_ONCE", 3)
    monkeypatch.setattr(module, "BLOCK_BYTES", 10)
    sizes = [1, 1, 1, 12, 4, 4, 4, 1]
    made = blocks(Record(k, k, b"x" * size) for k, size in enumerate(sizes, start=1))
    assert [[r.number for r in block] for block in made] == [[1, 2, 3], [4], [5, 6, 7], [8]]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *(("a.jsonl", "jsonl"), ("a.conll.gz", "conll"), ("a.txt", "conll"), ("-", "jsonl")),
        *((f"a.{ending}", "conll") for ending in ("bio", "BIO", "iob", "iob1", "iob2", "iobes")),
    ],
)
def test_format_by_the_ending(name, form):
    assert format_of(name, None) == form
    assert format_of(name, "conll") == "conll"
