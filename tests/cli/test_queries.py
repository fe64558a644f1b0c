"""`fsmeu expect` and `decode`: values, distributions and decisions against enumeration."""

import json
from itertools import product

import numpy as np
import pytest

from tests import brute_force
from tests.brute_force import bernoulli, expected, fscore
from tests.support.missing import openfst

pynini = openfst()

P = (0.9, 0.5, 0.3)
PROBS = "0.9,0.5,0.3"
DECODE = ("decode", "fscore", "--probs", PROBS)
INITIAL, TRANSITION = [0.3, 0.7], [[0.9, 0.1], [0.25, 0.75]]
MARKOV = {"model": "markov", "initial": INITIAL, "transition": TRANSITION, "n": 4}
TAGS = ("O", "B-X", "I-X")
COINS = ("hamming", "0" * 1200, "--probs", ",".join(["0.5"] * 1200), "--keep", 1)


def pairs_of(z, of_y):
    """The values of F1 of z, each with the probability of its reference."""
    return [(fscore(z, y), p) for y, p in of_y.items()]


def best(of_y, allowed=lambda z: True):
    return max(filter(allowed, of_y), key=lambda z: expected(z, of_y))


@pytest.mark.parametrize(
    ("z", "probs", "options", "value"),
    [
        ("110", ".9,.5,.3", [], 0.731333),
        ("1100", ".45,.3,.2,.1", [], 0.423720),
        ("000", ".2,.2,.1", [], 0.576),
        ("110", ".2 .2 .1", ["-p", "empty=0"], 0.2472),
        ("110", ".9,.5,.3", ["--engine", "openfst"], 0.731333),
        ("", "", [], 1),
    ],
)
def test_known_values(fsmeu, z, probs, options, value):
    ran = fsmeu("expect", "fscore", z, "--probs", probs, *options)
    assert float(ran.out) == pytest.approx(value, abs=5e-7)
    assert [line.split()[0] for line in ran.err.splitlines()] == ["precision", "recall"]


@pytest.mark.parametrize("engine", ["auto", "openfst"])
@pytest.mark.parametrize("from_stdin", [True, False])
def test_a_chain_from_a_file(fsmeu, keep, engine, from_stdin):
    file = "-" if from_stdin else keep("m.json", MARKOV)
    options = ["--model", file, "--engine", engine, "--json"]
    data = fsmeu("expect", "fscore", "0110", *options, stdin=json.dumps(MARKOV)).json
    of_y = brute_force.markov(np.array(INITIAL), np.array(TRANSITION), (0, 1), 4)
    pairs = pairs_of((0, 1, 1, 0), of_y)
    for name in ("value", "lower", "upper"):
        assert data[name] == pytest.approx(brute_force.mean(pairs), rel=1e-12)
    assert data["kept"] == pytest.approx(1.0, rel=1e-12)
    assert data["variance"] == pytest.approx(brute_force.variance(pairs), rel=1e-12)
    assert list(data["quantiles"]) == ["0.05", "0.25", "0.5", "0.75", "0.95"]
    for q, quantile in data["quantiles"].items():
        assert quantile == pytest.approx(brute_force.quantile(pairs, float(q)), abs=1e-9)


def test_losses_and_labels_from_elsewhere(fsmeu, keep):
    """A loss that is not built in, under a model from a file; labels are those of the model."""
    file = keep("m.json", {"probs": [0.25, 0.5, 1.0]})
    text = "loss twice labels 0 1 count bad when z != y value 2 * bad"
    out = fsmeu("expect", "-", "011", "-m", file, stdin=text).out
    assert float(out) == pytest.approx(2 * (0.25 + 0.5 + 0.0), rel=1e-12)
    rows = [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]
    model = json.dumps({"model": "independent", "probabilities": rows, "labels": TAGS})
    out = fsmeu("expect", "hamming", "O B-X", "--model", "-", stdin=model).out
    assert float(out) == pytest.approx((0.8 + 0.9) / 2, rel=1e-12)
    lines = fsmeu("decode", "hamming", "--model", "-", stdin=model).out.splitlines()
    assert lines[0] == "I-X I-X"
    assert float(lines[1]) == pytest.approx((0.5 + 0.2) / 2, rel=1e-12)


def test_bounds_hold_the_truth(fsmeu):
    command = ["expect", "fscore", "11010", "--probs", "0.9,0.5,0.3,0.6,0.2"]
    exact = expected((1, 1, 0, 1, 0), bernoulli([0.9, 0.5, 0.3, 0.6, 0.2]))
    ran = fsmeu(*command, "--keep", 3)
    data = fsmeu(*command, "--keep", 3, "--json").json
    assert data["lower"] <= exact <= data["upper"]
    assert data["lower"] < data["upper"]
    assert 0 < data["kept"] < 1
    assert float(ran.out) == data["value"]
    assert ran.err.startswith(f"{data['lower']!r} <= truth <= {data['upper']!r}")


