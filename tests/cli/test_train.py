"""`fsmeu train` and `predict`: files in, models out; online, the figures of the listings."""

import subprocess

import numpy as np
import pytest
from seqeval import metrics
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, fbeta_score, jaccard_score

from fsmeu.cli import predict as models
from fsmeu.learning.online import FOFOClassifier
from fsmeu.learning.saving import load
from tests.cli.conftest import PROGRAM
from tests.learning.online import transcript
from tests.support.examples import WRITERS, X, Y, as_csv, as_svmlight

TRAIN, TEST = slice(0, 60), slice(60, 90)


@pytest.fixture
def model(fsmeu, tmp_path):
    """The file of a model, and where other files may go."""
    as_csv(tmp_path / "train.csv")
    ran = fsmeu("train", tmp_path / "train.csv", "-o", tmp_path / "m.skops")
    assert ran.code == 0, ran.err
    return tmp_path / "m.skops"


@pytest.mark.parametrize("ending", WRITERS)
def test_there_and_back(fsmeu, tmp_path, ending):
    train, test = tmp_path / f"train.{ending}", tmp_path / f"test.{ending}"
    WRITERS[ending](train, X[TRAIN], Y[TRAIN])
    WRITERS[ending](test, X[TEST], Y[TEST])
    options = ["-c", "EUMClassifier", "--set", "random_state=0"]
    told = fsmeu(
        "train", "jaccard", train, "-o", tmp_path / "m.skops", *options, "--test", test, "--json"
    ).json
    assert (told["examples"], told["features"], told["positive"]) == (60, 4, int(Y[TRAIN].sum()))
    assert told["classes"] == [0, 1]
    found = fsmeu("predict", tmp_path / "m.skops", test)
    assert found.code == 0
    z = np.array([int(line) for line in found.out.split()])
    assert told["test"]["F1"] == pytest.approx(f1_score(Y[TEST], z), abs=1e-9)
    assert told["test"]["jaccard"] == pytest.approx(jaccard_score(Y[TEST], z), abs=1e-9)
    assert f"F1 {f1_score(Y[TEST], z):.4f}" in found.err


def test_any_estimator_of_scikit_learn_may_be_inside(fsmeu, tmp_path):
    as_csv(tmp_path / "t.csv")
    forest = ["estimator=RandomForestClassifier", "estimator__n_estimators=5"]
    options = [word for one in forest for word in ("--set", one)]
    ran = fsmeu("train", tmp_path / "t.csv", "-o", tmp_path / "m.skops", *options)
    assert ran.code == 0, ran.err
    told = fsmeu("predict", tmp_path / "m.skops", tmp_path / "t.csv", "--probabilities", "--json")
    other = RandomForestClassifier(5, random_state=0).fit(X, Y)
    assert told.json["probabilities"] == pytest.approx(other.predict_proba(X)[:, 1])


def test_probabilities_and_files_without_labels(fsmeu, model, tmp_path):
    rows = tmp_path / "rows.csv"
    np.savetxt(rows, X[:20], delimiter=",")
    data = fsmeu("predict", model, rows, "--probabilities", "--json").json
    other = LogisticRegression(max_iter=1000).fit(X, Y)
    assert data["probabilities"] == pytest.approx(other.predict_proba(X[:20])[:, 1], abs=1e-6)
    assert data["measures"] is None
    ran = fsmeu("predict", model, rows, "-o", tmp_path / "z.txt")
    assert (tmp_path / "z.txt").read_text().split() == [str(z) for z in data["classes"]]
    assert "20" in ran.out


def test_columns_texts_and_tables(fsmeu, keep, tmp_path):
    rows = zip(np.array(["ham", "spam"])[Y], X, strict=True)
    file = keep("t.tsv", "kind\ta\tb\n" + "\n".join(f"{y}\t{x[0]}\t{x[1]}" for y, x in rows))
    for label in ("kind", "1"):
        ran = fsmeu("train", file, "--label", label, "-o", tmp_path / "m.skops")
        assert (ran.code, "ham, spam" in ran.out) == (0, True)
    ran = fsmeu("predict", tmp_path / "m.skops", file, "--label", "kind", "-o", tmp_path / "z.txt")
    assert set((tmp_path / "z.txt").read_text().split()) == {"ham", "spam"}
    assert "F1" in ran.out


