"""`--given`: models on a condition, against the list of all sequences."""

import json
from itertools import product

import pynini
import pytest

from tests import brute_force
from tests.cli.oracle import f_score

P = (0.3, 0.6, 0.2)
PROBS = "0.3,0.6,0.2"
TAGS = ("O", "B-X", "I-X")
ROWS = ((0.2, 0.3, 0.5), (0.5, 0.1, 0.4))


def expected(z, allowed):
    """F1 of z over the references that are allowed."""
    kept = {y: p for y, p in brute_force.bernoulli(P).items() if allowed(y)}
    return sum(p * float(f_score(z, y)) for y, p in kept.items()) / sum(kept.values())


def is_allowed(y):
    return y[0] == 0 and sum(y) >= 1


@pytest.fixture(params=["regex", "file of a regex", "acceptor"])
def condition(request, tmp_path):
    """The same condition, in every way to give it."""
    regex = "0 (. 1 | 1 .)"
    if request.param == "regex":
        return regex
    file = tmp_path / "c"
    if request.param == "file of a regex":
        file.write_text("0 (. 1\n   | 1 .)\n")
        return file
    machine = pynini.Fst()
    states = [machine.add_state() for _ in range(5)]
    machine.set_start(states[0])
    for source, label, target in ((0, 0, 1), (1, 1, 2), (1, 0, 3), (2, 0, 4), (2, 1, 4), (3, 1, 4)):
        machine.add_arc(states[source], pynini.Arc(label + 1, label + 1, 0, states[target]))
    machine.set_final(states[4])
    machine.write(str(file))
    return file


def test_one_model(fsmeu, condition):
    told = fsmeu("expect", "fscore", "011", "--probs", PROBS, "--given", condition)
    assert float(told.out) == pytest.approx(expected((0, 1, 1), is_allowed), rel=1e-12)
    values = {z: expected(z, is_allowed) for z in product((0, 1), repeat=3)}
    found = fsmeu("decode", "fscore", "--probs", PROBS, "--given", condition, "--json").json
    assert found["value"] == pytest.approx(max(values.values()), rel=1e-12)
    assert values[tuple(found["labels"])] == pytest.approx(max(values.values()), rel=1e-12)
    levels = fsmeu(
        "expect", "--levels", "fscore", "011", "--probs", PROBS, "--given", condition, "--json"
    ).json
    mean = sum(v * p for v, p in zip(levels["values"], levels["probabilities"], strict=True))
    assert mean == pytest.approx(expected((0, 1, 1), is_allowed), rel=1e-12)


def test_a_corpus(fsmeu, condition, tmp_path):
    corpus = tmp_path / "c.jsonl"
    corpus.write_text(json.dumps({"probs": P, "z": "011"}) + "\n" + json.dumps({"probs": P}) + "\n")
    told = fsmeu("expect", "fscore", "--corpus", corpus, "--given", condition, "--on-error", "skip")
    assert float(told.out) == pytest.approx(expected((0, 1, 1), is_allowed), rel=1e-12)
    best = max(expected(z, is_allowed) for z in product((0, 1), repeat=3))
    told = fsmeu("decode", "fscore", "--corpus", corpus, "--given", condition)
    values = [float(line.split("\t")[0]) for line in told.out.splitlines()]
    assert values == pytest.approx([best, best], rel=1e-12)


@pytest.mark.parametrize(("scheme", "wrong"), [("bio", "O I-X"), ("iob1", "O B-X")])
def test_schemes(fsmeu, tmp_path, scheme, wrong):
    """Accuracy is the probability of the tags; the decision is among them with --constraint."""
    model = {"model": "independent", "probabilities": ROWS, "labels": TAGS}
    file = tmp_path / "m.json"
    file.write_text(json.dumps(model))
    chances = {
        (a, b): p * q for (a, p), (b, q) in product(*(zip(TAGS, row, strict=True) for row in ROWS))
    }
    bad = {"bio": [("I-X", t) for t in TAGS], "iob1": [("B-X", t) for t in TAGS]}[scheme]
    kept = {y: p for y, p in chances.items() if y not in [*bad, tuple(wrong.split())]}
    told = fsmeu("expect", "zero_one", "B-X,I-X", "--model", file, "--given", scheme)
    right = kept.get(("B-X", "I-X"), 0) / sum(kept.values())
    assert float(told.out) == pytest.approx(1 - right, rel=1e-12)
    told = fsmeu("decode", "zero_one", "--model", file, "--given", scheme, "--json").json
    assert tuple(told["labels"]) == max(kept, key=kept.get)
    told = fsmeu("decode", "hamming", "--model", file, "--constraint", scheme, "--json").json
    assert tuple(told["labels"]) in kept


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ("0* 2", ["--given: in '0* 2', at character 4: '2' is not a label"]),
        ("1 1", ["--given: it must allow at least one sequence of length 3"]),
        ("bio", ["--given bio: labels must be chunk tags", "Got 0 instead"]),
        ("none.fst", ["--given: the file", "must be there. Got none.fst instead"]),
        ("(0", ["--given", "not closed"]),
    ],
)
def test_what_is_refused(fsmeu, given, parts, tmp_path):
    fsmeu("decode", "fscore", "--probs", PROBS, "--given", given).is_refused(*parts)
    corpus = tmp_path / "c.jsonl"
    corpus.write_text(json.dumps({"probs": P}))
    fsmeu("decode", "fscore", "--corpus", corpus, "--given", given).is_refused(*parts)


def test_conditions_without_probability_and_files_without_content(fsmeu, tmp_path):
    ran = fsmeu("expect", "fscore", "00", "--probs", "0,0", "--given", "1 1")
    ran.is_refused("--given: some sequence that the constraint allows must have positive")
    empty = tmp_path / "e.regex"
    empty.write_text(" \n")
    ran = fsmeu("expect", "fscore", "00", "--probs", "0,0", "--given", empty)
    ran.is_refused("--given: the file must hold a regular expression", "nothing in")
    broken = tmp_path / "b.fst"
    broken.write_bytes(b"\xd6\xfd\xb2~\x06\x00\x00\x00vector")
    fsmeu("expect", "fscore", "00", "--probs", "0,0", "--given", broken).is_refused("--given")
