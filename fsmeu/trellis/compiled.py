"""Kernels as plain Python or compiled by numba: one source, the same operations, the same bits.

Loading compiled loops takes about a second, so that small queries run as Python. Compiling all of
them takes about a minute, once for each version on each machine, and is announced (``fsmeu.jit``).
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from fsmeu.jit import jit_entry, jit_helper

F = TypeVar("F", bound=Callable[..., Any])

_LOADING = RLock()

_COMPILING: ContextVar[bool] = ContextVar("compiling", default=False)

_RING: ContextVar[str] = ContextVar("ring", default="count_kernels")

_FOLDER = Path(__file__).parent

SMALL_WORK = 20_000
"""Products and sums of a query up to which Python is taken: about what loading the loops costs."""


def kernels(name: str, work: int, rows: str = "count_kernels") -> ModuleType:
    """A module of kernels of this package, for a query of about so many sums and products.

    Args:
        name: the module.
        work: how many sums and products there are.
        rows: the module of rows that it works on, and their length, after a colon, where it is the
            same for all.
    """
    with _LOADING:  # once, whichever thread is the first
        small = work <= SMALL_WORK and not load_compiled.cache_info().currsize
        return load_plain(name, rows) if small else load_compiled(name, rows)


def part(name: str) -> ModuleType:
    """A module of kernels for other kernels to call; compiled where these are."""
    return load_compiled(name, _RING.get()) if _COMPILING.get() else load_plain(name, _RING.get())


def ring() -> str:
    """The module of the rows that kernels are loaded for."""
    return _RING.get().partition(":")[0]


def row_size() -> int:
    """The length of the rows that kernels are loaded for, where it is the same for all."""
    return int(_RING.get().partition(":")[2])


@cache
def load_plain(name: str, rows: str) -> ModuleType:
    """A module of kernels as it is written."""
    return _loaded(f"{__package__}._plain_{name}_{rows}", name, rows)


def _loaded(alias: str, name: str, rows: str) -> ModuleType:
    """A module once more, under another name."""
    spec = importlib.util.spec_from_file_location(alias, _FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[alias] = module  # where numba looks for what it finds in its cache
    token = _RING.set(rows)
    try:
        spec.loader.exec_module(module)
    finally:
        _RING.reset(token)
    return module


def unsigned_of() -> Callable[[int], Any]:
    """What makes a number unsigned where kernels are compiled: such places need no sign check."""
    return np.uint64 if _COMPILING.get() else int


def inner(function: F) -> F:
    """A function that kernels call; compiled where kernels are."""
    return _jit(function, jit_helper, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def within(function: F) -> F:
    """A function that one kernel calls in one place; where kernels are compiled, a part of it.

    Every level of calls is optimised by itself, with all that it calls: this saves one.
    """
    return _jit(function, jit_helper, inline="always")


def entry(function: F) -> F:
    """A function that is called from Python; compiled where kernels are, and kept on disk."""
    return _jit(function, jit_entry)


def _jit(function: F, compiler: Callable[..., Any], **options: Any) -> F:
    """The function itself, or compiled.

    Callers hold the arrays that kernels are given. Where a module's kernels make none themselves,
    numba is told not to count references (its run time, NRT), which took a third of a decision;
    where they do, it says MAKES_ARRAYS.
    """
    if not _COMPILING.get():
        return function
    makes_arrays = function.__globals__.get("MAKES_ARRAYS", False)
    compiled: F = compiler(function, _nrt=makes_arrays, **options)
    return compiled


@cache
def load_compiled(name: str, rows: str = "count_kernels") -> ModuleType:
    """A module of kernels once more, its functions compiled, under a name for the kind of rows."""
    with _LOADING:
        token = _COMPILING.set(True)
        try:
            return _loaded(f"{__package__}._compiled_{name}_{rows.replace(':', '_')}", name, rows)
        finally:
            _COMPILING.reset(token)
