"""Where OpenFst's headers and libraries come from: the user, the machine, or Debian 13's archive.

The archive's packages are unpacked into a private directory with apt's own machinery but with a
private state, so no root is needed and nothing on the machine changes. The archive's address is
taken from the machine's own apt set-up.
"""

from __future__ import annotations

import os
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
    f"On Debian 13 or newer: apt install libfst-dev (OpenFst {VERSION}), and call again.",
    f"With an OpenFst {VERSION} of your own: set FSMEU_OPENFST to its prefix (the directory "
    "that holds include/ and lib/), and call again.",
)
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
    """Returns an OpenFst of the right version, fetching one if the machine has none.

    Args:
        workshop: A directory of ours; what is fetched is unpacked below it.
    """
    if given := os.environ.get("FSMEU_OPENFST"):
        return _given(Path(given).expanduser())
    return installed() or fetch(workshop)


def _given(prefix: Path) -> OpenFst:
    for lib in (prefix / "lib", *sorted(prefix.glob("lib/*-linux-gnu"))):
        if (lib / "libfst.so").exists() and (prefix / "include/fst/fst.h").exists():
            return OpenFst(prefix / "include", lib)
    reason = (
        f"FSMEU_OPENFST is {prefix}, but there is no include/fst/fst.h with lib/libfst.so in it"
    )
    raise SetupFailure(reason, f"Point it at an installed OpenFst {VERSION}, or unset it.")


def installed() -> OpenFst | None:
    """Returns the machine's own OpenFst if its headers have the right version."""
    if not process.find_program("dpkg-query"):
        return None
    try:
        version = process.run(["dpkg-query", "-W", "-f", "${Version}", "libfst-dev"])
        files = process.run(["dpkg-query", "-L", "libfst-dev"]).splitlines()
    except SetupFailure:
        return None
    library = next((Path(file) for file in files if file.endswith("/libfst.so")), None)
    if not version.startswith(VERSION) or library is None:
        return None
    return OpenFst(Path("/usr/include"), library.parent)


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
    return OpenFst(
        include=prefix / "usr/include",
        lib=library.parent,
        prefix=prefix,
        copyright=licence if licence.exists() else None,
    )


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
