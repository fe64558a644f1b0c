"""`--corpus`: files of results, killed runs, bad records, several processes; `fsmeu score`."""

import csv
import gzip
import io
import itertools
import json
import subprocess
import time

import numpy as np
import pytest
from nltk.metrics.segmentation import pk, windowdiff
from scipy import optimize, stats
from seqeval.metrics import f1_score
from seqeval.scheme import IOBES
from sklearn.metrics import accuracy_score

from fsmeu import limits
from tests import brute_force
from tests.brute_force import expected
from tests.brute_force import fscore as f_score
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
def small_blocks(lowered):
    lowered(RECORDS_AT_ONCE=7)


def results(path, **how):
    return [json.loads(line, **how) for line in path.read_text().splitlines()]


def test_decisions_in_a_file(fsmeu, corpus, tmp_path, small_blocks):
    _, file, listed = corpus
    out = tmp_path / "o.jsonl"
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


@pytest.mark.nightly
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
    while written.count(b"\n") < limits.RECORDS_AT_ONCE and time.monotonic() < patience:
        time.sleep(0.02)
        written = out.read_bytes() if out.exists() else b""
    process.kill()
    process.communicate()
    assert len(out.read_bytes().splitlines()) == limits.RECORDS_AT_ONCE
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


# -- `fsmeu score` against seqeval, scikit-learn, nltk and scipy, and against lists of sequences --

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
    told = fsmeu("score", "chunk_fscore", "accuracy", file, "-p", "empty=0", "--json").json
    assert (told["sentences"], told["labels"]) == (len(gold), len(flat(gold)))
    found = scores(told)
    whole = found["chunk_fscore", "last column", "corpus"]["value"]
    assert whole == pytest.approx(f1_score(gold, one), rel=1e-12)
    each = [f1_score([y], [z], zero_division=0) for y, z in zip(gold, one, strict=True)]
    mean = found["chunk_fscore", "last column", "sentence"]["value"]
    assert mean == pytest.approx(np.mean(each), rel=1e-12)
    right = found["accuracy", "last column", "corpus"]["value"]
    assert right == pytest.approx(accuracy_score(flat(gold), flat(one)), rel=1e-12)


def test_systems_by_name_and_number_with_paired_intervals(fsmeu, columns, lowered):
    file, gold, one, two = columns
    given = ["--gold", "3", "-s", "better=4", "-s", "2"]
    command = ["score", "chunk_fscore", file, *given, "--draws", 150, "--seed", 3]
    told = fsmeu(*command, "--json").json
    for cells in (50, 1):  # whether all corpora are drawn at once or one by one
        lowered(DRAWN_CELLS=cells)
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
    told = fsmeu("score", "chunk_fscore_iobes", file, "--draws", 0, "--json").json
    whole = scores(told)["chunk_fscore_iobes", "last column", "corpus"]
    wanted = f1_score(gold, one, mode="strict", scheme=IOBES)
    assert whole["value"] == pytest.approx(wanted, rel=1e-12)
    assert whole["low"] is whole["high"] is None
    lines = enumerate(file.read_text().split("\n"), start=1)
    line = next(number for number, text in lines if " E-" in text or " S-" in text)
    fsmeu("score", "chunk_fscore", file).is_refused(f"line {line}:", "those of iobes")


def test_the_faulty_line_is_named(fsmeu, keep):
    """Not the line in which its sentence begins; labels may have other names."""
    for text, line, part in [
        ("# a\nthe O O\ndog B-NP\n\nend O O\n", 3, "as many as its first, 3"),
        ("the O O\n\n\nx O O\ny O Q-NP\nz O O\n", 5, "Got Q-NP"),
        ("the O O\n\nx O O\ny\n", 4, "as many as its first, 3"),
    ]:
        ran = fsmeu("score", "chunk_fscore", keep("c.iob2", text))
        ran.is_refused(f"c.iob2, line {line}: ", part)
    file = keep("c.iob2", "a O O:0.5 B:0.5\n\nb O O:0.5 B:0.5\nc O O:0.5\n")
    fsmeu("score", "hamming", file, "--gold", 2).is_refused("line 4: ", "first token")
    fsmeu("decode", "hamming", "--corpus", file).is_refused("line 4: ", "first token")
    keep("c.iob2", "a no no\nb yes yes\nc yes no\n")
    fsmeu("score", "fscore", file).is_refused("line 1: ", "gold, fscore")
    told = fsmeu("score", "fscore", file, "--labels", "no,yes", "--draws", 0, "--json").json
    assert scores(told)["fscore", "last column", "corpus"]["value"] == pytest.approx(2 / 3)


