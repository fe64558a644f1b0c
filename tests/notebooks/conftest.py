"""Scripts as modules, and the data that some of them need."""

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
sys.path.append(str(FOLDER))  # scripts import what stands beside them

from data_folder import data_folder  # noqa: E402


@pytest.fixture(scope="session")
def load():
    """A function that loads a script by its name."""
    return importlib.import_module


@pytest.fixture
def conll2000():
    """Skips a test where the data are absent."""
    if not (data_folder() / "conll2000" / "train.txt.gz").is_file():
        pytest.skip("CoNLL-2000 is not there: set FSMEU_DATA to the folder that holds conll2000")
