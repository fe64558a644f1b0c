"""Kernels as plain Python, up to a size of queries, or compiled, for all of them."""

from fsmeu import limits

MOST_PLAIN = 2_000_000
"""Sums and products, some seconds: what takes more is compiled whatever was asked for."""


def kernels_that_run(how, most=MOST_PLAIN):
    """A context in which queries run by plain kernels, up to a size, or by compiled ones."""
    most = -1 if how == "compiled" else most
    return limits.lowered(SMALL_WORK=most, ALWAYS_PLAIN=most)
