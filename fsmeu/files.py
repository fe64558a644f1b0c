"""Files, written whole and read within one limit on memory.

After a kill or on a full disk, a file has its old content or the new. Whatever is wrong with a
file, or too large in it, ends in one sentence that names it, before much memory is taken.
"""

from __future__ import annotations

import bz2
import gzip
import io
import math
import os
import secrets
import stat
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from fsmeu import limits
from fsmeu.endings import ending_of
from fsmeu.errors import FsmeuError, InputError, SizeLimitError, limit_from, shorten


def as_path(path: str | os.PathLike[str], where: str) -> Path:
    """The path of a file to write; an InputError if it is not the name of a file."""
    if isinstance(path, str | os.PathLike):
        return Path(path)
    raise InputError(where, "the name of a file is needed", given=path)


def write_file(path: str | os.PathLike[str], content: bytes | memoryview | str) -> Path:
    """The path of a file, after the content (a text in UTF-8) has taken the place of its own.

    A temporary file beside it gets the content, reaches the disk, and replaces it; links and
    permissions stay. A pipe, a device, or an open stream (/dev/stdout) is written as it is.
    """
    place = as_path(path, "file")
    with readable(f"file {shorten(str(place))}", "it cannot be written"):
        data = content.encode() if isinstance(content, str) else content
        status = None
        with suppress(FileNotFoundError):
            status = place.stat()
        if status is not None and (stream := _open_stream(place, status)) is not None:
            with stream:
                stream.write(data)
        else:
            _replace(Path(os.path.realpath(place)), data, status)
    return place


def _open_stream(path: Path, status: os.stat_result) -> BinaryIO | None:
    """An open stream, where the path is no regular file or is open already; else None."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # there is none, or it is no file
            if os.path.samestat(status, os.fstat(stream.fileno())):
                stream.flush()
                return os.fdopen(os.dup(stream.fileno()), "wb")
    descriptors = ("/proc/", "/dev/fd")  # a regular file may be open under a name in these
    if stat.S_ISREG(status.st_mode) and not os.path.realpath(path.parent).startswith(descriptors):
        return None
    return path.open("wb")


def _replace(path: Path, data: bytes | memoryview, status: os.stat_result | None) -> None:
    """Puts the data into the place of a file, or into a new one as ``open`` would make it."""
    if status is not None:
        os.close(os.open(path, os.O_WRONLY))  # what must not be written is refused
    part = path.parent / f".fsmeu-{secrets.token_hex(8)}.part"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if status is not None:
                with suppress(OSError):  # only some may give files away
                    os.fchown(descriptor, status.st_uid, status.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.replace(part, path)  # noqa: PTH105 - pathlib may hold a copy that no test can stop
    except BaseException:
        part.unlink(missing_ok=True)
        raise


STDIN = "-"
OBJECTS = 8  # bytes of memory for each byte of a text that becomes lists, texts and numbers
TABLES = 4  # the same of one that becomes doubles: two characters are one number at most

_VARIABLE = "FSMEU_MAX_BYTES"
_CELL = 8


def input_limit(growth: int = 1) -> int:
    """Bytes that an input may have, unpacked, where each takes ``growth`` bytes of memory."""
    return limit_from(_VARIABLE, limits.MOST_BYTES) // growth


@contextmanager
def readable(where: str, must: str = "the file cannot be read") -> Iterator[None]:
    """A context in which a file that cannot be used is an InputError that says why."""
    try:
        yield
    except (FsmeuError, BrokenPipeError):
        raise
    except UnicodeDecodeError:
        raise InputError(where, "must be UTF-8 text") from None
    except (OSError, EOFError, ValueError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or shorten(str(error)) or type(error).__name__
        raise InputError(where, f"{must} ({reason})") from None


def read_bytes(
    name: str | Path, where: str, growth: int = 1, most: int | None = None, begin: bytes = b""
) -> bytes:
    """The bytes of a file, or of standard input for "-", unpacked; a SizeLimitError of too many.

    Each byte will take ``growth`` bytes of memory. Of a file that does not ``begin`` with these
    bytes, only as many are read; ``where`` is what it is called in messages.
    """
    limit = min(input_limit(growth), most or input_limit())
    with readable(where), open_input(name) as raw:
        stream = unpacked(raw, name)
        content: bytes = stream.read(len(begin))
        content += stream.read(limit + 1) if content == begin else b""
    if len(content) > limit:
        refuse_size(where, f"may have at most {limit:,} bytes", "more")
    return content


def read_text(name: str | Path, where: str, growth: int = OBJECTS, most: int | None = None) -> str:
    """The UTF-8 text of a file, without a byte order mark; arguments as of ``read_bytes``."""
    content = read_bytes(name, where, growth, most)
    with readable(where):
        return content.decode("utf-8-sig")


@contextmanager
def open_input(name: str | Path) -> Iterator[BinaryIO]:
    """A file that is open, or standard input, which stays open; errors are the system's."""
    if str(name) != STDIN:
        with Path(name).expanduser().open("rb") as file:
            yield file
    elif sys.stdin is None:
        raise ValueError("it is closed")
    else:
        yield sys.stdin.buffer


