"""Kernels as plain Python, up to a size of queries, or compiled, for all of them."""

from contextlib import ExitStack, contextmanager
from unittest import mock

from fsmeu.decoding import hulls, prices
from fsmeu.trellis import engine, kernels, layer_step, walk

ASKING = (engine, layer_step, walk, hulls, prices)
"""The modules that choose how a kernel runs."""

MOST_PLAIN = 2_000_000
"""Sums and products, some seconds: what takes more is compiled whatever was asked for."""


@contextmanager
def kernels_that_run(how):
    """A context in which queries run by plain kernels, up to MOST_PLAIN, or by compiled ones."""
    most = 0 if how == "compiled" else MOST_PLAIN

    def chosen(function, work):
        return function if work <= most else kernels.compiled(function)

    with ExitStack() as patches:
        for module in ASKING:
            patches.enter_context(mock.patch.object(module, "kernel", chosen))
        yield
