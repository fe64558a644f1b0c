"""The same answers from several processes: of this machine, and of a Dask cluster."""

import gc
import operator
import os
import signal
import sys
import time

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import InputError
from fsmeu.parallel import WorkerError, workers
from tests.label_models import plain_model
from tests.support.python_losses import Mistakes

F1 = fsmeu.load("fscore")


def some_models(count, seed=5):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 9, count).tolist()
    return [plain_model(rng, "markov", (0, 1), n, order=1).build() for n in lengths]


def stop(shared, task):
    """Ends the process that calls it."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_two_processes_expect():
    """A loss written in Python travels, with vectors that are answered in their order."""
    python = fsmeu.function_loss(Mistakes(), labels=[0, 1])
    vectors = [[0.75, k / 16] if k % 3 else [k / 16] for k in range(16)]
    zs = [[0, 1][-len(p) :] for p in vectors]  # the last is 1, wrong with probability 1 - p
    wanted = [1 - p[-1] + sum(p[:-1]) for p in vectors]
    found = fsmeu.expect_many(python, zs, vectors, jobs=2)
    np.testing.assert_allclose(found.values, wanted, rtol=1e-12)
    assert found.kept.tolist() == [1.0] * 16


@pytest.mark.nightly
def test_a_process_that_ends_is_told():
    with (
        pytest.raises(WorkerError, match="a worker died, lacks memory, or lacks fsmeu"),
        workers("t", 2) as some,
    ):
        list(some.in_order(stop, b"", [b"", b""]))


# -- Dask ------------------------------------------------------------------------------------------


@pytest.fixture
def distributed():
    return pytest.importorskip("distributed", reason="the extra 'dask' is not installed")


@pytest.mark.nightly
@pytest.mark.parametrize("address", ["nowhere", "tcp://127.0.0.1:1", "", 5, b"x"])
def test_schedulers_that_are_none(distributed, address, lowered):
    lowered(SCHEDULER_SECONDS=0.3)
    with pytest.raises(InputError, match="address of a Dask scheduler"):
        fsmeu.decode_many(F1, [[0.5]], scheduler=address)
    # Dask waits for ever where a client that failed is collected while another starts.
    assert not [one for one in gc.get_objects() if type(one) is distributed.Client]


@pytest.mark.nightly
def test_a_cluster_that_loses_a_worker(distributed):
    """One of two workers is killed while most is to do; the other does all that is asked."""
    models = some_models(60)
    alone = fsmeu.decode_many(F1, models)
    told, killed = [], []

    class Slow(Mistakes):
        def start(self):
            time.sleep(0.005)
            return 0

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        distributed.LocalCluster(dashboard_address=":0", **options) as cluster,
        distributed.Client(cluster) as client,
    ):

        def kill_one(done, note):
            told.append(done)
            if not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        address = cluster.scheduler_address
        python = fsmeu.function_loss(Slow(), labels=[0, 1])
        vectors = [[0.75, 0.125 * (k % 9)] for k in range(16)]
        slow = fsmeu.decode_many(python, vectors, scheduler=address, progress=kill_one)
        assert len(killed) == 1
        assert told[0] < told[-1] == 1
        wanted = [0.25 + min(p, 1 - p) for _, p in vectors]
        assert [d.value for d in slow] == pytest.approx(wanted, rel=1e-12)
        values = fsmeu.expect_many(F1, [d.labels for d in alone], models, scheduler=client).values
        np.testing.assert_allclose(values, [d.value for d in alone], rtol=1e-12)


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"fsmeu\[dask\]"):
        fsmeu.decode_many(F1, [[0.5]], scheduler="tcp://127.0.0.1:8786")


@pytest.mark.nightly
def test_a_scheduler_that_goes_away(distributed, lowered):
    """It ends when the first results are there, and most is still to be sent."""
    lowered(SCHEDULER_SECONDS=2)
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    with (
        distributed.LocalCluster(protocol="tcp://", dashboard_address=None, **options) as cluster,
        workers("corpus", scheduler=cluster.scheduler_address) as some,
    ):
        results = some.in_order(operator.add, b"", [b"a"] * 100)
        assert next(results) == b"a"
        cluster.close()
        lost = r"a worker died, lacks memory, or lacks fsmeu\. Got .*[Cc]onnect"
        with pytest.raises(WorkerError, match=lost):
            list(results)
