"""Corpora at the command line: records of files, sentences in columns, comparisons."""

import gzip

import pytest
from typer.testing import CliRunner

from fsmeu.cli.main import app
from fsmeu.corpora.records import read_sentences
from fsmeu.errors import InputError
from tests.cli.commands import Ran


def run(*words, stdin=None):
    """What a command prints and how it ends."""
    return Ran(CliRunner().invoke(app, list(map(str, words)), input=stdin))


def values(*words, stdin=None):
    """The records and the values that ``fsmeu expect`` prints."""
    told = run("expect", "hamming", "--json", *words, stdin=stdin).records
    return [(one["record"], one["value"]) for one in told]


LINES = b'{"probs": [0.5], "z": "1"}\r\n\n  \n{"probs": [0.25], "z": "0"}'


def test_lines_and_sentences_are_records(tmp_path, lowered):
    """Empty lines are none, but are counted as lines; a mark at the beginning is no text."""
    ask = ("--corpus", "-")
    assert values(*ask, stdin=b"\xef\xbb\xbf" + LINES) == [(1, 0.5), (2, 0.25)]
    run("expect", "hamming", *ask, stdin=LINES[:-1]).is_refused("line 4: ")
    file = tmp_path / "c.conll"
    file.write_text("\n\na B B:0.5 O:0.5\nb O B:0 O:1\n\n \nc B B:0.25 O:0.75\n")
    assert values("--corpus", file, "--column", 2) == [(1, 0.25), (2, 0.75)]
    run("expect", "hamming", "--corpus", file, "--column", 3).is_refused("line 3: ", "column 3")
    lowered(RECORDS_AT_ONCE=1)
    assert values(*ask, stdin=LINES) == [(1, 0.5), (2, 0.25)]
    lowered(RECORD_BYTES=30)  # longer ones are passed over, and those behind them are read
    long = LINES.replace(b"\r\n", b"\n" + LINES[:25] + b" " * 50 + b"}\n")
    told = run("expect", "hamming", *ask, "--on-error", "skip", stdin=long)
    assert [float(text) for text in told.out.split()] == [0.5, 0.25]
    assert "line 2: record: may have at most 30 bytes" in told.err


def test_compressed_files(tmp_path):
    """By the first bytes, whatever the name."""
    for name in ("c.jsonl.gz", "c.jsonl"):
        file = tmp_path / name
        file.write_bytes(gzip.compress(LINES))
        assert values("--corpus", file) == [(1, 0.5), (2, 0.25)]
    whole = gzip.compress(b"".join(b'{"probs": [0.%d], "z": "1"}\n' % k for k in range(99)))
    for damaged in (whole[:-9], whole[:30] + bytes(9) + whole[39:]):
        file.write_bytes(damaged)
        run("expect", "hamming", "--corpus", file).is_refused("readable to its end")


CRF_TEST = (
    "# 0.478113\n"
    "Rockwell NNP B B/0.992465 B/0.992465 I/0.00144946 O/0.00608594\n"
    "# # I B/0.4 B/0.4 I/0.3 O/0.3"
)


@pytest.mark.parametrize(
    ("text", "labels", "chance"),
    [
        ("the\tDT\tB:0.75\tO:0.25\nend\tNN\tO:0.6\tB:0.4", ["B", "O"], 0.75 * 0.6),
        (CRF_TEST, ["B", "B"], 0.4 * 0.992465 / (0.992465 + 0.00144946 + 0.00608594)),
        ("a 0:0.25 1:0.75", [1], 0.75),
    ],
)
def test_probabilities_of_tags(text, labels, chance, tmp_path):
    """In any order; the chosen label before is a column; digits that were cut off are made up."""
    file = tmp_path / "c.conll"
    file.write_text(text)
    [told] = run("decode", "zero_one", "--corpus", file, "--json").records
    assert told["labels"] == labels
    assert told["value"] == pytest.approx(1 - chance, rel=1e-14)
    if text == CRF_TEST:
        told = run("score", "hamming", file, "--gold", 3, "--draws", 0, "--json").json
        assert told["scores"][0]["value"] == 0.5
        run("expect", "hamming", "--corpus", file, "--column", 4).is_refused("Got B/0.992465")


def test_labels_are_matched_by_their_text(tmp_path):
    """A sentence may have numbers alone, and its model or another sentence other labels too."""
    file = tmp_path / "c.conll"
    file.write_text("\n\n".join(f"a {tag} 0:0.25 1:0.5 X:0.25" for tag in "01X"))
    found = values("--corpus", file, "--column", 2)
    assert found == [(1, 0.75), (2, 0.5), (3, 0.75)]
    told = run("score", "hamming", file, "--gold", 2, "--draws", 0, "--json").json
    means = [one["value"] for one in told["scores"] if one["level"] == "sentence"]
    assert means == pytest.approx([2 / 3] * len(means))
    file.write_text("a 0 1\n\nb X 1\n\nc 1 1")  # the last columns are the reference and a decision
    [told, *_] = run("score", "hamming", file, "--draws", 0, "--json").json["scores"]
    assert (told["decision"], told["value"]) == ("last column", pytest.approx(2 / 3))


def test_differences_are_those_to_the_baseline(tmp_path):
    """Which need not be the first; by Hamming, errors of three labels."""
    file = tmp_path / "c.jsonl"
    file.write_text('{"y": "011", "none": "011", "one": "111", "two": "101"}\n' * 2)
    systems = [word for name in ("none", "one", "two") for word in ("-s", name)]
    ask = ("score", "hamming", file, *systems, "--baseline", "one", "--draws", 50)
    wanted = {"none": -1 / 3, "one": None, "two": 1 / 3}
    rows = run(*ask, "--json").json["scores"]
    assert {row["decision"] for row in rows} == wanted.keys()
    for row in rows:
        expected = wanted[row["decision"]]
        told = [row[f"difference{end}"] for end in ("", "_low", "_high")]  # sentences are alike
        assert told == [None if expected is None else pytest.approx(expected)] * 3


CHUNKED = "the DT B-NP\ndog NN I-NP\n"
FIRST = "# # B-NP\n200 CD I-NP\nmillion CD I-NP\nof IN B-PP\n"
"""The beginning of a sentence of CoNLL-2000, whose first token is a number sign."""


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (f"# sent_id = 1\n# text = the dog\n#\n{CHUNKED}", 2),
        (f"# of three\n{CHUNKED}", 2),  # as many columns, but no tag in the last
        (f"# sentence 17\n{FIRST}", 4),
        ("# # O\n", 1),
        ("#tag O\nthe O\n", 2),
        ("# id = X\nthe cat NN X\n", 1),
        ("# #\nthe DT\n", 2),  # parts of speech
        ("# # B B:0.5 O:0.5\nthe DT B B:0.75 O:0.25\n", 2),
    ],
)
def test_comments_and_tokens_of_number_signs(text, rows, tmp_path):
    """One reader: what is a comment to score is one to train and predict."""
    wanted = [tuple(line.split()) for line in text.splitlines()][-rows:]
    file = tmp_path / "a.txt"
    file.write_text(f"{text}\nlast{' x' * (len(wanted[0]) - 1)}\n")
    assert read_sentences(file)[0] == wanted
    file.write_text(text)
    ask = ("score", "hamming", file, "--gold", 1, "-s", 1, "--draws", 0, "--json")
    assert run(*ask).json["labels"] == rows


def test_sentences_of_comments_alone_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text(f"{CHUNKED}\n# licence\n# of this\n\n{CHUNKED}")
    with pytest.raises(InputError, match=r"a\.txt, line 4: .*comments alone"):
        read_sentences(tmp_path / "a.txt")
