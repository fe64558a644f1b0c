"""Loops compiled by numba and kept on disk: one cache for all of them.

A file of the cache holds one compiled function for one signature. Its name is a digest of all that
the machine code depends on: versions, processor, signature, and the sources of the function and of
whatever it calls. So no two functions, kinds of rows or signatures share a file, and an edit has
other files. A file begins with the digest of its content; a damaged one is thrown away.

Loading a file runs what is in it, so that files are taken only from a folder that belongs to this
user and that nobody else can write. It is opened once for each access, and files are opened in the
folder that was looked at, whatever its name means by then. Where there is no such folder, or no
room in it, the answer is the same: loops are compiled in memory.
"""

from __future__ import annotations

import errno
import os
import pickle
import secrets
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np

_DIGEST_SIZE = sha256().digest_size


def jit_entry(function: Callable[..., Any], **options: Any) -> Any:
    """A function that is called from Python, compiled by numba and kept on disk.

    It runs without the lock of the interpreter, so that threads work side by side. Options are
    those of ``numba.njit``. It must not return a named tuple: numba asks Python for the class, and
    where an interruption comes in between, the process crashes.
    """
    dispatcher = jit_helper(function, nogil=True, **options)
    dispatcher._cache = LoopCache(dispatcher)  # what njit(cache=True) sets, less its own folders
    _announce_compiling()
    return dispatcher


def jit_helper(function: Callable[..., Any], **options: Any) -> Any:
    """A function that compiled functions call, compiled by numba, a part of the files of these.

    Divisions are those of numpy (no exception where a divisor is 0), and sums keep their order.
    """
    _import_numba()
    from numba import njit

    decorator: Any = njit(error_model="numpy", **options)
    return decorator(function)


@cache
def _import_numba() -> None:
    """Imports numba, and what it compiles with, in a thread of its own.

    Interruptions are raised in the main thread. What they leave of an import serves no later call.
    """
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_load_numba).result()


def _load_numba() -> None:
    """Loads numba's targets, without SciPy's linear algebra: 0.2 of 0.75 seconds.

    numba looks for it once while it loads, to know that it is there, and again where a function
    uses it. It is there: fsmeu depends on SciPy.
    """
    from numba.core.registry import cpu_target
    from numba.np import linalg

    target: Any = cpu_target
    check = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        target.typing_context.refresh()
        target.target_context.refresh()
    finally:
        linalg.ensure_blas = check


class LoopCache:
    """The files of one compiled function, as numba's dispatcher asks for them.

    The methods are those of ``numba.core.caching._Cache``.
    """

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher

    @property
    def cache_path(self) -> str | None:
        """The folder of the files, None where there is none."""
        folder = cache_folder()
        return None if folder is None else str(folder)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled function for a signature, None where there is no sound file of it."""
        target_context.refresh()
        name = self._file_name(signature, target_context.codegen())
        with _opened_cache_folder() as folder:
            if folder is None or (content := _read(folder, name)) is None:
                return None
            try:
                return _rebuilt(target_context, content)
            except Exception:  # a class that moved, a library that is gone, anything else
                _remove(folder, name)
                return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Writes the file of a compiled function, where there is room for it."""
        if result.lifted or result.library.has_dynamic_globals:
            return  # numba cannot restore these
        name = self._file_name(signature, result.codegen)
        with _opened_cache_folder() as folder:
            if folder is not None and (content := _reduced(result)) is not None:
                _write(folder, name, content)

    def enable(self) -> None:
        """Does nothing: the cache is always on."""

    def disable(self) -> None:
        """Does nothing: the cache is always on."""

    def flush(self) -> None:
        """Does nothing: other sources have other files."""

    def _file_name(self, signature: Any, codegen: Any) -> str:
        """The name of the file of a signature."""
        key = sha256(self._dependencies)
        key.update(repr((_described(signature), codegen.magic_tuple())).encode())
        return f"{self._dispatcher.py_func.__name__}-{key.hexdigest()[:40]}.loop"

    @cached_property
    def _dependencies(self) -> bytes:
        """A digest of versions, of the function's name, and of the sources that it is made from.

        A property: the functions that it calls may be defined after it.
        """
        import numba

        function = self._dispatcher.py_func
        versions = (numba.__version__, sys.version, sys.abiflags)
        key = sha256(repr((versions, function.__module__, function.__qualname__)).encode())
        for part in sorted(_parts(self._dispatcher)):
            key.update(part)
        return key.digest()


