"""Files from outside: damaged, strange and far too large ones end in a sentence."""

import bz2
import gzip
import io
import zipfile

import numpy as np
import pytest
from sklearn.datasets import make_classification

import fsmeu
from fsmeu.corpora.records import read_sentences
from fsmeu.errors import FsmeuError, InputError, SizeLimitError, is_installed
from fsmeu.files import read_arrays
from fsmeu.learning.examples import read_examples
from fsmeu.learning.saving import load

X, Y = make_classification(40, 4, random_state=0)


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


def test_arrays_come_back(tmp_path):
    given = {"a": np.arange(6.0).reshape(2, 3).T, "b": np.array("text"), "c": np.zeros((0, 3), "?")}
    np.savez_compressed(tmp_path / "a.npz", **given)
    found = read_arrays(tmp_path / "a.npz", "file")
    assert found.keys() == given.keys()
    for name, array in given.items():
        assert found[name].dtype == array.dtype
        assert np.array_equal(found[name], array)


STRANGE = {
    "no array": b"text",
    "nothing": b"",
    "header alone": header((2, 3)),
    "more than the shape": header((2,)) + bytes(24),
    "negative": header((-1, -2)) + bytes(16),
    "objects": header((1,), "|O") + bytes(8),
    "records": header((1,), [("a", "<f8")]) + bytes(8),
    "texts of no length": header((10**12,), "<U0"),
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
    good = archive(tmp_path / "good.npz", {"X": npy(X), "y": npy(Y)}, zipfile.ZIP_STORED)
    odd = [archive(tmp_path / f"{k}.npz", {"X": npy(X)}, k) for k in (12, 14)]
    content = good.read_bytes()
    entry = b"PK\x01\x02\x14\x03\x14\x00"
    for name, changed in {
        "password": content.replace(entry + b"\x00", entry + b"\x01"),
        "method": content.replace(entry + bytes(3), entry + b"\x00\x00\x61"),
        "checksum": content[:300] + bytes(8) + content[308:],
        "cut": content[:-30],
        "no archive": b"text",
        "empty": b"",
    }.items():
        assert changed != content
        odd.append(tmp_path / f"{name}.npz")
        odd[-1].write_bytes(changed)
    for path in odd:
        for read in (read_examples, load):
            with pytest.raises(InputError, match=f"{path.name}: "):
                read(str(path))
    assert read_examples(str(good)).rows.shape == X.shape


def test_sizes_are_summed_before_anything_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setenv("FSMEU_MAX_BYTES", "100000")
    zeros = npy(np.zeros((9, 1000)))
    path = archive(tmp_path / "a.npz", {"X": zeros, "y": zeros})
    assert path.stat().st_size < 2000
    monkeypatch.setattr(np.lib.format, "read_array", lambda *a, **k: pytest.fail("it was unpacked"))
    small = archive(tmp_path / "b.npz", {"X": npy(np.zeros((20, 1000), np.int8))})
    for read in (read_examples, load):
        for one in (path, small):
            with pytest.raises(SizeLimitError, match=r"at most 100,000 .*FSMEU_MAX_BYTES"):
                read(str(one))


def test_a_large_file_is_given_on_purpose(tmp_path, monkeypatch):
    """What does not compress may be as large as its file."""
    monkeypatch.setenv("FSMEU_MAX_BYTES", "1000")
    given = np.random.default_rng(0).random((100, 20))
    np.savez_compressed(tmp_path / "a.npz", X=given)
    assert np.array_equal(read_examples(str(tmp_path / "a.npz")).rows, given)


TEXT = "".join(f"{k % 2} 1:{k}\n" for k in range(1, 200)).encode()


@pytest.mark.parametrize("name", ["a.svm.gz", "a.csv.gz", "a.txt.gz", "a.svm.bz2"])
def test_damaged_compression(tmp_path, name):
    packed = bz2.compress(TEXT) if name.endswith("bz2") else gzip.compress(TEXT)
    read = read_sentences if ".txt" in name else read_examples
    for changed in (packed[:60] + bytes(9) + packed[69:], packed[:-20], TEXT):
        (tmp_path / name).write_bytes(changed)
        with pytest.raises(InputError, match=f"{name}: the file cannot be read"):
            read(str(tmp_path / name))


@pytest.mark.parametrize("name", ["a.svm.gz", "a.csv.gz", "a.json", "a.json.gz", "a.txt.gz"])
def test_texts_are_limited_by_what_they_become(tmp_path, monkeypatch, name):
    monkeypatch.setenv("FSMEU_MAX_BYTES", "8000")
    content = b"0 1:1\n" * 1000
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    read = {"svm": read_examples, "csv": read_examples, "txt": read_sentences}.get(
        name.split(".")[1], fsmeu.models.from_json
    )
    with pytest.raises(SizeLimitError, match=r"at most [12],000 bytes.*FSMEU_MAX_BYTES"):
        read(str(tmp_path / name))


def test_a_package_that_is_broken_is_not_installed(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("raise OSError('no such library')")
    monkeypatch.syspath_prepend(tmp_path)
    assert not is_installed("broken_package")
    assert not is_installed("no_such_package")
    assert is_installed("json")
