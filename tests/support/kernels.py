"""Kernels as plain Python, up to a size of queries, or compiled, for all of them."""

from contextlib import ExitStack, contextmanager
from unittest import mock

from fsmeu.trellis import engine, kernels, layer_step, walk

MOST_PLAIN = 2_000_000
"""Sums and products, some seconds: what takes more is compiled whatever was asked for."""


@contextmanager
def kernels_that_run(how):
    """A context in which queries run by plain kernels, up to MOST_PLAIN, or by compiled ones."""
    most = 0 if how == "compiled" else MOST_PLAIN

    def chosen(function, work, rows=None):
        return (kernels.plain if work <= most else kernels.compiled)(function, rows)

    with ExitStack() as patches:
        for module in (engine, layer_step, walk):
            patches.enter_context(mock.patch.object(module, "kernel", chosen))
        yield
