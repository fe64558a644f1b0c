"""Every estimator of this package by its name; only these are ever made from files."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

import fsmeu.learning

__all__ = ["estimators", "register", "registered"]

_CLASSES: dict[str, Any] = {}


def register(kind: type) -> type:
    """The class itself, after making it known to ``load``; a class decorator."""
    _CLASSES[kind.__name__] = kind
    return kind


def registered() -> dict[str, Any]:
    """The classes that are known so far, by name."""
    return dict(_CLASSES)


def estimators() -> dict[str, Any]:
    """The registered classes by name, in alphabetical order; all modules are loaded for that.

    Compiled loops register nothing, and may lack the compiler.
    """
    for module in pkgutil.walk_packages(fsmeu.learning.__path__, "fsmeu.learning."):
        if not module.name.rpartition(".")[2].startswith("compiled_"):
            import_module(module.name)
    ours = {n: kind for n, kind in registered().items() if kind.__module__.startswith("fsmeu.")}
    return dict(sorted(ours.items()))
