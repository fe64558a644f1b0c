"""Compiled loops on disk: what a user of a shared machine, or one without room, relies on."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "fsmeu"
LOOP = """
import numpy as np
from fsmeu.jit import jit_entry, jit_helper

FACTOR = 3

@jit_helper
def times(x):
    return x * FACTOR

@jit_entry
def total(a, b):
    return times(a[0]) - b[0]

if __name__ == "__main__":
    print(total(np.array([3.0]), np.array([4.0])))
"""
PLACES = ("FSMEU_CACHE", "XDG_CACHE_HOME", "HOME", "TMPDIR")


def answer(tmp_path, source=LOOP, limit=None, **variables):
    """What a loop answers in a process of its own, and the lines on standard error."""
    (tmp_path / "loop.py").write_text(source)
    kept = {name: value for name, value in os.environ.items() if name not in PLACES}
    command = [sys.executable, str(tmp_path / "loop.py")]
    variables = {"PYTHONPATH": str(PACKAGE.parent), "TMPDIR": str(tmp_path), **variables}
    done = subprocess.run(
        command, env={**kept, **variables}, text=True, capture_output=True, preexec_fn=limit
    )
    assert done.returncode == 0, done.stderr
    assert not [*PACKAGE.rglob("*.nbi"), *PACKAGE.rglob("*.nbc")]  # numba's own, beside sources
    return float(done.stdout), done.stderr


def files(folder):
    """The files below a folder, with the time at which each was written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_loops_are_kept_for_this_user_alone(tmp_path):
    """A second process compiles nothing; only the first says that it does."""
    folder = tmp_path / "cache"
    assert "once on this machine" in answer(tmp_path, FSMEU_CACHE=str(folder))[1]
    kept = files(folder)
    assert kept
    for path in (folder, *kept):
        assert not path.stat().st_mode & 0o077
    assert answer(tmp_path, FSMEU_CACHE=str(folder)) == (5.0, "")
    assert files(folder) == kept


@pytest.mark.nightly
def test_other_sources_and_damaged_files_are_compiled_again(tmp_path):
    folder = tmp_path / "cache"
    assert answer(tmp_path, FSMEU_CACHE=str(folder))[0] == 5.0
    for old, new, value in (("= 3", "= 4", 8.0), ("x * F", "x + F", 2.0)):
        changed = answer(tmp_path, LOOP.replace(old, new), FSMEU_CACHE=str(folder))
        assert changed[0] == value
    for damage in (lambda data: data[:-9], lambda data: data[:-1] + b"?"):
        for path in files(folder):
            path.write_bytes(damage(path.read_bytes()))
        assert answer(tmp_path, FSMEU_CACHE=str(folder))[0] == 5.0
    assert answer(tmp_path, FSMEU_CACHE=str(folder)) == (5.0, "")


def given_away(folder):
    if os.geteuid():
        pytest.skip("only root can give a folder to somebody")
    folder.mkdir(parents=True)
    os.chown(folder, 12345, 12345)


def others_can_write(folder):
    folder.mkdir(parents=True)
    folder.chmod(0o770)


def a_link(folder):
    theirs = folder.parent.parent / "theirs"
    theirs.mkdir()
    folder.parent.mkdir()
    folder.symlink_to(theirs)


@pytest.mark.nightly
@pytest.mark.parametrize("make", [given_away, others_can_write, a_link])
def test_a_folder_that_is_not_private_is_left_alone(tmp_path, make):
    """Loading a file runs what is in it; a line says where loops are kept, and what to do."""
    folder = tmp_path / "cache" / "loops"
    make(folder)
    before = files(tmp_path / "cache")
    value, said = answer(tmp_path, FSMEU_CACHE=str(tmp_path / "cache"))
    assert value == 5.0
    assert "FSMEU_CACHE" in said
    assert str(folder) in said
    assert files(tmp_path / "cache") == before
    assert not (tmp_path / "theirs").exists() or not files(tmp_path / "theirs")
    [mine] = tmp_path.glob("fsmeu-*")
    assert mine.stat().st_mode & 0o777 == 0o700


@pytest.mark.nightly
def test_a_full_disk_costs_time_alone(tmp_path):
    """As every write fails, here by a limit on the size of files."""
    folder = tmp_path / "cache"

    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    value, said = answer(tmp_path, limit=full, FSMEU_CACHE=str(folder), PYTHONDONTWRITEBYTECODE="1")
    assert value == 5.0
    assert "fsmeu cannot keep compiled loops in" in said
    assert not files(folder)
