"""`fsmeu score` against seqeval, scikit-learn and scipy, and against lists of sequences."""

import csv
import gzip
import io
import itertools
import json

import numpy as np
import pytest
from scipy import stats
from seqeval import metrics
from sklearn.metrics import accuracy_score

from tests import brute_force
from tests.brute_force import fscore as f_score
from tests.cli.commands import fsmeu, write
from tests.support.values import near

TAGS = ["O", "B-X", "I-X", "B-YY", "I-YY"]


def tagged(seed, labels, sentences=14):
    """References, and two systems that are right more often than not."""
    rng, found = np.random.default_rng(seed), []
    for n in rng.integers(1, 9, sentences):
        y, one, two = rng.integers(0, len(labels), (3, n))
        rows = (y, np.where(rng.random(n) < 0.8, y, one), np.where(rng.random(n) < 0.6, y, two))
        found.append([[labels[k] for k in row] for row in rows])
    return zip(*found, strict=True)


def in_columns(*columns):
    """Sentences in columns, a word before the others, a comment before the first."""
    lines = ["# sentences"]
    for sentence in zip(*columns, strict=True):
        lines += [" ".join(["word", *cells]) for cells in zip(*sentence, strict=True)] + [""]
    return "\n".join(lines)


def scores(data):
    return {(s["loss"], s["decision"], s["level"]): s for s in data["scores"]}


def flat(sequences):
    return list(itertools.chain.from_iterable(sequences))


@pytest.fixture(scope="module")
def columns(tmp_path_factory):
    gold, one, two = tagged(0, TAGS)
    packed = gzip.compress(in_columns(two, gold, one).encode())
    return write(tmp_path_factory.mktemp("score") / "c.conll.gz", packed), gold, one, two


def test_columns_as_conlleval_reads_them(columns):
    file, gold, one, _ = columns
    command = ["score", "chunk_fscore", "accuracy", file, "-p", "empty=0", "--by-type"]
    told = fsmeu(*command, "--json").json
    assert (told["sentences"], told["labels"]) == (len(gold), len(flat(gold)))
    found = scores(told)
    whole = found["chunk_fscore", "last column", "corpus"]["value"]
    assert whole == pytest.approx(metrics.f1_score(gold, one), rel=1e-12)
    each = [metrics.f1_score([y], [z], zero_division=0) for y, z in zip(gold, one, strict=True)]
    mean = found["chunk_fscore", "last column", "sentence"]["value"]
    assert mean == pytest.approx(np.mean(each), rel=1e-12)
    right = found["accuracy", "last column", "corpus"]["value"]
    assert right == pytest.approx(accuracy_score(flat(gold), flat(one)), rel=1e-12)
    report = metrics.classification_report(gold, one, output_dict=True, zero_division=0)
    for kind, row in told["types"]["last column"].items():
        assert row["given"] == report[kind]["support"]
        for ours, theirs in (("precision",) * 2, ("recall",) * 2, ("F1", "f1-score")):
            assert row[ours] == pytest.approx(report[kind][theirs], rel=1e-12)


def test_systems_by_name_and_number_with_paired_intervals(columns, lowered):
    file, gold, one, two = columns
    given = ["--gold", "3", "-s", "better=4", "-s", "2"]
    command = ["score", "chunk_fscore", file, *given, "--draws", 60, "--seed", 3, "--json"]
    told = fsmeu(*command).json
    lowered(DRAWN_CELLS=1)  # corpora are drawn one by one, not at once
    assert told["scores"] == json.loads(fsmeu(*command).out, parse_float=near)["scores"]
    found = scores(told)
    assert found["chunk_fscore", "better", "corpus"]["difference"] is None

    def whole(system, rows):
        return metrics.f1_score([gold[k] for k in rows], [system[k] for k in rows])

    each = [
        [metrics.f1_score([gold[k]], [x[k]], zero_division=1) for k in range(14)]
        for x in (one, two)
    ]
    first, second = map(np.array, each)
    for name, level, kind, statistic in (
        ("better", "corpus", "", lambda k: whole(one, k)),
        ("2", "corpus", "difference_", lambda k: whole(two, k) - whole(one, k)),
        ("2", "sentence", "difference_", lambda k: second[k].mean() - first[k].mean()),
    ):
        drawn = stats.bootstrap(
            (np.arange(len(gold)),), statistic, vectorized=False, n_resamples=60, batch=1,
            method="percentile", rng=np.random.default_rng(3),
        )  # fmt: skip
        told = found["chunk_fscore", name, level]
        ends = told[f"{kind}low"], told[f"{kind}high"]
        assert ends == pytest.approx(tuple(drawn.confidence_interval), rel=1e-12)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Markov chains over 0 and 1, and what each decides by listing all sequences."""
    rng = np.random.default_rng(7)
    lines, decided, gold = [], {"viterbi": [], "marginal": [], "meu": []}, []
    for n in (3, 1, 4, 3, 2, 4):
        first, step = rng.dirichlet([1, 1]), rng.dirichlet([1, 1], 2)
        every = brute_force.markov(first, step, (0, 1), n)
        y = tuple(rng.integers(0, 2, n).tolist())
        ones = [sum(p for other, p in every.items() if other[i]) for i in range(n)]
        decided["viterbi"].append(max(every, key=every.get))
        decided["marginal"].append(tuple(int(p > 0.5) for p in ones))
        decided["meu"].append(max(every, key=lambda z: brute_force.expected(z, every)))
        gold.append(y)
        model = {"model": "markov", "initial": first.tolist(), "transition": step.tolist(), "n": n}
        lines.append({**model, "y": y})
    return write(tmp_path_factory.mktemp("models") / "m.jsonl", lines), gold, decided


def corpus_f(zs, ys):
    return f_score(flat(zs), flat(ys))


def test_decisions_side_by_side(models):
    file, gold, decided = models
    found = scores(fsmeu("score", "fscore", file, "--json").json)
    assert {name for _, name, _ in found} == set(decided)
    for name, zs in decided.items():
        whole = found["fscore", name, "corpus"]
        assert whole["value"] == pytest.approx(corpus_f(zs, gold), rel=1e-12)
        assert whole["low"] <= whole["value"] <= whole["high"]
        less = None if name == "viterbi" else whole["value"] - corpus_f(decided["viterbi"], gold)
        assert whole["difference"] == (less if less is None else pytest.approx(less, abs=1e-12))


def test_table_csv_and_plot(models, tmp_path):
    file, gold, decided = models
    plot, out = tmp_path / "s.svg", tmp_path / "o.csv"
    command = ["score", "fscore", "zero_one", file, "--decide", "viterbi,meu,corpus"]
    told = fsmeu(*command, "--plot", plot)
    assert "meu corpus fscore: expected 0." in told.err
    assert "zero_one: no corpus score" in told.err
    best, first = (corpus_f(decided[name], gold) for name in ("meu", "viterbi"))
    assert f"{best:.4f}" in told.out
    assert f"{best - first:+.4f}" in told.out.partition("minus viterbi:")[2]
    assert "prefers-color-scheme" in plot.read_text()
    assert fsmeu(*command, "-o", out).out == ""
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    value = {(r["loss"], r["decision"], r["level"]): float(r["value"]) for r in rows}
    for key, told in scores(fsmeu(*command, "--json").json).items():
        assert value[key] == pytest.approx(told["value"], rel=1e-12)
