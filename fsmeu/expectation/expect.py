"""``expect``: the expected value, by the engine that was asked for."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from fsmeu.errors import FsmeuError, check_int, one_of
from fsmeu.expectation.by_tape import split_values
from fsmeu.expectation.composition import (
    compose_query,
    explicit_expectation,
    summed_value,
    window_form,
)
from fsmeu.expectation.long_counts import long_expectation
from fsmeu.expectation.query import Query, query
from fsmeu.expectation.result import (
    Expectation,
    Levels,
    bounded_expectation,
    check_finite,
    kept_expectation,
    level_sets,
)
from fsmeu.limits import CHEAP_STATES
from fsmeu.losses.evaluate import (
    expected_outputs,
    output_loss,
    output_names,
    output_values,
    output_view,
)
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.domains import check_range
from fsmeu.trellis.roundings import Sums
from fsmeu.trellis.walk import walk, walk_value, walk_windows

__all__ = ["ENGINES", "expect", "walked"]


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

    >>> from fsmeu.losses.loss import load
    >>> round(expect(load("fscore"), "110", [0.9, 0.5, 0.3]).value, 6)
    0.731333
    """
    asked = query(loss, z, model)
    engine = one_of("expect", "engine", engine, ENGINES)
    if keep is not None:
        keep = check_int("expect", "keep", keep)
    if max_states is not None:
        max_states = check_int("expect", "max_states", max_states)
    if engine == "openfst":
        result = explicit_expectation(asked, keep, max_states)
    elif keep is None:
        result = _streamed(asked, max_states)
    else:
        result = kept_expectation(asked, *_walked_levels(asked, keep, max_states))
    if not output_names(asked.loss):
        return result
    return replace(result, _outputs=lambda: _outputs(asked, engine, max_states))


def _streamed(asked: Query, max_states: int | None) -> Expectation:
    long = long_expectation(asked, lambda: _levels(asked, max_states))
    if long is not None:
        return long
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
    return bounded_expectation(asked, found, lambda: _levels(asked, max_states))


def _windowed(asked: Query, max_states: int | None) -> Sums | None:
    """The expectation where the loss is a sum over windows."""
    form = window_form(asked)
    if form is None:
        return None
    if asked.z is None:
        return summed_value(asked, max_states)
    return walk_windows(form, asked.z, asked.model.layered())


def _by_tape(asked: Query, max_states: int | None) -> Sums | None:
    """The expectation where the loss splits by tape."""
    if asked.z is None or not isinstance(asked.loss, SpecLoss):
        return None
    return split_values(asked.loss, [asked.z], [asked.model], max_states)


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def walked(asked: Query, max_states: int | None = None, *, weights: bool = True) -> Sums:
    """The expectation at the end of the composition.

    Args:
        asked: the query.
        max_states: limit on the number of states of a layer.
        weights: whether linear registers ride in the weight; otherwise nothing cancels but values
            of both signs.
    """
    return walk_value(asked.view(weights=weights), asked.input(), max_states)


def _outputs(asked: Query, engine: str, max_states: int | None) -> dict[str, float]:
    """The expectations of all outputs, from one sweep over the composition."""
    loss = output_loss(asked.loss)  # type: ignore[arg-type]
    if engine == "openfst":
        built = compose_query(asked.with_loss(loss), max_states)
        held = built.ending > 0
        registers = {name: column[held] for name, column in built.registers().items()}
        expected = output_values(loss.bound, registers, asked.n) @ built.ending[held]
    else:
        view = output_view(loss, asked.n, asked.z)
        final = walk(view, asked.input(), None, max_states)
        held = final.mass[0] > 0
        expected = expected_outputs(view, final.codes[held], final.mass[:, held])
    check_finite("expect", expected)
    return dict(zip(output_names(loss), expected.tolist(), strict=True))


def _levels(asked: Query, max_states: int | None) -> Levels:
    return _walked_levels(asked, None, max_states)[0]


def _walked_levels(asked: Query, keep: int | None, max_states: int | None) -> tuple[Levels, int]:
    """The distribution of the value, and a bound on the roundings behind each probability."""
    view = asked.view(weights=False)
    final = walk(view, asked.input(), keep, max_states)
    held = final.mass[0] > 0
    levels = level_sets(view.values(final.codes[held])[0], final.mass[0, held])
    return levels, final.roundings + int(held.sum())
