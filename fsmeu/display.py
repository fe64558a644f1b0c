"""How objects show themselves in a notebook and to ``print``: base classes of what people hold.

The code behind these methods is on the floors above (``drawing``, ``exchange``) and is imported
when a method is called, so what an object shows does not depend on what was imported before.
"""

from __future__ import annotations

from typing import Any, cast


class Card:
    """An object that a notebook shows as a card."""

    def _repr_html_(self) -> str:
        from fsmeu.drawing.cards import card

        return card(self)


class Text(Card):
    """An object that ``print`` shows as a screen of text."""

    def __str__(self) -> str:
        from fsmeu.drawing.cards import printed

        return printed(self)


class Distribution(Text):
    """A result of which the distribution can be plotted."""

    def plot(self, **options: Any) -> Any:
        """Axes with the distribution, as ``fsmeu.plot_levels`` draws it."""
        from fsmeu.drawing.plots import plot_levels

        return plot_levels(cast("Any", self), **options)


class Picture(Card):
    """A machine, which a notebook shows as a picture."""

    def _repr_svg_(self) -> str:
        from fsmeu.drawing.draw import draw

        return draw(self).svg

    def to_networkx(self) -> Any:
        """The machine as a networkx graph, as ``fsmeu.to_networkx`` makes it."""
        from fsmeu.exchange.networkx_graph import to_networkx

        return to_networkx(self)
