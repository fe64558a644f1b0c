"""Caches as fields of the objects whose results they hold, and one way to forget them.

What follows from the fields of an object is derived when it is first asked for and kept on it: as a
``cached_property``, or, where it also depends on a length or on labels, in its ``derived``. So it
goes when the object goes, ``forget`` drops it at any time, and copies and pickles do not have it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")
_MISSING: Any = object()
MOST_RESULTS = 64  # results that a cache keeps unless it says otherwise


class Cache:
    """Results by key, each computed once as long as it is kept; those used last are kept.

    Threads may share it. Two that ask for the same key at once may both compute its result.
    """

    def __init__(self, most: int = MOST_RESULTS) -> None:
        self.most = most
        self._results: dict[Hashable, Any] = {}  # those used last come last
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._results)

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The result of a key, computed where it is not kept."""
        if 2 * len(self._results) < self.most:  # in which order they were used does not matter yet
            result = self._results.get(key, _MISSING)
            if result is not _MISSING:
                return result  # type: ignore[no-any-return]
        with self._lock:
            if key in self._results:
                result = self._results.pop(key)
                self._results[key] = result
                return result  # type: ignore[no-any-return]
        result = compute()
        self.put(key, result)
        return result

    def put(self, key: Hashable, result: object) -> None:
        """Keeps a result, in the place of another of its key."""
        with self._lock:
            self._results.pop(key, None)
            self._results[key] = result
            while len(self._results) > self.most:
                del self._results[next(iter(self._results))]

    def drop(self, key: Hashable) -> None:
        """Forgets the result of a key."""
        with self._lock:
            self._results.pop(key, None)


class Derives:
    """An object of whose fields other things are derived and kept."""

    @cached_property
    def derived(self) -> Cache:
        """Results that depend on more than the object, by what they depend on."""
        return Cache()

    def forget(self) -> None:
        """Drops all that was derived; it is derived again when it is asked for."""
        for name in _kept(self):
            del self.__dict__[name]

    def __getstate__(self) -> dict[str, Any]:
        """The fields; another process derives the rest again."""
        kept = _kept(self)
        return {name: value for name, value in self.__dict__.items() if name not in kept}


def _kept(owner: object) -> list[str]:
    """The names of the cached properties that an object has."""
    kind = type(owner)
    return [name for name in vars(owner) if isinstance(getattr(kind, name, None), cached_property)]
