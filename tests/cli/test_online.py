"""`fsmeu train --online`: figures are those of transcripts of the papers, on the same orders."""

import csv
import json

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score, jaccard_score

from fsmeu.learning.online import FOFOClassifier
from fsmeu.learning.saving import load
from tests.learning.online import transcript
from tests.support.examples import WRITERS, as_csv, as_npz

X, Y = make_classification(240, 4, weights=[0.7], flip_y=0.1, random_state=4)
X = np.round(X, 6)
TRAIN, TEST = slice(0, 160), slice(160, 240)


@pytest.fixture
def files(tmp_path):
    """Where train.csv, test.csv and other files are."""
    as_csv(tmp_path / "train.csv", X[TRAIN], Y[TRAIN])
    as_csv(tmp_path / "test.csv", X[TEST], Y[TEST])
    return tmp_path


@pytest.mark.parametrize("ending", WRITERS)
def test_file_order(fsmeu, tmp_path, ending):
    """Without shuffles FOFO's online F is that of the listing, which knows n in advance."""
    WRITERS[ending](tmp_path / f"t.{ending}", X, Y)
    told = fsmeu("train", "--online", tmp_path / f"t.{ending}", "--shuffles", 0, "--json").json
    predicted, _, _ = transcript.fofo(X, Y.tolist())
    (row,) = told["learners"]
    assert row["learner"] == "FOFOClassifier"
    assert row["online"] == {"mean": pytest.approx(f1_score(Y, predicted)), "sd": None}
    assert row["test"] is None
    assert row["examples_per_second"] > 0
    assert (told["examples"], told["features"], told["positive"]) == (240, 4, int(Y.sum()))


def orders(count, shuffles, seed, passes=1):
    for k in range(shuffles):
        random = np.random.default_rng((seed, k))
        yield np.concatenate([random.permutation(count) for _ in range(passes)])


def test_shuffles_and_learners(fsmeu, files):
    named = ["-c", "FOFOClassifier:gamma_scale=16,beta=1", "-c", "OFOClassifier"]
    options = [*named, "-p", "step=0.5", "--shuffles", 3, "--seed", 7, "--passes", 2]
    told = fsmeu("train", "--online", files / "train.csv", *options, "--json").json
    fofo, ofo = [], []
    for order in orders(160, 3, 7, 2):
        rows, labels = X[order], Y[order]
        fofo.append(f1_score(labels, transcript.fofo(rows, labels.tolist(), c=0.5, scale=16)[0]))
        ofo.append(f1_score(labels, transcript.ofo(rows, labels.tolist(), c=0.5)))
    for row, wanted in zip(told["learners"], (fofo, ofo), strict=True):
        assert row["online"]["mean"] == pytest.approx(np.mean(wanted))
        assert row["online"]["sd"] == pytest.approx(np.std(wanted, ddof=1))
    assert [row["learner"] for row in told["learners"]] == [named[1], named[3]]
    shown = fsmeu("train", "--online", files / "train.csv", *options)
    assert f"{np.mean(ofo):.4f} ± {np.std(ofo, ddof=1):.4f}" in shown.out
    assert shown.err == ""


def test_offline(fsmeu, files):
    """--test measures each learner after its order; --output keeps that of the first order."""
    options = ["-c", "FOFOClassifier", "--shuffles", 2, "--test", files / "test.csv"]
    options += ["--output", files / "m.npz", "-p", "measure=jaccard"]
    (row,) = fsmeu("train", "--online", files / "train.csv", *options, "--json").json["learners"]
    values = []
    for order in orders(160, 2, 0):
        rows, labels = X[TRAIN][order], Y[TRAIN][order]
        _, threshold, weights = transcript.fofo(rows, labels.tolist())
        chances = [transcript.sigmoid(weights @ np.append(x, 1)) for x in X[TEST]]
        values.append(jaccard_score(Y[TEST], np.array(chances) >= threshold))
    assert row["measure"] == "Jaccard"
    assert row["test"]["mean"] == pytest.approx(np.mean(values))
    assert row["test"]["sd"] == pytest.approx(np.std(values, ddof=1))
    kept = load(files / "m.npz")
    assert isinstance(kept, FOFOClassifier)
    assert jaccard_score(Y[TEST], kept.predict(X[TEST])) == pytest.approx(values[0])
    printed = fsmeu("predict", files / "m.npz", files / "test.csv").out.split()
    assert [int(one) for one in printed] == kept.predict(X[TEST]).tolist()


def test_files_of_curves(fsmeu, files):
    both = ("OFOClassifier", "OnlineLogisticClassifier")
    command = ["train", "--online", files / "train.csv", "-c", both[0], "-c", both[1]]
    for ending in ("csv", "json"):
        assert fsmeu(*command, "--shuffles", 2, "--plot", files / f"out/c.{ending}").code == 0
    lines = list(csv.DictReader((files / "out/c.csv").read_text().splitlines()))
    whole = json.loads((files / "out/c.json").read_text())
    assert whole["seen"] == list(range(1, 161))
    assert len(lines) == 2 * 2 * 160
    for row, name in zip(whole["learners"], both, strict=True):
        assert row["learner"] == name
        for k in (1, 2):
            mine = [one for one in lines if one["learner"] == name and one["order"] == str(k)]
            assert [int(one["examples"]) for one in mine] == whole["seen"]
            assert [float(one["value"]) for one in mine] == whole["curves"][name][k - 1]
        ends = [curve[-1] for curve in whole["curves"][name]]
        assert row["online"]["mean"] == pytest.approx(np.mean(ends))


def test_one_class_against_all_others(fsmeu, tmp_path):
    """It is named, as a number or a text; of two, the greater is meant."""
    labels = np.where(Y == 1, 2, np.arange(240) % 2 * 2 + 1)
    as_npz(tmp_path / "t.npz", X, labels)
    as_npz(tmp_path / "none.npz", X[labels != 2], labels[labels != 2])
    as_csv(tmp_path / "t.csv", X, np.array(["spam", "ham"])[Y])
    options = ["--shuffles", 0, "--json"]
    three = ["train", "--online", tmp_path / "t.npz", *options]
    two = ["train", "--online", tmp_path / "t.csv", *options]
    fsmeu(*three).is_refused("two classes", "3: 1, 2, 3", "--positive")
    for words, positive in (
        ([*three, "--positive", "2"], Y),
        ([*three, "--positive", "2.0", "--test", tmp_path / "none.npz"], Y),
        ([*two, "--positive", "ham"], Y),
        (two, 1 - Y),
    ):
        (row,) = fsmeu(*words).json["learners"]
        predicted, _, _ = transcript.fofo(X, positive.tolist())
        assert row["online"]["mean"] == pytest.approx(f1_score(positive, predicted))
        assert row["test"] is None or row["test"]["mean"] == 0