def test_windows(fsmeu, keep):
    """Means over segmentations, as nltk has it of each; k=auto is half their mean segment."""
    texts = [("0010000100", "0100010000"), ("0001001000", "0001000100")]
    file = keep("c.jsonl", [{"z": z, "y": y} for z, y in texts])
    command = ["-s", "z", "--draws", 0, "--json"]
    told = fsmeu("score", "pk", file, "-p", "k=auto", *command)
    k = 2  # segments of 2, 4, 5, 4, 4 and 3 units have a mean of 11/3, half of which is rounded
    assert f"k = {k}, " in told.err
    mean = np.mean([pk(y, z, k) for z, y in texts])
    assert scores(told.json)["pk", "z", "sentence"]["value"] == pytest.approx(mean)
    found = scores(fsmeu("score", "pk", "windowdiff", file, "-p", "k=3", *command).json)
    for name, theirs in (("pk", pk), ("windowdiff", windowdiff)):
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
    found = scores(fsmeu("score", "fscore", file, "--json").json)
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
    command = ["score", "fscore", "zero_one", "-", "--decide", "corpus,viterbi"]
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
    plot, out = tmp_path / "s.svg", tmp_path / "o.csv"
    command = ["score", "fscore", "zero_one", file, "--decide", "viterbi,meu"]
    told = fsmeu(*command, "--plot", plot)
    assert told.code == 0
    assert "6 sentences, 17 labels" in told.out
    best, first = (corpus_f(decided[name], gold) for name in ("meu", "viterbi"))
    assert f"{best:.4f}" in told.out
    assert f"{best - first:+.4f}" in told.out.partition("minus viterbi:")[2]
    assert "meu zero_one" in told.out
    assert "marginal" not in told.out
    assert "zero_one: no corpus score" in told.err
    assert "<svg" in plot.read_text()
    assert fsmeu(*command, "-o", out).out == ""
    value = cells(out.read_text())
    for key, told in scores(fsmeu(*command, "--json").json).items():
        assert value[(*key, "value")] == pytest.approx(told["value"], rel=1e-12)
    assert value["fscore", "meu fscore", "corpus", "value"] == pytest.approx(best, rel=1e-12)
    wrong = np.mean([z != y for z, y in zip(decided["viterbi"], gold, strict=True)])
    assert value["zero_one", "viterbi", "sentence", "value"] == pytest.approx(wrong)


def test_probabilities_in_columns_on_a_condition(fsmeu, keep):
    first = "a I-X O:0.45 B-X:0.15 I-X:0.4\nb I-X O:0.1 B-X:0.2 I-X:0.7\n\n"
    file = keep("c.conll", f"{first}c B-Z O:1 B-X:0 I-X:0\n")
    command = ["score", "accuracy", file, "--gold", 2, "--decide", "viterbi", "--json"]
    free, formed = (scores(fsmeu(*command, *more).json) for more in ([], ["--given", "bio"]))
    # free: O I-X (.315) before I-X I-X (.28); well formed: B-X I-X (.105) before O B-X (.09)
    assert free["accuracy", "viterbi", "corpus"]["value"] == pytest.approx(1 / 3)
    assert formed["accuracy", "viterbi", "sentence"]["value"] == pytest.approx(1 / 4)


def test_bad_records_are_skipped(fsmeu, keep):
    records = [{"probs": [0.9], "y": "1"}, {"probs": [2], "y": "1"}, {"y": "1", "z": "1"}]
    file = keep("c.jsonl", records)
    told = fsmeu("score", "fscore", file, "--on-error", "skip", "--json")
    assert told.json["sentences"] == 1
    assert "line 2" in told.err
    assert "1 records, 2 bad ones skipped" in told.err
    fsmeu("score", "fscore", file).is_refused("line 2")


