"""Finite-state machines: the only floor that touches pynini, and which version of it there is."""

from importlib import metadata

# OpenFst's libraries do not carry their version, but each pynini release is built for one.
_OPENFST_OF_PYNINI = {"2.1.5": "1.8.2", "2.1.6": "1.8.3", "2.1.7": "1.8.4"}


def pynini_version() -> str:
    """The version of pynini, or 'missing'."""
    try:
        return metadata.version("pynini")
    except metadata.PackageNotFoundError:
        return "missing"


def openfst_version() -> str:
    """The version of OpenFst that this pynini is built for, or 'unknown'."""
    return _OPENFST_OF_PYNINI.get(pynini_version(), "unknown")
