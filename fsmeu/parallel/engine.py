"""A function called for many arguments by several processes, with the results in order.

joblib is the interface: its loky processes serve one machine, a Dask scheduler many. Arguments are
bytes: joblib scatters larger objects to the memory of Dask workers, where they are lost with the
worker, while bytes travel with the task, which another worker then repeats.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from fsmeu.errors import FsmeuError, InputError, sentence, whole
from fsmeu.limits import MOST_JOBS, SCHEDULER_SECONDS, TASKS_PER_JOB

__all__ = ["WorkerError", "Workers", "checked_jobs", "workers"]

T = TypeVar("T")


class WorkerError(FsmeuError, RuntimeError):
    """A process that computed for this one ended, or lacks what it needs."""


def checked_jobs(where: str, jobs: object) -> int:
    """The number of processes, checked.

    Raises:
        InputError: it is not a whole number from 1 to ``MOST_JOBS``.
    """
    number = whole(where, "jobs", jobs)
    if number > MOST_JOBS:
        must = f"jobs must be at most {MOST_JOBS:,}"
        raise InputError(sentence(where, must, jobs, "Use a scheduler for more than one machine"))
    return number


class Workers:
    """Processes that compute, or this one alone.

    Attributes:
        count: how many tasks they work on at a time.
    """

    def __init__(
        self,
        count: int,
        parallel: Any = None,
        where: str = "",
        ends: tuple[type[Exception], ...] = (),
        local: bool = True,
    ) -> None:
        self.count = count
        self._parallel = parallel
        self._where = where
        self._ends = ends  # what joblib raises when workers, or their scheduler, are gone
        self._local = local

    def in_order(
        self, function: Callable[[bytes, bytes], T], shared: bytes, tasks: Iterable[bytes]
    ) -> Iterator[T]:
        """What the function gives for each task, in the order of the tasks.

        At most ``TASKS_PER_JOB`` tasks for each worker are taken from ``tasks`` and held at a time.

        Args:
            function: a function that a module defines.
            shared: its first argument.
            tasks: its second arguments, one for each call.

        Raises:
            WorkerError: a worker, or the scheduler, ended before the work was done.
        """
        if self._parallel is None:
            yield from map(partial(function, shared), tasks)
            return
        from joblib import delayed

        stream = iter(tasks)
        call = delayed(_watched if self._local else _called)
        parent = os.getpid()
        while wave := list(islice(stream, TASKS_PER_JOB * self.count)):
            try:
                results = self._parallel(call(parent, function, shared, task) for task in wave)
                with closing(results):
                    yield from results
            except self._ends as error:
                must = "workers must have fsmeu and enough memory, and stay until the work is done"
                remedy = "Use fewer jobs; --resume goes on where a corpus stopped"
                got = f"{type(error).__name__}: {error}"
                raise WorkerError(sentence(self._where, must, got, remedy)) from error


def _called(parent: int, function: Callable[[bytes, bytes], T], shared: bytes, task: bytes) -> T:
    return function(shared, task)


def _watched(parent: int, function: Callable[[bytes, bytes], T], shared: bytes, task: bytes) -> T:
    """The same in a process of this machine, which does not outlive the one it works for."""
    if not any(thread.name == _WATCH for thread in threading.enumerate()):
        threading.Thread(target=_end_with, args=(parent,), name=_WATCH, daemon=True).start()
    return function(shared, task)


_WATCH = "fsmeu-parent"


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


@contextmanager
def workers(where: str, jobs: object = 1, scheduler: object = None) -> Iterator[Workers]:
    """Workers for a while.

    Args:
        where: who asks, for messages.
        jobs: how many processes on this machine.
        scheduler: the address of a Dask scheduler, as in "tcp://host:8786", or a client of
            ``distributed``; its workers are then used, all of them.

    Raises:
        InputError: there is no scheduler at the address.
        WorkerError: a worker, or the scheduler, ended before the work was done.
    """
    count = checked_jobs(where, jobs)
    if scheduler is not None:
        with _connected(where, scheduler) as client:
            some = _dask(where, client)
            with some._parallel:
                yield some
    elif count == 1:
        yield Workers(1)
    else:
        some = _loky(where, count)
        with some._parallel:
            yield some


def _loky(where: str, count: int) -> Workers:
    from concurrent.futures.process import BrokenProcessPool

    from joblib import Parallel

    made = Parallel(n_jobs=count, backend="loky", return_as="generator", batch_size=1)
    return Workers(count, made, where, (BrokenProcessPool,))


def _dask(where: str, client: Any) -> Workers:
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from joblib import Parallel, parallel_config

    cores = sum(client.nthreads().values())
    if not cores:
        raise InputError(sentence(where, "the scheduler must have workers", "none"))
    with parallel_config(backend="dask", client=client):
        made = Parallel(n_jobs=-1, return_as="generator", batch_size=1)
    ends = (KilledWorker, ImportError, OSError, CancelledError)  # the latter of its scheduler
    return Workers(cores, made, where, ends, local=False)


@contextmanager
def _connected(where: str, scheduler: object) -> Iterator[Any]:
    """A client of the scheduler."""
    try:
        from distributed import Client
    except ImportError:
        must = "a scheduler needs Dask"
        remedy = "Install it: pip install 'fsmeu[dask]'"
        raise InputError(sentence(where, must, "none", remedy)) from None
    if isinstance(scheduler, Client):
        yield scheduler
        return
    must = "scheduler must be the address of a Dask scheduler, as in tcp://host:8786"
    if not isinstance(scheduler, str) or not scheduler.strip():
        raise InputError(sentence(where, must, scheduler))
    try:
        connect: Any = Client  # its constructor has no types
        client = connect(scheduler, timeout=SCHEDULER_SECONDS, set_as_default=False)
    except Exception as error:  # of many kinds, from names that are none to nobody there
        remedy = f"({type(error).__name__}: {error})"
        raise InputError(sentence(where, must, scheduler, remedy)) from None
    with client:
        yield client
