"""The suite where pynini is not installed: what needs it is skipped, and says so."""

import sys
from contextlib import contextmanager
from importlib import metadata
from importlib.util import find_spec

import pytest

HIDDEN = {"pynini", "pywrapfst", "_pynini", "_pywrapfst"}
REASON = "needs pynini, which is not installed"


class _Hide:
    """An importer before all others that finds none of the hidden modules."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            message = f"No module named {name!r}"
            raise ModuleNotFoundError(message, name=name)


def hide_pynini():
    """Makes pynini a package that is not installed, for this process."""
    sys.meta_path.insert(0, _Hide())
    known = metadata.version

    def version(name):
        if name in HIDDEN:
            raise metadata.PackageNotFoundError(name)
        return known(name)

    metadata.version = version


def has_pynini():
    """Whether pynini can be imported."""
    try:
        return find_spec("pynini") is not None
    except ModuleNotFoundError:
        return False


def openfst(name="pynini"):
    """The module, or all tests of the file that asks for it are skipped."""
    return pytest.importorskip(name, reason=REASON)


def skip_if_refused(text):
    """Skips a test whose command was refused because there is no pynini."""
    if "pynini: it must be installed" in text and not has_pynini():
        pytest.skip(REASON)


@contextmanager
def skips_without_pynini():
    """Skips a test that asks for pynini where there is none; other errors stay."""
    try:
        yield
    except ImportError as error:
        if has_pynini() or "pynini" not in str(error):
            raise
        pytest.skip(REASON)