# -- `fsmeu score --calibrate` ---------------------------------------------------------------------


def sure(seed, count):
    """Records of pairs of labels whose log-odds are three times what they should be."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(size=(count, 2))
    labels = (rng.random((count, 2)) < 1 / (1 + np.exp(-odds))).astype(int)
    made = 1 / (1 + np.exp(-3 * odds))
    return [{"probs": p.tolist(), "y": y.tolist()} for p, y in zip(made, labels, strict=True)]


def likelihood(held_out, log_temperature):
    """The log-likelihood of independent labels: log-odds are divided by the temperature."""
    p = np.array([record["probs"] for record in held_out])
    y = np.array([record["y"] for record in held_out])
    odds = np.log(p / (1 - p)) / np.exp(log_temperature)
    return -np.logaddexp(0, np.where(y == 1, -odds, odds)).sum()


def test_models_decide_at_the_temperature_of_held_out_records(fsmeu, tmp_path):
    held_out, scored = sure(1, 60), sure(2, 30)
    aside = write(tmp_path / "held_out.jsonl", held_out)
    file = write(tmp_path / "c.jsonl", scored)
    best = optimize.minimize_scalar(lambda t: -likelihood(held_out, t), bracket=(0.0, 1.0))
    command = ["score", "fscore", file, "--decide", "viterbi,meu,corpus", "--draws", 0]
    ran = fsmeu(*command, "--calibrate", aside, "--json")
    assert ran.json["temperature"] == pytest.approx(np.exp(best.x), rel=1e-5)
    assert "of 60 held-out records: " in ran.err
    tempered = []
    for record in scored:
        odds = np.log(np.array(record["probs"]) / (1 - np.array(record["probs"])))
        p = 1 / (1 + np.exp(-odds / np.exp(best.x)))
        tempered.append({"probs": p.tolist(), "y": record["y"]})
    by_hand = fsmeu(*command[:2], write(tmp_path / "t.jsonl", tempered), *command[3:], "--json")
    values = [[row["value"] for row in told["scores"]] for told in (ran.json, by_hand.json)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    plain = fsmeu(*command, "--json").json
    assert "temperature" not in plain
    assert [row["value"] for row in plain["scores"]] != values[0]
    impossible = write(tmp_path / "more.jsonl", [*held_out, {"probs": [0.0, 0.5], "y": [1, 1]}])
    ran = fsmeu(*command, "--calibrate", impossible, "--json")
    assert "61 held-out records, 1 impossible ones left out" in ran.err
    assert ran.json["temperature"] == pytest.approx(np.exp(best.x), rel=1e-5)


def test_held_out_records_that_are_none(fsmeu, tmp_path):
    file = write(tmp_path / "c.jsonl", sure(2, 3))
    command = ["score", "fscore", file, "--calibrate"]
    fsmeu(*command, file).is_refused("--calibrate", "must not be the corpus")
    fsmeu(*command, "-").is_refused("--calibrate", "must be in a file")
    fsmeu(*command, tmp_path / "none.jsonl").is_refused("none.jsonl")
    fsmeu(*command, write(tmp_path / "e.jsonl", [])).is_refused("at least one")
    aside = write(tmp_path / "a.jsonl", [*sure(1, 2), {"probs": [0.5], "y": [1, 1]}])
    fsmeu(*command, aside).is_refused("--calibrate, line 3: ", "as long")
    aside = write(tmp_path / "b.jsonl", [{"y": [1, 1]}])
    fsmeu(*command, aside).is_refused("--calibrate", "must have a model")
    aside = write(tmp_path / "d.jsonl", [{"probs": [0.0], "y": [1]}])
    fsmeu(*command, aside).is_refused("some reference must have positive probability")
    decided = write(tmp_path / "z.jsonl", [{"y": [1, 1], "z": [1, 0]}])
    aside = write(tmp_path / "f.jsonl", [{**record, "z": [1, 0]} for record in sure(1, 2)])
    ran = fsmeu("score", "fscore", decided, "-s", "z", "--calibrate", aside)
    assert ran.code == 2
    assert "z.jsonl, line 1: temperature: records must have models" in ran.err
