"""Scripts on CoNLL-2000, on rare classes and on samples: their parts, and their quick runs."""

import gzip
import json

import numpy as np
import pytest
from seqeval.metrics import precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities
from sklearn.metrics import f1_score

import fsmeu
from tests.experiments.conftest import needs, ran

# -- CoNLL-2000 -----------------------------------------------------------------------------------

TEST = [[("A", "DT", "B-NP"), ("dog", "NN", "I-NP")], [("Barks", "VB", "B-VP")]]


def test_label_models_are_written_as_score_reads_them(load, tmp_path):
    pytest.importorskip("sklearn_crfsuite")
    script = load("conll2000_score")
    train = [TEST[0], TEST[1], [("It", "PRP", "B-NP"), ("barks", "VB", "B-VP")]] * 3
    assert sorted(script.drawn(train, 0, seed=1)) == sorted(train)
    assert len(script.drawn(train, 2, seed=1)) == 2
    field = script.trained_crf(train)
    for models in (script.crf_models(field, TEST), script.softmax_models(train, TEST)):
        file = script.write(tmp_path / "out" / "m.jsonl.gz", models, TEST, quiet=True)
        records = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
        assert [record.pop("y") for record in records] == [["B-NP", "I-NP"], ["B-VP"]]
        for model, record in zip(models, records, strict=True):
            found = fsmeu.models.from_json(record)
            np.testing.assert_allclose(found.marginals(), model.marginals(), atol=1e-5)
    without = script.crf_models(script.trained_crf(train[3:]), train[:3])
    for found, model in zip(script.out_of_fold(train, 3), without, strict=False):
        assert found.labels == model.labels
        np.testing.assert_allclose(found.marginals(), model.marginals(), atol=1e-5)


@pytest.mark.nightly
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


def test_scores_of_the_inquiry_are_those_of_seqeval(load):
    """F-beta of chunks, and the number of chunks that a model expects of the reference."""
    script = load("conll2000_softmax")
    random = np.random.default_rng(0)
    tags = ["O", "B-NP", "I-NP", "B-VP", "I-VP"]
    z, y = ([random.choice(tags, 7).tolist() for _ in range(30)] for _ in range(2))
    measured = script.counts_of(z, y).amounts
    for beta in (1, 2):
        exact, complete = precision_score(y, z), recall_score(y, z)
        wanted = (1 + beta**2) * exact * complete / (beta**2 * exact + complete)
        assert script.Weighted(measured, beta).scores()["F"] == pytest.approx(wanted)
    weights = np.array([[2.0] * 30, [0.0] * 29 + [1.0]])
    found = script.Weighted(measured, 2).scores(weights)["F"]
    assert found.tolist() == [
        script.Weighted(part, 2).scores()["F"] for part in (measured, measured[-1:])
    ]
    loss = fsmeu.load("chunk_fscore", types=["NP", "VP"])
    sure = [fsmeu.models.NBest([one], [1.0], labels=loss.labels) for one in y]
    counted = [len(get_entities(one)) for one in y]
    assert fsmeu.expect_many(script.CHUNKS, z, sure).values == pytest.approx(counted)


def test_transitions_of_tags(load):
    """Counted by hand; without weight they leave the softmax given well-formed tags."""
    script = load("conll2000_softmax")
    labels = ["B-NP", "I-NP", "O"]
    train = [[("a", "x", tag) for tag in one] for one in (labels, labels, ["O", "O"])]
    counts = np.array([[0, 2, 0], [0, 0, 2], [0, 0, 1]])
    alone = np.outer([2, 2, 1], [0, 2, 3]) / 5
    scores = script.transition_scores(train, labels)
    np.testing.assert_allclose(np.exp(scores), (counts + 1) / (alone + 1))
    model = fsmeu.models.Independent([[0.2, 0.5, 0.3], [0.1, 0.6, 0.3]], labels)
    (same,) = script.with_transitions([model], 0 * scores)
    np.testing.assert_allclose(same.marginals(), model.given(script.BIO).marginals())
    (other,) = script.with_transitions([model], scores)
    assert other.probability(["B-NP", "I-NP"]) > same.probability(["B-NP", "I-NP"])


