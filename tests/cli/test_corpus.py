"""`--corpus`: files of results, resumed runs, bad records, several processes."""

import json

import numpy as np
import pytest

from tests.brute_force import expected
from tests.cli.commands import fsmeu, write
from tests.label_models import plain_model
from tests.support.values import near


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Records of several lengths, as data and in a file, and their distributions of y."""
    rng = np.random.default_rng(3)
    specs = [plain_model(rng, "markov", (0, 1), int(n), order=1) for n in rng.integers(1, 6, 24)]
    zs = [{"z": rng.integers(0, 2, one.n).tolist()} for one in specs]
    both = zip(specs, zs, strict=True)
    made = [{"id": f"s{k}", **one.build().to_json(), **z} for k, (one, z) in enumerate(both)]
    file = write(tmp_path_factory.mktemp("corpus") / "c.jsonl", made)
    return made, file, [one.listed() for one in specs]


def results(path, **how):
    return [json.loads(line, **how) for line in path.read_text().splitlines()]


def test_decisions_in_a_file(corpus, tmp_path, lowered):
    lowered(RECORDS_AT_ONCE=7)
    _, file, listed = corpus
    out = tmp_path / "o.jsonl"
    ran = fsmeu("decode", "fscore", "--corpus", file, "-o", out)
    assert (ran.code, ran.out) == (0, "")
    assert "24 sequences, 24 decisions proven best" in ran.err
    told = results(out)
    for k, (one, of_y) in enumerate(zip(told, listed, strict=True)):
        assert (one["record"], one["id"]) == (k + 1, f"s{k}")
        best = max(expected(z, of_y) for z in of_y)
        assert one["value"] == pytest.approx(best, rel=1e-12)
        assert expected(one["labels"], of_y) == pytest.approx(best, rel=1e-12)
    line = fsmeu("decode", "fscore", "--corpus", file, "--explain").out.splitlines()[0]
    _, z, explained = line.split("\t")
    assert (z, explained[:11]) == ("".join(map(str, told[0]["labels"])), "Decided by ")
    explicit = fsmeu("decode", "fscore", "--corpus", file, "--json", "--engine", "openfst").records
    assert [one["value"] for one in explicit] == pytest.approx([one["value"] for one in told])


@pytest.mark.parametrize("command", ["decode", "expect"])
def test_resumed_wherever_it_was_cut(corpus, tmp_path, lowered, command):
    """Complete lines stay, a partial one is made anew, and the results are those of one run."""
    lowered(RECORDS_AT_ONCE=7)
    _, file, _ = corpus
    out = tmp_path / "o.jsonl"
    ask = (command, "fscore", "--corpus", file, "-o", out, "--resume")
    assert fsmeu(*ask).code == 0
    whole, once = out.read_bytes(), results(out, parse_float=near)
    ends = [k + 1 for k, byte in enumerate(whole) if byte == ord("\n")]
    for cut in (0, 1, ends[0], ends[6], ends[6] + 3, ends[20] - 1, len(whole)):
        out.write_bytes(whole[:cut])
        assert fsmeu(*ask).code == 0
        stays = max((end for end in ends if end <= cut), default=0)
        assert out.read_bytes()[:stays] == whole[:stays], cut
        assert results(out) == once


def test_results_of_something_else_are_not_touched(corpus, tmp_path):
    made, file, _ = corpus
    out = tmp_path / "o.jsonl"
    ask = ("--corpus", file, "-o", out)
    fsmeu("decode", "fscore", *ask)
    held = out.read_bytes()
    fsmeu("decode", "fscore", *ask).is_refused("must be a new file", "--resume")
    fsmeu("decode", "hamming", *ask, "--resume").is_refused("another result for record 24")
    shorter = write(tmp_path / "s.jsonl", made[:9])
    refused = fsmeu("decode", "fscore", "--corpus", shorter, "-o", out, "--resume")
    refused.is_refused("must have the 24 records")
    assert out.read_bytes() == held
    for other in (b"a text\n", b"a text", b'{"record": "x"}\n', b'{"record": 1e999}\n'):
        out.write_bytes(other)
        fsmeu("decode", "fscore", *ask, "--resume").is_refused("must hold results")
        assert out.read_bytes() == other


GOOD = '{"probs": [0.5, 0.25], "z": "10"}'
BAD = [
    ("decode", '{"probs": [0.5]'),
    ("decode", '{"probs": [1.5]}'),
    ("decode", '{"a":' * 5000),
    ("expect", '{"probs": [0.5, 0.25], "z": "012"}'),
]


@pytest.mark.parametrize(("command", "bad"), BAD, ids=range(len(BAD)))
def test_bad_records_are_skipped_or_fatal(command, bad, keep):
    file = keep("c.jsonl", f"{GOOD}\n\n{bad}\n{GOOD}\n")
    ask = (command, "fscore", "--corpus", file, "--json")
    fsmeu(*ask).is_refused("line 3: ")
    ran = fsmeu(*ask, "--on-error", "skip")
    assert ran.code == 0
    assert [one["record"] for one in ran.records] == [1, 3]
    assert ran.err.count("skipped: ") == 1
    assert f"corpus {file}, line 3: " in ran.err
