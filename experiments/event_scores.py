"""Tables of scores of several decisions on the same signals, with paired bootstrap intervals."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from data_folder import MissingDataError
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from fsmeu.bootstrap import drawn_weights, percentiles

Floats = NDArray[np.float64]
DRAWS = 1000
SEED = 0


def print_scores(title: str, scores: Mapping[str, Floats], best: str = "MEU") -> None:
    """Prints the mean of each decision, and by how much one of them is higher.

    Args:
        title: of the table.
        scores: of each signal, (signals,) by the name of the decision.
        best: the decision that others are compared with.
    """
    signals = len(scores[best])
    drawn = np.concatenate(list(drawn_weights(signals, DRAWS, SEED))) / signals
    table = Table("decision", "score", "95 of 100 draws", f"{best} is higher by", title=title)
    for name, values in scores.items():
        low, high = percentiles(drawn @ values)
        gain = ""
        if name != best:
            more = scores[best] - values
            least, most = percentiles(drawn @ more)
            gain = f"{more.mean():+.4f} ({least:+.4f} to {most:+.4f})"
        table.add_row(name, f"{values.mean():.4f}", f"{low:.4f} to {high:.4f}", gain)
    table.caption = f"{signals} signals; intervals hold 95 of 100 bootstrap draws"
    Console(width=100).print(table)


def imported(name: str) -> Any:
    """A package that a script needs and the project does not; a sentence says how to get it."""
    try:
        return import_module(name)
    except ImportError:
        remedy = f"pip install {name}"
        raise MissingDataError(name, "the package must be there", remedy=remedy) from None
