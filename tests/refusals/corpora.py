"""Records and sentences of corpora; the command line adds the line to what a record says."""

import tempfile
from pathlib import Path

from fsmeu.corpora.records import LineError, Record, RecordFields, read_record, read_sentences
from fsmeu.errors import InputError

_FOLDER = tempfile.TemporaryDirectory()


def sentence(text, column=""):
    """The record of a sentence in columns, and labels in one of these."""
    places = RecordFields("", (column,) if column else ())
    return read_record(Record(1, 1, text.encode()), "conll", places)


def file(content):
    """The rows of a file of sentences to train with."""
    path = Path(_FOLDER.name) / "a.txt"
    path.write_bytes(content)
    return read_sentences(path, least=2)


NAMES = {"sentence": sentence, "file": file, "read_sentences": read_sentences}
ROWS = [
    ('sentence("a b c")', LineError, "probability of each label"),
    ('sentence("# alone")', InputError, "comments alone"),
    ('sentence("a A:0.5 B:0.5\\nb A:0.5 C:0.5")', LineError, "those of the first token"),
    ('sentence("a A:0.5 B:0.6")', LineError, "add up to 1"),
    ('sentence("a A:-0.5 B:1.5")', LineError, "from 0 to 1"),
    ('sentence("a A:inf B:-inf")', LineError, "add up to 1"),
    ('sentence("a A:0.5 B:0.5", "2")', LineError, "column 2 must be there"),
    ('file(b"a B\\nb\\n")', InputError, "line 2: each row must have 2 columns. Got b"),
    ('file(b"\\n \\n")', InputError, "there must be a sentence in it"),
    ('file(b"a \\xff\\n")', InputError, "must be UTF-8 text"),
    ('read_sentences("nothing")', InputError, "the file cannot be read"),
    ('read_sentences("a\\0b")', InputError, "the file cannot be read"),
]
