"""Linear algebra held to one thread: on small matrices several cost more than they bring."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController

__all__ = ["one_thread"]


@contextmanager
def one_thread() -> Iterator[None]:
    """Holds the libraries behind numpy to one thread, for a block or, as decorator, a function."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
