"""`fsmeu decode`: decisions for one model, for a corpus, and by several methods."""

import itertools
import json
import math

import pytest

P = [0.9, 0.5, 0.3]
PROBS = ",".join(map(str, P))


def f_score(z, y):
    both, all_ = sum(a * b for a, b in zip(z, y, strict=True)), sum(z) + sum(y)
    return 2 * both / all_ if all_ else 1.0


def expected(z, p):
    """The expected F-score of z by listing."""
    total = 0.0
    for y in itertools.product((0, 1), repeat=len(p)):
        weight = math.prod(q if b else 1 - q for q, b in zip(p, y, strict=True))
        total += weight * f_score(z, y)
    return total


def best(p):
    return max(itertools.product((0, 1), repeat=len(p)), key=lambda z: expected(z, p))


def test_one_model(fsmeu):
    """Labels on a line, their value on the next."""
    z, value = fsmeu("decode", "fscore", "--probs", PROBS).out.split()
    assert z == "".join(map(str, best(P)))
    assert float(value) == pytest.approx(expected(best(P), P), rel=1e-12)


def test_json_and_words(fsmeu):
    data = fsmeu("decode", "fscore", "--probs", PROBS, "--json", "--explain").json
    assert data["labels"] == list(best(P))
    assert data["exact"] is True
    assert data["method"] == "ranking_fast"
    assert data["candidates"] == 4
    assert "independent" in data["explanation"]
    told = fsmeu("decode", "fscore", "--probs", PROBS, "--explain").out
    assert "Decided by ranking_fast" in told
    assert "explanation" not in fsmeu("decode", "fscore", "--probs", PROBS, "--json").json


def test_model_file_with_tags(fsmeu, tmp_path):
    """Tags are printed with spaces between them."""
    rows = [[0.1, 0.8, 0.1], [0.2, 0.1, 0.7], [0.9, 0.05, 0.05]]
    model = {"model": "independent", "probabilities": rows, "labels": ["O", "B-X", "I-X"]}
    file = tmp_path / "m.json"
    file.write_text(json.dumps(model))
    lines = fsmeu("decode", "hamming", "--model", file).out.splitlines()
    assert lines[0] == "B-X I-X O"
    assert float(lines[1]) == pytest.approx((0.2 + 0.3 + 0.1) / 3, rel=1e-12)


def test_constraint(fsmeu):
    """The best among those that are allowed."""
    data = fsmeu("decode", "fscore", "--probs", PROBS, "--constraint", "0 .*", "--json").json
    among = [z for z in itertools.product((0, 1), repeat=3) if z[0] == 0]
    assert data["labels"] == list(max(among, key=lambda z: expected(z, P)))
    assert data["exact"] is True


def test_keep_and_budget(fsmeu):
    command = ["decode", "fscore", "--probs", PROBS]
    data = fsmeu(*command, "--method", "ranking", "--beam", 1, "--json").json
    assert data["exact"] is False
    assert data["value"] == pytest.approx(expected(data["labels"], P), rel=1e-12)
    fsmeu(*command, "--method", "exhaustive", "--budget", 7).is_refused("at most 7", "2^3")


@pytest.mark.parametrize("from_stdin", [True, False])
def test_corpus(fsmeu, tmp_path, from_stdin):
    """A line for each model, in order, whatever their lengths."""
    vectors = [[0.9, 0.5], [0.2], [0.3, 0.6, 0.7, 0.1], []]
    text = "".join(json.dumps({"probs": p}) + "\n\n" for p in vectors)
    file = tmp_path / "c.jsonl"
    file.write_text(text)
    source, stdin = ("-", text) if from_stdin else (file, None)
    ran = fsmeu("decode", "fscore", "--corpus", source, "--json", stdin=stdin)
    assert ran.code == 0
    decided = [json.loads(line) for line in ran.out.splitlines()]
    assert [d["labels"] for d in decided] == [list(best(p)) for p in vectors]
    ran = fsmeu("decode", "fscore", "--corpus", source, "--explain", stdin=stdin)
    cells = [line.split("\t") for line in ran.out.splitlines()]
    for (value, z, told), p in zip(cells, vectors, strict=True):
        assert z == "".join(map(str, best(p)))
        assert float(value) == pytest.approx(expected(best(p), p), rel=1e-12)
        assert told.startswith("Decided by ")
    assert "4 sequences, 4 decisions proven best" in ran.err


