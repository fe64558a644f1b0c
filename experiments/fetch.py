"""Fetches the data sets of the experiments from their public sources.

    ./run python experiments/fetch.py list
    ./run python experiments/fetch.py NAME ... [--to FOLDER] [--from FOLDER]

``list`` prints the data sets and which of them are there; NAME is one of them, or ``all``. What is
downloaded is checked by SHA-256, converted into the files that experiments read, and checked again
(``data_sets.py``). They go to FOLDER/NAME; without ``--to``, FOLDER is the one that FSMEU_DATA
names, else ``shared/data`` beside the project where that is, else ``data`` in the project. Files
that are there already are left as they are. A file has its name when it is whole, so that a fetch
that was broken off is simply started again.

``--from`` takes downloads from a folder instead of the network: those that were made by hand, in a
browser or on another machine, from the addresses that ``list --addresses`` prints.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import io
import lzma
import pickle
import sys
import tarfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Sequence
from pathlib import Path

from data_folder import data_folder
from data_sets import DATA_SETS, DataSet, Source, content_sha256, packed, unpacked
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TransferSpeedColumn,
)
from rich.table import Table

from fsmeu.errors import FsmeuError, InputError, one_of

CHUNK = 1 << 16
TIMEOUT = 60.0
"""Seconds that a server may be silent."""
AGENT = "fsmeu-experiments"
"""The name that servers are told; some refuse Python's own."""
NAMED = {one.name: one for one in DATA_SETS}
UNREADABLE = (
    EOFError,
    LookupError,
    OSError,
    ValueError,
    lzma.LZMAError,
    pickle.UnpicklingError,
    tarfile.TarError,
    zipfile.BadZipFile,
)
"""What conversions raise where a download is not what it should be."""


class FetchError(FsmeuError, RuntimeError):
    """A data set cannot be fetched."""


# -- one data set ---------------------------------------------------------------------------------


def fetch(data: DataSet, folder: Path, taken_from: Path | None = None) -> list[Path]:
    """The files of a data set, which are fetched unless they are there.

    Args:
        data: its record.
        folder: in which it has a folder of its own.
        taken_from: a folder with the downloads; None for the network.

    Raises:
        FetchError: a download does not arrive, or is not what it should be.
        InputError: another file is in the place of one of the files, or nothing can be written.
    """
    paths = {name: folder / data.name / name for name in data.files}
    missing = [name for name, path in paths.items() if not _is_there(path, data.files[name])]
    if missing:
        _make_folder(folder / data.name)
        downloads = [downloaded(one, taken_from) for one in data.sources]
        contents = _converted(data, downloads)
        for name in missing:
            _write(paths[name], packed(name, contents[name]))
    return list(paths.values())


def _is_there(path: Path, sha256: str) -> bool:
    """Whether the file is there; refuses one with another content."""
    if not path.exists():
        return False
    try:
        found = content_sha256(path.name, unpacked(path.name, path.read_bytes()))
    except UNREADABLE:
        found = "a file that cannot be unpacked"
    if found != sha256:
        must = f"what it holds must have SHA-256 {sha256}"
        remedy = "Remove it, or name another folder with --to"
        raise InputError(f"file {path}", must, given=found, remedy=remedy)
    return True


def _converted(data: DataSet, downloads: Sequence[bytes]) -> dict[str, bytes]:
    """The contents of the files of a data set, checked."""
    where = f"data set {data.name}"
    remedy = "Its source has changed; please report it"
    try:
        contents = data.convert(downloads)
        found = {name: content_sha256(name, contents[name]) for name in data.files}
    except UNREADABLE as error:
        must = "its download must be readable"
        given = f"{type(error).__name__}: {error}"
        raise FetchError(where, must, given=given, remedy=remedy) from None
    for name, sha256 in data.files.items():
        if found[name] != sha256:
            must = f"{name} as made of the download must have SHA-256 {sha256}"
            raise FetchError(where, must, given=found[name], remedy=remedy)
    return contents


def _make_folder(folder: Path) -> None:
    """Makes a folder, before anything is downloaded for it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(f"folder {folder}", error) from None


def _unwritable(where: str, error: OSError) -> InputError:
    """The error that says why something cannot be written."""
    must = "it must be possible to write it"
    remedy = "Name another folder with --to, or with FSMEU_DATA"
    return InputError(where, must, given=error.strerror, remedy=remedy)


def _write(path: Path, whole: bytes) -> None:
    """Writes a file under another name, and gives it its own when it is whole."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(whole)
        part.replace(path)
    except OSError as error:
        raise _unwritable(f"file {path}", error) from None