def test_several_labels(fsmeu, tmp_path):
    table = np.stack([Y, X[:, 0] > 0], axis=1).astype(int)
    np.savez(tmp_path / "t.npz", X=X, y=table)
    options = ["-c", "ExampleWiseClassifier", "--test", tmp_path / "t.npz", "--json"]
    told = fsmeu("train", tmp_path / "t.npz", "-o", tmp_path / "m.skops", *options).json
    assert told["positive"] == table.sum(axis=0).tolist()
    data = fsmeu("predict", tmp_path / "m.skops", tmp_path / "t.npz", "--json").json
    both = (np.array(data["classes"]) & table).sum(axis=1)
    sizes = (np.array(data["classes"]) + table).sum(axis=1)
    f_one = np.where(sizes > 0, 2 * both / np.maximum(sizes, 1), 1.0)
    assert told["test"]["fscore"] == pytest.approx(f_one.mean(), abs=1e-12)
    lines = fsmeu("predict", tmp_path / "m.skops", tmp_path / "t.npz").out.splitlines()
    assert lines == ["\t".join(map(str, row)) for row in data["classes"]]


def test_parameters(fsmeu, tmp_path, model):
    def made(options):
        ran = fsmeu("train", tmp_path / "train.csv", "-o", tmp_path / "p.skops", *options.split())
        assert ran.code == 0, ran.err
        return load(tmp_path / "p.skops")

    loss, estimator = "-p beta=2", "--set estimator=LogisticRegression"
    one = made(
        f"{loss} {estimator} --set estimator__C=0.25 --set calibration=sigmoid --set folds=3"
    )
    assert (one.loss_.params["beta"], one.estimator.C, one.folds) == (2, 0.25, 3)
    assert type(one.calibrator_).__name__ == "LogisticRegression"
    one = made("-c EUMClassifier --set estimator=FOFOClassifier --set estimator__step=0.5")
    assert one.estimator.step == 0.5


def test_every_registered_classifier_is_listed(fsmeu):
    names = [row["name"] for row in fsmeu("train", "--list", "--json").json]
    assert {"DTAClassifier", "EUMClassifier", "ExampleWiseClassifier"} <= set(names)
    assert names == sorted(names)
    assert "EUMClassifier" in fsmeu("train", "--list").out


def test_examples_of_another_kind(fsmeu, tmp_path, model):
    as_csv(tmp_path / "narrow.csv", X[:, :2], Y, "a,b,kind")
    fsmeu("predict", model, tmp_path / "narrow.csv").is_refused("4 features", "2 features")
    as_csv(tmp_path / "other.csv", X, Y + 1)
    fsmeu("predict", model, tmp_path / "other.csv").is_refused("0 or 1", "2")


def test_features_that_count_from_zero(fsmeu, tmp_path):
    as_svmlight(tmp_path / "t.svm", zero_based=True)
    command = ["train", tmp_path / "t.svm", "-o", tmp_path / "m.skops"]
    fsmeu(*command).is_refused("--input-format svmlight0")
    assert fsmeu(*command, "--input-format", "svmlight0", "--json").json["features"] == 4


