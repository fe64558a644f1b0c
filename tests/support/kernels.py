"""Kernels as plain Python, or compiled, whatever the size of a query."""

import importlib

from fsmeu.trellis import compiled, engine


def run_kernels(how, set_to=setattr):
    """Has all queries run by plain or by compiled kernels from now on."""
    if how == "plain":
        plain = importlib.import_module("fsmeu.trellis.kernels")
        set_to(engine, "kernels", lambda work: plain)
    else:
        set_to(engine, "kernels", lambda work: compiled.load_compiled())
