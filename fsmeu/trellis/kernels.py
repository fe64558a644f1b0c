"""Kernels as plain Python or compiled by numba: one source, the same operations, the same bits.

A kernel is a function of loops over arrays; it calls other functions of this package that are
marked by ``jit_helper`` or ``jit_inline``. As it is written, it runs as plain Python. ``kernel``
gives it compiled, with all that it calls. Loading compiled loops takes about a second, so that
small queries run as Python, until they have taken about as long. Compiling all of them takes about
a minute, once for each version on each machine, and is announced (``fsmeu.jit``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import RLock
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from fsmeu import jit, limits

F = TypeVar("F", bound=Callable[..., Any])


_LOADING = RLock()
_COMPILERS: dict[Any, Callable[..., Any]] = {}  # by marked function
_COMPILED: dict[Any, Any] = {}  # compiled functions by marked function
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


def kernel(function: F, work: int) -> F:
    """The function for a query of about so many sums and products: as it is written, or compiled.

    Args:
        function: one that is marked by ``jit_entry``.
        work: how many sums and products there are.
    """
    if work > limits.ALWAYS_PLAIN and (
        _COMPILED
        or work > limits.SMALL_WORK
        or _PLAIN_WORK[0] > limits.PLAIN_QUERIES * limits.SMALL_WORK
    ):
        return compiled(function)
    _PLAIN_WORK[0] += work
    return function


def compiled(function: F) -> F:
    """The function compiled, with all that it calls."""
    with _LOADING:  # once, whichever thread is the first
        if function not in _COMPILED:
            _COMPILED[function] = _COMPILERS[function](_with_compiled(function), _nrt=False)
        return cast(F, _COMPILED[function])


def _with_compiled(function: Any) -> FunctionType:
    """A copy of the function that calls compiled functions."""
    names = dict(function.__globals__)
    for name in function.__code__.co_names:
        called = names.get(name)
        if called is unsigned:
            names[name] = np.uint64
        elif isinstance(called, FunctionType) and called in _COMPILERS:
            names[name] = compiled(called)
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__qualname__
    copy.__doc__ = function.__doc__
    return copy