def test_nothing_kept(fsmeu):
    """One path of twelve hundred fair coins has a probability that no double can hold."""
    data = fsmeu("expect", *COINS, "--json").json
    assert data["kept"] == 0.0
    assert data["lower"] <= 0.5 <= data["upper"]
    assert set(data["quantiles"].values()) == {None}
    told = fsmeu("expect", "--levels", *COINS).out
    assert told == "Nothing of positive probability was kept.\n"


LEVELS = ["expect", "--levels", "fscore", "11010", "--probs", "0.9,0.5,0.3,0,1"]
WANTED = brute_force.levels(pairs_of((1, 1, 0, 1, 0), bernoulli([0.9, 0.5, 0.3, 0.0, 1.0])))


def test_levels_are_those_of_enumeration(fsmeu, tmp_path):
    for engine in ("auto", "openfst"):
        data = fsmeu(*LEVELS, "--engine", engine, "--json").json
        found = list(zip(data["values"], data["probabilities"], strict=True))
        assert np.array(found) == pytest.approx(np.array(WANTED), rel=1e-12, abs=1e-300)
    path = tmp_path / "levels.png"
    ran = fsmeu(*LEVELS, "--plot", path)
    assert path.read_bytes().startswith(b"\x89PNG")
    rows = [row for row in ran.rows() if row and row[0][0].isdigit()]
    numbers = np.array([[float(cell) for cell in row[:2]] for row in rows])
    assert numbers == pytest.approx(np.array(WANTED), rel=1e-7)
    lengths = [len(row[2]) if len(row) > 2 else 0 for row in rows]
    by_probability = sorted(range(len(rows)), key=lambda k: float(rows[k][1]))
    assert [lengths[k] for k in by_probability] == sorted(lengths)
    assert max(lengths) == 36
    assert max(map(len, ran.out.splitlines())) <= 80


def test_only_the_most_probable_are_shown(fsmeu):
    """Hamming loss of fifty fair coins: 51 values, 40 of them shown; as data, all."""
    command = ["expect", "--levels", "hamming", "0" * 50, "--probs", ",".join(["0.5"] * 50)]
    ran = fsmeu(*command)
    shown = [float(row[0]) for row in ran.rows() if row and row[0][0].isdigit()]
    assert shown[-1] == 11  # the last line begins with how many are left out
    assert shown[:-1] == pytest.approx([k / 50 for k in range(5, 45)])
    assert len(fsmeu(*command, "--json").json["values"]) == 51


@pytest.mark.parametrize(
    ("words", "file", "instead"),
    [
        ([*LEVELS, "--plot"], "x.svg", ""),
        (["draw", "fscore", "--n", 1, "-o"], "x.png", "work without it"),
    ],
)
def test_without_matplotlib(fsmeu, tmp_path, monkeypatch, words, file, instead):
    monkeypatch.setattr("fsmeu.errors.is_installed", lambda name: False)
    ran = fsmeu(*words, tmp_path / file)
    ran.is_refused("matplotlib must be installed", "fsmeu[plot]", instead)
    assert instead or "without it" not in ran.err


def test_one_model(fsmeu):
    of_y = bernoulli(P)
    z, value = fsmeu(*DECODE).out.split()
    assert z == "".join(map(str, best(of_y)))
    assert float(value) == pytest.approx(expected(best(of_y), of_y), rel=1e-12)
    data = fsmeu(*DECODE, "--json", "--explain").json
    told = {"exact": True, "method": "ratios", "candidates": 4, "labels": list(best(of_y))}
    assert data.items() >= told.items()
    assert "independent" in data["explanation"]
    assert "Decided by ratios" in fsmeu(*DECODE, "--explain").out
    assert "explanation" not in fsmeu(*DECODE, "--json").json


def test_constraint_beam_and_time(fsmeu):
    of_y = bernoulli(P)
    data = fsmeu(*DECODE, "--constraint", "0 .*", "--json").json
    assert data["labels"] == list(best(of_y, lambda z: z[0] == 0))
    assert data["exact"] is True
    data = fsmeu(*DECODE, "--method", "ranking", "--keep", 1, "--json").json
    assert data["exact"] is False
    assert data["value"] == pytest.approx(expected(data["labels"], of_y), rel=1e-12)
    for seconds in ("5", "1000"):
        z = fsmeu("decode", "jaccard", "--probs", PROBS, "--seconds", seconds).out.split()[0]
        assert len(z) == len(P)


