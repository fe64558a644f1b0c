"""The writer of files: old or new content, and otherwise as a plain ``open`` would do it."""

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fsmeu.errors import InputError
from fsmeu.files import write_file

ROOT = Path(__file__).resolve().parent.parent
OLD, NEW = b"old" * 1000, b"new" * 2000
WRITES = r"\b(write_text|write_bytes|NamedTemporaryFile|mkstemp|rename)\(|open\(.*[\"'][rb]*[wax+]"
WRITES += r"|np\.save\w*\((?!archive)|savefig\((?!held|stream)"  # into a buffer they may be written


@pytest.mark.parametrize("step", ["open", "fdopen", "fchmod", "fsync", "replace"])
def test_a_kill_at_each_step(tmp_path, step):
    path = tmp_path / "x"
    path.write_bytes(OLD)
    process = os.fork()
    if not process:
        try:
            setattr(os, step, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
            write_file(path, NEW)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL
    assert path.read_bytes() == OLD
    write_file(path, NEW)
    assert path.read_bytes() == NEW


@pytest.mark.parametrize("step", ["fdopen", "fchmod", "fsync", "replace"])
@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_at_each_step(tmp_path, monkeypatch, step, fault):
    def fail(*_, **__):
        raise fault

    path = tmp_path / "x"
    path.write_bytes(OLD)
    monkeypatch.setattr(os, step, fail)
    with pytest.raises((InputError, KeyboardInterrupt)) as caught:
        write_file(path, NEW)
    monkeypatch.undo()
    assert isinstance(fault, KeyboardInterrupt) or "No space left" in str(caught.value)
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o000])
def test_permissions(tmp_path, mask):
    before = os.umask(mask)
    try:
        (tmp_path / "plain").open("wb").close()
        write_file(tmp_path / "new", "é")
        (tmp_path / "old").write_bytes(OLD)
        (tmp_path / "old").chmod(0o604)
        write_file(tmp_path / "old", NEW)
    finally:
        os.umask(before)
    assert (tmp_path / "new").read_bytes() == "é".encode()
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert (tmp_path / "old").stat().st_mode & 0o777 == 0o604


def test_links_keep_pointing(tmp_path):
    """To a file in another folder, to one that is not there yet, and in a circle."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x").write_bytes(OLD)
    for name in ("x", "y"):
        (tmp_path / name).symlink_to(Path("folder") / name)
        write_file(tmp_path / name, NEW)
        assert (tmp_path / name).readlink() == Path("folder") / name
        assert (tmp_path / "folder" / name).read_bytes() == NEW
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(InputError, match=r"round: it cannot be written \("):
        write_file(tmp_path / "round", NEW)
    assert {x.name for x in tmp_path.rglob("*")} == {"folder", "x", "y", "round"}


def test_a_named_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    write_file(path, NEW)
    reader.join()
    assert read == [NEW]
    assert path.is_fifo()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/dev/full", "No space left on device"),
        (".", "Is a directory"),
        ("missing/x", "No such file or directory"),
        ("x" * 300, "File name too long"),
        ("a\0b", "null"),
    ],
)
def test_what_cannot_be_written(tmp_path, monkeypatch, path, reason):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=rf"it cannot be written \(.*{reason}"):
        write_file(path, NEW)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="name of a file"):
        write_file(5, NEW)


@pytest.mark.parametrize("name", ["/dev/stdout", "/proc/self/fd/1", "log"])
def test_an_open_stream(tmp_path, name):
    """The content stands between what was printed before and after it, as in a pipe."""
    path = tmp_path / "log"
    path.write_bytes(b"0\n")
    code = "import fsmeu.files as f; print(1); f.write_file('NAME', '2\\n'); print(3)"
    command = [sys.executable, "-c", code.replace("NAME", name)]
    with path.open("ab") as stream:
        subprocess.run(command, stdout=stream, cwd=tmp_path, check=True)
    assert path.read_bytes() == b"0\n1\n2\n3\n"
    assert list(tmp_path.iterdir()) == [path]
    if name == "/dev/stdout":
        subprocess.run(
            ["bash", "-c", '"$@" | cat > log', "bash", *command], cwd=tmp_path, check=True
        )
        assert path.read_bytes() == b"1\n2\n3\n"


def test_there_is_one_writer():
    """Nothing else in the package opens a file to write, but results that are appended."""
    found = {
        str(path.relative_to(ROOT / "fsmeu"))
        for path in (ROOT / "fsmeu").rglob("*.py")
        if re.search(WRITES, path.read_text(encoding="utf-8"))
    }
    assert found == {"files.py", "corpora/run.py"}
