"""Kernels as plain Python, up to a size of queries, or compiled, for all of them."""

from contextlib import contextmanager
from unittest import mock

from fsmeu.trellis import compiled, engine, walk

MOST_PLAIN = 2_000_000
"""Sums and products, some seconds: what takes more is compiled whatever was asked for."""


@contextmanager
def kernels_that_run(how):
    """A context in which queries run by plain kernels, up to MOST_PLAIN, or by compiled ones."""
    most = 0 if how == "compiled" else MOST_PLAIN

    def chosen(name, work, rows="count_kernels"):
        return (compiled.load_plain if work <= most else compiled.load_compiled)(name, rows)

    with mock.patch.object(engine, "kernels", chosen), mock.patch.object(walk, "kernels", chosen):
        yield
