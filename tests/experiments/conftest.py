"""Scripts as modules and as commands, and the data that some of them need."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "experiments"
sys.path.append(str(FOLDER))  # scripts import what stands beside them

from data_folder import data_file, data_folder  # noqa: E402

from fsmeu.errors import InputError  # noqa: E402


@pytest.fixture(scope="session")
def load():
    """A function that loads a script by its name."""
    return importlib.import_module


@pytest.fixture(scope="module")
def script(load, request):
    """The script that a module of tests is named for."""
    return load(request.module.__name__.rpartition("test_")[2])


def needs(*files):
    """Skips a test where one of these data files is not."""
    try:
        for file in files:
            data_file(file)
    except InputError as error:
        pytest.skip(str(error))


def ran(script, *words):
    """What a script prints, as a command on the data that there are; and its messages."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    given = {**os.environ, "FSMEU_DATA": str(data_folder()), "PYTHONPATH": path}
    command = [sys.executable, str(FOLDER / script), *words]
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr
