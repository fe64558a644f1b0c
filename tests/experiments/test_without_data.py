"""Where the data are not there, scripts and notebooks say which file is missing and what to do."""

import os
import re
import subprocess
import sys

import pytest

from tests.experiments.conftest import FOLDER, ROOT
from tests.notebooks.test_notebooks import NOTEBOOKS, code_cells, quick_text

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
@pytest.mark.parametrize("exists", [False, True], ids=["no folder", "an empty folder"])
@pytest.mark.parametrize("script", [*SCRIPTS, *NETWORKS])
def test_scripts_say_what_is_missing(script, exists, tmp_path):
    if script in NETWORKS:
        pytest.importorskip("torch", reason="PyTorch is not installed: ./run test --torch")
    folder = tmp_path if exists else tmp_path / "nowhere"
    done = started(script, *(SCRIPTS | NETWORKS)[script], folder=folder)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    said = " ".join(done.stderr.split())
    assert "FSMEU_DATA" in said
    assert "./run python experiments/fetch.py" in said
    assert str(folder) in re.sub(r"\s", "", done.stderr)


SHELL = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="NoColor")
for text in sys.argv[1:]:
    if not shell.run_cell(text).success:
        break
"""


NEEDS = re.compile(r"data_file\(|documents\(")
NEEDING = [
    path for path in NOTEBOOKS if any(NEEDS.search(quick_text(cell)) for cell in code_cells(path))
]


@pytest.mark.nightly
@pytest.mark.parametrize("path", NEEDING, ids=lambda path: path.stem)
def test_notebooks_say_what_is_missing(path, tmp_path):
    """The cell that needs data ends in a sentence; other notebooks need none."""
    pytest.importorskip("IPython", reason="notebooks need the extra 'notebooks'")
    texts = [quick_text(cell) for cell in code_cells(path)]
    first = next(k for k, text in enumerate(texts) if NEEDS.search(text))
    done = started("-c", SHELL, *texts[: first + 1], folder=tmp_path / "nowhere")
    told = done.stdout + done.stderr
    assert "Traceback" not in told
    assert "FSMEU_DATA" in told
    assert f"{tmp_path}/nowhere" in told
