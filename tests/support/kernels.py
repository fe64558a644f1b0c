"""Kernels as plain Python, or compiled, whatever the size of a query."""

from fsmeu.trellis import compiled, engine, mover, walk


def run_kernels(how, set_to=setattr):
    """Has all queries run by plain or by compiled kernels from now on."""
    load = compiled.load_compiled if how == "compiled" else compiled.load_plain

    def module(name, work, rows="count_kernels"):
        return load(name, rows)

    for user in (engine, mover, walk):
        set_to(user, "kernels", module)
