"""Scripts as modules, and the data that some of them need."""

import importlib
from pathlib import Path

import pytest

from fsmeu.data_folder import data_folder

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"


@pytest.fixture(scope="session")
def load():
    """A function that loads a script by its name; scripts may import those beside them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield importlib.import_module


@pytest.fixture
def conll2000():
    """Skips a test where the data are absent."""
    if not (data_folder() / "conll2000" / "train.txt.gz").is_file():
        pytest.skip("CoNLL-2000 is not there: set FSMEU_DATA to the folder that holds conll2000")
