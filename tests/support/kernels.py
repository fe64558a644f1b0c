"""Kernels as plain Python, or compiled, whatever the size of a query."""

from contextlib import contextmanager

from fsmeu.trellis import compiled, engine, mover, walk

USERS = (engine, mover, walk)


def run_kernels(how, set_to):
    """Has all queries run by plain or by compiled kernels from now on, as ``set_to`` sets them."""
    load = compiled.load_compiled if how == "compiled" else compiled.load_plain

    def module(name, work, rows="count_kernels"):
        return load(name, rows)

    for user in USERS:
        set_to(user, "kernels", module)


@contextmanager
def kernels_that_run(how):
    """A context in which all queries run by plain or by compiled kernels."""
    before = [user.kernels for user in USERS]
    run_kernels(how, setattr)
    try:
        yield
    finally:
        for user, kernels in zip(USERS, before, strict=True):
            user.kernels = kernels
