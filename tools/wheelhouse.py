"""The user's cache of pynini wheels: what is there is used, what is not is fetched or built."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path

import compile as compiling
import console
import libraries
import locks
import openfst
import process
import wheel as wheels
from console import SetupFailure
from stamp import BUILD


def cache_directory() -> Path:
    """Returns the directory that outlives any one copy of the project."""
    if given := os.environ.get("FSMEU_CACHE"):
        return Path(given).expanduser().absolute()
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base).expanduser().absolute() / "fsmeu"
    try:
        return Path.home() / ".cache" / "fsmeu"
    except RuntimeError as error:
        reason = "this user has no home directory to keep pynini in"
        raise SetupFailure(reason, "Set FSMEU_CACHE to a directory that you can write.") from error


def machine_key() -> str:
    """Returns the name of the kind of machine that a wheel is good for."""
    glibc = libraries.glibc_version()
    library = f"glibc{glibc[0]}.{glibc[1]}" if glibc else platform.libc_ver()[0] or "libc"
    return f"{wheels.tag()}-{library}"


def lock_file(purpose: str) -> Path:
    """Returns the file that keeps two set-ups apart that change the same part of the cache."""
    return cache_directory() / f"{machine_key()}.{purpose}.lock"


def pinned_version(pyproject: str) -> str:
    """Returns the version of pynini that the project's dependencies name."""
    match = re.search(r'"pynini==(?P<version>[0-9.]+)"', pyproject)
    if match is None:
        reason = 'pyproject.toml does not pin pynini as "pynini==VERSION"'
        raise SetupFailure(reason)
    return match["version"]


def provide(version: str, python: Path) -> Path:
    """Makes sure that there is a pynini wheel for this machine.

    Args:
        version: The version of pynini.
        python: An interpreter that has pip.

    Returns:
        The directory that holds the wheel, for pip's --find-links.
    """
    cache = cache_directory()
    home = cache / "wheels" / machine_key()
    if find(home, version):
        return home
    workshop = cache / "build" / f"pynini-{version}-{BUILD}-{machine_key()}"
    with (
        console.guard("making pynini"),
        locks.exclusive(lock_file("pynini"), "making pynini"),
    ):
        if not find(home, version):
            home.mkdir(parents=True, exist_ok=True)
            workshop.mkdir(parents=True, exist_ok=True)
            made = _fetch_or_build(version, python, workshop)
            made.replace(home / made.name)
            shutil.rmtree(workshop)
    return home


def find(home: Path, version: str) -> Path | None:
    """Returns the sound wheel of this version in `home`; throws out a damaged one."""
    built, fetched = f"pynini-{version}-{BUILD}-*.whl", f"pynini-{version}-cp*.whl"
    for candidate in [*home.glob(built), *home.glob(fetched)]:
        if is_sound(candidate):
            return candidate
        candidate.unlink()
    return None


def is_sound(candidate: Path) -> bool:
    """Returns whether a wheel can be read from end to end."""
    try:
        with zipfile.ZipFile(candidate) as archive:
            return archive.testzip() is None
    except (zipfile.BadZipFile, zlib.error, EOFError):
        return False


def _fetch_or_build(version: str, python: Path, workshop: Path) -> Path:
    found = _download(version, python, workshop / "download")
    if found.suffix == ".whl":
        return found
    if not _can_build():
        reason = f"PyPI has no pynini {version} wheel for this machine ({machine_key()})"
        raise SetupFailure(reason, openfst.WAYS_OUT[0])
    return _build(version, found, workshop)


def _can_build() -> bool:
    is_linux = sys.platform.startswith("linux") and libraries.glibc_version() is not None
    return is_linux and sys.byteorder == "little" and sys.maxsize > 2**32


def _download(version: str, python: Path, directory: Path) -> Path:
    """Lets pip fetch the wheel or, where the index has none, the source."""
    kept = directory / f"pynini-{version}.tar.gz"
    if kept.exists():
        return kept
    shutil.rmtree(directory, ignore_errors=True)
    part = directory.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    with console.step(f"looking for pynini {version}"):
        options = ["--no-deps", "--prefer-binary", "--dest", str(part)]
        process.run([str(python), "-m", "pip", "download", *options, f"pynini=={version}"])
    part.replace(directory)
    return next(iter(directory.iterdir()))


def _build(version: str, sdist: Path, workshop: Path) -> Path:
    compiler = compiling.find_compiler()
    print(
        f"[set-up] there is no pynini wheel for this machine: building one, once, in {workshop} "
        "(about two minutes on two cores)",
        file=sys.stderr,
    )
    fst = openfst.provide(workshop)
    carried = workshop / "pynini.libs"
    links = libraries.gather(fst, carried, compiler)
    source = _unpack(sdist, workshop / "source") / f"pynini-{version}"
    modules = compiling.build_extensions(source, fst, links, workshop, compiler)
    with console.step("packing pynini's wheel"):
        packed = wheels.pack(source, version, modules, carried, fst, workshop)
    wheels.prove(packed, fst, workshop / "trial")
    return packed


def _unpack(sdist: Path, directory: Path) -> Path:
    shutil.rmtree(directory, ignore_errors=True)
    try:
        with tarfile.open(sdist) as archive:
            if hasattr(tarfile, "data_filter"):
                archive.extractall(directory, filter="data")
            else:
                archive.extractall(directory)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        sdist.unlink()
        reason = f"the download of {sdist.name} is damaged"
        raise SetupFailure(reason, "Call again: it is fetched anew.") from error
    return directory
