"""Files: written whole or not at all; damaged, strange and far too large ones end in a sentence."""

import bz2
import gzip
import io
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import fsmeu
from fsmeu.corpora.records import read_sentences
from fsmeu.errors import FsmeuError, InputError, SizeLimitError
from fsmeu.files import read_arrays, write_file
from fsmeu.learning.examples import read_examples
from fsmeu.learning.saving import load

OLD, NEW = b"old" * 1000, b"new" * 2000


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


@pytest.mark.parametrize("step", ["fdopen", "fsync", "replace"])
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


def test_permissions(tmp_path):
    before = os.umask(0o077)
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


@pytest.mark.parametrize("name", ["/dev/stdout", "log"])
def test_an_open_stream(tmp_path, name):
    """The content stands between what was printed before and after it, as in a pipe."""
    path = tmp_path / "log"
    path.write_bytes(b"0\n")
    code = f"import fsmeu.files as f; print(1); f.write_file({name!r}, '2\\n'); print(3)"
    with path.open("ab") as stream:
        subprocess.run([sys.executable, "-c", code], stdout=stream, cwd=tmp_path, check=True)
    assert path.read_bytes() == b"0\n1\n2\n3\n"
    assert list(tmp_path.iterdir()) == [path]


# -- what is read ---------------------------------------------------------------------------------


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def header(shape, kind="<f8"):
    """The first bytes of a file that claims to hold an array of this shape."""
    file = io.BytesIO()
    words = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, words)
    return file.getvalue()


def archive(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as made:
        for name, content in members.items():
            made.writestr(f"{name}.npy", content)
    return path


STRANGE = {
    "no array": b"text",
    "header alone": header((2, 3)),
    "more than the shape": header((2,)) + bytes(24),
    "negative": header((-1, -2)) + bytes(16),
    "objects": header((1,), "|O") + bytes(8),
    "records": header((1,), [("a", "<f8")]) + bytes(8),
    "texts of no length": header((10**12,), "<U0"),
    "codes that are no letters": header((1,), ">U2") + b"\x00\x11\x00\x00" * 2,
    "rows of no length": header((10**12, 0)),
    "syntax": header((2,)).replace(b"'shape'", b"'sha\\x('") + bytes(16),
    "brackets": header((2,)).replace(b"(2,)", b"((((") + bytes(16),
    "version": b"\x93NUMPY\x09\x00" + header((2,))[8:] + bytes(16),
}


@pytest.mark.parametrize("name", STRANGE)
def test_members_that_are_no_arrays(tmp_path, name):
    path = archive(tmp_path / "a.npz", {"X": STRANGE[name], "header": STRANGE[name]})
    for read in (read_examples, load, lambda file: read_arrays(file, file)):
        with pytest.raises(FsmeuError, match=r"a\.npz: "):
            read(str(path))


def test_archives_that_cannot_be_unpacked(tmp_path):
    """Other compression, a password, a wrong checksum, a cut, one name twice."""
    x = np.arange(80.0).reshape(20, 4)
    members = {"X": npy(x), "y": npy(np.arange(20) % 2)}
    good = archive(tmp_path / "good.npz", members, zipfile.ZIP_STORED)
    odd = [archive(tmp_path / f"{k}.npz", {"X": npy(x)}, k) for k in (12, 14)]
    content = good.read_bytes()
    entry = b"PK\x01\x02\x14\x03\x14\x00"
    for name, changed in {
        "password": content.replace(entry + b"\x00", entry + b"\x01"),
        "method": content.replace(entry + bytes(3), entry + b"\x00\x00\x61"),
        "checksum": content[:300] + b"12345678" + content[308:],
        "cut": content[:-30],
        "no archive": b"text",
    }.items():
        assert changed != content
        odd.append(tmp_path / f"{name}.npz")
        odd[-1].write_bytes(changed)
    for path in odd:
        for read in (read_examples, load):
            with pytest.raises(InputError, match=f"{path.name}: "):
                read(str(path))
    assert read_examples(str(good)).rows.shape == x.shape


def test_sizes_are_summed_before_anything_is_unpacked(tmp_path, monkeypatch):
    """But what does not compress may be as large as its file, which is given on purpose."""
    monkeypatch.setenv("FSMEU_MAX_BYTES", "1000")
    given = np.random.default_rng(0).random((100, 20))
    np.savez_compressed(tmp_path / "c.npz", X=given)
    assert np.array_equal(read_examples(str(tmp_path / "c.npz")).rows, given)
    monkeypatch.setenv("FSMEU_MAX_BYTES", "100000")
    zeros = npy(np.zeros((9, 1000)))
    path = archive(tmp_path / "a.npz", {"X": zeros, "y": zeros})
    assert path.stat().st_size < 2000
    monkeypatch.setattr(np.lib.format, "read_array", lambda *a, **k: pytest.fail("it was unpacked"))
    small = archive(tmp_path / "b.npz", {"X": npy(np.zeros((20, 1000), np.int8))})
    for one in (path, small):
        with pytest.raises(SizeLimitError, match=r"at most 100,000 .*FSMEU_MAX_BYTES"):
            read_examples(str(one))


def reader(name):
    """What reads a file of this name."""
    readers = {"svm": read_examples, "csv": read_examples, "txt": read_sentences}
    return readers.get(name.split(".")[1], fsmeu.models.from_json)


@pytest.mark.parametrize("name", ["a.svm.gz", "a.csv.gz", "a.txt.gz", "a.svm.bz2"])
def test_damaged_compression(tmp_path, name):
    text = "".join(f"{k % 2} 1:{k}\n" for k in range(1, 200)).encode()
    packed = bz2.compress(text) if name.endswith("bz2") else gzip.compress(text)
    for changed in (packed[:60] + bytes(9) + packed[69:], packed[:-20], text):
        (tmp_path / name).write_bytes(changed)
        with pytest.raises(InputError, match=f"{name}: the file cannot be read"):
            reader(name)(str(tmp_path / name))


@pytest.mark.parametrize("name", ["a.svm.gz", "a.csv.gz", "a.json", "a.json.gz", "a.txt.gz"])
def test_texts_are_limited_by_what_they_become(tmp_path, monkeypatch, name):
    monkeypatch.setenv("FSMEU_MAX_BYTES", "8000")
    content = b"0 1:1\n" * 1000
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    with pytest.raises(SizeLimitError, match=r"at most [12],000 bytes.*FSMEU_MAX_BYTES"):
        reader(name)(str(tmp_path / name))
