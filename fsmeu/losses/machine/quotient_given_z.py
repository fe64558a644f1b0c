"""States that nothing can tell apart once the hypothesis is known.

Some registers only add up and are looked at by the value alone; the others, the core, say what is
added. With z given, two contents of the core after position i are one if they add the same on every
continuation. In the F-score of chunks the core has the age of the open chunk of y: given z, all
that matters of it is whether it is the age of the open chunk of z.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import LossFileError
from fsmeu.limits import MOST_MERGED_CELLS, SMALL_CORE, WORTH_MERGING
from fsmeu.losses.language.dependencies import names_read, steps, unread_registers
from fsmeu.losses.machine.view import SpecView

__all__ = ["QuotientView", "quotient_given_z"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Layer:
    """The contents of the core after a position, and the content that stands for each.

    Attributes:
        codes: the contents that are reached, ascending.
        stands: the values of each core register in the content that stands for each.
    """

    codes: Ints
    stands: dict[str, Floats]


class QuotientView:
    """A view whose steps lead to the state that stands for all that nothing can tell apart.

    Args:
        inner: a view with z given.
        core: the same view with all registers that only add up riding in the weight.
        layers: what stands for the contents of the core after positions 0, ..., n.
    """

    space: int | None = None

    def __init__(self, inner: SpecView, core: SpecView, layers: list[_Layer]) -> None:
        self._inner, self._core, self._layers = inner, core, layers
        self.n, self.symbols, self.linear = inner.n, inner.symbols, inner.linear
        self.start = int(self._stand_in(0, np.array([inner.start]))[0])
        self.memo: dict[Hashable, Any] = {}

    def contexts(self) -> list[Hashable]:
        """Every position by itself."""
        return list(range(self.n))

    def advance(
        self, i: int, codes: Ints, symbols: Ints | None = None
    ) -> tuple[Ints, Floats | None]:
        """Targets (states, symbols) of the step at position i, and gains (linear, same shape)."""
        targets, gains = self._inner.advance(i, codes, symbols)
        met, inverse = np.unique(targets, return_inverse=True)
        taken = met >= 0
        met[taken] = self._stand_in(i, met[taken])
        return met[inverse].reshape(targets.shape), gains

    def values(self, codes: Ints) -> tuple[Floats, Floats]:
        """Value of ending in each state with linear registers at their start, and their slopes."""
        return self._inner.values(codes)

    def _stand_in(self, i: int, codes: Ints) -> Ints:
        held, layer = self._inner.space_of.decode(codes), self._layers[i]
        core = self._core.space_of.encode({name: held[name] for name in layer.stands})[0]
        place = np.searchsorted(layer.codes, np.broadcast_to(core, codes.shape))
        stands = {name: values[place] for name, values in layer.stands.items()}
        return np.asarray(self._inner.space_of.encode({**held, **stands})[0])


def quotient_given_z(view: SpecView, copies: int) -> QuotientView | None:
    """The view with states merged that nothing can tell apart; None where that is not worth it.

    Args:
        view: a view with z given.
        copies: how many times each content of the core is met beside what the view itself adds up:
            the number of states of the model.
    """
    unread = unread_registers(view.bound.spec)
    added = steps(view.bound.spec)
    sums = [r.name for r in view.carried if r.name in unread and added[r.name][0] is not None]
    names = [r.name for r in view.carried if r.name not in sums]
    if view.z is None or not names:
        return None
    domains = view.space_of.domains
    size = int(np.prod([float(domains[name].size) for name in names]))
    beside = copies * int(np.prod([float(min(domains[name].size, view.n + 1)) for name in sums]))
    if size < SMALL_CORE or beside < SMALL_CORE:
        return None
    core = SpecView(view.bound, view.n, view.z, (*view.linear_names, *sums))
    found = _walk(core, names)
    return None if found is None else QuotientView(view, core, found)


def _walk(core: SpecView, names: list[str]) -> list[_Layer] | None:
    """The layers of the core, if merging makes them much smaller."""
    codes = [np.array([core.start], np.int64)]
    steps: list[tuple[Ints, Floats]] = []
    cells = 0
    try:
        for i in range(1, core.n + 1):
            targets, gains = core.advance(i, codes[-1])
            after = np.unique(targets)
            codes.append(after[after >= 0])
            steps.append((targets, np.zeros((0, *targets.shape)) if gains is None else gains))
            cells += targets.size * (1 + core.linear)
            if cells > MOST_MERGED_CELLS:
                return None
    except LossFileError:
        return None  # perhaps where only impossible references lead: the plain walk will tell
    layers = _classes(core, names, codes, steps)
    merged = sum(len(np.unique(first)) for _, first in layers)
    if WORTH_MERGING * merged > sum(map(len, codes)):
        return None
    return [_Layer(held, core.space_of.decode(held[first])) for held, first in layers]


def _classes(
    core: SpecView, names: list[str], codes: list[Ints], steps: list[tuple[Ints, Floats]]
) -> list[tuple[Ints, Ints]]:
    """For each layer its contents, and for each of them the place of the first of its class."""
    seen = names_read(core.bound.spec.value)
    held = core.space_of.decode(codes[-1])
    shown = [held[name] for name in names if name in seen]
    first = _first(np.stack(shown, axis=1)) if shown else np.zeros(len(codes[-1]), np.int64)
    layers = [(codes[-1], first)]
    for before, (targets, gains) in zip(reversed(codes[:-1]), reversed(steps), strict=True):
        after, place = layers[-1]
        goal = np.where(targets < 0, -1, place[np.searchsorted(after, targets) % len(after)])
        rows = np.concatenate([goal[None].astype(np.float64), gains]).transpose(1, 0, 2)
        layers.append((before, _first(rows.reshape(len(before), -1))))
    return layers[::-1]


def _first(rows: Floats) -> Ints:
    """For each row the place of the first that equals it."""
    cells = np.ascontiguousarray(rows) + 0.0  # -0.0 becomes 0.0: equal rows have equal bytes
    whole = cells.view(f"V{cells.itemsize * cells.shape[1]}").ravel()
    _, first, inverse = np.unique(whole, return_index=True, return_inverse=True)
    places: Ints = first[inverse]
    return places
