"""A value that is affine in some registers: what it is at their starts, and what each adds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fsmeu.losses.bound import Bound
from fsmeu.losses.values import constant_at

__all__ = ["offset_and_slopes", "starts_of"]


def starts_of(bound: Bound, names: Iterable[str], n: int) -> dict[str, float]:
    """The values of these registers before the first position, in the order of the names."""
    start = {r.name: r.start for r in bound.spec.registers}
    return {name: constant_at(bound, start[name], n) for name in names}


def offset_and_slopes(
    at: Callable[[Mapping[str, float]], Any], starts: Mapping[str, float]
) -> tuple[Any, list[Any]]:
    """The value with all registers at their starts, and what one more of each adds, in order.

    Args:
        at: the value when these registers have the given values; affine in them.
        starts: the registers at their starts.
    """
    offset = at(starts)
    return offset, [at({**starts, name: begin + 1.0}) - offset for name, begin in starts.items()]
