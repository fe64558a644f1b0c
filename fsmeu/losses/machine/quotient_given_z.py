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

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import LossFileError
from fsmeu.fst.distinct import bits, group, refine_layers
from fsmeu.losses.language.dependencies import names_read, steps, unread_registers
from fsmeu.losses.machine.quotient_register import MOST_MERGED_CELLS
from fsmeu.losses.machine.view import SpecView

_SMALL_CORE = 64
"""Values, of what may be merged given z and of what is beside it, below which it is no gain."""
_WORTH_MERGING = 2.0
"""The factor by which layers must get smaller to be walked in place of the plain ones."""


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
    if size < _SMALL_CORE or beside < _SMALL_CORE:
        return None
    core = SpecView(view.bound, view.n, view.z, (*view.linear_names, *sums))
    layers = _walk(core, names)
    return None if layers is None else QuotientView(view, core, layers)


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
    layers = _firsts(core, names, codes, steps)
    merged = sum(len(np.unique(first)) for first in layers)
    if _WORTH_MERGING * merged > sum(map(len, codes)):
        return None
    decode = core.space_of.decode
    return [_Layer(held, decode(held[first])) for held, first in zip(codes, layers, strict=True)]


def _firsts(
    core: SpecView, names: list[str], codes: list[Ints], steps: list[tuple[Ints, Floats]]
) -> list[Ints]:
    """For each content of each layer the place of the first of its class."""
    seen = names_read(core.bound.spec.value)
    held = core.space_of.decode(codes[-1])
    shown = [bits(held[name]) for name in names if name in seen]
    ends = group(np.stack(shown, axis=1)) if shown else np.zeros(len(codes[-1]), np.int64)
    places = [
        (
            np.where(targets < 0, -1, np.searchsorted(after, targets)),
            bits(gains.transpose(1, 0, 2).reshape(len(targets), -1)),
        )
        for after, (targets, gains) in zip(codes[1:], steps, strict=True)
    ]
    firsts = []
    for classes in refine_layers(places, ends):
        _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
        firsts.append(first[inverse])
    return firsts
