"""A list of things cut into shares of like sizes, which several processes work on."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

from fsmeu.errors import InputError, sentence
from fsmeu.limits import TASKS_PER_JOB
from fsmeu.parallel.engine import workers

__all__ = ["in_shares"]


def in_shares(
    where: str,
    function: Callable[[Any, list[Any]], Sequence[Any]],
    common: Any,
    items: Sequence[Any],
    sizes: Sequence[int],
    jobs: object,
    scheduler: object,
    tell: Callable[[int], None] = lambda made: None,
) -> list[Any]:
    """What a function gives for each of the items, in their order.

    Items of one size are in the same share as far as possible: they are computed together.

    Args:
        where: who asks, for messages.
        function: called with ``common`` and a share of the items; a function that a module defines.
        common: what all calls need.
        items: what is shared out.
        sizes: how large each is.
        jobs: as for ``workers``.
        scheduler: as for ``workers``.
        tell: called with the number of items done since the last call.

    Raises:
        InputError: something of it cannot be sent to another process.
        WorkerError: a worker ended before its work was done.
    """
    found: list[Any] = [None] * len(items)
    with workers(where, jobs, scheduler) as some:
        shares = _shares(sizes, some.count * TASKS_PER_JOB)
        head = _packed((function, common), where)
        tasks = (_packed([items[row] for row in share], where) for share in shares)
        for share, results in zip(shares, some.in_order(_call, head, tasks), strict=True):
            for row, result in zip(share, results, strict=True):
                found[row] = result
            tell(len(share))
    return found


def _call(head: bytes, task: bytes) -> Sequence[Any]:
    function, common = pickle.loads(head)
    made: Sequence[Any] = function(common, pickle.loads(task))
    return made


def _packed(value: Any, where: str) -> bytes:
    import cloudpickle  # takes classes and functions of a session as well

    try:
        packed: bytes = cloudpickle.dumps(value)
    except Exception as error:  # whatever an object raises that cannot be sent
        must = "losses and models must be such that pickle can send them to other processes"
        raise InputError(sentence(where, must, f"{type(error).__name__}: {error}")) from None
    return packed


def _shares(sizes: Sequence[int], count: int) -> list[list[int]]:
    """Rows in order of their sizes, cut so that the sums of sizes are about equal."""
    rows = sorted(range(len(sizes)), key=sizes.__getitem__)
    most = (sum(sizes) + len(sizes)) / count
    shares: list[list[int]] = []
    held = 0.0
    for row in rows:
        if not shares or held >= most:
            shares.append([])
            held = 0.0
        shares[-1].append(row)
        held += sizes[row] + 1
    return shares
