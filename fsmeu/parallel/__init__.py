"""Work shared among processes of this machine or of others, with the results in order.

joblib's loky processes serve one machine, a Dask scheduler many. Arguments are bytes, which travel
with a task: joblib scatters larger objects to Dask workers, with which they are lost.
"""

from __future__ import annotations

import gc
import os
import pickle
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.errors import Argument, FsmeuError, InputError, check_int, wording

TASKS_PER_JOB = 4  # tasks for each process or thread, so that none waits for long


class WorkerError(FsmeuError, RuntimeError):
    """A process that computed for this one ended, or lacks what it needs."""


def checked_jobs(where: str, jobs: object) -> int:
    """The number of processes; an InputError unless it is whole, from 1 to ``limits.MOST_JOBS``."""
    if (number := check_int(where, "jobs", jobs)) > limits.MOST_JOBS:
        must = wording(Argument("jobs"), f" must be at most {limits.MOST_JOBS:,}")
        remedy = "Use a scheduler for more than one machine"
        raise InputError(where, must, given=jobs, remedy=remedy)
    return number


@contextmanager
def threads(jobs: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """``map``, by so many threads of this process: compiled loops run side by side."""
    if jobs == 1:
        yield map
        return
    with ThreadPoolExecutor(jobs) as pool:
        yield pool.map


class Workers(NamedTuple):
    """Processes that compute so many tasks at a time, or this one alone.

    ``in_order(function, shared, tasks)`` gives the results of a function of a module for ``shared``
    and each task, in their order, few in memory at a time; a WorkerError where a worker ended.
    """

    jobs: int
    in_order: Callable[[Callable[[Any, Any], Any], Any, Iterable[Any]], Iterator[Any]]


@contextmanager
def workers(where: str, jobs: int = 1, scheduler: Any = None) -> Iterator[Workers]:
    """Workers for a while: so many processes of this machine, or all workers of a scheduler.

    The scheduler is a client of ``distributed`` or an address; an InputError where there is none.
    """
    if scheduler is None and jobs == 1:
        yield Workers(1, lambda function, shared, tasks: map(partial(function, shared), tasks))
        return
    from cloudpickle import dumps
    from joblib import Parallel, parallel_config

    def in_order(function: Any, shared: Any, tasks: Iterable[Any]) -> Iterator[Any]:
        stream = iter(tasks)
        while wave := list(islice(stream, backend.cores * TASKS_PER_JOB)):
            try:  # classes and functions of a session can be sent as well
                calls = [(backend.parent, dumps(partial(function, shared, task))) for task in wave]
            except Exception as error:  # whatever an object raises that cannot be sent
                must = "losses and models must be such that pickle can send them to other processes"
                raise InputError(where, must, given=error) from None
            try:
                yield from parallel((_called, call, {}) for call in calls)
            except backend.lost as error:
                must = "a worker died, lacks memory, or lacks fsmeu"
                remedy = "Use fewer jobs; a corpus goes on where its results in a file end"
                raise WorkerError(where, must, given=error, remedy=remedy) from error

    with ExitStack() as stack:
        backend = _Backend(jobs, os.getpid(), (BrokenExecutor,), {"n_jobs": jobs})
        if scheduler is not None:
            backend = _dask(where, scheduler, stack)
        with parallel_config(**{"backend": "loky", **backend.options}):
            parallel = stack.enter_context(Parallel(return_as="generator", batch_size=1))
        yield Workers(backend.cores, in_order)


class _Backend(NamedTuple):
    """Where joblib runs tasks."""

    cores: int  # tasks that run at a time
    parent: int | None  # the process with which workers end; None for those of a scheduler
    lost: tuple[type[BaseException], ...]  # what is raised where a worker ended
    options: dict[str, Any]  # of ``joblib.parallel_config``


def _dask(where: str, scheduler: Any, stack: ExitStack) -> _Backend:
    """The workers of a Dask scheduler; the stack closes a client that is opened here."""
    try:
        from distributed import Client, KilledWorker

        if not isinstance(scheduler, Client):
            connect: Any = partial(Client, timeout=limits.SCHEDULER_SECONDS, set_as_default=False)
            scheduler = stack.enter_context(connect(scheduler))
    except ImportError as error:
        remedy = "Install it: pip install 'fsmeu[dask]'"
        raise InputError(where, "a scheduler needs Dask", given=error, remedy=remedy) from None
    except Exception as error:  # of many kinds, from names that are none to nobody there
        address = " must be the address of a Dask scheduler, as in tcp://host:8786"
        must = wording(Argument("scheduler"), f"{address} ({error!r})")
        fault = InputError(where, must, given=scheduler)
    else:
        cores = sum(scheduler.nthreads().values())
        lost = (KilledWorker, ImportError, OSError, CancelledError)
        if not cores:
            raise InputError(where, "the scheduler must have workers", given="none")
        return _Backend(cores, None, lost, {"backend": "dask", "client": scheduler})
    gc.collect()  # the client is in a cycle: collected while another starts, Dask waits for ever
    raise fault


def _called(parent: int | None, packed: bytes) -> Any:
    """The result of a call in a worker; one of this machine ends soon after its parent."""
    if parent is not None and all(thread.name != "watch" for thread in threading.enumerate()):
        threading.Thread(target=_watch, args=(parent,), name="watch", daemon=True).start()
    return pickle.loads(packed)()


def _watch(parent: int) -> None:
    """Ends this process when its parent has ended."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def in_shares(
    pool: Workers,
    function: Callable[[Any, list[Any]], Sequence[Any]],
    common: Any,
    items: Sequence[Any],
    sizes: Sequence[int],
    callback: Callable[[int], None] = lambda count: None,
) -> list[Any]:
    """The results of a function of a module for the items, in their order.

    Workers call it with ``common`` and a share of the items; shares are of about equal sums of
    ``sizes``. ``callback`` is called with the number of items that are done.
    """
    answers = [None] * len(items)
    lengths = np.asarray(sizes, np.int64)
    order = np.argsort(lengths, kind="stable")
    total = int(lengths.sum()) + len(items)
    number = (np.cumsum(lengths[order] + 1) - 1) * pool.jobs * TASKS_PER_JOB // max(1, total)
    shares = np.split(order, np.flatnonzero(np.diff(number)) + 1)
    tasks = ([items[row] for row in share] for share in shares)
    done = 0
    for share, results in zip(shares, pool.in_order(function, common, tasks), strict=True):
        for row, result in zip(share, results, strict=True):
            answers[row] = result
        done += len(share)
        callback(done)
    return answers
