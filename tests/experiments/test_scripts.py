"""Quick runs of scripts that have no other."""

import pytest

from tests.experiments.conftest import needs, ran

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
