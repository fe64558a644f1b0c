"""``draw``: a picture of a loss, a machine, a composition or a model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fsmeu.display import Card
from fsmeu.drawing.formats import dot, paint, summary_dot, svg, tikz
from fsmeu.drawing.frame import Frame, make_frame
from fsmeu.drawing.layout import Placement, place
from fsmeu.drawing.picture import Picture, Summary, machine_picture, summarize, summary_picture
from fsmeu.drawing.schemes import with_dark_scheme
from fsmeu.drawing.subject import Route, Subject, find_subject
from fsmeu.drawing.text import Cell, Row, canvas, listing, summary_listing
from fsmeu.endings import PICTURES, ending_of
from fsmeu.errors import check_bool, check_int, one_of, shorten
from fsmeu.exchange.automaton import Automaton
from fsmeu.files import as_path, write_file
from fsmeu.models import HypothesisLike, ModelLike

LIMIT = 100
_LINES_PER_STATE = 6


@dataclass(frozen=True, eq=False, repr=False)
class Drawing(Card):
    """A machine that shows itself: in a notebook as SVG, printed as text, saved in any format."""

    automaton: Automaton  # what is drawn
    route: Route  # the path of a pair of sequences, coloured; empty if there is none
    limit: int  # up to how many states are drawn; of larger machines, a summary
    short: bool  # whether states show ``1,2`` instead of ``tp=1 ref=2``

    @cached_property
    def frame(self) -> Frame:
        """The captions and labels of the picture."""
        return make_frame(self.automaton, self.short)

    @cached_property
    def summary(self) -> Summary | None:
        """The summary that is shown instead when the machine is too large, else None."""
        most = _LINES_PER_STATE * self.limit
        table = self.automaton.table
        lines = len(set(zip(table.source.tolist(), table.target.tolist(), strict=True)))
        if self.automaton.states <= self.limit and lines <= most:
            return None
        return summarize(self.automaton, self.limit, most, lines)

    @cached_property
    def placement(self) -> Placement:
        """The coordinates of states and arcs."""
        return place(self.frame, self.automaton.depth.tolist())

    @cached_property
    def picture(self) -> Picture:
        """The shapes of the picture."""
        if self.summary is not None:
            return summary_picture(self.summary)
        return machine_picture(self.automaton, self.frame, self.placement, self.route)

    @property
    def svg(self) -> str:
        """The picture as SVG, in the colours of a light ground, to stand in a page."""
        return svg(self.picture)

    @property
    def dot(self) -> str:
        """The machine in the language of Graphviz."""
        if self.summary is not None:
            return summary_dot(self.summary)
        return dot(self.automaton, make_frame(self.automaton, self.short, full=True), self.route)

    @property
    def tex(self) -> str:
        """The picture as a LaTeX document."""
        return tikz(self.picture)

    @property
    def html(self) -> str:
        """The picture as a page to move and zoom in."""
        from fsmeu.drawing.pages import picture_page

        return picture_page(self)

    @property
    def text(self) -> str:
        """The machine as lines of text."""
        return "\n".join(row.text for row in self.rows()) + "\n"

    def rows(self, ascii_only: bool = False) -> list[Row]:
        """The machine as rows of text with styles."""
        if self.summary is not None:
            return summary_listing(self.summary, ascii_only)
        return listing(self.automaton, self.frame, self.route, ascii_only)

    def cells(self, columns: int) -> list[list[Cell]] | None:
        """The machine drawn in characters, or None when it does not fit into so many columns."""
        if self.summary is not None:
            return None
        rows = canvas(self.automaton, self.frame, self.route)
        return rows if max(map(len, rows), default=0) <= columns else None

    def save(self, path: str | os.PathLike[str], kind: str | None = None) -> Path:
        """Writes the picture in a format of ``PICTURES``: ``kind``, or the file name's ending."""
        where = as_path(path, "draw")
        form = ending_of(where) if kind is None else kind
        return write_file(where, self.render(form))

    def render(self, kind: str) -> bytes:
        """The picture as the contents of a file of this kind; SVG has a dark scheme, too."""
        ending = "no ending" if isinstance(kind, str) and not kind else kind
        one_of("draw", "the format", ending, PICTURES)
        if kind in ("png", "pdf"):
            return paint(self.picture, kind)
        if kind == "svg":
            return with_dark_scheme(self.svg).encode()
        text: str = self.text if kind == "txt" else getattr(self, kind)
        return text.encode()

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        """Names what is drawn and its size."""
        size = f"{self.automaton.states:,} states, {self.automaton.arcs:,} arcs"
        return f"<drawing of {shorten(self.automaton.name)}: {size}>"

    def __str__(self) -> str:
        return self.text


def draw(
    thing: Any,
    n: int | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
    z: HypothesisLike | None = None,
    y: Iterable[object] | None = None,
    model: ModelLike | None = None,
    given_z: bool = False,
    registers: Sequence[str] | None = None,
    depth: int | None = None,
    minimize: bool = False,
    short: bool = False,
    limit: int = LIMIT,
    max_states: int | None = None,
) -> Drawing:
    """A picture of a loss or of a machine.

    Args:
        thing: a loss, its name or path, a compiled loss, a composition, a label model, an OpenFst
            machine of pynini, or a networkx graph as ``to_networkx`` makes it.
        n: the length of the sequences, for a loss; that of z, y or the model if they are given.
        path: a file to write, its ending says the format.
        z: a hypothesis. With y, the path of the pair is coloured. Alone, the machine is the one
            given z; of a composition of several hypotheses, all paths that read z are coloured.
            With a model, the composition is drawn; z may then be a model too.
        y: a reference.
        model: a label model: states are shaded and arcs are as wide as they are probable.
        given_z: leave out registers that only follow z, without fixing z (as in Jansche 2007,
            Figure 1).
        registers: the registers to keep; states that agree in them are drawn as one.
        depth: draw only what is within so many steps of the start.
        minimize: merge states that no continuation can tell apart; a register shows what the states
            hold that became one, such as ``0|1``.
        short: states show ``1,2`` instead of ``tp=1 ref=2``.
        limit: up to how many states are drawn one by one; of more, a summary is drawn.
        max_states: limit on the number of states that are built.

    >>> from fsmeu.losses.loss import load
    >>> print(draw(load("hamming"), n=1).text.splitlines()[0])
    loss hamming, n = 1: 2 states, 4 arcs
    """
    limit = check_int("draw", "limit", limit)
    short = check_bool("draw", "short", short)
    given_z = check_bool("draw", "given_z", given_z)
    minimize = check_bool("draw", "minimize", minimize)
    subject = Subject(thing, n, z, y, model, given_z, registers, depth, max_states, minimize)
    drawing = Drawing(*find_subject(subject), limit, short)
    if path is not None:
        drawing.save(path)
    return drawing
