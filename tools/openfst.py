"""OpenFst's headers and libraries, from the user or from Debian 13's archive.

The archive's packages are unpacked into a private directory with apt's own machinery but with a
private state, so no root is needed and nothing on the machine changes. The archive's address is
taken from the machine's own apt set-up.

Debian 13's OpenFst asks for symbol versions that an older C library lacks, though only for four
symbols. There a small library of ours (shim.cc) offers those four, and the copies of OpenFst are
marked so that the loader does not insist on the versions.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import console
import process
from console import SetupFailure

VERSION = "1.8.4"
SUITE = "trixie"
PACKAGES = ("libfst26", "libfst-dev")
WAYS_OUT = (
    "conda has it ready-made: conda install -c conda-forge pynini, then install fsmeu with pip "
    "in that environment.",
    f"With an OpenFst {VERSION} of your own (Debian 13: apt install libfst-dev): set FSMEU_OPENFST "
    "to the directory that holds its include/ and lib/ (/usr for Debian's), and call again.",
)
LINKED = ("fstmpdtscript", "fstpdtscript", "fstfarscript", "fstfar", "fstscript", "fst")
SHIM = "libfsmeushim.so"
SHIM_VERSIONS = ("GLIBC_2.38", "GLIBCXX_3.4.32")
_NEWEST_OLD_GLIBC = (2, 37)
_HERE = Path(__file__).resolve().parent
_WEAK = 0x2
_INDEX_LINE = re.compile(r"^'(?P<site>\S+?)/dists/(?P<suite>[^/']+)/(?:In)?Release'", re.MULTILINE)


@dataclass(frozen=True)
class OpenFst:
    """An installed OpenFst.

    Attributes:
        include: The directory that holds fst/.
        lib: The directory that holds libfst.so.
        prefix: The private directory it was unpacked to, or None when it is the machine's.
        copyright: Its licence text, where known.
    """

    include: Path
    lib: Path
    prefix: Path | None = None
    copyright: Path | None = None


def provide(workshop: Path) -> OpenFst:
    """Returns an OpenFst of the right version: the user's, or one fetched into `workshop`."""
    if given := os.environ.get("FSMEU_OPENFST"):
        return _given(Path(given).expanduser())
    return fetch(workshop)


def _given(prefix: Path) -> OpenFst:
    for lib in (prefix / "lib", *sorted(prefix.glob("lib/*-linux-gnu"))):
        if (lib / "libfst.so").exists() and (prefix / "include/fst/fst.h").exists():
            return OpenFst(prefix / "include", lib)
    reason = (
        f"FSMEU_OPENFST is {prefix}, but there is no include/fst/fst.h with lib/libfst.so in it"
    )
    raise SetupFailure(reason, f"Point it at an installed OpenFst {VERSION}, or unset it.")


def fetch(workshop: Path) -> OpenFst:
    """Downloads Debian 13's packages and unpacks them below `workshop`."""
    prefix = workshop / "openfst"
    if not prefix.exists():
        for program in ("apt-get", "dpkg"):
            if not process.find_program(program):
                reason = (
                    f"there is no pynini wheel for this machine, and building one needs OpenFst "
                    f"{VERSION}, which cannot be fetched here without {program}"
                )
                raise SetupFailure(reason, *WAYS_OUT)
        with console.step(f"fetching OpenFst {VERSION} (Debian's packages, unpacked privately)"):
            _unpack(_download(workshop / "apt"), prefix)
    return _unpacked(prefix)


def _unpacked(prefix: Path) -> OpenFst:
    library = next(iter(sorted(prefix.glob("usr/lib/*/libfst.so"))), None)
    if library is None:
        shutil.rmtree(prefix)
        reason = "Debian's OpenFst packages do not hold a libfst.so"
        raise SetupFailure(reason, *WAYS_OUT)
    licence = prefix / "usr/share/doc" / PACKAGES[0] / "copyright"
    known = licence if licence.exists() else None
    return OpenFst(prefix / "usr/include", library.parent, prefix, known)


def archive_sites(uris: str) -> list[str]:
    """Returns the archive addresses in the output of `apt-get --print-uris update`.

    Security archives are left out: they do not carry a suite's packages.
    """
    found = {
        match["site"]: None
        for match in _INDEX_LINE.finditer(uris)
        if not match["suite"].endswith("-security") and not match["site"].endswith("-security")
    }
    return list(found)


