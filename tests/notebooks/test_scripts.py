"""Scripts on CoNLL-2000 and on rare classes: their parts, and their quick runs."""

import gzip
import json

import numpy as np
import pytest

import fsmeu
from tests.notebooks.conftest import ran

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


@pytest.mark.nightly
def test_quick_run_of_the_tagger(conll2000):
    told, _ = ran("conll2000_tagger.py", "--quick")
    for way in ("likelihood + Viterbi", "likelihood + MEU", "expected F1 + MEU"):
        assert way in told


# -- rare classes ---------------------------------------------------------------------------------


def test_no_decision_is_above_the_best_threshold(load):
    """As they rank by the same probabilities; on data that are drawn here."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(400, 3))
    positive = rows @ [1.0, 1.0, 0.0] + random.normal(size=400) > 2.5
    *scores, best = load("rare_classes").scores(rows, positive, 200, 200, 0)
    assert len(scores) == 3
    assert all(0 < one <= best for one in scores)
