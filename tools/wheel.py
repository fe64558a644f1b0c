"""Packing pynini's wheel, and proving it before anyone installs it."""

from __future__ import annotations

import base64
import hashlib
import shutil
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import console
import process
from console import SetupFailure
from openfst import WAYS_OUT, OpenFst
from stamp import BUILD

_PACKAGES = ("pynini", "pywrapfst")
_SUFFIXES = (".py", ".pyi", ".typed")
_EPOCH = (1980, 1, 1, 0, 0, 0)
# Composes a -> b with b -> c, reads the answer back, and lists where OpenFst was loaded from.
_PROOF = """\
import sys
sys.path.insert(0, sys.argv[1])
import pynini
answer = pynini.compose(pynini.cross("a", "b"), pynini.cross("b", "c"))
pairs = list(answer.paths().items())
assert [(i, o) for i, o, _ in pairs] == [("a", "c")], pairs
for line in open("/proc/self/maps"):
    path = line.rstrip().split(maxsplit=5)[-1]
    assert "libfst" not in path or path.startswith(sys.argv[1] + "/"), path
"""


def tag() -> str:
    """Returns the compatibility tag of a wheel built by and for this Python."""
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    abi = python + sys.abiflags
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-{abi}-{platform}"


def pack(
    source: Path,
    version: str,
    modules: Sequence[Path],
    libraries: Path,
    openfst: OpenFst,
    directory: Path,
) -> Path:
    """Writes the wheel into `directory` and returns its path.

    Args:
        source: pynini's unpacked source.
        version: Its version.
        modules: The extension modules.
        libraries: The folder of libraries that travels beside them.
        openfst: Whose licence goes along.
        directory: Where the wheel goes.
    """
    wheel = directory / f"pynini-{version}-{BUILD}-{tag()}.whl"
    info = f"pynini-{version}.dist-info"
    records: list[str] = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, content in _contents(source, info, modules, libraries, openfst):
            _add(archive, name, content)
            records.append(f"{name},sha256={_digest(content)},{len(content)}")
        records.append(f"{info}/RECORD,,")
        _add(archive, f"{info}/RECORD", "\n".join([*records, ""]).encode())
    return wheel


def _contents(
    source: Path, info: str, modules: Sequence[Path], libraries: Path, openfst: OpenFst
) -> Iterator[tuple[str, bytes]]:
    for package in _PACKAGES:
        for file in sorted((source / package).rglob("*")):
            if file.suffix in _SUFFIXES:
                yield file.relative_to(source).as_posix(), file.read_bytes()
    for module in modules:
        yield module.name, module.read_bytes()
    for library in sorted(libraries.iterdir()):
        yield f"{libraries.name}/{library.name}", library.read_bytes()
    yield f"{info}/METADATA", (source / "PKG-INFO").read_bytes()
    yield f"{info}/WHEEL", _wheel_file()
    for licence in ("LICENSE", "AUTHORS"):
        yield f"{info}/licenses/{licence}", (source / licence).read_bytes()
    if openfst.copyright is not None:
        yield f"{info}/licenses/OpenFst-copyright", openfst.copyright.read_bytes()


def _wheel_file() -> bytes:
    lines = (
        "Wheel-Version: 1.0",
        "Generator: fsmeu",
        "Root-Is-Purelib: false",
        f"Build: {BUILD}",
        f"Tag: {tag()}",
    )
    return "\n".join([*lines, ""]).encode()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o755 if ".so" in name else 0o644) << 16
    archive.writestr(entry, content)


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def prove(wheel: Path, openfst: OpenFst, directory: Path) -> None:
    """Imports and uses the wheel in a fresh interpreter, without the OpenFst it was built with.

    Raises:
        SetupFailure: It does not import, does not compute, or loads OpenFst from elsewhere.
    """
    away = openfst.prefix.with_suffix(".away") if openfst.prefix else None
    shutil.rmtree(directory, ignore_errors=True)
    with console.step("trying the new pynini"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(directory)
        if openfst.prefix and away:
            shutil.rmtree(away, ignore_errors=True)
            openfst.prefix.replace(away)
        try:
            process.run([sys.executable, "-I", "-c", _PROOF, directory.resolve()], cwd=directory)
        except process.ProgramFailed as failure:
            reason = "the pynini that was built does not work"
            details = "The last lines it wrote:\n" + process.last_lines(failure.output)
            raise SetupFailure(reason, details, *WAYS_OUT) from failure
        finally:
            if openfst.prefix and away:
                away.replace(openfst.prefix)
    shutil.rmtree(directory)
