"""The scripts beside the notebooks: parts of them against other libraries, and their quick runs."""

import gzip
import json
import subprocess
import sys

import numpy as np
import pytest
from data_folder import data_folder
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, fbeta_score

import fsmeu
from tests.notebooks.conftest import FOLDER


def printed(script, *words):
    """What a script prints."""
    command = [sys.executable, str(FOLDER / script), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def needs(name):
    """Skips where a folder of data is not."""
    if not (data_folder() / name).is_dir():
        pytest.skip(
            f"there is no {data_folder() / name}; set FSMEU_DATA to the folder of data sets"
        )


# -- CoNLL-2000 -----------------------------------------------------------------------------------

TEST = [[("A", "DT", "B-NP"), ("dog", "NN", "I-NP")], [("Barks", "VB", "B-VP")]]


@pytest.mark.nightly
def test_three_ways_to_decide_for_a_corpus(load, conll2000):
    """What is printed is in the order that the theory demands."""
    pytest.importorskip("sklearn_crfsuite", reason="sklearn-crfsuite is part of the extra 'crf'")
    script = load("conll2000_corpus")
    short = [sentence for sentence in script.read("train")[:200] if len(sentence) <= 12]
    viterbi, by_sentence, of_corpus = script.run(short[:12], short[12:16], 1e-4)
    assert 0 <= of_corpus.below <= 1.01e-4
    assert of_corpus.expected >= max(viterbi.expected, by_sentence.expected) - 1e-4
    assert all(0 < row.fscore <= 1 for row in (viterbi, by_sentence, of_corpus))


def test_label_models_are_written_as_score_reads_them(load, tmp_path):
    pytest.importorskip("sklearn_crfsuite")
    script = load("conll2000_score")
    train = [TEST[0], TEST[1], [("It", "PRP", "B-NP"), ("barks", "VB", "B-VP")]] * 3
    assert sorted(script.drawn(train, 0, seed=1)) == sorted(train)
    assert len(script.drawn(train, 2, seed=1)) == 2
    for make in (script.crf_models, script.softmax_models):
        models = list(make(train, TEST))
        file = script.write(tmp_path / "out" / "m.jsonl.gz", models, TEST, quiet=True)
        records = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
        assert [record.pop("y") for record in records] == [["B-NP", "I-NP"], ["B-VP"]]
        for model, record in zip(models, records, strict=True):
            found = fsmeu.models.from_json(record)
            np.testing.assert_allclose(found.marginals(), model.marginals(), atol=1e-5)


def test_ways_to_decide_under_softmaxes(load, conll2000):
    script = load("conll2000_softmax")
    sentences = script.read("train")[:22]
    models = script.softmax_models(sentences[:20], sentences[20:])
    assert [model.n for model in models] == [len(one) for one in sentences[20:]]
    for model, tagged in zip(models, script.argmax(models), strict=True):
        assert tagged == [str(model.labels[k]) for k in np.argmax(model.marginals(), axis=1)]
    formed = [model.given(fsmeu.constraints.bio()) for model in models]
    for model, tagged in zip(formed, script.most_probable(formed), strict=True):
        before = ["O", *tagged]
        inside = [(a, b) for a, b in zip(before, tagged, strict=False) if b.startswith("I-")]
        assert all(a[1:] == b[1:] for a, b in inside)
        assert model.probability(tagged) > 0
    assert [len(one) for one in script.decided(formed)] == [len(one) for one in sentences[20:]]


def test_chunks_are_counted_as_seqeval_counts_them(load):
    metrics = pytest.importorskip("seqeval.metrics")
    tags, random = ["O", "B-NP", "I-NP", "B-VP", "I-VP"], np.random.default_rng(7)
    z, y = ([[tags[k] for k in random.integers(0, 5, 8)] for _ in range(20)] for _ in range(2))
    found = load("conll2000_tagger").chunk_fscore(z, y)
    assert found == pytest.approx(metrics.f1_score(y, z), rel=1e-12)


@pytest.mark.nightly
def test_quick_run_of_the_tagger(conll2000):
    told = printed("conll2000_tagger.py", "--quick")
    for way in ("likelihood + Viterbi", "likelihood + MEU", "expected F1 + MEU"):
        assert way in told


# -- Jansche 2005 ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def jansche(load):
    return load("jansche2005")


@pytest.mark.nightly
def test_quick_run_of_jansche_has_every_row():
    needs("ijcnn1")
    found = json.loads(printed("jansche2005.py", "--quick", "--exact"))
    rows = ("ML", "ML tuned", "ML oracle", "F~.5", "ML†", "F~.75", "E[F.5]", "E[F.75]")
    assert [row[1:3] for row in found["rows"]] == [[p, r] for p in (False, True) for r in rows]
    assert list(found["pairs"]) == ["ijcnn1, 100 examples", "ijcnn1, 500 examples"]
    for pairs in found["pairs"].values():  # each objective is greatest where it was climbed
        smooth, exact = np.mean(pairs, axis=0)[3:]
        assert smooth - 1e-4 <= exact <= smooth + 0.02


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=12))
def test_best_threshold(jansche, pairs):
    """No other threshold is better, by scikit-learn's measure."""
    scores, positive = np.array(pairs, float)[:, 0], np.array(pairs)[:, 1] > 0
    positive[0] = True
    own = f1_score(positive, scores >= jansche.best_threshold(scores, positive))
    assert own == pytest.approx(max(f1_score(positive, scores >= one) for one in scores))


