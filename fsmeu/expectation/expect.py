"""``expect`` and ``expect_many``: expected values, by the engine that was asked for.

Which way computes an expectation depends on the query alone (``_expectations``): moments or windows
of counts for long sequences, a sum over windows, a structure of both tapes where the loss splits,
else the general walk. Sequences of equal length, labels and kind of model go the last two ways
together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import FsmeuError, LossFileError, SizeLimitError, check_int, one_of
from fsmeu.expectation.composition import (
    compose_query,
    explicit_expectation,
    summed_value,
    window_form,
)
from fsmeu.expectation.long_counts import is_long, long_expectation
from fsmeu.expectation.query import Query, alike, queries, query
from fsmeu.expectation.result import (
    Expectation,
    Levels,
    bounded_expectations,
    check_finite,
    kept_expectation,
    level_sets,
)
from fsmeu.fst.compose import guard_size
from fsmeu.fst.layers import ArcWeights
from fsmeu.limits import CELLS_PER_STATE, CHEAP_STATES
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
from fsmeu.models import Model, arc_weights_many
from fsmeu.models.base import prepare_many
from fsmeu.parallel import checked_jobs, in_shares
from fsmeu.trellis.roundings import Sums, joined
from fsmeu.trellis.walk import SMALL_SPACE, walk, walk_many, walk_value, walk_windows

if TYPE_CHECKING:
    from fsmeu.trellis.engine import Structure

T = TypeVar("T")

ENGINES = ("lattice", "openfst")

WEIGHTS_AT_ONCE = 1 << 22  # weights of models whose sentences are computed together: 32 MB

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
        [result] = _expectations([asked], max_states)
    else:
        result = kept_expectation(asked, *_walked_levels(asked, keep, max_states))
    if not output_names(asked.loss):
        return result
    return replace(result, _outputs=lambda: _outputs(asked, engine, max_states))


def expect_many(
    loss: Loss,
    zs: Iterable[Any],
    models: Iterable[Any],
    *,
    jobs: int = 1,
    scheduler: Any = None,
) -> Floats:
    """The expected value of each hypothesis under its model, ``expect(...).value`` of every pair.

    Args:
        loss: a loss or utility.
        zs: hypotheses, label sequences of any lengths; or an array (sequences, n).
        models: a label model for each; vectors of probabilities stand for ``Bernoulli``.
        jobs: how many threads compute; processes, where sequences are not computed together.
        scheduler: the address of a Dask scheduler, or a client of ``distributed``, whose workers
            compute.

    >>> from fsmeu.losses.loss import load
    >>> expect_many(load("hamming"), ["10", "111"], [[0.9, 0.5], [0.5, 0.5, 0.5]])
    array([0.3, 0.5])
    """
    asked = queries(loss, zs, models, "expect_many")
    threads, values = checked_jobs("expect_many", jobs), np.empty(len(asked))
    apart: list[int] = []
    distributions = {row for row, one in enumerate(asked) if one.z is None}
    for rows in alike([one.model for one in asked], distributions):
        some = [asked[row] for row in rows]
        together = _go_together(some[0])
        if scheduler is not None or (threads > 1 and not together):
            apart += rows
            continue
        size = _at_once(some[0].model) if together else len(rows)
        for begin in range(0, len(rows), size):
            found = _expectations(some[begin : begin + size], jobs=threads)
            values[rows[begin : begin + size]] = [one.value for one in found]
    if len(apart) == 1 and scheduler is None:
        values[apart] = [one.value for one in _expectations([asked[apart[0]]])]
    elif apart:
        pairs = [(asked[row].labels, asked[row].distribution, asked[row].model) for row in apart]
        sizes = [asked[row].n for row in apart]
        values[apart] = in_shares("expect_many", _share, loss, pairs, sizes, jobs, scheduler)
    return values


def _at_once(model: Model) -> int:
    """How many models like this one are computed together: as many as memory should hold."""
    arcs = sum(len(layer.weight) for layer in model.layered().layers)
    return max(1, WEIGHTS_AT_ONCE // max(1, arcs))


def _share(loss: Loss, parts: list[tuple[Any, Any, Model]]) -> list[float]:
    """The values of some queries: labels or a distribution, and the model of each."""
    zs = [labels if other is None else other for labels, other, _ in parts]
    values: list[float] = expect_many(loss, zs, [model for *_, model in parts]).tolist()
    return values


def _expectations(
    asked: Sequence[Query], max_states: int | None = None, jobs: int = 1
) -> list[Expectation]:
    """The expectations of queries that are alike; here the way is chosen."""
    if len(asked) > 1 and not _go_together(asked[0]):
        return [result for one in asked for result in _expectations([one], max_states)]

    def levels(one: Query) -> Levels:
        return _walked_levels(one, None, max_states)[0]

    long = long_expectation(asked[0], levels) if is_long(asked[0]) else None
    if long is not None:
        return [long]
    results = bounded_expectations(asked, _sums(asked, max_states, jobs), levels)
    for row, one in enumerate(results):
        if one.upper - one.value <= DIGITS * abs(one.value):
            continue
        # Large terms cancel; those of both signs that are left belong to different pairs.
        with suppress(FsmeuError):
            cheap = max(1, CHEAP_STATES // max(1, asked[row].n))
            again = walked(asked[row], min(cheap, max_states or cheap), weights=False)
            both = one, *bounded_expectations([asked[row]], again, levels)
            results[row] = min(both, key=lambda one: one.upper - one.lower)
    if isinstance(asked[0].loss, SpecLoss):
        means = np.array([one.value / one.kept for one in results if one.kept])
        check_range(asked[0].loss.bound, asked[0].n, means)
    return results


def _go_together(asked: Query) -> bool:
    """Whether queries like this are computed together: by tape, or over one small space."""
    loss = asked.loss
    if asked.z is None or not isinstance(loss, SpecLoss) or is_long(asked):
        return False
    if window_form(asked) is not None:
        return False
    if loss.split is not None and loss.split.counted:
        return True
    space = asked.view(weights=True).space
    return space is not None and space <= SMALL_SPACE


def _sums(asked: Sequence[Query], max_states: int | None, jobs: int) -> Sums:
    """The expected values of queries that are alike; of one, or of some that go together."""
    first, loss = asked[0], asked[0].loss
    zs, models = [one.z for one in asked if one.z is not None], [one.model for one in asked]
    found: Sums | None = None
    form = window_form(first) if len(asked) == 1 else None
    if form is not None and first.z is None:
        found = summed_value(first, max_states)
    elif form is not None:
        found = walk_windows(form, zs[0], first.model.layered())
    if found is None and zs and isinstance(loss, SpecLoss):
        found = split_values(loss, zs, models, max_states, jobs)
        if found is None and len(asked) > 1:
            found = _spanned(loss, zs, models)
    return found or joined([walked(one, max_states) for one in asked])


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _spanned(loss: SpecLoss, zs: Sequence[Ints], models: Sequence[Model]) -> Sums | None:
    """The expected values by one walk, None where arrays do not span the states of the loss."""
    if all(model is models[0] for model in models):
        models = models[:1]

    def weights(rows: slice) -> Floats:
        some = models if len(models) == 1 else models[rows]
        prepare_many(some)
        return np.stack([model.all_weights() for model in some])

    return walk_many(loss, np.stack(zs), models[0].layered(), weights)


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def walked(asked: Query, max_states: int | None = None, *, weights: bool = True) -> Sums:
    """The expectation at the end of the composition, in a batch of one.

    Without linear counts in weights, nothing cancels but values of both signs.
    """
    return walk_value(asked.view(weights=weights), asked.input(), max_states)


def _outputs(asked: Query, engine: str, max_states: int | None) -> dict[str, float]:
    """The expectations of all outputs, from one sweep over the composition."""
    loss = output_loss(asked.loss)  # type: ignore[arg-type]
    if engine == "openfst":
        built = compose_query(replace(asked, loss=loss), max_states)
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


def _walked_levels(asked: Query, keep: int | None, max_states: int | None) -> tuple[Levels, int]:
    """The distribution of the value, and a bound on the roundings behind each probability."""
    view = asked.view(weights=False)
    final = walk(view, asked.input(), keep, max_states)
    held = final.mass[0] > 0
    levels = level_sets(view.values(final.codes[held])[0], final.mass[0, held])
    return levels, final.roundings + int(held.sum())


# -- losses that split by tape ---------------------------------------------------------------------


def split_values(
    loss: SpecLoss,
    zs: Sequence[Ints],
    models: Sequence[Model],
    max_states: int | None = None,
    jobs: int = 1,
) -> Sums | None:
    """The expected value of each hypothesis under its model, None where ``by_structure`` has none.

    The models are alike, and the loss is over their labels.
    """
    return by_structure(loss, models, lambda one, w: one.expectations(w, zs, jobs), max_states)


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def by_structure(
    loss: SpecLoss,
    models: Sequence[Model],
    ask: Callable[[Structure, list[ArcWeights]], T],
    max_states: int | None = None,
) -> T | None:
    """What the structure of both tapes and the models, which are alike, answers.

    None where the loss does not split by tape with a counter for each at most, where a step is
    undefined for some pair of sequences, or where the structure would be too large.
    """
    if loss.split is None or not loss.split.counted:
        return None
    from fsmeu.trellis.kept import structure_of
    from fsmeu.trellis.tapes import UncountableError

    try:
        found, n = structure_of(loss, models[0]), models[0].n
        size = int(found.r.columns[n])
        guard_size("composition", size * int(found.h.columns[n]) // CELLS_PER_STATE, max_states)
        cells = (1 + found.counts) * size * int(found.r.width[n])
        guard_size("composition", cells // CELLS_PER_STATE, max_states)
        return ask(found, arc_weights_many(models))
    except (LossFileError, SizeLimitError, UncountableError):
        return None