def _described(signature: Any) -> Any:
    """A signature as nested tuples of texts: names of types, and for named tuples their fields.

    numba's name of a named tuple has neither its fields nor its module, on which code depends.
    """
    from numba.core import types as numba_types

    types: Any = numba_types
    if isinstance(signature, types.BaseNamedTuple):
        kind = signature.instance_class
        names = (kind.__module__, kind.__qualname__, signature.fields)
        return (*names, *(_described(part) for part in signature))
    if isinstance(signature, types.BaseTuple | tuple):
        return tuple(_described(part) for part in signature)
    return str(signature)


def _parts(dispatcher: Any) -> set[bytes]:
    """Digests of what a function is compiled from: sources of files, options, global constants.

    The files are those of the function and of all compiled functions that it calls.
    """
    found: set[bytes] = set()
    seen: set[int] = set()
    pending: list[Any] = [dispatcher]
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if hasattr(value, "py_func"):
            found.add(_options_digest(value.targetoptions))
            found.add(_source_digest(value.py_func.__code__.co_filename))
            pending.extend(_named_values(value.py_func))
        elif isinstance(value, np.ndarray):
            found.add(_digest(repr((value.dtype, value.shape)).encode() + value.tobytes()))
        elif isinstance(value, bool | int | float | str | bytes | tuple):
            found.add(_digest(repr(value).encode()))
    return found


def _named_values(function: FunctionType) -> Iterator[Any]:
    """What the names in the code of a function stand for: globals, and attributes of modules."""
    pending = [function.__code__]
    while pending:
        code = pending.pop()
        pending.extend(constant for constant in code.co_consts if isinstance(constant, CodeType))
        values = [function.__globals__.get(name) for name in code.co_names]
        yield from values
        for module in values:
            if isinstance(module, ModuleType):
                yield from (getattr(module, name, None) for name in code.co_names)


def _options_digest(options: dict[str, Any]) -> bytes:
    """The digest of numba's options; those that are sets have no order of their own."""
    ordered = [
        (name, sorted(value) if isinstance(value, set | frozenset) else value)
        for name, value in sorted(options.items())
    ]
    return _digest(repr(ordered).encode())


@lru_cache(maxsize=64)
def _source_digest(path: str) -> bytes:
    """The digest of a source file's content."""
    return _digest(Path(path).read_bytes())


def _digest(content: bytes) -> bytes:
    return sha256(content).digest()


def _reduced(result: Any) -> bytes | None:
    """A compiled function as bytes, as numba's own files have it.

    None where an interruption came while numba was given the object code: it is lost then.
    """
    from numba.core import serialize

    dumps: Any = serialize.dumps
    try:
        return cast(bytes, dumps(result._reduce()))
    except RuntimeError:
        return None


def _rebuilt(target_context: Any, content: bytes) -> Any:
    """A compiled function from its bytes."""
    from numba.core import compiler

    rebuild: Any = compiler.CompileResult._rebuild
    return rebuild(target_context, *pickle.loads(content))


