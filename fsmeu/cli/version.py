"""`fsmeu --version`: what is installed."""

from __future__ import annotations

import platform

import numpy as np

import fsmeu
from fsmeu.fst.versions import openfst_version, pynini_version


def versions() -> dict[str, str]:
    """The versions that a number computed here depends on."""
    return {
        "fsmeu": fsmeu.__version__,
        "pynini": pynini_version(),
        "OpenFst": openfst_version(),
        "numpy": np.__version__,
        "Python": platform.python_version(),
    }


def version_text() -> str:
    """The versions as text, one a line."""
    return "\n".join(f"{name} {version}" for name, version in versions().items())
