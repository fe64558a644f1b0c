"""How the machine of a loss grows with the length of the sequences: measured, then named."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fsmeu.errors import LossFileError, SizeLimitError
from fsmeu.fst.distinct import same_up_to_rounding
from fsmeu.losses.machine.machine import Machine
from fsmeu.losses.protocol import Loss
from fsmeu.losses.sum_over_paths import compile_summed

LONGEST = 16  # the greatest length that is measured
_MOST_ARCS = 120_000  # of one machine
_MOST_WORK = 250_000  # arcs of all machines before the last
_FEWEST = 5  # numbers from which a growth is named
_HIGHEST_DEGREE = 6


@dataclass(frozen=True)
class Size:
    """The machine for one length."""

    n: int  # the length
    states: int  # states as the file makes them
    arcs: int  # steps between them
    merged: int  # states after those that no continuation tells apart are merged
    summed: int  # states of the machine whose paths add up (``compile_summed``)
    values: int  # distinct values (level sets)


@dataclass(frozen=True)
class Order:
    """The order of growth of a number in n."""

    text: str  # "constant", "n", "n^2", ..., or "2^n"
    about: bool  # True when it is a fit; False when the numbers follow a polynomial of this degree

    def __str__(self) -> str:
        return f"about {self.text}" if self.about else self.text


@dataclass(frozen=True)
class Growth:
    """Sizes for n = 1, 2, ..., and how they grow; None where there are too few of them."""

    sizes: tuple[Size, ...]  # what was measured
    states: Order | None  # growth of the states as the file makes them
    merged: Order | None  # growth of the merged states
    summed: Order | None  # growth of the states of the machine whose paths add up
    values: Order | None  # growth of the level sets
    fault: str = ""  # why the machine for the next length is not defined; empty when it is

    @property
    def longest(self) -> int:
        """The greatest length that was measured; every step up to it is defined."""
        return self.sizes[-1].n if self.sizes else 0


def growth(loss: Loss, longest: int = LONGEST, most_arcs: int = _MOST_ARCS) -> Growth:
    """The sizes of machines of growing length, until one would have more arcs than the most."""
    sizes: list[Size] = []
    fault = ""
    most = max(1, most_arcs // len(loss.alphabet) ** 2)
    while len(sizes) < longest and sum(size.arcs for size in sizes) <= _MOST_WORK:
        try:
            n = len(sizes) + 1
            machine = loss.compile(n, max_states=most)
            small = loss.compile(n, max_states=most, minimize=True)
            sums = machine if loss.bound is None else compile_summed(loss, n)
            counts = (machine.states, machine.arcs, small.states, sums.states)
            sizes.append(Size(n, *counts, distinct_values(machine)))
        except SizeLimitError:
            break
        except LossFileError as error:
            fault = str(error)
            break
    names = ("states", "merged", "summed", "values")
    states, *others = (order_of([getattr(size, name) for size in sizes]) for name in names)
    merged, summed = (_at_most(order, states) for order in others[:2])
    return Growth(tuple(sizes), states, merged, summed, _at_most(others[2], merged), fault)


def distinct_values(machine: Machine) -> int:
    """The number of distinct values of pairs; values that differ by rounding count once."""
    values = np.unique(machine.values[~np.isnan(machine.values)])
    return int(same_up_to_rounding(values).max(initial=-1)) + 1


def _at_most(order: Order | None, bound: Order | None) -> Order | None:
    """The order, capped by that of an upper bound."""
    if order is None or bound is None or _rank(order) <= _rank(bound):
        return order
    return replace(bound, about=True)


def _rank(order: Order) -> float:
    """Constant before powers, by degree, before exponentials, by base."""
    if order.text == "constant":
        return 0.0
    base, _, exponent = order.text.partition("^")
    return float(exponent or 1) if base == "n" else 1000.0 * float(base)


def order_of(counts: Sequence[int]) -> Order | None:
    """The growth of numbers for n = 1, 2, ...; None when there are too few to tell.

    The last numbers decide, because small n may be special. A polynomial shows in differences that
    vanish (those of every second number, where odd and even n differ); failing that, powers of n
    and exponentials are fitted to the logarithms.

    >>> print(order_of([1, 4, 9, 16, 25, 36, 49, 64]), order_of([2, 4, 8, 16, 32, 64]))
    n^2 about 2^n
    """
    numbers = np.array(counts, np.float64)
    last = len(counts)
    if last < _FEWEST:
        return None
    for begin, stride in itertools.product((last // 3, last // 2, 3 * last // 4), (1, 2)):
        differences = numbers[begin - 1 :]
        for degree in range(_HIGHEST_DEGREE + 1):
            differences = differences[stride:] - differences[:-stride]
            if len(differences) > 2 * stride and not differences.any():
                return Order(_power(degree), False)
    first = last // 2
    n = np.arange(first + 1.0, last + 1.0)
    logs = np.log(np.maximum(numbers[first:], 1.0))
    (power, _), off_power, *_ = np.polyfit(np.log(n), logs, 1, full=True)
    (rate, _), off_rate, *_ = np.polyfit(n, logs, 1, full=True)
    if off_rate < off_power and rate > np.log(1.15):
        return Order(f"{np.exp(rate):.2g}^n", True)
    return Order(_power(max(0, round(power))), True)


def _power(degree: int) -> str:
    """The order of growth n^degree, as text."""
    return {0: "constant", 1: "n"}.get(degree, f"n^{degree}")