@given(st.permutations(range(8)), st.integers(1, 255), st.data())
def test_matching_threshold(jansche, ranks, mask, data):
    scores = np.array(ranks, float)
    positive = np.array([mask >> k & 1 for k in range(8)], bool)
    hits = data.draw(st.integers(0, int(positive.sum())))
    bar = jansche.matching_threshold(scores, positive, hits)
    assert ((scores >= bar) & positive).sum() == hits


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12))
def test_score(jansche, pairs):
    guess, positive = np.array(pairs).T
    found = jansche.score(guess, positive)
    for value, beta in zip(found[2:], (1.0, 3**0.5), strict=True):
        assert value == pytest.approx(fbeta_score(positive, guess, beta=beta, zero_division=0))


# -- Natarajan 2016, Liu 2018 ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["balanced_accuracy", "g_tp_pr", "fscore"])
@pytest.mark.parametrize("draw", ["uniform", "small", "certain"])
def test_values_of_candidates_are_those_of_expect(load, name, draw):
    """Every candidate of twelve labels is worth what ``expect`` says."""
    random = np.random.default_rng(4)
    p = {
        "uniform": random.random(12),
        "small": random.beta(0.3, 3, 12),
        "certain": np.append([1.0, 1.0, 0.0, 0.5], random.random(5)),
    }[draw]
    p, loss = np.sort(p)[::-1], fsmeu.load(name)
    wanted = [fsmeu.expect(loss, np.arange(len(p)) < k, p).value for k in range(len(p) + 1)]
    assert load("natarajan2016").ranked_values(loss, p) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("name", ["balanced_accuracy", "g_tp_pr"])
def test_decisions_are_those_of_decode(load, name):
    random, loss = np.random.default_rng(5), fsmeu.load(name)
    for _ in range(5):
        p = random.beta(0.4, 1.2, 30)
        decision = fsmeu.decode(loss, p)
        assert decision.exact
        own = load("natarajan2016").decided(loss, p).astype(int)
        assert fsmeu.expect(loss, own, p).value == pytest.approx(decision.value, abs=1e-12)


