"""The packed wheel is a wheel: pip installs it, and its record is true."""

import base64
import csv
import hashlib
import io
import subprocess
import sys
import zipfile

import pytest
import wheel as wheels
from openfst import OpenFst


@pytest.fixture
def packed(tmp_path):
    """A wheel of a pynini without extension modules."""
    source, libraries = tmp_path / "source", tmp_path / "pynini.libs"
    for package in ("pynini", "pywrapfst"):
        (source / package).mkdir(parents=True)
        (source / package / "__init__.py").write_text("answer = 42\n")
    (source / "pynini/BUILD.bazel").touch()
    (source / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: pynini\nVersion: 1.2\n")
    for name in ("LICENSE", "AUTHORS"):
        (source / name).write_text(name)
    libraries.mkdir()
    (libraries / "libfst.so.26").write_bytes(b"\x7fELF")
    module = tmp_path / "_pynini.so"
    module.write_bytes(b"\x7fELF")
    return wheels.pack(source, "1.2", [module], libraries, OpenFst(source, source), tmp_path)


def test_record_is_true(packed):
    with zipfile.ZipFile(packed) as archive:
        rows = list(csv.reader(io.StringIO(archive.read("pynini-1.2.dist-info/RECORD").decode())))
        assert sorted(row[0] for row in rows) == sorted(archive.namelist())
        for name, digest, size in rows:
            if not name.endswith("/RECORD"):
                content = archive.read(name)
                sha = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode()
                assert (digest, int(size)) == (f"sha256={sha.rstrip('=')}", len(content))


def test_wheel_holds_what_belongs_in_it(packed):
    with zipfile.ZipFile(packed) as archive:
        names = set(archive.namelist())
    assert {"_pynini.so", "pynini.libs/libfst.so.26", "pynini/__init__.py"} <= names
    assert "pynini/BUILD.bazel" not in names


def test_pip_installs_it(packed, tmp_path):
    """The name carries a build number and this Python's tag, and pip accepts both."""
    target = tmp_path / "target"
    command = ["pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile"]
    subprocess.run([sys.executable, "-m", *command, "--target", target, packed], check=True)
    assert (target / "pynini/__init__.py").read_text() == "answer = 42\n"


def test_packing_is_reproducible(packed):
    before = packed.read_bytes()
    packed.unlink()
    folder = packed.parent
    again = wheels.pack(
        folder / "source",
        "1.2",
        [folder / "_pynini.so"],
        folder / "pynini.libs",
        OpenFst(folder, folder),
        folder,
    )
    assert again.read_bytes() == before
