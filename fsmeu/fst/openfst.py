"""OpenFst, through pynini. Where that is not installed, whatever needs it says how to get it.

Expectations and decisions by the default engine, constraints of tags, learning and SEARN need no
OpenFst. Explicit machines do: ``engine="openfst"``, ``compile``, regular expressions, files of
machines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from fsmeu.errors import MissingExtra

__all__ = ["HOW_TO_GET_IT", "Fst", "pynini", "pywrapfst"]

HOW_TO_GET_IT = (
    "Install it: pip install pynini==2.1.7, or conda install -c conda-forge pynini; where there is "
    "no wheel of it (Linux on ARM), ./run wheel in a checkout of fsmeu builds one"
)


class _Missing:
    """Stands for a module that is not installed: any use of it raises a MissingExtra."""

    def __init__(self, error: ImportError) -> None:
        self.error = error

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        must = "it must be installed for this, as explicit machines are OpenFst's"
        raise MissingExtra(
            "pynini", must, given=str(self.error), remedy=HOW_TO_GET_IT
        ) from self.error


class _NoFst:
    """The type of OpenFst's machines where there is no OpenFst: nothing is of it."""


if TYPE_CHECKING:
    import pynini
    import pywrapfst
    from pynini import Fst
else:
    try:
        import pynini
        import pywrapfst
        from pynini import Fst
    except ImportError as _error:
        pynini = pywrapfst = _Missing(_error)
        Fst = _NoFst
