"""Kernels as plain Python or compiled by numba: one source, the same operations, the same bits.

A kernel is a function of loops over arrays; it calls other functions of this package that are
marked by ``jit_helper`` or ``jit_inline``. As it is written, it runs as plain Python. ``kernel``
gives it compiled, with all that it calls. Loading compiled loops takes about a second, so that
small queries run as Python, until they have taken about as long. Compiling all of them takes about
a minute, once for each version on each machine, and is announced (``fsmeu.jit``).

Kernels over the rows of a trellis are written for rows by count (``count_rows.py``). For another
type of row, ``kernel`` replaces each function of that module by the one of the same name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import RLock
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numpy as np

from fsmeu import jit, limits

F = TypeVar("F", bound=Callable[..., Any])


_LOADING = RLock()
_COMPILERS: dict[Any, Callable[..., Any]] = {}  # by marked function
_COMPILED: dict[Any, Any] = {}  # compiled functions by marked function and module of rows
_PLAIN_WORK = [0]  # products and sums that Python was taken for


def jit_helper(function: F) -> F:
    """The function itself, marked as one that kernels call; compiled where these are."""
    _COMPILERS[function] = partial(jit.jit_helper, no_cpython_wrapper=True, no_cfunc_wrapper=True)
    return function


def jit_small(function: F) -> F:
    """The function itself, marked as a short one that kernels call: compiled, a part of these.

    Records of arrays are many arguments, and a call would cost more than such a function does.
    """
    _COMPILERS[function] = partial(jit.jit_helper, forceinline=True)
    return function


def jit_inline(function: F) -> F:
    """The function itself, marked as one that a kernel calls in one place.

    Compiled, it becomes a part of the kernel. Every level of calls is optimised by itself, with all
    that it calls: this saves one.
    """
    _COMPILERS[function] = partial(jit.jit_helper, inline="always")
    return function


def jit_entry(function: F) -> F:
    """The function itself, marked as one that is called from Python; compiled, it is kept on disk.

    Callers hold the arrays that kernels are given, and kernels make none: numba is told not to
    count references (its run time, NRT), which took a third of a decision.
    """
    _COMPILERS[function] = jit.jit_entry
    return function


def unsigned(number: int) -> Any:
    """The number; where kernels are compiled, unsigned: such places need no sign check."""
    return number


def kernel(function: F, work: int, rows: ModuleType | None = None) -> F:
    """The function for a query of about so many sums and products: as it is written, or compiled.

    Args:
        function: one that is marked by ``jit_entry``.
        work: how many sums and products there are.
        rows: the module of rows that it works on; without it, rows by count.
    """
    if work > limits.ALWAYS_PLAIN and (
        _COMPILED
        or work > limits.SMALL_WORK
        or _PLAIN_WORK[0] > limits.PLAIN_QUERIES * limits.SMALL_WORK
    ):
        return compiled(function, rows)
    _PLAIN_WORK[0] += work
    return plain(function, rows)


def plain(function: F, rows: ModuleType | None = None) -> F:
    """The function as it is written, for a type of rows."""
    return function if rows is None else cast(F, _with_rows(function, rows, plain))


def compiled(function: F, rows: ModuleType | None = None) -> F:
    """The function compiled, for a type of rows, with all that it calls."""
    key = (function, rows)
    with _LOADING:  # once, whichever thread is the first
        if key not in _COMPILED:
            written = _with_rows(function, rows, compiled)
            _COMPILED[key] = _COMPILERS[function](written, _nrt=False)
        return cast(F, _COMPILED[key])


def _with_rows(
    function: Any, rows: ModuleType | None, made: Callable[[Any, ModuleType | None], Any]
) -> FunctionType:
    """A copy of the function that calls the functions of a type of rows, each ``made`` of them.

    It has a name of its own for each type of rows. Compiled functions are linked by name and a
    number that counts those of a process: loops that several processes compiled would share
    functions for rows of different types.
    """
    names = dict(function.__globals__)
    for name in function.__code__.co_names:
        called = names.get(name)
        if called is unsigned and made is compiled:
            names[name] = np.uint64
        elif isinstance(called, FunctionType) and called in _COMPILERS:
            names[name] = made(_of_rows(called, rows), rows)
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    copy.__module__ = function.__module__
    of_rows = "" if rows is None else f".{rows.__name__.rpartition('.')[2]}"
    copy.__qualname__ = function.__qualname__ + of_rows
    copy.__doc__ = function.__doc__
    return copy


def _of_rows(function: FunctionType, rows: ModuleType | None) -> Any:
    """The function of a module of rows that has the name of one of ``count_rows.py``."""
    of_counts = rows is not None and function.__module__.endswith(".count_rows")
    return getattr(rows, function.__name__) if of_counts else function
