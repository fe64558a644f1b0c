"""`fsmeu score` against seqeval, scikit-learn, nltk and scipy, and against lists of sequences."""

import csv
import gzip
import io
import itertools
import json

import numpy as np
import pytest
from nltk.metrics.segmentation import pk, windowdiff
from scipy import stats
from seqeval.metrics import f1_score
from seqeval.scheme import IOBES
from sklearn.metrics import accuracy_score

from tests import brute_force
from tests.brute_force import fscore as f_score
from tests.cli.conftest import write
from tests.support.values import near

TAGS = ["O", "B-X", "I-X", "B-YY", "I-YY"]
IOBES_TAGS = ["O", *(f"{kind}-{name}" for kind in "BIES" for name in ("X", "YY"))]


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


def test_columns_as_conlleval_reads_them(fsmeu, columns):
    file, gold, one, _ = columns
    told = fsmeu("score", file, "-l", "chunk_fscore:empty=0", "-l", "accuracy", "--json").json
    assert (told["sentences"], told["labels"]) == (len(gold), len(flat(gold)))
    found = scores(told)
    whole = found["chunk_fscore:empty=0", "last column", "corpus"]["value"]
    assert whole == pytest.approx(f1_score(gold, one), rel=1e-12)
    each = [f1_score([y], [z], zero_division=0) for y, z in zip(gold, one, strict=True)]
    mean = found["chunk_fscore:empty=0", "last column", "sentence"]["value"]
    assert mean == pytest.approx(np.mean(each), rel=1e-12)
    right = found["accuracy", "last column", "corpus"]["value"]
    assert right == pytest.approx(accuracy_score(flat(gold), flat(one)), rel=1e-12)


def test_systems_by_name_and_number_with_paired_intervals(fsmeu, columns, monkeypatch):
    file, gold, one, two = columns
    given = ["--columns", "word,worse,gold,better", "--gold", "gold", "-s", "better", "-s", "2"]
    command = ["score", "--corpus", file, *given, "-l", "chunk_fscore", "--draws", 150, "--seed", 3]
    told = fsmeu(*command, "--output", "json").json
    for cells in (50, 1):  # whether all corpora are drawn at once or one by one
        monkeypatch.setattr("fsmeu.bootstrap._DRAWN_CELLS", cells)
        again = json.loads(fsmeu(*command, "--json").out, parse_float=near)
        assert told["scores"] == again["scores"]
    found = scores(told)
    assert found["chunk_fscore", "better", "corpus"]["difference"] is None

    def whole(system, rows):
        return f1_score([gold[k] for k in rows], [system[k] for k in rows])

    each = [[f1_score([gold[k]], [x[k]], zero_division=1) for k in range(14)] for x in (one, two)]
    first, second = map(np.array, each)
    for name, level, kind, statistic in (
        ("better", "corpus", "", lambda k: whole(one, k)),
        ("2", "corpus", "", lambda k: whole(two, k)),
        ("2", "corpus", "difference_", lambda k: whole(two, k) - whole(one, k)),
        ("2", "sentence", "difference_", lambda k: second[k].mean() - first[k].mean()),
    ):
        drawn = stats.bootstrap(
            (np.arange(len(gold)),), statistic, vectorized=False, n_resamples=150, batch=1,
            method="percentile", rng=np.random.default_rng(3),
        )  # fmt: skip
        told = found["chunk_fscore", name, level]
        ends = told[f"{kind}low"], told[f"{kind}high"]
        assert ends == pytest.approx(tuple(drawn.confidence_interval), rel=1e-12)


def test_iobes(fsmeu, keep):
    gold, one, _ = tagged(2, IOBES_TAGS, 30)
    file = keep("c.txt", in_columns(gold, one))
    told = fsmeu("score", file, "-l", "chunk_fscore_iobes", "--draws", 0, "--json").json
    whole = scores(told)["chunk_fscore_iobes", "last column", "corpus"]
    wanted = f1_score(gold, one, mode="strict", scheme=IOBES)
    assert whole["value"] == pytest.approx(wanted, rel=1e-12)
    assert whole["low"] is whole["high"] is None
    lines = enumerate(file.read_text().split("\n"), start=1)
    line = next(number for number, text in lines if " E-" in text or " S-" in text)
    fsmeu("score", file, "-l", "chunk_fscore").is_refused(f"line {line}:", "those of iobes")


