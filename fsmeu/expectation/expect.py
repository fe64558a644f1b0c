"""``expect`` and ``compose``: the queries, on either engine."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import SizeLimitError, one_of, whole
from fsmeu.expectation.bounds import value_range
from fsmeu.expectation.by_tape import split_values
from fsmeu.expectation.composition import (
    Composition,
    compose_machines,
    ending_masses,
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
from fsmeu.limits import MUCH_TO_REMEMBER
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.outputs import (
    expected_outputs,
    output_loss,
    output_names,
    output_values,
    output_view,
)
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.declared_range import check_range
from fsmeu.losses.sum_over_paths import signed_parts
from fsmeu.losses.windows import Windows, windows

__all__ = ["ENGINES", "compose", "expect"]

Floats = NDArray[np.float64]

ENGINES = ("lattice", "openfst")
_MOST_LOG = 746  # -log of the least double


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
        result = _materialised(asked, keep, max_states)
    elif keep is None:
        result = _streamed(asked, max_states)
    else:
        result = _kept(asked, _levels(asked, keep, max_states), 0)
    if not output_names(asked.loss):
        return result
    return replace(result, _outputs=lambda: _outputs(asked, engine, max_states))


def _streamed(asked: Query, max_states: int | None) -> Expectation:
    long = long_expectation(asked)
    if long is not None:
        return long
    chain = long_chain_value(asked)
    if chain is not None:
        bounds = (chain.lower, chain.upper, chain.kept)
        return Expectation(chain.value, *bounds, lambda: _levels(asked, None, max_states))
    found = _windowed(asked, max_states) or _by_tape(asked, max_states)
    value, kept = found or _walked(asked, max_states)
    check_finite("expect", value)
    if kept and isinstance(asked.loss, SpecLoss):
        check_range(asked.loss.bound, asked.n, np.array([value / kept]))
    return Expectation(value, value, value, kept, lambda: _levels(asked, None, max_states))


def _windows(asked: Query) -> Windows | None:
    """The loss as a sum over windows, where it is one with much to remember."""
    form = windows(asked.loss, asked.n) if isinstance(asked.loss, SpecLoss) else None
    return form if form is not None and form.contents >= MUCH_TO_REMEMBER else None


def _windowed(asked: Query, max_states: int | None) -> tuple[float, float] | None:
    """Value and mass where the loss is a sum over windows: in arrays, if the model is."""
    form = _windows(asked)
    if form is None:
        return None
    arrays = asked.model.dense()
    if arrays is None or asked.z is None:
        return _summed(asked, max_states)
    return windowed_value(form, asked.z, arrays)


def _by_tape(asked: Query, max_states: int | None) -> tuple[float, float] | None:
    """Value and mass where the loss splits by tape and there are many labels."""
    if asked.z is None or not isinstance(asked.loss, SpecLoss):
        return None
    found = split_values(asked.loss, asked.z[None], [asked.model], max_states)
    return None if found is None else (float(found[0][0]), float(found[1][0]))


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _walked(asked: Query, max_states: int | None) -> tuple[float, float]:
    """Value and mass at the end of the composition."""
    view = asked.view(weights=True)
    final = run(view, asked.input(), None, max_states)
    held = final.mass[0] > 0
    codes, mass = final.codes[held], final.mass[:, held]
    value, slopes = view.values(codes)
    return float(mass[0] @ value + (mass[1:] * slopes).sum()), float(mass[0].sum())


def _outputs(asked: Query, engine: str, max_states: int | None) -> dict[str, float]:
    """The expectations of all outputs, from one sweep over the composition."""
    loss = output_loss(asked.loss)  # type: ignore[arg-type]
    if engine == "openfst":
        built = _compose(asked.with_loss(loss), max_states)
        held = built.ending > 0
        registers = {name: column[held] for name, column in built.registers().items()}
        expected = output_values(loss.bound, registers, asked.n) @ built.ending[held]
    else:
        view = output_view(loss, asked.n, asked.z)
        final = run(view, asked.input(), None, max_states)
        held = final.mass[0] > 0
        expected = expected_outputs(view, final.codes[held], final.mass[:, held])
    check_finite("expect", expected)
    return dict(zip(output_names(loss), expected.tolist(), strict=True))


def _levels(asked: Query, keep: int | None, max_states: int | None) -> Levels:
    view = asked.view(weights=False)
    final = run(view, asked.input(), keep, max_states)
    held = final.mass[0] > 0
    return level_sets(view.values(final.codes[held])[0], final.mass[0, held])


def _kept(asked: Query, levels: Levels, lost_ulps: float) -> Expectation:
    """The kept part with bounds: what was lost is worth at least the least and at most the most.

    Args:
        asked: the query.
        levels: what was kept.
        lost_ulps: units of the last place that probabilities had lost before they were summed, as
            those that come from logarithms have: as many as the logarithm is great.
    """
    value, kept = levels.mean, float(levels.probabilities.sum())
    lost = max(0.0, float(asked.model.total_mass()) - kept)
    least, most = value_range(asked.loss, asked.n, _given(asked), lambda: _pairs(asked))
    rounding = 4 * sys.float_info.epsilon * (asked.n + 1 + lost_ulps)
    values, probabilities = levels.ungrouped
    size = float(np.abs(values) @ probabilities)
    lower = value + _left_out(lost, least, -rounding) - rounding * size
    upper = value + _left_out(lost, most, rounding) + rounding * size
    return Expectation(value, lower, upper, kept, lambda: levels)


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
    levels = _ending_levels(built, keep)
    if keep is not None:
        logs = built.table.weight[np.isfinite(built.table.weight)]
        return _kept(asked, levels, min(_MOST_LOG, asked.n * float(np.abs(logs).max(initial=0.0))))
    value = levels.mean
    check_finite("expect", value)
    return Expectation(value, value, value, float(levels.probabilities.sum()), lambda: levels)


def _ending_levels(built: Composition, keep: int | None = None) -> Levels:
    ending = ending_masses(built.table, keep)
    held = ending > 0
    return level_sets(built.machine.values[built.loss_states[held]], ending[held])


def _summed(asked: Query, max_states: int | None) -> tuple[float, float]:
    """Value and mass by machines whose paths add up."""
    parts = signed_parts(asked.loss, asked.n, _given(asked), max_states)
    model = asked.model.layered()
    value = mass = 0.0
    for sign, machine in parts:
        part, mass = summed_value(asked.hypothesis, machine, model, max_states)
        value += sign * part
    return value, mass


def _added_up(asked: Query, max_states: int | None) -> Expectation:
    """The value by a machine whose paths add up; the distribution needs the one that does not."""
    value, mass = _summed(asked, max_states)
    check_finite("expect", value)
    return Expectation(
        value, value, value, mass, lambda: _ending_levels(_compose(asked, max_states))
    )
