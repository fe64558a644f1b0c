"""Every notebook runs quickly in this process, and what is committed of it is complete."""

import ast
import json
from pathlib import Path

import matplotlib as mpl
import pytest

from fsmeu.errors import InputError
from tests.experiments.conftest import ROOT

FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells(path, kind="code"):
    """The texts and outputs of the cells of a kind."""
    held = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [("".join(c["source"]), c.get("outputs")) for c in held if c["cell_type"] == kind]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.thirds
def test_runs_quickly(path, monkeypatch):
    """All cells in their order, with few repetitions; figures are drawn and closed."""
    pytest.importorskip("IPython", reason="notebooks need the extra 'notebooks'")
    monkeypatch.setenv("FSMEU_QUICK", "1")
    monkeypatch.chdir(FOLDER)
    with mpl.rc_context():
        mpl.use("Agg")
        from matplotlib import pyplot as plt

        names = {"__name__": "__main__"}
        try:
            for number, (text, _) in enumerate(cells(path)):
                exec(compile(text, f"{path.name}, code cell {number}", "exec"), names)
        except InputError as error:
            if "FSMEU_DATA" not in str(error):
                raise
            pytest.skip(str(error))
        finally:
            plt.close("all")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_committed(path):
    """Outputs of a full run, with a figure and a last table; no errors, nothing of the machine."""
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) < 1_000_000
    code = cells(path)
    first = ast.parse(code[0][0])
    first.body = [one for one in first.body if isinstance(one, ast.Import | ast.ImportFrom)]
    exec(compile(first, path.name, "exec"), {})  # what it imports is there
    found = [output for _, outputs in code for output in outputs]
    assert not any(output["output_type"] == "error" for output in found)
    assert any({"image/png", "image/svg+xml"} & set(o.get("data", ())) for o in found)
    (last,) = code[-1][1]
    heads = "".join(last["data"]["text/markdown"]).splitlines()[0]
    assert [one in heads for one in ("printed", "here", "why")] == [True] * 3
    assert "FSMEU_QUICK" in "".join(one for one, _ in code)
    for word in (str(Path.home()), str(FOLDER.parent), "/tmp/"):
        assert word not in text
