"""Kernels as plain Python, or compiled, whatever the size of a query."""

import importlib

from fsmeu.trellis import compiled, engine, mover, walk


def run_kernels(how, set_to=setattr):
    """Has all queries run by plain or by compiled kernels from now on."""

    def module(name, work):
        if how == "compiled":
            return compiled.load_compiled(name)
        return importlib.import_module(f"fsmeu.trellis.{name}")

    for user in (engine, mover, walk):
        set_to(user, "kernels", module)
