"""`--corpus`: files of results, runs that were killed, bad records, several processes."""

import gzip
import json
import subprocess
import time

import numpy as np
import pytest

from fsmeu.corpora import records
from tests.brute_force import expected
from tests.cli.conftest import PROGRAM, write
from tests.label_models import plain_model
from tests.support.values import near


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Records of several lengths, as data and in a file, and their distributions of y."""
    rng = np.random.default_rng(3)
    specs = [plain_model(rng, "markov", (0, 1), int(n), order=1) for n in rng.integers(1, 6, 40)]
    zs = [{"z": rng.integers(0, 2, one.n).tolist()} for one in specs]
    both = zip(specs, zs, strict=True)
    made = [{"id": f"s{k}", **one.build().to_json(), **z} for k, (one, z) in enumerate(both)]
    file = write(tmp_path_factory.mktemp("corpus") / "c.jsonl", made)
    return made, file, [one.listed() for one in specs]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(records, "RECORDS_AT_ONCE", 7)


def results(path, **how):
    return [json.loads(line, **how) for line in path.read_text().splitlines()]


def test_decisions_in_a_file(fsmeu, corpus, tmp_path, small_blocks):
    _, file, listed = corpus
    out = tmp_path / "folder" / "o.jsonl"
    ran = fsmeu("decode", "fscore", "--corpus", file, "-o", out)
    assert (ran.code, ran.out) == (0, "")
    assert "40 sequences, 40 decisions proven best" in ran.err
    for k, (told, of_y) in enumerate(zip(results(out), listed, strict=True)):
        assert (told["record"], told["id"]) == (k + 1, f"s{k}")
        best = max(expected(z, of_y) for z in of_y)
        assert told["value"] == pytest.approx(best, rel=1e-12)
        assert expected(told["labels"], of_y) == pytest.approx(best, rel=1e-12)


def test_expectations_from_a_compressed_file(fsmeu, corpus, keep):
    made, file, listed = corpus
    text = [{**r, "z": "".join(map(str, r["z"]))} if k % 2 else r for k, r in enumerate(made)]
    packed = keep("c.jsonl.gz", gzip.compress("\n".join(map(json.dumps, text)).encode()))
    told = fsmeu("expect", "fscore", "--corpus", packed, "--json").records
    assert [t["id"] for t in told] == [r["id"] for r in made]
    wanted = [expected(r["z"], of_y) for r, of_y in zip(made, listed, strict=True)]
    assert [one["value"] for one in told] == pytest.approx(wanted, rel=1e-12)
    plain = [float(value) for value in fsmeu("expect", "fscore", "--corpus", file).out.split()]
    assert plain == pytest.approx([one["value"] for one in told], rel=1e-12)


def test_sentences_in_columns(fsmeu, keep):
    text = "the B B:0.75 O:0.25\nend O B:0.5 O:0.5\n\nso O B:0.125 O:0.875\n"
    file = keep("c.conll", text)
    ran = fsmeu("expect", "hamming", "--corpus", file, "--column", 2)
    assert [float(x) for x in ran.out.split()] == pytest.approx([0.375, 0.125], rel=1e-12)
    decided = fsmeu("decode", "hamming", "--corpus", file, "--json").records
    assert [one["labels"][0] for one in decided] == ["B", "O"]


@pytest.mark.parametrize("command", ["decode", "expect"])
def test_resumed_wherever_it_was_cut(fsmeu, corpus, tmp_path, small_blocks, command):
    """Complete lines stay, a partial one is made anew, and the results are those of one run."""
    _, file, _ = corpus
    out = tmp_path / "o.jsonl"
    ask = (command, "fscore", "--corpus", file, "-o", out, "--resume")
    assert fsmeu(*ask).code == 0
    whole, once = out.read_bytes(), results(out, parse_float=near)
    ends = [k + 1 for k, byte in enumerate(whole) if byte == ord("\n")]
    for cut in (0, 1, 11, 12, ends[0], ends[5], ends[6], ends[6] + 3, ends[20] - 1, len(whole)):
        out.write_bytes(whole[:cut])
        assert fsmeu(*ask).code == 0
        stays = max((end for end in ends if end <= cut), default=0)
        assert out.read_bytes()[:stays] == whole[:stays], cut
        assert results(out) == once


def test_killed_and_resumed(fsmeu, tmp_path):
    """SIGKILL while the run waits for more of the corpus, which comes through a pipe."""
    rng, out = np.random.default_rng(8), tmp_path / "out.jsonl"
    made = [{"probs": rng.random(n).tolist()} for n in rng.integers(1, 9, 300)]
    file = write(tmp_path / "c.jsonl", made)
    command = [*PROGRAM, "decode", "fscore", "--corpus", "-", "-o", str(out)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(file.read_bytes())
    process.stdin.flush()
    patience, written = time.monotonic() + 100, b""
    while written.count(b"\n") < records.RECORDS_AT_ONCE and time.monotonic() < patience:
        time.sleep(0.02)
        written = out.read_bytes() if out.exists() else b""
    process.kill()
    process.communicate()
    assert len(out.read_bytes().splitlines()) == records.RECORDS_AT_ONCE
    ask = ("decode", "fscore", "--corpus", file, "-o", out, "--resume", "--jobs", 2)
    assert fsmeu(*ask).code == 0
    told = fsmeu("decode", "fscore", "--corpus", file, "--json").records
    assert told == results(out, parse_float=near)


def test_results_of_something_else_are_not_touched(fsmeu, corpus, tmp_path):
    made, file, _ = corpus
    out = tmp_path / "o.jsonl"
    ask = ("--corpus", file, "-o", out)
    fsmeu("decode", "fscore", *ask)
    held = out.read_bytes()
    fsmeu("decode", "fscore", *ask).is_refused("must be a new file", "--resume")
    fsmeu("decode", "hamming", *ask, "--resume").is_refused("another result for record 40")
    fsmeu("expect", "fscore", *ask, "--resume").is_refused("another result for record 40")
    shorter = write(tmp_path / "s.jsonl", made[:9])
    refused = fsmeu("decode", "fscore", "--corpus", shorter, "-o", out, "--resume")
    refused.is_refused("must have the 40 records")
    assert out.read_bytes() == held
    infinite = b'{"record": 1e999}\n'
    for other in (b"a text\n", b"a text", b'{"record": "x"}\n', b'[]\n{"record": 1', infinite):
        out.write_bytes(other)
        fsmeu("decode", "fscore", *ask, "--resume").is_refused("must hold results")
        assert out.read_bytes() == other


GOOD = '{"probs": [0.5, 0.25]}'
BAD = [
    "rubbish",
    '{"probs": [0.5]',
    '{"probs": [1.5]}',
    '{"id": [1], "probs": [0.5]}',
    '{"probs": [NaN]}',
    '{"probs": [0.5], "labels": ["A"]}',
    '{"model": "independent", "probabilities": [[0.5, 0.5]], "labels": ["A", "B"]}',
    "[" * 5000,
    '{"a":' * 5000,
]


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_bad_records_are_skipped_or_fatal(fsmeu, bad, keep):
    file = keep("c.jsonl", f"{GOOD}\n\n{bad}\n{GOOD}\n")
    ask = ("decode", "fscore", "--corpus", file, "--json")
    fsmeu(*ask).is_refused("line 3: ")
    fsmeu(*ask, "--on-error", "stop").is_refused("line 3: ")
    ran = fsmeu(*ask, "--on-error", "skip")
    assert ran.code == 0
    assert [one["record"] for one in ran.records] == [1, 3]
    assert ran.err.count("skipped: ") == 1
    assert f"corpus {file}, line 3: " in ran.err
    assert "1 bad records skipped" in ran.err


def test_hypotheses_with_a_tag_that_the_model_lacks(fsmeu, keep):
    model = {"model": "independent", "probabilities": [[0.25, 0.75]], "labels": ["O", "B-X"]}
    file = keep("c.jsonl", [{**model, "z": z} for z in (["B-Y"], ["B-X"])])
    ran = fsmeu("expect", "chunk_fscore", "--corpus", file)
    assert [float(text) for text in ran.out.split()] == pytest.approx([0.0, 0.75])
    one = keep("m.json", model)
    assert float(fsmeu("expect", "chunk_fscore", "B-Y", "--model", one).out) == 0.0


@pytest.mark.parametrize("z", ["", ', "z": "012"', ', "z": [0]', ', "z": 1', ', "z": {}'])
def test_bad_hypotheses(fsmeu, z, keep):
    file = keep("c.jsonl", f'{GOOD[:-1]}, "z": "10"}}\n{GOOD[:-1]}{z}}}\n')
    fsmeu("expect", "fscore", "--corpus", file).is_refused("line 2: ")
    ran = fsmeu("expect", "fscore", "--corpus", file, "--on-error", "skip")
    assert (ran.code, len(ran.out.split())) == (0, 1)