def test_the_faulty_line_is_named(fsmeu, keep):
    """Not the line in which its sentence begins; labels may have other names."""
    for text, line, part in [
        ("# a\nthe O O\ndog B-NP\n\nend O O\n", 3, "Got dog"),
        ("the O O\n\n\nx O O\ny O Q-NP\nz O O\n", 5, "Got Q-NP"),
        ("the O O\n\nx O O\ny\n", 4, "column -2"),
    ]:
        ran = fsmeu("score", keep("c.iob2", text), "-l", "chunk_fscore")
        ran.is_refused(f"c.iob2, line {line}: ", part)
    file = keep("c.iob2", "a O O:0.5 B:0.5\n\nb O O:0.5 B:0.5\nc O O:0.5\n")
    fsmeu("score", file, "-l", "hamming", "--gold", 2).is_refused("line 4: ", "first token")
    fsmeu("decode", "hamming", "--corpus", file).is_refused("line 4: ", "first token")
    keep("c.iob2", "a no no\nb yes yes\nc yes no\n")
    fsmeu("score", file, "-l", "fscore").is_refused("line 1: ", "gold, fscore")
    told = fsmeu("score", file, "-l", "fscore", "--labels", "no,yes", "--draws", 0, "--json").json
    assert scores(told)["fscore", "last column", "corpus"]["value"] == pytest.approx(2 / 3)


def test_windows(fsmeu, keep):
    """Means over segmentations, as nltk has it of each; k=auto is half their mean segment."""
    texts = [("0010000100", "0100010000"), ("0001001000", "0001000100")]
    file = keep("c.jsonl", [{"z": z, "y": y} for z, y in texts])
    command = ["score", file, "-s", "z", "--draws", 0, "--json", "-l"]
    told = fsmeu(*command, "pk:k=auto")
    k = 2  # segments of 2, 4, 5, 4, 4 and 3 units have a mean of 11/3, half of which is rounded
    assert f"k = {k}, " in told.err
    mean = np.mean([pk(y, z, k) for z, y in texts])
    assert scores(told.json)[f"pk:k={k}", "z", "sentence"]["value"] == pytest.approx(mean)
    found = scores(fsmeu(*command, "pk:k=3", "-l", "windowdiff:k=3").json)
    for name, theirs in (("pk:k=3", pk), ("windowdiff:k=3", windowdiff)):
        wanted = np.mean([theirs(y, z, 3) for z, y in texts])
        assert found[name, "z", "sentence"]["value"] == pytest.approx(wanted, rel=1e-12)


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
        value = {z: sum(f_score(z, y) * p for y, p in every.items()) for z in every}
        decided["meu"].append(max(value, key=value.get))
        gold.append(y)
        model = {"model": "markov", "initial": first.tolist(), "transition": step.tolist(), "n": n}
        lines.append({**model, "y": y})
    return write(tmp_path_factory.mktemp("models") / "m.jsonl", lines), gold, decided


def corpus_f(zs, ys):
    return f_score(flat(zs), flat(ys))


def test_decisions_side_by_side(fsmeu, models):
    file, gold, decided = models
    found = scores(fsmeu("score", file, "-l", "fscore", "--json").json)
    assert {name for _, name, _ in found} == set(decided)
    for name, zs in decided.items():
        whole, mean = (found["fscore", name, level] for level in ("corpus", "sentence"))
        assert whole["value"] == pytest.approx(corpus_f(zs, gold), rel=1e-12)
        each = [f_score(z, y) for z, y in zip(zs, gold, strict=True)]
        assert mean["value"] == pytest.approx(np.mean(each), rel=1e-12)
        assert whole["low"] <= whole["value"] <= whole["high"]
        less = None if name == "viterbi" else whole["value"] - corpus_f(decided["viterbi"], gold)
        assert whole["difference"] == (less if less is None else pytest.approx(less, abs=1e-12))


