"""Every notebook runs quickly in this process, and what is committed of it is complete.

Cells tagged ``test`` hold what must be true of the others; pages leave them out. ``quick`` in the
metadata of a cell has the texts that are replaced here: smaller sizes, fewer repetitions.
"""

import ast
import json
from pathlib import Path

import matplotlib as mpl
import pytest

from fsmeu.errors import InputError
from tests.experiments.conftest import ROOT

FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def code_cells(path):
    """The cells of code of a notebook."""
    held = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in held if cell["cell_type"] == "code"]


def is_test(cell):
    return "test" in cell["metadata"].get("tags", ())


def quick_text(cell):
    """The code of a cell with smaller sizes; each text that is replaced must be there, once."""
    text = "".join(cell["source"])
    for old, new in cell["metadata"].get("quick", {}).items():
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in the cell {cell['id']}"
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.nightly
def test_runs_quickly(path, monkeypatch):
    """All cells in their order, with few repetitions; figures are drawn and closed."""
    pytest.importorskip("IPython", reason="notebooks need the extra 'notebooks'")
    monkeypatch.chdir(FOLDER)
    with mpl.rc_context():
        mpl.use("Agg")
        from matplotlib import pyplot as plt

        names = {"__name__": "__main__"}
        try:
            for cell in code_cells(path):
                exec(compile(quick_text(cell), f"{path.name}, cell {cell['id']}", "exec"), names)
        except InputError as error:
            if "FSMEU_DATA" not in str(error):
                raise
            pytest.skip(str(error))
        finally:
            plt.close("all")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_committed(path):
    """A full run with a figure and a last table; assertions are in hidden cells of their own."""
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) < 1_000_000
    cells = code_cells(path)
    for cell in cells:
        found = any(isinstance(one, ast.Assert) for one in ast.walk(ast.parse(quick_text(cell))))
        assert found == is_test(cell)
        if found:
            assert cell["metadata"]["jupyter"]["source_hidden"]
            assert cell["outputs"] == []
    shown = [cell for cell in cells if not is_test(cell)]
    assert len(shown) < len(cells)
    first = ast.parse("".join(shown[0]["source"]))
    first.body = [one for one in first.body if isinstance(one, ast.Import | ast.ImportFrom)]
    exec(compile(first, path.name, "exec"), {})  # what it imports is there
    found = [output for cell in shown for output in cell["outputs"]]
    assert not any(output["output_type"] == "error" for output in found)
    assert any({"image/png", "image/svg+xml"} & set(o.get("data", ())) for o in found)
    (last,) = shown[-1]["outputs"]
    heads = "".join(last["data"]["text/markdown"]).splitlines()[0]
    assert all(one in heads for one in ("printed", "here", "why"))
    assert not any(word in text for word in (str(Path.home()), str(FOLDER.parent), "/tmp/"))