def test_compare(fsmeu):
    """A row for each method that fits; the others say why not."""
    rows = fsmeu("decode", "fscore", "--probs", PROBS, "--compare", "--json").json
    decided = {row["method"]: row for row in rows if "refused" not in row}
    refused = {row["method"]: row["refused"] for row in rows if "refused" in row}
    assert set(refused) == {"additive", "moments", "viterbi"}
    for row in decided.values():
        assert row["value"] == pytest.approx(expected(row["labels"], P), rel=1e-12)
        assert row["seconds"] > 0
        assert not row["exact"] or row["labels"] == list(best(P))
    assert decided["counting"]["exact"]
    assert not decided["marginal"]["exact"]
    table = fsmeu("decode", "fscore", "--probs", PROBS, "--compare")
    shown = {cells[0]: cells for cells in table.rows() if cells and cells[0] in decided}
    assert set(shown) == set(decided)
    assert shown["ranking"][1] == "".join(map(str, best(P)))
    assert shown["ranking"][3] == "yes"
    assert "decode by additive: " in table.out
    two = fsmeu("decode", "fscore", "--probs", PROBS, "--compare", "--method", "ranking,nbest")
    assert [row[0] for row in two.rows()][2:4] == ["ranking", "nbest"]


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ([], ["--probs", "neither"]),
        (["--probs", ".5", "--corpus", "x"], ["--corpus", "one of them"]),
        (["--corpus", "x", "--compare"], ["--compare", "one model"]),
        (["--corpus", "none.jsonl"], ["none.jsonl", "No such file"]),
        (["--corpus", "/"], ["directory"]),
        (["--probs", ".5", "--method", "rankin"], ["'ranking'"]),
        (["--probs", ".5", "--method", "additive"], ["decode by additive", "sum over positions"]),
        (["--probs", ".5", "--constraint", "(0"], ["constraint", "not closed"]),
        (["--probs", ".5", "--constraint", "0 0"], ["constraint"]),
        (["--probs", ".5,x"], ["--probs", "x"]),
    ],
)
def test_refusals(fsmeu, options, parts):
    fsmeu("decode", "fscore", *options).is_refused(*parts)


def test_time_may_be_limited(fsmeu):
    """A number of seconds, or inf; nothing that is no time."""
    for seconds in ("5", "inf"):
        z = fsmeu("decode", "jaccard", "--probs", PROBS, "--seconds", seconds).out.split()[0]
        assert len(z) == len(P)
    refused = fsmeu("decode", "jaccard", "--probs", PROBS, "--seconds", "0")
    refused.is_refused("seconds must be a number above 0")


def test_explicit_engine_and_its_picture(fsmeu, tmp_path):
    """The machine that was asked, with an arc of each label that was decided on in colour."""
    file = tmp_path / "new" / "composition.svg"
    asked = ("decode", "fscore", "--probs", PROBS, "--engine", "openfst")
    z, value = fsmeu(*asked, "--draw", file).out.split()
    assert z == "".join(map(str, best(P)))
    assert float(value) == pytest.approx(expected(best(P), P), rel=1e-12)
    assert "composed with a model" in file.read_text()
    data = fsmeu(*asked, "--constraint", "0* 1?", "--json", "--explain").json
    assert (data["method"], data["exact"], data["candidates"]) == ("composition", True, 2)
    assert "one composition of" in data["explanation"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--draw", "x.svg"], "only --engine openfst builds"),
        (["--engine", "openfst", "--compare"], "without --compare"),
        (["--engine", "openfst", "--method", "nbest"], "has one method"),
        (["--engine", "openfst", "--budget", "7"], "The default engine has no such limit"),
        (["--engine", "numpy"], "engine must be one of lattice, openfst"),
    ],
)
def test_what_the_explicit_engine_refuses(fsmeu, words, said):
    fsmeu("decode", "fscore", "--probs", PROBS, *words).is_refused(said)
