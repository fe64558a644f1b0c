"""Files of a test."""

import pytest

from tests.cli.commands import write


@pytest.fixture
def keep(tmp_path):
    """Writes a file into the folder of the test, and returns its path."""
    return lambda name, content: write(tmp_path / name, content)