def test_corpus(fsmeu):
    vectors = [[0.9, 0.5], [0.2], [0.3, 0.6, 0.7, 0.1], []]
    text = "".join(json.dumps({"probs": p}) + "\n\n" for p in vectors)
    ran = fsmeu("decode", "fscore", "--corpus", "-", "--json", stdin=text)
    decided = [one["labels"] for one in ran.records]
    assert decided == [list(best(bernoulli(p))) for p in vectors]
    ran = fsmeu("decode", "fscore", "--corpus", "-", "--explain", stdin=text)
    cells = [line.split("\t") for line in ran.out.splitlines()]
    for (value, z, told), p, labels in zip(cells, vectors, decided, strict=True):
        assert z == "".join(map(str, labels))
        assert float(value) == pytest.approx(expected(labels, bernoulli(p)), rel=1e-12)
        assert told.startswith("Decided by ")
    assert "4 sequences, 4 decisions proven best" in ran.err


@pytest.mark.parametrize("engine", ["auto", "openfst"])
def test_the_best_few(fsmeu, engine):
    """All sequences in the order of their expected values, and no more than there are."""
    of_y = bernoulli(P)
    ranked = sorted(of_y, key=lambda z: -expected(z, of_y))
    command = (*DECODE, "--engine", engine)
    told = fsmeu(*command, "--k", 20, "--json").json
    assert [tuple(one["labels"]) for one in told] == ranked
    values = [expected(z, of_y) for z in ranked]
    assert [one["value"] for one in told] == pytest.approx(values, rel=1e-12)
    assert all(one["exact"] for one in told)
    assert all(
        one["lower"] <= value <= one["upper"] for one, value in zip(told, values, strict=True)
    )
    lines = fsmeu(*command, "-k", 3, "--explain").out.splitlines()
    assert lines[0].split() == ["labels", "value", "exact", "method"]
    shown = [line.split()[:3] for line in lines[2:5]]
    best_three = zip(ranked[:3], values[:3], strict=True)
    assert shown == [["".join(map(str, z)), f"{value:.10g}", "yes"] for z, value in best_three]
    assert "".join(lines[5:]).count("Decided by") == 3


def test_one_decision_of_k_is_that_without_k(fsmeu):
    """A list of one has the same fields as the decision."""
    assert fsmeu(*DECODE, "-k", 1, "--json").json == [fsmeu(*DECODE, "--json").json]


def test_compare(fsmeu):
    of_y = bernoulli(P)
    rows = fsmeu(*DECODE, "--method", "all", "--json").json
    decided = {row["method"]: row for row in rows if "refused" not in row}
    refused = {row["method"] for row in rows if "refused" in row}
    assert refused == {"additive", "chain_ratios", "viterbi"}
    for row in decided.values():
        assert row["value"] == pytest.approx(expected(row["labels"], of_y), rel=1e-12)
        assert row["seconds"] > 0
        assert not row["exact"] or row["labels"] == list(best(of_y))
    assert decided["counting"]["exact"]
    assert decided["lanes"]["exact"]
    assert not decided["marginal"]["exact"]
    table = fsmeu(*DECODE, "--method", "all")
    shown = {cells[0]: cells for cells in table.rows() if cells and cells[0] in decided}
    assert set(shown) == set(decided)
    assert (shown["ranking"][1], shown["ranking"][3]) == ("".join(map(str, best(of_y))), "yes")
    assert "decode by additive: " in table.out
    two = fsmeu(*DECODE, "--method", "ranking,nbest")
    assert [row[0] for row in two.rows()][2:4] == ["ranking", "nbest"]


PICTURES = {
    "additive": ("hamming", "what steps of z lose"),
    "counting": ("fscore", "what steps of z lose"),
    "viterbi": ("zero_one", "the most probable sequence"),
    "ranking": ("fscore", "sequences ranked by probability"),
    "exhaustive": ("fscore", "composed with a model"),
}


@pytest.mark.parametrize("method", PICTURES)
def test_explicit_engine_and_its_picture(method, fsmeu, tmp_path):
    file, (loss, title) = tmp_path / "searched.svg", PICTURES[method]
    asked = ("decode", loss, "--probs", "0.3,0.6,0.4", "--method", method)
    labels, value = fsmeu(*asked, "--engine", "openfst", "--draw", file).out.split()
    ours = fsmeu(*asked).out.split()
    assert labels == ours[0]
    assert float(value) == pytest.approx(float(ours[1]), rel=1e-12)
    assert title in file.read_text()
    text = tmp_path / "searched.txt"
    fsmeu(*asked, "--engine", "openfst", "--draw", text)
    rows = [row for row in text.read_text().splitlines() if row.startswith("*") and "→" in row]
    assert len(rows) == 3 or method == "exhaustive"  # there it is one for each reference


