"""Kernels as plain Python, or compiled, whatever the size of a query."""

import importlib

from fsmeu.trellis import compiled, engine


def run_kernels(how, set_to=setattr):
    """Has all queries run by plain or by compiled kernels from now on."""

    def kernels(name, work):
        if how == "compiled":
            return compiled.load_compiled(name)
        return importlib.import_module(f"fsmeu.trellis.{name}")

    set_to(engine, "kernels", kernels)