@pytest.mark.nightly
def test_what_is_compared_where_a_decision_lowers_its_score(load, conll2000, capsys):
    """Constraints to well-formed tags change no chunk; what is decided for is expected most."""
    script = load("conll2000_softmax")
    sentences = [one for one in script.read("train")[:200] if len(one) <= 12]
    asked = script.Inquiry(sentences[:20], sentences[20:30], sentences[30:34], beta=2)
    asked.independent()
    asked.well_formed()
    asked.chains()
    rows = {(one.model, one.way): one for one in asked.found}
    plain = rows["softmax", "MEU"]
    np.testing.assert_array_equal(
        rows["softmax", "MEU, constraint=bio()"].measured.amounts[:, :3],
        plain.measured.amounts[:, :3],
    )
    for model in ("softmax", "given bio()"):
        best = rows[model, "MEU of the corpus"].expected
        assert all(best >= one.expected - 1e-4 for place, one in rows.items() if place[0] == model)
    script.show_inquiry([asked.found] * 2, 2)
    assert "to argmax" in capsys.readouterr().out


@pytest.mark.nightly
def test_quick_run_of_the_tagger(conll2000):
    told, _ = ran("conll2000_tagger.py", "--quick")
    for way in ("likelihood + Viterbi", "likelihood + MEU", "expected F1 + MEU"):
        assert way in told


# -- rare classes ---------------------------------------------------------------------------------


@pytest.mark.nightly
def test_no_decision_is_above_the_best_threshold(load):
    """As they rank by the same probabilities; on data that are drawn here."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(400, 3))
    positive = rows @ [1.0, 1.0, 0.0] + random.normal(size=400) > 2.5
    *scores, best = load("rare_classes").scores(rows, positive, 200, 200, 0)
    assert len(scores) == 3
    assert all(0 < one <= best for one in scores)


@pytest.mark.nightly
def test_no_decision_is_above_the_best_threshold_where_the_share_moves(load):
    """For F1 and accuracy; test sets have the shares that they are to have."""
    script = load("prevalence")
    random = np.random.default_rng(1)
    rows = random.normal(size=(6000, 3))
    positive = rows @ [1.5, 1.0, 0.0] + random.normal(size=6000) > 2.9
    for share in (0.05, 0.4):
        chosen = script.drawn(positive, 500, share, random)
        assert len(set(chosen.tolist())) == 500
        assert positive[chosen].mean() == share
    found = script.scores(rows, positive, (1000, 600), 0, script.CLASSIFIERS["logistic"])
    assert found.values.shape == (2, 5, 7)
    told = ~np.isnan(found.values)
    assert told[:, :, [0, 1, 2, 5, 6]].all()
    above = found.values - found.values[:, :, -1:]
    assert (above[told] <= 1e-12).all()


# -- samples --------------------------------------------------------------------------------------


def test_ways_to_make_one_answer_of_several(load):
    """Scores are those of scikit-learn and seqeval; the consensus is above all for the samples."""
    script = load("consensus")
    random = np.random.default_rng(0)
    table = random.random((10, 6)) < [0.9, 0.6, 0.45, 0.4, 0.2, 0.05]
    samples = [frozenset(np.flatnonzero(row).tolist()) for row in table]
    chosen = {name: way(samples) for name, way in script.ways("fscore").items()}
    assert chosen["majority"] == set(np.flatnonzero(table.sum(axis=0) > 5).tolist())
    assert chosen["intersection"] == set(np.flatnonzero(table.all(axis=0)).tolist())
    assert chosen["union"] == set(np.flatnonzero(table.any(axis=0)).tolist())
    means = {}
    for name, answer in chosen.items():
        z = np.isin(np.arange(6), list(answer))
        want = f1_score(table, np.tile(z, (10, 1)), average="samples", zero_division=1)
        means[name] = np.mean([script.counts(answer, one).fscore for one in samples])
        assert means[name] == pytest.approx(want)
    assert max(means.values()) == means["consensus"]
    assert means["best sample"] >= means["one sample"]


def test_tags_by_majority(load):
    script = load("consensus")
    samples = [["B-NP", "I-NP", "O"], ["B-NP", "O", "O"], ["O", "I-NP", "O"]]
    assert script.token_majority(samples) == {
        (begin, end + 1, kind) for kind, begin, end in get_entities(["B-NP", "I-NP", "O"])
    }


@pytest.mark.nightly
def test_quick_run_of_samples(conll2000):
    needs("scene/scene_train.csv.gz", "scene/scene_test.csv.gz")
    told, _ = ran("consensus.py", "--quick")
    assert told.count("best sample") == 2