def test_decision_for_the_corpus(fsmeu, models):
    """The best of all hypotheses for three sentences, by listing them; zero_one allows none."""
    file, *_ = models
    lines = file.read_text().splitlines()[1:4]
    records = [json.loads(line) for line in lines]
    tables = ([np.array(one[name]) for name in ("initial", "transition")] for one in records)
    every = [brute_force.markov(*x, (0, 1), y["n"]) for x, y in zip(tables, records, strict=True)]
    chances = [np.prod(ps) for ps in itertools.product(*(one.values() for one in every))]
    ys = [flat(y) for y in itertools.product(*every)]
    expected = {
        zs: sum(p * f_score(flat(zs), y) for p, y in zip(chances, ys, strict=True))
        for zs in itertools.product(*every)
    }
    best = max(expected, key=expected.get)
    command = ["score", "-", "-l", "fscore", "-l", "zero_one", "--decide", "corpus,viterbi"]
    told = fsmeu(*command, "--json", stdin="\n".join(lines))
    found = scores(told.json)["fscore", "meu corpus fscore", "corpus"]["value"]
    assert found == pytest.approx(corpus_f(best, [record["y"] for record in records]), rel=1e-12)
    assert f"meu corpus fscore: expected {expected[best]:.6f}, proven best" in told.err
    assert "meu corpus zero_one: " in told.err
    assert not any("meu corpus zero_one" in key for key in scores(told.json))


def cells(text):
    (_, _, _, _, *heads), *rows = csv.reader(io.StringIO(text))
    lines = [(row[0], *row[2:4], zip(heads, row[4:], strict=True)) for row in rows]
    return {(*of, head): float(x) for *of, cells in lines for head, x in cells if x}


def test_table_csv_and_plot(fsmeu, models, tmp_path):
    file, gold, decided = models
    plot, out = tmp_path / "p" / "s.svg", tmp_path / "o.csv"
    command = ["score", file, "-l", "fscore", "-l", "zero_one", "--decide", "viterbi,meu"]
    told = fsmeu(*command, "--plot", plot)
    assert told.code == 0
    assert "6 sentences, 17 labels" in told.out
    best, first = (corpus_f(decided[name], gold) for name in ("meu", "viterbi"))
    assert f"{best:.4f}" in told.out
    assert f"{best - first:+.4f}" in told.out.partition("minus viterbi:")[2]
    assert "meu zero_one" in told.out
    assert "marginal" not in told.out
    assert "zero_one: no value of the corpus" in told.err
    assert "<svg" in plot.read_text()
    assert fsmeu(*command, "-o", out).out == ""
    value = cells(out.read_text())
    assert cells(fsmeu(*command, "-o", "csv").out) == pytest.approx(value, rel=1e-12)
    assert value["fscore", "meu fscore", "corpus", "value"] == pytest.approx(best, rel=1e-12)
    wrong = np.mean([z != y for z, y in zip(decided["viterbi"], gold, strict=True)])
    assert value["zero_one", "viterbi", "sentence", "value"] == pytest.approx(wrong)


def test_probabilities_in_columns_on_a_condition(fsmeu, keep):
    first = "a I-X O:0.45 B-X:0.15 I-X:0.4\nb I-X O:0.1 B-X:0.2 I-X:0.7\n\n"
    file = keep("c.conll", f"{first}c B-Z O:1 B-X:0 I-X:0\n")
    command = ["score", file, "--gold", 2, "-l", "accuracy", "--decide", "viterbi", "--json"]
    free, formed = (scores(fsmeu(*command, *more).json) for more in ([], ["--given", "bio"]))
    # free: O I-X (.315) before I-X I-X (.28); well formed: B-X I-X (.105) before O B-X (.09)
    assert free["accuracy", "viterbi", "corpus"]["value"] == pytest.approx(1 / 3)
    assert formed["accuracy", "viterbi", "sentence"]["value"] == pytest.approx(1 / 4)


def test_bad_records_are_skipped(fsmeu, keep):
    records = [{"probs": [0.9], "y": "1"}, {"probs": [2], "y": "1"}, {"y": "1", "z": "1"}]
    file = keep("c.jsonl", records)
    told = fsmeu("score", file, "-l", "fscore", "--on-error", "skip", "--json")
    assert told.json["sentences"] == 1
    assert "line 2" in told.err
    assert "1 records, 2 bad ones skipped" in told.err
    fsmeu("score", file, "-l", "fscore").is_refused("line 2")
