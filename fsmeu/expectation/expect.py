"""``expect`` and ``compose``: the queries, on either engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import FsmeuError, SizeLimitError, one_of, whole
from fsmeu.expectation.bounds import value_range
from fsmeu.expectation.by_tape import split_values
from fsmeu.expectation.composition import (
    Composition,
    compose_machines,
    ending_masses,
    roundings_of,
    summed_value,
)
from fsmeu.expectation.lattice import run
from fsmeu.expectation.levels import Levels, level_sets
from fsmeu.expectation.long_chains import long_chain_value
from fsmeu.expectation.long_counts import long_expectation
from fsmeu.expectation.query import Query, query
from fsmeu.expectation.result import Expectation, check_finite
from fsmeu.expectation.windowed import windowed_value
from fsmeu.fst.layers import Layered, pair_layers
from fsmeu.limits import CHEAP_STATES, MUCH_TO_REMEMBER
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.declared_range import check_range
from fsmeu.losses.sum_over_paths import signed_parts
from fsmeu.losses.windows import Windows, windows
from fsmeu.trellis.roundings import Sums, relative_error

__all__ = ["ENGINES", "compose", "expect", "walked"]

Floats = NDArray[np.float64]

ENGINES = ("lattice", "openfst")

DIGITS = 1e-10
"""A value whose error may be a greater part of it is computed once more with counts as states."""


def expect(
    loss: Loss,
    z: Any,
    model: Any,
    *,
    engine: str = "lattice",
    keep: int | None = None,
    max_states: int | None = None,
) -> Expectation:
    """The expected value of a loss or utility of hypothesis z when the reference follows a model.

    Args:
        loss: a loss or utility.
        z: a label sequence, or a model (a distribution on the hypothesis tape, independent of y).
        model: a label model; a sequence of probabilities stands for ``Bernoulli``.
        engine: "lattice" streams the composition layer by layer; "openfst" builds it with pynini.
        keep: expand only this many of the most probable states of each layer (Jansche 2007, section
            4); ``lower`` and ``upper`` then hold the truth between them.
        max_states: limit on the number of states that may be built.

    >>> from fsmeu.losses.library import load
    >>> round(expect(load("fscore"), "110", [0.9, 0.5, 0.3]).value, 6)
    0.731333
    """
    asked = query(loss, z, model)
    engine = one_of("expect", "engine", engine, ENGINES)
    if keep is not None:
        keep = whole("expect", "keep", keep)
    if max_states is not None:
        max_states = whole("expect", "max_states", max_states)
    if engine == "openfst":
        return _materialised(asked, keep, max_states)
    if keep is None:
        return _streamed(asked, max_states)
    return _kept(asked, *_walked_levels(asked, keep, max_states))


def _streamed(asked: Query, max_states: int | None) -> Expectation:
    long = long_expectation(asked)
    if long is not None:
        return long
    chain = long_chain_value(asked)
    if chain is not None:
        bounds = (chain.lower, chain.upper, chain.kept)
        return Expectation(chain.value, *bounds, lambda: _levels(asked, max_states))
    found = _windowed(asked, max_states) or _by_tape(asked, max_states)
    found = found or walked(asked, max_states)
    if found.errors[0] > DIGITS * abs(found.values[0]):
        # Large terms cancel; those of both signs that are left belong to different pairs.
        with suppress(FsmeuError):
            cheap = max(1, CHEAP_STATES // max(1, asked.n))
            again = walked(asked, min(cheap, max_states or cheap), weights=False)
            found = min(found, again, key=lambda sums: float(sums.errors[0]))
    if found.masses[0] and isinstance(asked.loss, SpecLoss):
        check_range(asked.loss.bound, asked.n, found.values / found.masses)
    return _bounded(asked, found, lambda: _levels(asked, max_states))


def _bounded(asked: Query, found: Sums, levels: Callable[[], Levels]) -> Expectation:
    """The expectation, with bounds that rounding does not reach past."""
    value, kept = float(found.values[0]), float(found.masses[0])
    check_finite("expect", value)
    error = float(found.errors[0]) if asked.n else 0.0  # one pair has one value
    return Expectation(value, value - error, value + error, kept, levels)


def _windows(asked: Query) -> Windows | None:
    """The loss as a sum over windows, where it is one with much to remember."""
    form = windows(asked.loss, asked.n) if isinstance(asked.loss, SpecLoss) else None
    return form if form is not None and form.contents >= MUCH_TO_REMEMBER else None


def _windowed(asked: Query, max_states: int | None) -> Sums | None:
    """The expectation where the loss is a sum over windows: in arrays, if the model is."""
    form = _windows(asked)
    if form is None:
        return None
    arrays = asked.model.dense()
    if arrays is None or asked.z is None:
        return _summed(asked, max_states)
    return windowed_value(form, asked.z, arrays)


def _by_tape(asked: Query, max_states: int | None) -> Sums | None:
    """The expectation where the loss splits by tape and there are many labels."""
    if asked.z is None or not isinstance(asked.loss, SpecLoss):
        return None
    return split_values(asked.loss, asked.z[None], [asked.model], max_states)


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def walked(asked: Query, max_states: int | None = None, *, weights: bool = True) -> Sums:
    """The expectation at the end of the composition.

    Args:
        asked: the query.
        max_states: limit on the number of states of a layer.
        weights: whether linear registers ride in the weight; otherwise nothing cancels but values
            of both signs.
    """
    view = asked.view(weights=weights)
    return run(view, asked.input(), None, max_states).sums(view)


def _levels(asked: Query, max_states: int | None) -> Levels:
    return _walked_levels(asked, None, max_states)[0]


def _walked_levels(asked: Query, keep: int | None, max_states: int | None) -> tuple[Levels, int]:
    """The distribution of the value, and a bound on the roundings behind each probability."""
    view = asked.view(weights=False)
    final = run(view, asked.input(), keep, max_states)
    held = final.mass[0] > 0
    levels = level_sets(view.values(final.codes[held])[0], final.mass[0, held])
    return levels, final.roundings + int(held.sum())


def _kept(asked: Query, levels: Levels, roundings: int) -> Expectation:
    """The kept part with bounds: what was lost is worth at least the least and at most the most.

    Args:
        asked: the query.
        levels: what was kept.
        roundings: a bound on the roundings behind each of its probabilities.
    """
    roundings += 8 * (asked.n + 1)  # of the mass of the model
    found = _sums_of(levels, roundings)
    value, kept, error = (float(one[0]) for one in (found.values, found.masses, found.errors))
    lost = max(0.0, float(asked.model.total_mass()) - kept)
    least, most = value_range(asked.loss, asked.n, _given(asked), lambda: _pairs(asked))
    rounding = relative_error(roundings)
    lower = value + _left_out(lost, least, -rounding) - error
    upper = value + _left_out(lost, most, rounding) + error
    return Expectation(value, lower, upper, kept, lambda: levels)


def _sums_of(levels: Levels, roundings: int) -> Sums:
    """The mean of a distribution as a sum."""
    values, probabilities = levels.ungrouped
    size = float(np.abs(values) @ probabilities)
    means, masses, sizes = np.array([[levels.mean], [probabilities.sum()], [size]])
    return Sums(means, masses, sizes, roundings)


def _left_out(lost: float, extreme: float, rounding: float) -> float:
    """What the lost mass is worth at an extreme of the value, rounded outwards."""
    if not lost and not math.isfinite(extreme):
        return 0.0
    return lost * extreme + rounding * abs(extreme)


def compose(
    loss: Loss, z: Any, model: Any, *, max_states: int | None = None, minimize: bool = False
) -> Composition:
    """The materialised machine hypothesis o loss o model.

    Args:
        loss: a loss or utility.
        z: a label sequence, or a model.
        model: a label model.
        max_states: limit on the number of states that may be built.
        minimize: merge states of the loss that no continuation can tell apart.
    """
    asked = query(loss, z, model, "compose")
    return _compose(asked, max_states, minimize)


def _given(asked: Query) -> Any:
    return None if asked.z is None else asked.loss.alphabet.decode(asked.z)


def _pairs(asked: Query) -> Layered:
    return pair_layers(asked.hypothesis, asked.model.layered())


def _compose(asked: Query, max_states: int | None, minimize: bool = False) -> Composition:
    machine = asked.loss.compile(asked.n, _given(asked), max_states, minimize, _pairs(asked))
    return compose_machines(asked.hypothesis, machine, asked.model.layered(), max_states)


def _materialised(asked: Query, keep: int | None, max_states: int | None) -> Expectation:
    if keep is None and _windows(asked) is not None:
        return _added_up(asked, max_states)
    try:
        built = _compose(asked, max_states)
    except SizeLimitError:
        if keep is not None or not isinstance(asked.loss, SpecLoss):
            raise
        return _added_up(asked, max_states)
    levels, roundings = _ending_levels(built, keep), roundings_of(built.table, asked.n)
    if keep is not None:
        return _kept(asked, levels, roundings)
    return _bounded(asked, _sums_of(levels, roundings), lambda: levels)


def _ending_levels(built: Composition, keep: int | None = None) -> Levels:
    ending = ending_masses(built.table, keep)
    held = ending > 0
    return level_sets(built.machine.values[built.loss_states[held]], ending[held])


def _summed(asked: Query, max_states: int | None) -> Sums:
    """The expectation by machines whose paths add up."""
    parts = signed_parts(asked.loss, asked.n, _given(asked), max_states)
    model = asked.model.layered()
    found = [
        (sign, summed_value(asked.hypothesis, machine, model, max_states))
        for sign, machine in parts
    ]
    value = sum(sign * part.values for sign, part in found)
    size, roundings = sum(part.sizes for _, part in found), max(s.roundings for _, s in found)
    return Sums(np.array(value), found[-1][1].masses, np.array(size), roundings)


def _added_up(asked: Query, max_states: int | None) -> Expectation:
    """The value by a machine whose paths add up; the distribution needs the one that does not."""
    found = _summed(asked, max_states)
    return _bounded(asked, found, lambda: _ending_levels(_compose(asked, max_states)))
