"""Work shared among processes of this machine or of others, with the results in order.

joblib is the interface: its loky processes serve one machine, a Dask scheduler many. Arguments are
bytes: joblib scatters larger objects to the memory of Dask workers, where they are lost with the
worker, while bytes travel with the task, which another worker then repeats.
"""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from fsmeu.errors import FsmeuError, InputError, check_int, message

MOST_JOBS = 1024  # processes on one machine: each has its own Python, about 150 MB
TASKS_PER_JOB = 4  # tasks for each process that are read ahead, so that none waits
SCHEDULER_SECONDS = 10  # seconds to wait for a scheduler to answer: it is there, or it is not

T = TypeVar("T")
_WATCH = "fsmeu-parent"


class WorkerError(FsmeuError, RuntimeError):
    """A process that computed for this one ended, or lacks what it needs."""


def checked_jobs(where: str, jobs: object) -> int:
    """The number of processes; an InputError unless it is whole, from 1 to ``MOST_JOBS``."""
    number = check_int(where, "jobs", jobs)
    if number > MOST_JOBS:
        must = f"jobs must be at most {MOST_JOBS:,}"
        raise InputError(message(where, must, jobs, "Use a scheduler for more than one machine"))
    return number


@dataclass(frozen=True)
class Workers:
    """Processes that compute so many tasks at a time by joblib's ``Parallel``, or this one alone.

    ``ends`` is raised when they are gone; those of this machine compute for a ``parent`` process.
    """

    count: int
    where: str = ""
    parallel: Any = None
    ends: tuple[type[Exception], ...] = ()
    parent: int | None = None

    def in_order(
        self, function: Callable[[bytes, bytes], T], shared: bytes, tasks: Iterable[bytes]
    ) -> Iterator[T]:
        """What a function of a module gives for ``shared`` and each task, in the order of tasks.

        At most ``TASKS_PER_JOB`` tasks for each worker are held at a time. A WorkerError where a
        worker, or the scheduler, ended before the work was done.
        """
        if self.parallel is None:
            yield from map(partial(function, shared), tasks)
            return
        from joblib import delayed

        stream, call = iter(tasks), delayed(_called)
        while wave := list(islice(stream, TASKS_PER_JOB * self.count)):
            try:
                results = self.parallel(call(self.parent, function, shared, task) for task in wave)
                with closing(results):
                    yield from results
            except self.ends as error:
                must = "workers must have fsmeu and enough memory, and stay until the work is done"
                remedy = "Use fewer jobs; --resume goes on where a corpus stopped"
                got = f"{type(error).__name__}: {error}"
                raise WorkerError(message(self.where, must, got, remedy)) from error


def _called(
    parent: int | None, function: Callable[[bytes, bytes], T], shared: bytes, task: bytes
) -> T:
    """A call in a worker; one of this machine does not outlive the process it works for."""

    def end_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    if parent is not None and not any(one.name == _WATCH for one in threading.enumerate()):
        threading.Thread(target=end_with_parent, name=_WATCH, daemon=True).start()
    return function(shared, task)


@contextmanager
def workers(where: str, jobs: object = 1, scheduler: object = None) -> Iterator[Workers]:
    """Workers for a while: so many processes of this machine, or all workers of a scheduler.

    The scheduler is one of Dask by its address, as in "tcp://host:8786", or a client of
    ``distributed``; an InputError where there is none. ``where`` stands in messages.
    """
    count = checked_jobs(where, jobs)
    with ExitStack() as stack:
        if scheduler is not None:
            some = _dask(where, scheduler, stack)
        elif count > 1:
            from joblib import Parallel

            made = Parallel(n_jobs=count, backend="loky", return_as="generator", batch_size=1)
            some = Workers(count, where, made, (BrokenProcessPool,), os.getpid())
        else:
            yield Workers(1)
            return
        stack.enter_context(some.parallel)
        yield some


def _dask(where: str, scheduler: object, stack: ExitStack) -> Workers:
    """The workers of a scheduler; a client that is made for it is closed with the stack."""
    try:
        from distributed import Client, KilledWorker
    except ImportError:
        remedy = "Install it: pip install 'fsmeu[dask]'"
        raise InputError(message(where, "a scheduler needs Dask", "none", remedy)) from None
    from joblib import Parallel, parallel_config

    client: Any = scheduler
    if not isinstance(scheduler, Client):
        must = "scheduler must be the address of a Dask scheduler, as in tcp://host:8786"
        if not isinstance(scheduler, str) or not scheduler.strip():
            raise InputError(message(where, must, scheduler))
        try:
            connect: Any = Client  # its constructor has no types
            client = connect(scheduler, timeout=SCHEDULER_SECONDS, set_as_default=False)
        except Exception as error:  # of many kinds, from names that are none to nobody there
            remedy = f"({type(error).__name__}: {error})"
            raise InputError(message(where, must, scheduler, remedy)) from None
        stack.enter_context(client)
    cores = sum(client.nthreads().values())
    if not cores:
        raise InputError(message(where, "the scheduler must have workers", "none"))
    with parallel_config(backend="dask", client=client):
        made = Parallel(n_jobs=-1, return_as="generator", batch_size=1)
    ends = (KilledWorker, ImportError, OSError, CancelledError)  # the latter of its scheduler
    return Workers(cores, where, made, ends)


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
    """What a function of a module gives for each of the items, in their order.

    It is called with ``common`` and shares of the items, ``tell`` with the number of items done
    since the last call. Items of one size are in the same share as far as possible: they are
    computed together. An InputError where something cannot be sent to another process.
    """
    answers: list[Any] = [None] * len(items)
    with workers(where, jobs, scheduler) as some:
        shares = _shares(sizes, some.count * TASKS_PER_JOB)
        head = _packed((function, common), where)
        tasks = (_packed([items[row] for row in share], where) for share in shares)
        for share, results in zip(shares, some.in_order(_call, head, tasks), strict=True):
            for row, result in zip(share, results, strict=True):
                answers[row] = result
            tell(len(share))
    return answers


def _call(head: bytes, task: bytes) -> Any:
    function, common = pickle.loads(head)
    return function(common, pickle.loads(task))


def _packed(value: Any, where: str) -> bytes:
    """The value as bytes, classes and functions of a session as well; an InputError if not."""
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(value))
    except Exception as error:  # whatever an object raises that cannot be sent
        must = "losses and models must be such that pickle can send them to other processes"
        raise InputError(message(where, must, f"{type(error).__name__}: {error}")) from None


def _shares(sizes: Sequence[int], count: int) -> list[list[int]]:
    """Rows in order of their sizes, cut so that the sums of sizes are about equal."""
    order = np.argsort(np.asarray(sizes, np.int64), kind="stable")
    ends = np.cumsum(np.asarray(sizes, np.int64)[order] + 1)
    share = (ends - 1) * count // max(1, sum(sizes) + len(sizes))
    cut = np.split(order, np.flatnonzero(np.diff(share)) + 1)
    return [rows.tolist() for rows in cut if len(rows)]
