"""The folder of shared libraries that travels in the wheel beside pynini's extension modules.

Debian 13's OpenFst asks for symbol versions that an older C library lacks, though only for four
symbols. There a small library of ours (shim.cc) offers those four, and the copies of OpenFst are
marked so that the loader does not insist on the versions.
"""

from __future__ import annotations

import platform
import shutil
import sys
from pathlib import Path

import console
import elf
import process
from console import SetupFailure
from openfst import WAYS_OUT, OpenFst

LINKED = ("fstmpdtscript", "fstpdtscript", "fstfarscript", "fstfar", "fstscript", "fst")
SHIM = "libfsmeushim.so"
SHIM_VERSIONS = frozenset({"GLIBC_2.38", "GLIBCXX_3.4.32"})
_NEWEST_OLD_GLIBC = (2, 37)
_HERE = Path(__file__).resolve().parent


def glibc_version() -> tuple[int, int] | None:
    """Returns the version of the machine's C library, or None if it is not glibc."""
    name, version = platform.libc_ver()
    if name != "glibc":
        return None
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def gather(openfst: OpenFst, directory: Path, compiler: str) -> list[Path]:
    """Puts the libraries that pynini needs into `directory`, ready for this machine.

    Args:
        openfst: Where to take them from.
        directory: Where to put them, under the names the loader asks for; emptied first.
        compiler: The C++ compiler, for the shim.

    Returns:
        What the extension modules must be linked with, in order: each library before those it
        needs. The loader starts them from the end, so the shim, at the end, is ready first.
    """
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    links = [openfst.lib / f"lib{name}.so" for name in LINKED]
    glibc = glibc_version()
    with console.step("preparing OpenFst's libraries"):
        old = glibc is not None and glibc <= _NEWEST_OLD_GLIBC
        weak = SHIM_VERSIONS if old and _asks_for_newer(links) else frozenset[str]()
        names = [_copy(library, directory, weak) for library in links]
        for library in elf.libraries_to_carry(links, openfst.lib, "libfst"):
            _copy(library, directory, weak)
        shim = [_compile_shim(directory, compiler)] if weak else []
        linked = [directory / name for name in names] + shim
        _check_loading(linked)
    return linked


def _asks_for_newer(libraries: list[Path]) -> bool:
    return any(
        need.version in SHIM_VERSIONS
        for library in libraries
        for need in elf.version_needs(library.read_bytes())
    )


def _copy(library: Path, directory: Path, weak: frozenset[str]) -> str:
    image = library.read_bytes()
    name = elf.soname(image) or library.name
    (directory / name).write_bytes(elf.weaken(image, weak))
    (directory / name).chmod(0o755)
    return name


def _compile_shim(directory: Path, compiler: str) -> Path:
    shim = directory / SHIM
    version_script = f"-Wl,--version-script={_HERE / 'shim.map'}"
    flags = ["-shared", "-fPIC", "-O1", "-s", f"-Wl,-soname,{SHIM}", version_script]
    process.run([compiler, *flags, _HERE / "shim.cc", "-o", shim])
    return shim


def _check_loading(libraries: list[Path]) -> None:
    """Lets the loader judge the libraries now rather than after minutes of compiling."""
    script = "import ctypes, sys\nfor p in sys.argv[1:]: ctypes.CDLL(p, ctypes.RTLD_GLOBAL)"
    try:
        process.run([sys.executable, "-I", "-c", script, *reversed(libraries)])
    except process.ProgramFailed as failure:
        lines = failure.output.strip().splitlines() or ["no reason given"]
        reason = f"OpenFst's libraries do not load on this machine ({lines[-1]})"
        raise SetupFailure(reason, *WAYS_OUT) from failure