def unpacked(raw: Any, name: str | Path = "") -> Any:
    """The stream, or what unpacks it: gzip by its first bytes, bzip2 by the name's ending."""
    stream = raw if hasattr(raw, "peek") else io.BufferedReader(raw)
    if stream.peek(2)[:2] == b"\x1f\x8b":
        return io.BufferedReader(gzip.GzipFile(fileobj=stream))
    ending = ending_of(name)
    if ending == "bz2":
        return io.BufferedReader(bz2.BZ2File(stream))
    if ending == "gz":
        raise OSError("it is not compressed as its name says")
    return stream


def read_array(path: str | Path, where: str) -> NDArray[Any]:
    """The array of numbers in an npy file, as numpy.save writes it."""
    array = None
    with readable(where), suppress(ValueError, EOFError):  # no array, a cut one, objects
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
        raise InputError(where, "must be an array of numbers, as numpy.save writes it")
    if array.size * _CELL > input_limit():
        most = input_limit() // _CELL
        refuse_size(where, f"may hold at most {most:,} numbers", f"{array.size:,}")
    return np.asarray(array)


def write_arrays(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]]) -> Path:
    """The path of an npz archive, after these arrays have taken the place of its own."""
    archive = io.BytesIO()
    np.savez_compressed(archive, **arrays)  # type: ignore[arg-type]
    return write_file(path, archive.getbuffer())


def read_arrays(
    path: str | Path, where: str, must: str = "must be an npz archive", kinds: str = "biufUS"
) -> dict[str, NDArray[Any]]:
    """The arrays of an npz archive by name, each read once; ``must`` is said of another file.

    Their sizes, an element being a double at least, are summed before any is unpacked. It may hold
    twice its own size whatever the limit: a file that large is given on purpose. ``kinds`` are
    numpy's letters of the types that arrays may have.
    """
    with readable(where), open_input(path) as file:
        if not zipfile.is_zipfile(file):
            raise InputError(where, must)
        archive = zipfile.ZipFile(file)
        members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        room = max(input_limit(), 2 * file.seek(0, 2))
        need = sum(array_bytes(archive, member, where, kinds) for member in members.values())
        if need > room:
            refuse_size(where, f"may hold at most {room:,} bytes of arrays", f"{need:,}")
        result = {}
        for name, member in members.items():
            with archive.open(member) as stream:
                array = result[name] = npy.read_array(stream, allow_pickle=False)
            if not holds_texts(array):
                raise InputError(where, f"{shorten(name, 40)} must hold texts")
        return result


def holds_texts(array: NDArray[Any]) -> bool:
    """False where numpy would make broken texts of an array, of codes that are no letters."""
    if array.dtype.kind != "U" or not array.itemsize:
        return True
    codes = array.reshape(-1).view(f"{array.dtype.str[0]}u4")
    return int(codes.max(initial=0)) <= sys.maxunicode


def array_bytes(archive: zipfile.ZipFile, member: zipfile.ZipInfo, where: str, kinds: str) -> int:
    """The memory that an array takes by its header, which must agree with the member's size."""
    try:
        with archive.open(member) as stream:
            version = npy.read_magic(stream)
            header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, _, kind = header(stream)
            fits = kind.itemsize * math.prod(shape) == member.file_size - stream.tell()
        is_array = fits and kind.kind in kinds and min(shape, default=0) >= 0
    except Exception:  # a header is Python's syntax, and may raise what that does
        is_array = False
    if not is_array or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        must = f"{shorten(member.filename, 40)} must be an array of numbers or texts"
        raise InputError(where, must)
    return max(_CELL, kind.itemsize) * math.prod(max(1, side) for side in shape)


def refuse_size(where: str, must: str, got: str) -> NoReturn:
    """Raises a SizeLimitError that names the limit."""
    remedy = f"Cut it into several, or raise the limit with the environment variable {_VARIABLE}"
    raise SizeLimitError(where, must, given=got, remedy=remedy)
