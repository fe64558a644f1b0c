"""Files that are written whole: after a kill or on a full disk, the old content or the new."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from fsmeu.errors import InputError, sentence, shorten


def as_path(path: str | os.PathLike[str], where: str) -> Path:
    """The path of a file to write.

    Raises:
        InputError: it is not the name of a file.
    """
    if isinstance(path, str | os.PathLike):
        return Path(path)
    raise InputError(sentence(where, "the name of a file is needed", path))


def write_file(path: str | os.PathLike[str], content: bytes | memoryview | str) -> Path:
    """The path of a file, after the content (a text in UTF-8) has taken the place of its own.

    A temporary file beside it gets the content, reaches the disk, and replaces it. Links keep
    pointing to it, and it keeps its permissions. What is no regular file (a pipe, a device) and
    what this process has open as a stream (/dev/stdout) is written as it is.

    Raises:
        InputError: the file cannot be written.
    """
    place = as_path(path, "file")
    try:
        data = content.encode() if isinstance(content, str) else content
        held = _status(place)
        stream = None if held is None else _open_stream(place, held)
        if stream is None:
            _replace(Path(os.path.realpath(place)), data, held)
        else:
            with stream:
                stream.write(data)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        must = f"it cannot be written ({reason})"
        raise InputError(sentence(f"file {shorten(str(place))}", must)) from error
    return place


def _status(path: Path) -> os.stat_result | None:
    """The status of the file, None where there is none."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _open_stream(path: Path, held: os.stat_result) -> BinaryIO | None:
    """What is no regular file, or is open as a stream already, open; else None."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # there is none, or it is no file
            if os.path.samestat(held, os.fstat(stream.fileno())):
                stream.flush()
                return os.fdopen(os.dup(stream.fileno()), "wb")
    descriptors = ("/proc/", "/dev/fd")  # a regular file may be open under a name in these
    if stat.S_ISREG(held.st_mode) and not os.path.realpath(path.parent).startswith(descriptors):
        return None
    return path.open("wb")


def _replace(path: Path, data: bytes | memoryview, held: os.stat_result | None) -> None:
    """Puts the data into the place of a file, or into a new one as ``open`` would make it."""
    if held is not None:
        os.close(os.open(path, os.O_WRONLY))  # what must not be written is refused
    part = path.parent / f".fsmeu-{secrets.token_hex(8)}.part"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if held is not None:
                with suppress(OSError):  # only some may give files away
                    os.fchown(descriptor, held.st_uid, held.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(held.st_mode))
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
