"""Pictures where people look for them: in notebooks, and where something is printed.

The classes live on lower floors, which know nothing of drawing; the package hangs these methods on
them when it is imported. Nothing is loaded before a picture is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fsmeu.expectation.composition import Composition
from fsmeu.expectation.levels import Levels
from fsmeu.expectation.result import Expectation
from fsmeu.losses.function import FunctionLoss
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.machine.machine import Machine
from fsmeu.losses.sum_over_paths import SummedMachine
from fsmeu.models import Model

__all__ = ["install"]


def _repr_svg_(self: Any) -> str:
    """The machine as SVG; a notebook calls this."""
    from fsmeu.drawing.draw import draw

    return draw(self).svg


def _repr_html_(self: Any) -> str:
    """A card of one screen; a notebook calls this."""
    from fsmeu.drawing.pages.cards import card

    return card(self)


def print_text(self: Any) -> str:
    """A screen of text; ``print`` calls this."""
    from fsmeu.drawing.pages.cards import printed

    return printed(self)


def plot(self: Expectation, **options: Any) -> Any:
    """Plots the distribution; see ``fsmeu.drawing.plots.levels_plot.plot_levels``."""
    from fsmeu.drawing.plots.levels_plot import plot_levels

    return plot_levels(self, **options)


def to_networkx(self: Any) -> Any:
    """The machine as a networkx graph; see ``fsmeu.exchange.networkx_graph.to_networkx``."""
    from fsmeu.exchange.networkx_graph import to_networkx as convert

    return convert(self)


_METHODS: tuple[tuple[type, Callable[..., Any]], ...] = (
    (Machine, _repr_svg_),
    (Machine, _repr_html_),
    (Machine, to_networkx),
    (SummedMachine, _repr_svg_),
    (SummedMachine, _repr_html_),
    (SummedMachine, to_networkx),
    (Composition, _repr_svg_),
    (Composition, _repr_html_),
    (Composition, to_networkx),
    (Expectation, plot),
    (Expectation, _repr_html_),
    (Expectation, print_text),
    (Levels, _repr_html_),
    (Levels, print_text),
    (Model, _repr_html_),
    (Model, print_text),
    (SpecLoss, _repr_html_),
    (FunctionLoss, _repr_html_),
)


def install() -> None:
    """Hangs the methods on the classes."""
    for owner, method in _METHODS:
        name = "__str__" if method is print_text else method.__name__
        setattr(owner, name, method)
