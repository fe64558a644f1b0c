"""What `fsmeu train` is told, and what its models keep: the positive class, seeds, comments."""

import re
import zipfile

import numpy as np
import pytest
from sklearn.metrics import f1_score

from fsmeu.learning.base import BinaryClassifier
from fsmeu.learning.saving import estimators, load
from tests.cli.test_train import FEW, LINES, TEST, TRAIN
from tests.support.examples import X, Y, as_csv

BOTH = [[], ["-c", "FOFOClassifier"], ["-c", "MaxExpectedFClassifier", "--set", "restarts=2"]]


@pytest.mark.parametrize("words", BOTH, ids=str)
def test_the_positive_class(fsmeu, tmp_path, words):
    """It is the one of --pos-label, else the rarer, which is told; predict reads it in the file."""
    names = np.array(["ok", "fraud"])[Y]
    as_csv(tmp_path / "train.csv", X[TRAIN], names[TRAIN])
    as_csv(tmp_path / "test.csv", X[TEST], names[TEST])
    command = ["train", tmp_path / "train.csv", "-o", tmp_path / "m.skops", "--json", *words]
    command += ["--test", tmp_path / "test.csv"]
    for given, positive in ((["--pos-label", "ok"], "ok"), (["--pos-label", "fraud"], "fraud"),
                            ([], "fraud")):  # fmt: skip
        ran = fsmeu(*command, *given)
        assert ran.code == 0, ran.err
        assert ("the rarer class, 'fraud', is taken" in ran.err) == (not given)
        assert given or "--pos-label 'ok' for the other" in ran.err
        assert ran.json["pos_label"] == positive
        assert ran.json["positive"] == (names[TRAIN] == positive).sum()
        shown = fsmeu("predict", tmp_path / "m.skops", tmp_path / "test.csv", "--json").json
        wanted = f1_score(names[TEST], shown["classes"], pos_label=positive)
        assert shown["measures"]["F1"] == pytest.approx(wanted)
        assert ran.json["test"]["F1"] == pytest.approx(wanted)
        model = load(tmp_path / "m.skops")
        told = fsmeu(
            "predict", tmp_path / "m.skops", tmp_path / "test.csv", "--probabilities", "--json"
        )
        column = model.classes_.tolist().index(positive)
        assert told.json["probabilities"] == pytest.approx(model.predict_proba(X[TEST])[:, column])
    fsmeu(*command, "--pos-label", "frau").is_refused("--pos-label must be one of the classes "
                                                      "'fraud', 'ok'", "frau")  # fmt: skip
    fsmeu(*command, "--set", "pos_label=ok").is_refused("--pos-label")


def learned(path):
    """What a file of a model holds, times left out."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    schema = members.pop("schema.json").decode()
    return members, re.sub(r'"seconds": {[^}]*}', "", schema)


@pytest.mark.thirds
@pytest.mark.parametrize(
    "words",
    [
        *(
            [f"-c {name}"]
            for name in estimators()
            if issubclass(estimators()[name], BinaryClassifier)
        ),
        ["-c DTAClassifier --set estimator=SGDClassifier --set estimator__loss=log_loss"],
        ["-c EUMClassifier --set estimator=MaxExpectedFClassifier --set calibration=sigmoid"],
        ["-c ExampleWiseClassifier --set estimator=EUMClassifier"],
        ["-c MaxExpectedUtilityClassifier --set batch_size=20 --set restarts=1 --set max_iter=5"],
    ],
    ids=str,
)
def test_the_same_seed_gives_the_same_model(fsmeu, tmp_path, words):
    as_csv(tmp_path / "train.csv")
    options = words[0].split()
    found = []
    for seed in (3, 3, 4):
        path = tmp_path / f"{len(found)}.skops"
        ran = fsmeu(
            "train", tmp_path / "train.csv", "-o", path, *options, "--set", f"random_state={seed}"
        )
        assert ran.code == 0, ran.err
        found.append(learned(path))
    assert found[0] == found[1]
    if "EUMClassifier" in options:  # other rows are held out
        assert found[0] != found[2]


def test_the_same_seed_gives_the_same_tagger(fsmeu, tmp_path):
    (tmp_path / "t.conll").write_text("\n".join(LINES * 5))
    found = []
    for k, learner in enumerate(("logistic", "logistic", "perceptron", "perceptron")):
        options = [*FEW, "--set", f"learner={learner}", "--set", "random_state=3"]
        path = tmp_path / f"{k}.skops"
        assert fsmeu("train", tmp_path / "t.conll", "-o", path, *options).code == 0
        found.append(learned(path))
    assert found[0] == found[1]
    assert found[2] == found[3]


def test_comments_are_no_tokens(fsmeu, tmp_path):
    """With comments the same tagger is trained as without, and predict takes what score takes."""
    kinds = ("# a comment", "# sent_id = 1", "# as NP")
    told = "\n".join(f"{kinds[k % 3]}\n{lines}" for k, lines in enumerate(LINES * 5))
    (tmp_path / "t.conll").write_text(told)
    found = fsmeu("train", tmp_path / "t.conll", "-o", tmp_path / "m.skops", *FEW, "--json").json
    assert (found["sentences"], found["words"], found["tags"]) == (20, 100, 4)
    assert found["loss"] == "chunk_fscore"
    (tmp_path / "plain.conll").write_text("\n".join(LINES * 5))
    assert fsmeu("train", tmp_path / "plain.conll", "-o", tmp_path / "p.skops", *FEW).code == 0
    assert learned(tmp_path / "m.skops") == learned(tmp_path / "p.skops")
    shown = fsmeu("predict", tmp_path / "m.skops", tmp_path / "t.conll")
    (tmp_path / "z.conll").write_text(shown.out)
    assert len(shown.out.split("\n\n")) == 20
    for place in ("-2", "3"):
        command = ["score", "accuracy", tmp_path / "z.conll", "--gold", place, "-s", "-1"]
        assert fsmeu(*command, "--json").json["labels"] == 100
