"""The losses of a gallery: measured, drawn, and explored, each from its file."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from fsmeu.checking.applies import Applies, exact_methods
from fsmeu.checking.examples import run_examples
from fsmeu.checking.report import Report, loss_to_measure, report
from fsmeu.drawing.draw import Drawing, draw
from fsmeu.drawing.pages.explore.build import Page, explore
from fsmeu.errors import FsmeuError
from fsmeu.fst.tags import tag_labels
from fsmeu.losses.language.syntax import Spec
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.machine.machine import Machine
from fsmeu.losses.machine.minimize import same_values
from fsmeu.losses.sum_over_paths import compile_summed

__all__ = ["Exhibit", "anchored", "exhibit"]

_DRAWN = 14
_SUMMED = 10
_EXPLORED = (4, 3, 2, 1)


@dataclass(frozen=True, eq=False)
class Exhibit:
    """One loss of the page.

    Attributes:
        found: what is known of it.
        methods: the exact methods that decide for it.
        pictures: drawings of its machine, with what they show.
        page: a page to explore it in, or None where it cannot be measured.
        anchor: what links to it; empty before it has its place.
    """

    found: Report
    methods: tuple[Applies, ...]
    pictures: tuple[tuple[str, Drawing], ...]
    page: Page | None = None
    anchor: str = ""

    @property
    def file(self) -> str:
        """The name of the file of its page, beside the gallery; empty if there is none."""
        plain = re.sub(r"[^\w-]+", "_", self.anchor)
        return f"explore-{plain}.html" if self.page is not None else ""

    @property
    def group(self) -> str:
        """Where it is shown: by what is derived of it, not by its name."""
        known = self.found.properties
        if self.found.spec.scheme:
            return "chunks"
        return "table" if known is not None and known.confusion else "sequences"


def exhibit(spec: Spec) -> Exhibit:
    """Measures and draws a loss file."""
    found = report(spec)
    sound = found.loss is not None and found.holds and found.properties is not None
    methods = exact_methods(found.loss) if sound and found.loss is not None else ()
    if not sound:
        return Exhibit(found, methods, ())
    return Exhibit(found, methods, _pictures(spec), _page(spec))


def _page(spec: Spec) -> Page | None:
    """The page about a loss, for the greatest of a few lengths that it can be made for."""
    for loss in _variants(spec):
        for n in _EXPLORED:
            with suppress(FsmeuError):
                return explore(loss, n)
    return None


def _pictures(spec: Spec) -> tuple[tuple[str, Drawing], ...]:
    """The machine of the greatest small length, with its states merged, with its paths summed."""
    small = (machine for loss in _variants(spec) for machine in _small_machines(loss))
    chosen = next(small, None)
    if chosen is None:
        return ()
    loss, plain = chosen
    merged = loss.compile(plain.n, minimize=True)
    with_params = "".join(f", {name} = {loss.params[name]:g}" for name in _open_numbers(spec))
    shown = [(f"as the file makes it: n = {plain.n}{with_params}", draw(loss, plain.n))]
    if 1 < merged.states < plain.states:
        caption = f"merged: {merged.states} of {plain.states} states can be told apart"
        shown.append((caption, draw(loss, plain.n, merged=True)))
    summed = compile_summed(loss, plain.n)
    if 1 < summed.states <= _SUMMED:
        caption = f"summed, {summed.states} states: the paths of a pair add up to its value"
        shown.append((caption, draw(summed)))
    return tuple(shown)


def _open_numbers(spec: Spec) -> list[str]:
    return [p.name for p in spec.params if p.default is None and p.type != "table"]


def _variants(spec: Spec) -> Iterator[SpecLoss]:
    """The loss with one chunk type, and with the parameters of its examples, 1 and 0 last.

    Without examples, it is the loss with its defaults, where it has them.
    """
    labels = tag_labels(["X"], spec.scheme) if spec.scheme else None
    wanted = set(_open_numbers(spec))
    found: dict[tuple[tuple[str, float], ...], None] = {}
    for result in run_examples(spec):
        found[tuple((k, v) for k, v in result.bindings.items() if k in wanted)] = None
    for given in sorted(found or {(): None}, key=lambda given: [(v <= 1, v) for _, v in given]):
        with suppress(FsmeuError):
            yield loss_to_measure(spec, dict(given), labels)[0]


def _small_machines(loss: SpecLoss) -> Iterator[tuple[SpecLoss, Machine]]:
    """Machines that are small enough to be drawn and have something to tell, longest first."""
    for n in (3, 2, 1):
        with suppress(FsmeuError):
            machine = loss.compile(n, max_states=_DRAWN)
            if machine.states <= _DRAWN and same_values(machine.values).max() > 0:
                yield loss, machine


def anchored(exhibits: Sequence[Exhibit]) -> list[Exhibit]:
    """The same with anchors: their names, numbered where several files use one."""
    placed: dict[str, Exhibit] = {}
    for one in exhibits:
        name = one.found.spec.name
        names = (f"{name}-{k}" if k > 1 else name for k in itertools.count(1))
        anchor = next(free for free in names if free not in placed)
        placed[anchor] = replace(one, anchor=anchor)
    return list(placed.values())
