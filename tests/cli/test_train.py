"""`fsmeu train` and `predict`: files in, models out; a classifier and a tagger."""

import numpy as np
import pytest
from seqeval import metrics
from sklearn.metrics import f1_score, jaccard_score

from tests.cli.commands import fsmeu
from tests.support.examples import X, Y, as_csv

TRAIN, TEST = slice(0, 60), slice(60, 90)
SENTENCES = "the DT B-NP\nold JJ I-NP\nman NN I-NP\nate VBD B-VP\n\na DT B-NP\ncat NN I-NP\n"


def test_a_classifier_there_and_back(tmp_path):
    """The positive class is told, kept in the file, and that of the measures."""
    names = np.array(["ok", "fraud"])[Y]
    train, test, model = (tmp_path / name for name in ("train.csv", "test.csv", "m.skops"))
    as_csv(train, X[TRAIN], names[TRAIN])
    as_csv(test, X[TEST], names[TEST])
    command = ["train", "jaccard", train, "-o", model, "-c", "EUMClassifier", "--json"]
    ran = fsmeu(*command, "--set", "random_state=0", "--test", test)
    assert (ran.json["examples"], ran.json["features"]) == (60, 4)
    assert ran.json["pos_label"] == "fraud"
    assert "the rarer class, 'fraud', is taken" in ran.err
    found = fsmeu("predict", model, test, "--plot", tmp_path / "t.png")
    z = np.array(found.out.split()) == "fraud"
    assert ran.json["test"]["F1"] == pytest.approx(f1_score(Y[TEST], z))
    assert ran.json["test"]["jaccard"] == pytest.approx(jaccard_score(Y[TEST], z))
    assert f"F1 {f1_score(Y[TEST], z):.4f}" in found.err
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    fsmeu(*command, "--pos-label", "frau").is_refused("--pos-label must be one of the classes")


def test_a_tagger_there_and_back(tmp_path):
    """The tagged file has the given tags and the predicted ones, sentence by sentence."""
    train, test, model = (tmp_path / name for name in ("t.conll", "s.conll", "m.skops"))
    train.write_text("\n".join([SENTENCES] * 4))
    test.write_text("the DT B-NP\ncat NN B-NP\n\na DT B-NP\nman NN I-NP\n")
    few = ["--set", "iterations=2", "--set", "folds=2"]
    told = fsmeu("train", train, "-o", model, *few).rows()
    assert [row for row in told if row[:1] in (["sentences"], ["tags"])] == [
        ["sentences", "8"],
        ["tags", "3"],
    ]
    ran = fsmeu("predict", model, test, "-o", tmp_path / "z.conll")
    blocks = (tmp_path / "z.conll").read_text().strip().split("\n\n")
    rows = [[line.split() for line in block.splitlines()] for block in blocks]
    assert [[row[:3] for row in one] for one in rows] == [
        [line.split() for line in block.splitlines()] for block in test.read_text().split("\n\n")
    ]
    y, z = ([[row[k] for row in one] for one in rows] for k in (2, 3))
    assert f"F1 {metrics.f1_score(y, z):.4f}" in ran.err
    fsmeu("predict", model, "-", stdin="a b c d e\n").is_refused("2 columns")