def _read(folder: int, name: str) -> bytes | None:
    """The content of a file of an open folder; None where there is none, or a damaged one."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as file:
            whole = file.read()
    except OSError:
        return None
    content = whole[_DIGEST_SIZE:]
    if whole[:_DIGEST_SIZE] == _digest(content):
        return content
    _remove(folder, name)
    return None


def _write(folder: int, name: str, content: bytes) -> None:
    """Writes a file of an open folder, whole or not at all; without room there is none."""
    part = f"{name}.{secrets.token_hex(8)}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        descriptor = os.open(part, flags, 0o600, dir_fd=folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(_digest(content))
            file.write(content)
        os.replace(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        _remove(folder, part)
        _say_once(
            f"fsmeu cannot keep compiled loops in {cache_folder()} ({error.strerror}): "
            "the next process compiles them again"
        )


def _remove(folder: int, name: str) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=folder)


@contextmanager
def _opened_cache_folder() -> Iterator[int | None]:
    """A context with a descriptor of the cache folder, None where there is none to be trusted."""
    path = cache_folder()
    descriptor = None
    if path is not None:
        with suppress(OSError):  # it was removed or given away since it was found
            descriptor = _open_own_folder(path)
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


@cache
def cache_folder() -> Path | None:
    """The folder that compiled loops are kept in, made where it was missing.

    It is that of the user's cache, else one of this user's among temporary files, which a line on
    standard error says; None where neither can be used.
    """
    reasons: list[str] = []
    for place in (_user_folder, _temporary_folder):
        try:
            path = place()
            _make_private(path)
            os.close(_open_own_folder(path))
        except OSError as error:
            reason = error.strerror or str(error)
            reasons.append(f"{error.filename}: {reason}" if error.filename else reason)
            continue
        if reasons:
            _say_once(f"fsmeu keeps compiled loops in {path} ({'; '.join(reasons)}). {_REMEDY}")
        return path
    _say_once(f"fsmeu compiles loops in every process ({'; '.join(reasons)}). {_REMEDY}")
    return None


_NO_HOME = "this user has no home"
_NO_FOLDER = "it does not exist"
_REMEDY = "Set FSMEU_CACHE to a folder of your own that nobody else can write."


def _user_folder() -> Path:
    """The folder in the user's cache; an OSError without a home. A relative one is ignored."""
    if given := os.environ.get("FSMEU_CACHE"):
        return Path(given).expanduser().absolute() / "loops"
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if base.is_absolute():  # its standard has relative ones ignored
        return base / "fsmeu" / "loops"
    try:
        home = Path.home()
    except RuntimeError:
        raise _refusal(None, _NO_HOME) from None
    if not (home.is_absolute() and home.is_dir()):  # a missing home is not made
        raise _refusal(home, _NO_FOLDER)
    return home / ".cache" / "fsmeu" / "loops"


def _temporary_folder() -> Path:
    """The folder of this user among temporary files; an OSError where there are none."""
    return Path(tempfile.gettempdir()) / f"fsmeu-{os.geteuid()}"


def _refusal(path: Path | None, reason: str) -> OSError:
    """An error that says why a folder is not used."""
    return OSError(errno.EACCES, reason, None if path is None else str(path))


def _make_private(path: Path) -> None:
    """Makes a folder that only this user can read, and those above it that are missing."""
    with suppress(FileExistsError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.mkdir(mode=0o700)


def _open_own_folder(path: Path) -> int:
    """A descriptor of a folder; an OSError unless it is this user's, and nobody else can write."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    status = os.fstat(descriptor)
    reason = ""
    if status.st_uid != os.geteuid():
        reason = "it belongs to another user"
    elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        reason = "others can write in it"
    elif not os.access(".", os.W_OK | os.X_OK, dir_fd=descriptor, effective_ids=True):
        reason = "it cannot be written"
    if reason:
        os.close(descriptor)
        raise _refusal(path, reason)
    return descriptor


@cache
def _announce_compiling() -> None:
    """Has a line printed when this process first compiles loops, as the folder lacks them."""
    from numba.core import event as numba_event

    events: Any = numba_event

    class Line(events.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            if isinstance(event.data["dispatcher"]._cache, LoopCache):
                _say_once("fsmeu compiles loops, once on this machine: up to a minute")

        def on_end(self, event: Any) -> None:
            """Loops are ready."""

    events.register("numba:compile", Line())


@cache
def _say_once(line: str) -> None:
    print(line, file=sys.stderr)
