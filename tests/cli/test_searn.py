"""`fsmeu train --searn` and `predict`: files in, models and tags out."""

import subprocess

import pytest
from seqeval import metrics

from tests.cli.conftest import PROGRAM

LINES = [
    "the DT B-NP\nold JJ I-NP\nman NN I-NP\nate VBD B-VP\nfish NN B-NP\n. . O\n",
    "a DT B-NP\ncat NN I-NP\nsat VBD B-VP\n. . O\n",
    "fish NN B-NP\nswam VBD B-VP\n. . O\n",
    "the DT B-NP\ncat NN I-NP\nate VBD B-VP\nthe DT B-NP\nold JJ I-NP\nfish NN I-NP\n. . O\n",
]
FEW = ["-p", "iterations=2", "-p", "folds=2"]


@pytest.fixture(scope="module")
def folder(fsmeu, tmp_path_factory):
    """Where the file of a model is; what it was trained with is told."""
    folder = tmp_path_factory.mktemp("searn")
    (folder / "train.txt").write_text("\n".join(LINES * 5))
    command = ["train", "--searn", folder / "train.txt", "-o", folder / "m.npz", *FEW]
    told = fsmeu(*command, "--test", folder / "train.txt", "--json").json
    assert (told["sentences"], told["words"], told["tags"]) == (20, 100, 4)
    assert (told["loss"], told["space"]) == ("chunk_fscore", "word-at-a-time")
    assert told["test"]["F1"] == 1.0
    return folder


def test_predict_and_eval(fsmeu, folder):
    """The tagged file has the given tags and the predicted ones; seqeval agrees on their F1."""
    test = folder / "test.txt"
    test.write_text("the DT B-NP\nfish NN I-NP\nsat VBD B-NP\n\na DT B-NP\ncat NN I-NP\n")
    ran = fsmeu("predict", folder / "m.npz", test, "-o", folder / "out" / "z.txt")
    assert ran.code == 0, ran.err
    blocks = (folder / "out" / "z.txt").read_text().strip().split("\n\n")
    rows = [[line.split() for line in block.splitlines()] for block in blocks]
    assert [[row[:3] for row in one] for one in rows] == [
        [line.split() for line in block.splitlines()]
        for block in test.read_text().strip().split("\n\n")
    ]
    y, z = ([[row[k] for row in one] for one in rows] for k in (2, 3))
    command = ["score", folder / "out" / "z.txt", "--by-type"]
    found = fsmeu(*command, "--json").json
    whole = {row["loss"]: row for row in found["scores"] if row["level"] == "corpus"}
    for name, score in (
        ("chunk_fscore", metrics.f1_score),
        ("chunk_precision", metrics.precision_score),
        ("chunk_recall", metrics.recall_score),
        ("accuracy", metrics.accuracy_score),
    ):
        assert whole[name]["value"] == pytest.approx(score(y, z), rel=1e-12)
        assert whole[name]["low"] <= whole[name]["value"] <= whole[name]["high"]
    report = metrics.classification_report(y, z, output_dict=True, zero_division=0)
    types = found["types"]["last column"]
    assert types["NP"]["given"] == 3
    for kind, one in types.items():
        assert one["given"] == report.get(kind, {"support": 0})["support"]
        for ours, theirs in (("precision",) * 2, ("recall",) * 2, ("F1", "f1-score")):
            assert one[ours] == pytest.approx(report[kind][theirs], rel=1e-12)
    shown = fsmeu(*command)
    assert f"{metrics.f1_score(y, z):.4f}" in shown.out
    assert [row[0] for row in shown.rows() if row and row[0] in ("NP", "VP")] == ["NP", "VP"]
    assert f"F1 {metrics.f1_score(y, z):.4f}" in ran.err


def test_predict_without_tags(fsmeu, folder):
    text = "the DT\ncat NN\n\nfish NN\n"
    ran = fsmeu("predict", folder / "m.npz", "-", "--beam", "1", stdin=text)
    assert [line.split()[:2] for line in ran.out.splitlines()] == [
        line.split() for line in text.splitlines()
    ]
    told = fsmeu("predict", folder / "m.npz", "-", "--json", stdin=text).json
    assert told["measures"] is None
    assert [len(one) for one in told["tags"]] == [2, 1]


def test_predict_in_a_process_of_its_own(folder):
    """Nothing but the file says that it holds a tagger."""
    command = [*PROGRAM, "predict", str(folder / "m.npz"), "-"]
    ran = subprocess.run(command, input=b"the DT\ncat NN\n", capture_output=True, check=True)
    assert [line.split()[:2] for line in ran.stdout.splitlines()] == [
        [b"the", b"DT"],
        [b"cat", b"NN"],
    ]


def test_plain_labels_and_templates_of_ones_own(fsmeu, keep, tmp_path):
    """Labels that are no chunk tags: Hamming loss, left to right; a word and its label."""
    text, model = keep("t.txt", "a X\nb Y\na X\n\nb Y\nc X\n\n" * 6), tmp_path / "m.npz"
    mine = keep("mine", "word\nword[-1]\ncross word\n")
    options = ["-t", mine, *FEW, "-p", "learner=perceptron", "--json"]
    told = fsmeu("train", "--searn", text, "-o", model, *options).json
    assert (told["loss"], told["space"]) == ("hamming", "left-to-right")
    assert fsmeu("predict", model, text, "--json").json["measures"]["accuracy"] == 1.0


def test_other_columns_than_in_training_are_refused(fsmeu, folder, keep):
    fsmeu("predict", folder / "m.npz", keep("t.txt", "a b c d e\n")).is_refused("2 columns")
