"""Scripts as modules, and the data that some of them need."""

import importlib.util
import sys
from pathlib import Path

import pytest

from fsmeu.data_folder import data_folder

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"


@pytest.fixture
def load(monkeypatch):
    """A function that loads a script by its name; scripts may import those beside them."""

    def loaded(name):
        monkeypatch.syspath_prepend(str(FOLDER))
        spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        return module

    return loaded


@pytest.fixture
def conll2000():
    """Skips a test where the data are absent."""
    if not (data_folder() / "conll2000" / "train.txt.gz").is_file():
        pytest.skip("CoNLL-2000 is not there: set FSMEU_DATA to the folder that holds conll2000")
