"""Scripts on CoNLL-2000 and on samples: their parts; quick runs of those that have no other."""

import numpy as np
import pytest
from seqeval.metrics import precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities
from sklearn.metrics import f1_score

import fsmeu
from tests.experiments.conftest import needs, ran

# -- CoNLL-2000 -----------------------------------------------------------------------------------


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


# -- quick runs -----------------------------------------------------------------------------------

CONLL = ("conll2000/train.txt.gz", "conll2000/test.txt.gz")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "files", "told"),
    [
        ("activity", (), "MEU"),
        ("change_points", (), "MEU"),
        ("jansche2005 pairs", ("ijcnn1/ijcnn1.trn.bz2",), "ijcnn1, 500 examples"),
        ("liu2018", ("a9a/a9a.gz",), "thresholds"),
        ("natarajan2016", ("scene/scene_train.csv.gz",), "DTA"),
        ("conll2000_tagger", CONLL, "expected F1 + MEU"),
        (
            "consensus",
            (*CONLL, "scene/scene_train.csv.gz", "scene/scene_test.csv.gz"),
            "best sample",
        ),
    ],
)
def test_quick_runs(name, files, told):
    needs(*files)
    if name == "change_points":
        pytest.importorskip("ruptures", reason="ruptures is not installed; development needs it")
    script, *words = name.split()
    assert told in ran(f"{script}.py", *words, "--quick")[0]