EXAMPLES = {
    "nothing.csv": ("", ["none"]),
    "a header.csv": ("a,b,kind\n", ["a header alone"]),
    "a word.csv": ("a,b,kind\n1,2,x\n1,two,y\n", ["line 3, column 2", "two"]),
    "a gap.csv": ("1,2,0\n1,,1\n", ["line 2, column 2", "nothing"]),
    "no number.csv": ("1,2,0\n1,nan,1\n", ["line 2, column 2", "nan"]),
    "a short line.csv": ("1,2,0\n1,1\n", ["line 2", "3 columns", "2"]),
    "one column.csv": ("1\n0\n", ["beside the labels"]),
    "one class.csv": ("1,0\n2,0\n", ["two classes"]),
    "three classes.csv": ("1,0\n2,1\n3,2\n", ["classes"]),
    "bytes.csv": (bytes(range(128, 256)), ["csv file"]),
    "a long cell.csv": ("1," + "9" * 200_000 + ",0\n", ["csv file"]),
    "from 0.svm": ("1 0:2\n0 1:1\n", ["from 0.svm", "--input-format", "svmlight0"]),
    "words.svm": ("1 a:b\n", ["words.svm"]),
    "a label.svm": ("one 1:2\n", ["a label.svm"]),
    "backwards.svm": ("1 2:1 1:1\n", ["backwards.svm"]),
    "nothing.svm": ("", ["nothing.svm", "there must be examples"]),
    "no X.npz": ({"y": Y}, ["X and y"]),
    "no y.npz": ({"X": X}, ["labels"]),
    "short.npz": ({"X": X, "y": Y[:5]}, ["90 rows"]),
    "flat.npz": ({"X": X[:, 0], "y": Y}, ["rows of features"]),
    "texts.npz": ({"X": np.array([["a"], ["b"]]), "y": [0, 1]}, ["X and y"]),
    "not finite.npz": ({"X": np.where(X > 1, np.nan, X), "y": Y}, ["NaN"]),
    "broken.npz": (
        {"data": [1.0], "indices": [7], "indptr": [0, 1], "shape": [1, 2], "y": [1]},
        ["csr matrix"],
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_files_of_examples(fsmeu, keep, tmp_path, name):
    content, parts = EXAMPLES[name]
    path = tmp_path / name
    if isinstance(content, dict):
        np.savez(path, **content)
    else:
        keep(name, content)
    fsmeu("train", path, "-o", tmp_path / "m.skops").is_refused(*parts)


def f_two(y, z):
    return fbeta_score(y, z, beta=2)


@pytest.mark.parametrize(
    ("words", "measure"),
    [
        ("DTAClassifier jaccard", jaccard_score),
        ("EUMClassifier --set random_state=0", f1_score),
        ("ExampleWiseClassifier", f1_score),
        ("FOFOClassifier --set measure=jaccard", jaccard_score),
        # alpha is beta^2 / (1 + beta^2)
        ("MaxExpectedFClassifier --set random_state=0 --set restarts=2 --set alpha=0.8", f_two),
        ("MaxExpectedUtilityClassifier --set restarts=0 jaccard", jaccard_score),
        ("OnlineLogisticClassifier --set beta=2", f_two),
    ],
)
@pytest.mark.thirds
def test_plots_of_decisions(fsmeu, tmp_path, words, measure, monkeypatch):
    """What is drawn is the value of the loss that the classifier is for, on the test labels."""
    drawn, plotted = [], models.plot_threshold

    def plot(*given, **options):
        drawn.append(plotted(*given, **options))
        return drawn[-1]

    monkeypatch.setattr(models, "plot_threshold", plot)
    as_csv(tmp_path / "a.csv", X[TRAIN], Y[TRAIN])
    as_csv(tmp_path / "b.csv", X[TEST], Y[TEST])
    command = ["train", "-c", *words.split(), tmp_path / "a.csv", "-o", tmp_path / "m.skops"]
    command += ["--test", tmp_path / "b.csv"]
    ran = fsmeu(*command, "--plot", tmp_path / "t.png")
    assert ran.code == 0, ran.err
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    found = fsmeu("predict", tmp_path / "m.skops", tmp_path / "b.csv", "--plot", tmp_path / "t.svg")
    value = measure(Y[TEST], np.array([int(line) for line in found.out.split()]))
    shown = [axes.lines[1].get_ydata()[0] for axes in drawn]
    assert shown == pytest.approx([value, value], abs=1e-12)


def test_plots_need_labels(fsmeu, model, tmp_path):
    rows = tmp_path / "rows.csv"
    np.savetxt(rows, X[:20], delimiter=",")
    fsmeu("predict", model, rows, "--plot", tmp_path / "x.png").is_refused("labels")
    np.savez(tmp_path / "t.npz", X=X, y=np.stack([Y, 1 - Y], axis=1))
    windows = "MaxExpectedUtilityClassifier --set restarts=0 --set max_iter=1 --set batch_size=10"
    for file, words, said in (
        ("t.npz", "ExampleWiseClassifier", ["one label"]),
        ("train.csv", f"{windows} pk -p k=2", ["confusion table", "pk"]),
    ):
        options = [
            "-o",
            tmp_path / "x.skops",
            "--test",
            tmp_path / file,
            "--plot",
            tmp_path / "x.png",
        ]
        ran = fsmeu("train", "-c", *words.split(), tmp_path / file, *options)
        ran.is_refused(*said)
    assert not (tmp_path / "x.png").exists()


@pytest.fixture
def files(tmp_path):
    """Where train.csv, test.csv and other files are."""
    as_csv(tmp_path / "train.csv", X[TRAIN], Y[TRAIN])
    as_csv(tmp_path / "test.csv", X[TEST], Y[TEST])
    return tmp_path


ONLINE = {
    "FOFOClassifier --set step=0.5 --set gamma_scale=16": ({"c": 0.5, "scale": 16}, "F1"),
    "FOFOClassifier --set measure=jaccard": ({}, "Jaccard"),
}


@pytest.mark.parametrize("words", ONLINE)
def test_online_learners_are_measured_before_labels_are_used(fsmeu, files, words):
    """On the file to train with, example by example; on the file to test with, at the end."""
    settings, measure = ONLINE[words]
    command = ["train", files / "train.csv", "-o", files / "m.skops", "-c", *words.split()]
    found = fsmeu(*command, "--test", files / "test.csv", "--json").json
    labels = Y[TRAIN].tolist()
    predicted, threshold, weights = transcript.fofo(X[TRAIN], labels, **settings)
    score = {"F1": f1_score, "Jaccard": jaccard_score}[measure]
    assert found["online"] == {measure: pytest.approx(score(labels, predicted))}
    probabilities = [transcript.sigmoid(weights @ np.append(x, 1)) for x in X[TEST]]
    decided = np.array(probabilities) >= threshold
    assert found["test"]["F1"] == pytest.approx(f1_score(Y[TEST], decided))
    shown = fsmeu(*command)
    assert f"online {measure}" in shown.out
    assert f"{score(labels, predicted):.4f}" in shown.out
    saved = load(files / "m.skops")
    assert isinstance(saved, FOFOClassifier)
    assert saved.predict(X[TEST]).tolist() == decided.astype(int).tolist()


# -- SEARN on columns -----------------------------------------------------------------------------

LINES = [
    "the DT B-NP\nold JJ I-NP\nman NN I-NP\nate VBD B-VP\nfish NN B-NP\n. . O\n",
    "a DT B-NP\ncat NN I-NP\nsat VBD B-VP\n. . O\n",
    "fish NN B-NP\nswam VBD B-VP\n. . O\n",
    "the DT B-NP\ncat NN I-NP\nate VBD B-VP\nthe DT B-NP\nold JJ I-NP\nfish NN I-NP\n. . O\n",
]
FEW = ["--set", "iterations=2", "--set", "folds=2"]


@pytest.fixture(scope="module")
def folder(fsmeu, tmp_path_factory):
    """Where the file of a model is; what it was trained with is told."""
    folder = tmp_path_factory.mktemp("searn")
    (folder / "train.txt").write_text("\n".join(LINES * 5))
    command = [
        "train",
        "--input-format",
        "conll",
        folder / "train.txt",
        "-o",
        folder / "m.skops",
        *FEW,
    ]
    told = fsmeu(*command, "--test", folder / "train.txt", "--json").json
    assert (told["sentences"], told["words"], told["tags"]) == (20, 100, 4)
    assert (told["loss"], told["space"]) == ("chunk_fscore", "word-at-a-time")
    assert told["test"]["F1"] == 1.0
    return folder


def test_predict_and_eval(fsmeu, folder):
    """The tagged file has the given tags and the predicted ones; seqeval agrees on their F1."""
    test = folder / "test.txt"
    test.write_text("the DT B-NP\nfish NN I-NP\nsat VBD B-NP\n\na DT B-NP\ncat NN I-NP\n")
    ran = fsmeu("predict", folder / "m.skops", test, "-o", folder / "z.txt")
    assert ran.code == 0, ran.err
    blocks = (folder / "z.txt").read_text().strip().split("\n\n")
    rows = [[line.split() for line in block.splitlines()] for block in blocks]
    assert [[row[:3] for row in one] for one in rows] == [
        [line.split() for line in block.splitlines()]
        for block in test.read_text().strip().split("\n\n")
    ]
    y, z = ([[row[k] for row in one] for one in rows] for k in (2, 3))
    losses = ["chunk_fscore", "chunk_precision", "chunk_recall", "accuracy"]
    command = ["score", *losses, folder / "z.txt", "--by-type"]
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
    ran = fsmeu("predict", folder / "m.skops", "-", "--beam", "1", stdin=text)
    assert [line.split()[:2] for line in ran.out.splitlines()] == [
        line.split() for line in text.splitlines()
    ]
    told = fsmeu("predict", folder / "m.skops", "-", "--json", stdin=text).json
    assert told["measures"] is None
    assert [len(one) for one in told["tags"]] == [2, 1]


@pytest.mark.nightly
def test_predict_in_a_process_of_its_own(folder):
    """Nothing but the file says that it holds a tagger."""
    command = [*PROGRAM, "predict", str(folder / "m.skops"), "-"]
    ran = subprocess.run(command, input=b"the DT\ncat NN\n", capture_output=True, check=True)
    assert [line.split()[:2] for line in ran.stdout.splitlines()] == [
        [b"the", b"DT"],
        [b"cat", b"NN"],
    ]


def test_plain_labels_and_templates_of_ones_own(fsmeu, keep, tmp_path):
    """Labels that are no chunk tags: Hamming loss, left to right; a word and its label."""
    text, model = keep("t.txt", "a X\nb Y\na X\n\nb Y\nc X\n\n" * 6), tmp_path / "m.skops"
    mine = keep("mine", "word\nword[-1]\ncross word\n")
    options = ["--set", f"templates={mine}", *FEW, "--set", "learner=perceptron", "--json"]
    told = fsmeu("train", "--input-format", "conll", text, "-o", model, *options).json
    assert (told["loss"], told["space"]) == ("hamming", "left-to-right")
    assert fsmeu("predict", model, text, "--json").json["measures"]["accuracy"] == 1.0


def test_other_columns_than_in_training_are_refused(fsmeu, folder, keep):
    fsmeu("predict", folder / "m.skops", keep("t.txt", "a b c d e\n")).is_refused("2 columns")
