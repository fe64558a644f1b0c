"""Where the data are not there, scripts say which file is missing and what to do."""

import os
import re
import subprocess
import sys

import pytest

from tests.experiments.conftest import FOLDER, ROOT

SCRIPTS = {
    "choi_orders.py": [],
    "conll2000_score.py": ["crf"],
    "conll2000_softmax.py": [],
    "conll2000_tagger.py": ["--quick"],
    "consensus.py": ["--quick"],
    "daume2009.py": ["run", "chunking"],
    "liu2018.py": ["--quick"],
    "natarajan2016.py": ["--quick"],
    "rare_classes.py": ["--quick"],
    "segmentation.py": [],
}
# These need PyTorch, too.
NETWORKS = {
    "chunk_network.py": ["prepare", "--out", "out"],
    "multi_label_network.py": ["--quick"],
}
# These draw their data, or some of them.
WITHOUT = {
    "activity.py",
    "change_points.py",
    "fetch.py",
    "jansche2005.py",
    "jansche2007_section4.py",
    "prevalence.py",
}


def started(*words, folder):
    """A script of the experiments, or a text of Python there, with this folder of data."""
    path = os.pathsep.join([str(ROOT), str(FOLDER), os.environ.get("PYTHONPATH", "")])
    given = {**os.environ, "FSMEU_DATA": str(folder), "PYTHONPATH": path}
    given["MPLBACKEND"] = "Agg"
    ran = [sys.executable, *words]
    return subprocess.run(
        ran, env=given, capture_output=True, text=True, check=False, cwd=FOLDER, timeout=300
    )


def test_every_script_is_asked():
    mains = {f.name for f in FOLDER.glob("*.py") if '__name__ == "__main__"' in f.read_text()}
    assert mains == SCRIPTS.keys() | NETWORKS.keys() | WITHOUT


@pytest.mark.nightly
@pytest.mark.parametrize("script", [*SCRIPTS, *NETWORKS])
def test_scripts_say_what_is_missing(script, tmp_path):
    if script in NETWORKS:
        pytest.importorskip("torch", reason="PyTorch is not installed: ./run test --torch")
    folder = tmp_path / "nowhere"
    done = started(script, *(SCRIPTS | NETWORKS)[script], folder=folder)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    said = " ".join(done.stderr.split())
    assert "FSMEU_DATA" in said
    assert "./run python experiments/fetch.py" in said
    assert str(folder) in re.sub(r"\s", "", done.stderr)