def test_printed_figures_are_complete(load):
    """Nine rows of twelve figures, of which some contradict each other."""
    texts = load("natarajan2016").PRINTED
    rows = {key: [int(x) / 1e4 for x in text.split()] for key, text in texts.items()}
    assert all(len(row) == 12 for row in rows.values())
    f_score, jaccard = rows["scene", 1][1], rows["scene", 1][4]
    assert (f_score, jaccard) == (0.6891, 0.0206)
    assert jaccard < f_score / 2  # impossible for means of F1 and Jaccard of the same decisions


@pytest.mark.nightly
def test_quick_run_of_natarajan(load, capsys):
    needs("scene")
    script = load("natarajan2016")
    script.main(["--quick", "--only", "breast cancer"])
    rows = json.loads(capsys.readouterr().out)
    assert {row[0] for row in rows} == {"breast cancer"}
    ways = {(measure, way) for measure in script.LOSSES for way in script.WAYS}
    assert {tuple(row[2:4]) for row in rows} == ways
    best = {row[2]: row[4] for row in rows if row[3] == "best"}
    assert all(0 < row[4] <= 1 for row in rows)
    assert all(row[4] <= best[row[2]] + 1e-12 for row in rows if row[3] in ("DTA", "0.5"))


@pytest.mark.nightly
def test_quick_run_of_liu():
    """Where a9a is missing, the part on the threshold is run all the same."""
    found = json.loads(printed("liu2018.py", "--quick"))
    ends = {(rate, scale): errors[-1] for rate, scale, _, errors in found["thresholds"]}
    assert len(ends) == 8
    # where positives are rare, printed steps are short
    assert ends["about .014", "auto"] < ends["about .014", "1"] / 4
    if (data_folder() / "a9a").is_dir():
        assert set(found["tasks"]["a9a"]) == {"curves", "online", "offline"}


def test_best_threshold_is_half_the_best_f(load):
    """The root of q by quadrature is half the best F over all cuts of a large sample."""
    best = load("liu2018").best_threshold(-2.0)
    random = np.random.default_rng(0)
    eta = np.sort(1 / (1 + np.exp(2.0 - 2 * random.normal(size=1_000_000))))[::-1]
    wanted = np.max(np.cumsum(eta) / (eta.sum() + np.arange(1, len(eta) + 1)))
    assert best == pytest.approx(wanted, abs=2e-3)


# -- rare classes, segmentation -------------------------------------------------------------------


def test_no_decision_is_above_the_best_threshold(load):
    """As they rank by the same probabilities; on data that are drawn here."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(400, 3))
    positive = rows @ [1.0, 1.0, 0.0] + random.normal(size=400) > 2.5
    *scores, best = load("rare_classes").scores(rows, positive, 200, 200, 0)
    assert len(scores) == 3
    assert all(0 < one <= best for one in scores)


ROWS, LABELS = np.array([[0.6, 0.1], [0.0, 0.5]]), np.array([0, 1])


def test_documents_are_models_of_gaps(load):
    """The gap that looks like a boundary is more probably one; labels are crfsuite's."""
    pytest.importorskip("sklearn_crfsuite")
    script = load("segmentation")
    seen, new = script.models([(ROWS, LABELS)] * 4, [(ROWS, LABELS)])
    p = script.boundary_probabilities(new[0])
    assert p[1] > p[0]
    np.testing.assert_array_equal(script.boundary_probabilities(seen[0]), p)
    assert script.names(p >= p.max()) == ["0", "1"]


def test_windows_and_table_of_segmentations(load, capsys):
    """Six sentences in two segments: three each, half of it rounded to even."""
    script = load("segmentation")
    assert script.half_mean_segment([(ROWS, np.array([0, 0, 1, 0, 0]))]) == 2
    loss = fsmeu.load("windowdiff", k=1, labels=["0", "1"])
    script.show(loss, {"none": [["0", "0"]], "MEU": [["0", "1"]]}, [["0", "1"]])
    assert "0.5000 (0.5000 to 0.5000)" in capsys.readouterr().out
