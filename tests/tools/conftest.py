"""The launcher's modules are scripts beside the package: put them on the path."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A PATH that holds only what a test writes into it, by name and shell script."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def write(name, script):
        program = folder / name
        program.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
        program.chmod(0o755)
        return str(program)

    return write