# -- downloads ------------------------------------------------------------------------------------


def downloaded(source: Source, taken_from: Path | None = None) -> bytes:
    """The bytes of a source, from the first address that has them, or from a folder.

    Raises:
        FetchError: no address has them; the message tells what each of them gave.
    """
    addresses = source.addresses
    if taken_from is not None:
        addresses = ((taken_from / source.name).resolve().as_uri(),)
    faults = []
    for address in addresses:
        try:
            body = _body(address)
        except (OSError, ValueError, http.client.HTTPException) as error:
            faults.append(f"{address}: {_fault(error)}")
            continue
        found = hashlib.sha256(body).hexdigest()
        if source.sha256 in ("", found):
            return body
        faults.append(f"{address}: SHA-256 {found} instead of {source.sha256}")
    if taken_from is not None:
        remedy = f"Download it to that folder from {' or '.join(source.addresses)}"
    else:
        remedy = (
            "See whether the network can be reached. Or download the file by other means, to a "
            f"folder under the name {source.name}, and name that folder with --from"
        )
    must = f"it must arrive as it was published ({'; '.join(faults)})"
    raise FetchError(f"download {source.name}", must, remedy=remedy)


def _fault(error: Exception) -> str:
    """What went wrong, in short."""
    reason = getattr(error, "reason", None)
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answers {error.code} {error.reason}"
    if isinstance(reason, OSError) and reason.strerror:
        return str(reason.strerror)
    return str(reason or error) or type(error).__name__


def _body(address: str) -> bytes:
    """What is at an address; a bar shows how much has arrived."""
    asked = urllib.request.Request(address, headers={"User-Agent": AGENT})
    name = urllib.parse.urlsplit(address).path.rpartition("/")[2]
    columns: tuple[ProgressColumn, ...] = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
    )
    console = Console(stderr=True)
    columns += (TransferSpeedColumn(),)
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    whole = io.BytesIO()
    with urllib.request.urlopen(asked, timeout=TIMEOUT) as answer, bar:
        size = answer.headers.get("Content-Length")
        task = bar.add_task(name, total=int(size) if size else None)
        while piece := answer.read(CHUNK):
            whole.write(piece)
            bar.advance(task, len(piece))
    if size and whole.tell() != int(size):
        raise OSError(f"only {whole.tell():,} of {int(size):,} bytes arrived")
    return whole.getvalue()


# -- the command ----------------------------------------------------------------------------------


def show(folder: Path, addresses: bool) -> None:
    """Prints the data sets, and which are in the folder; or what is to be downloaded for them."""
    if addresses:
        for data in DATA_SETS:
            for source in data.sources:
                print(data.name, source.name, *source.addresses)
        return
    table = Table("name", "what", "MB", "licence", "there", title=f"folder {folder}")
    for data in DATA_SETS:
        is_there = all((folder / data.name / name).is_file() for name in data.files)
        cells = (data.summary, f"{data.megabytes:g}", data.licence, "yes" if is_there else "")
        table.add_row(data.name, *cells)
    Console(width=120).print(table)


def chosen(names: Sequence[str]) -> list[DataSet]:
    """The records of these names; of all, where "all" is among them.

    Raises:
        InputError: there is no such data set.
    """
    for name in names:
        one_of("fetch.py", "NAME", name, ["list", "all", *NAMED])
    if "list" in names:
        raise InputError("fetch.py", "list must stand alone", given=" ".join(names))
    return list(DATA_SETS) if "all" in names else [NAMED[name] for name in dict.fromkeys(names)]


def main() -> None:
    """Fetches what is named."""
    parser = argparse.ArgumentParser(description="Fetches the data sets of the experiments.")
    parser.add_argument("names", nargs="+", metavar="NAME", help="a data set, 'all', or 'list'")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="where data sets are kept")
    where = "where downloads made by hand are"
    parser.add_argument("--from", dest="taken_from", type=Path, metavar="FOLDER", help=where)
    parser.add_argument("--addresses", action="store_true", help="with list: what to download")
    given = parser.parse_args()
    folder = (given.to or data_folder()).expanduser()
    by_hand = given.taken_from and given.taken_from.expanduser()
    try:
        if given.names == ["list"]:
            show(folder, given.addresses)
            return
        for data in chosen(given.names):
            for path in fetch(data, folder, by_hand):
                print(path)
    except FsmeuError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit("\nbroken off; what is whole is kept")


if __name__ == "__main__":
    main()