def test_explicit_engine_and_options(fsmeu):
    asked = (*DECODE, "--engine", "openfst")
    data = fsmeu(*asked, "--constraint", "0* 1?", "--json", "--explain").json
    assert (data["method"], data["exact"], data["candidates"]) == ("counting", True, 2)
    rows = fsmeu(*asked, "--method", "all", "--json").json
    assert [row["method"] for row in rows] == list(PICTURES)
    assert {row["method"] for row in rows if "refused" in row} == {"additive", "viterbi"}
    decided = [row for row in rows if "refused" not in row]
    assert len({tuple(row["labels"]) for row in decided}) == 1
    assert all(row["exact"] for row in decided)


def test_explicit_engine_over_a_corpus(fsmeu, keep):
    records = [{"probs": [0.3, 0.6, 0.4]}, {"probs": [0.9]}, {"probs": [0.2] * 20}]
    corpus = keep("p.jsonl", "".join(f"{json.dumps(record)}\n" for record in records))
    asked = ("decode", "fscore", "--corpus", corpus, "--json")
    ours, theirs = (
        [json.loads(row) for row in fsmeu(*asked, *more).out.splitlines()]
        for more in ((), ("--engine", "openfst"))
    )
    assert [row["labels"] for row in theirs] == [row["labels"] for row in ours]
    assert {row["method"] for row in theirs} == {"counting"}
    values = [row["value"] for row in ours]
    assert [row["value"] for row in theirs] == pytest.approx(values, rel=1e-12)


@pytest.fixture(params=["regex", "file of a regex", "acceptor"])
def condition(request, keep):
    """The same condition, in every way to give it: first a 0, then at least one 1."""
    if request.param == "regex":
        return "0 (. 1 | 1 .)"
    if request.param == "file of a regex":
        return keep("c", "0 (. 1\n   | 1 .)\n")
    # label 0 is the symbol 1, label 1 the symbol 2
    machine = pynini.union("[1][1][2]", "[1][2][1]", "[1][2][2]").optimize()
    return keep("c", machine.write_to_string())


def test_models_on_a_condition(fsmeu, condition, keep):
    p = (0.3, 0.6, 0.2)
    kept = {y: q for y, q in bernoulli(p).items() if y[0] == 0 and sum(y)}
    of_y = {y: q / sum(kept.values()) for y, q in kept.items()}
    value = pytest.approx(expected((0, 1, 1), of_y), rel=1e-12)
    most = pytest.approx(max(expected(z, of_y) for z in product((0, 1), repeat=3)), rel=1e-12)
    given = ["--probs", "0.3,0.6,0.2", "--given", condition]
    assert float(fsmeu("expect", "fscore", "011", *given).out) == value
    levels = fsmeu("expect", "--levels", "fscore", "011", *given, "--json").json
    assert np.dot(levels["values"], levels["probabilities"]) == value
    found = fsmeu("decode", "fscore", *given, "--json").json
    assert [found["value"], expected(found["labels"], of_y)] == [most, most]
    corpus = keep("c.jsonl", [{"probs": p, "z": "011"}, {"probs": p}])
    given = ["--corpus", corpus, "--given", condition]
    assert float(fsmeu("expect", "fscore", *given, "--on-error", "skip").out) == value
    lines = fsmeu("decode", "fscore", *given).out.splitlines()
    assert [float(line.split("\t")[0]) for line in lines] == [most, most]


@pytest.mark.parametrize(("scheme", "wrong"), [("bio", "I-X"), ("iob1", "B-X")])
def test_schemes(fsmeu, keep, scheme, wrong):
    rows = ((0.2, 0.3, 0.5), (0.5, 0.1, 0.4))
    file = keep("m.json", {"model": "independent", "probabilities": rows, "labels": TAGS})
    chances = brute_force.independent(rows, TAGS)
    kept = {y: p for y, p in chances.items() if y[0] != wrong and y != ("O", wrong)}
    told = fsmeu("decode", "zero_one", "--model", file, "--given", scheme, "--json").json
    assert tuple(told["labels"]) == max(kept, key=kept.get)
    assert 1 - told["value"] == pytest.approx(max(kept.values()) / sum(kept.values()), rel=1e-12)
    told = fsmeu("decode", "hamming", "--model", file, "--constraint", scheme, "--json").json
    assert tuple(told["labels"]) in kept


def test_probabilities_in_a_file_of_numpy(fsmeu, keep, tmp_path):
    path = tmp_path / "p.npy"
    for table in (P, [(0.1, 0.9), (0.5, 0.5), (0.7, 0.3)]):
        np.save(path, np.array(table))
        answer = fsmeu("decode", "fscore", "--model", path, "--json")
        assert answer.json == fsmeu(*DECODE, "--json").json
    for content in ([{}], [1j], ["a"]):
        np.save(path, np.array(content), allow_pickle=True)
        fsmeu("decode", "fscore", "--model", path).is_refused("must be an array of numbers")
    for content in (b"no array", b"\x93NUMPY\x01"):
        keep("p.npy", content)
        fsmeu("decode", "fscore", "--model", path).is_refused("must be an array of numbers")