def _download(state: Path) -> list[Path]:
    shutil.rmtree(state, ignore_errors=True)
    sites = archive_sites(process.run(["apt-get", "--print-uris", "update"]))
    if not sites:
        reason = "apt on this machine knows no package archive"
        raise SetupFailure(reason, *WAYS_OUT)
    failure: SetupFailure | None = None
    for number, site in enumerate(sites):
        try:
            return _download_from(site, state / str(number))
        except SetupFailure as error:
            failure = failure or error
    assert failure is not None
    if failure.reason != console.DISK_FULL:
        failure.remedies += WAYS_OUT
    raise failure


def _download_from(site: str, state: Path) -> list[Path]:
    for folder in ("lists/partial", "cache/archives/partial", "debs"):
        (state / folder).mkdir(parents=True)
    (state / "sources.list").write_text(f"deb {site} {SUITE} main\n")
    (state / "status").touch()
    settings = {
        "Dir::State": state,
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
        "Dir::Cache": state / "cache",
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::Etc::preferences": "-",
        "Dir::Etc::preferencesparts": "-",
        "Acquire::Languages": "none",
        "Acquire::Retries": "2",
        "APT::Update::Error-Mode": "any",
        "APT::Sandbox::User": "",
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    process.run(["apt-get", *options, "update"])
    process.run(["apt-get", *options, "download", *PACKAGES], cwd=state / "debs")
    return sorted((state / "debs").glob("*.deb"))


def _unpack(packages: list[Path], prefix: Path) -> None:
    part = prefix.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    for package in packages:
        process.run(["dpkg", "-x", package, part])
    part.replace(prefix)


def glibc_version() -> tuple[int, int] | None:
    """Returns the version of the machine's C library, or None if it is not glibc."""
    name, version = platform.libc_ver()
    if name != "glibc":
        return None
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def gather_libraries(openfst: OpenFst, directory: Path, compiler: str) -> list[Path]:
    """Puts the libraries that pynini needs into `directory`, ready for this machine.

    Args:
        openfst: Where to take them from.
        directory: Where to put them, under the names the loader asks for; emptied first.
        compiler: The C++ compiler, for the shim; binutils' readelf comes with it.

    Returns:
        What the extension modules must be linked with, in order: each library before those it
        needs. The loader starts them from the end, so the shim, at the end, is ready first.
    """
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with console.step("preparing OpenFst's libraries"):
        linked = [_copy(openfst.lib / f"lib{name}.so", directory) for name in LINKED]
        waiting = list(linked)
        while waiting:
            names = dynamic_names(waiting.pop(), "NEEDED")
            new = [n for n in names if n.startswith("libfst") and not (directory / n).exists()]
            waiting += [_copy(openfst.lib / name, directory) for name in new]
        is_old = (glibc_version() or _NEWEST_OLD_GLIBC) <= _NEWEST_OLD_GLIBC
        weakened = [weaken(library) for library in directory.iterdir()] if is_old else []
        if any(weakened):
            linked.append(_compile_shim(directory, compiler))
    return linked


def _copy(library: Path, directory: Path) -> Path:
    target = directory / next(iter(dynamic_names(library, "SONAME")), library.name)
    shutil.copyfile(library, target)
    target.chmod(0o755)
    return target


def dynamic_names(library: Path, tag: str) -> list[str]:
    """Returns the names that a library's dynamic section has under a tag: NEEDED or SONAME."""
    shown = process.run(["readelf", "--dynamic", "--wide", library])
    return re.findall(rf"\({tag}\).*\[(.+)\]", shown)


def weaken(library: Path) -> int:
    """Flags a library's needs for the shim's versions as weak; returns how many there were.

    readelf prints the file offset of the section of version needs and that of each need in it;
    the flags are the two bytes after the need's hash, which has four.
    """
    shown = process.run(["readelf", "--version-info", "--wide", library])
    _, _, section = shown.partition("Version needs section")
    start = re.search(r"Offset: 0x([0-9a-f]+)", section)
    needs = re.findall(r"(0x[0-9a-f]+):\s+Name: (\S+)", section)
    offsets = [int(offset, 16) for offset, version in needs if version in SHIM_VERSIONS]
    if start is None or not offsets:
        return 0
    image = bytearray(library.read_bytes())
    for offset in offsets:
        image[int(start[1], 16) + offset + 4] |= _WEAK
    library.write_bytes(image)
    return len(offsets)


def _compile_shim(directory: Path, compiler: str) -> Path:
    shim = directory / SHIM
    version_script = f"-Wl,--version-script={_HERE / 'shim.map'}"
    flags = ["-shared", "-fPIC", "-O1", "-s", f"-Wl,-soname,{SHIM}", version_script]
    process.run([compiler, *flags, _HERE / "shim.cc", "-o", shim])
    return shim
