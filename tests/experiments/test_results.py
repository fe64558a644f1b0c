"""Stored results of long runs."""

import json
import re

import pytest

from tests.experiments.conftest import FOLDER

RESULTS = sorted((FOLDER / "results").glob("*.json"))


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_results_name_their_command(path):
    """A result file says which command made it, and that script is there."""
    command = json.loads(path.read_text(encoding="utf-8"))["command"]
    scripts = re.findall(r"experiments/(\w+\.py)", command)
    assert scripts
    assert all((FOLDER / script).is_file() for script in scripts)
