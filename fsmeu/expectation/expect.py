"""``expect`` and ``expect_many``: expected values, by the engine that was asked for.

Which way computes an expectation depends on the query alone (``_expectations``): moments or windows
of counts for long sequences, a sum over windows, a structure of both tapes where the loss splits,
else the general walk. Sequences of equal length, labels and kind of model go the last two ways
together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import FsmeuError, LossFileError, SizeLimitError, check_int, message, one_of
from fsmeu.expectation import composition, result
from fsmeu.expectation.composition import window_form
from fsmeu.expectation.query import Query, alike, queries, query
from fsmeu.expectation.result import Expectation, Levels, bounded_expectations
from fsmeu.fst.compose import guard_size
from fsmeu.fst.layers import ArcWeights
from fsmeu.limits import CELLS_PER_STATE, CHEAP_STATES, LONG_SEQUENCE, WINDOW_CELLS
from fsmeu.losses.algebra.confusion import Confusion, value_of_counts
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.domains import check_range, declared_range
from fsmeu.models import Model, arc_weights_many
from fsmeu.models.base import prepare_many
from fsmeu.models.chains import binary_chain, binary_marginals, is_binary_chain
from fsmeu.parallel import checked_jobs, in_shares
from fsmeu.trellis.moments import PROMISED, chain_of, chain_value, independent_value
from fsmeu.trellis.roundings import Sums, joined, relative_error
from fsmeu.trellis.walk import SMALL_SPACE, walk, walk_many, walk_value, walk_windows
from fsmeu.trellis.windows import Window, count_window

if TYPE_CHECKING:
    from fsmeu.trellis.engine import Structure

T = TypeVar("T")

ENGINES = ("lattice", "openfst")

WEIGHTS_AT_ONCE = 1 << 22  # weights of models whose sentences are computed together: 32 MB

MOST_LEVEL_CELLS = 20_000_000  # tables of counts whose values are listed: 1 GB while sorted

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
    found = _expectation(asked, engine, keep, max_states)
    if not asked.loss.outputs:
        return found

    def outputs() -> dict[str, float]:
        each = ((name, replace(asked, loss=one)) for name, one in asked.loss.outputs.items())
        return {name: _expectation(one, engine, None, max_states).value for name, one in each}

    return replace(found, _outputs=outputs)


def _expectation(
    asked: Query, engine: str, keep: int | None, max_states: int | None
) -> Expectation:
    if engine == "openfst":
        return composition.explicit_expectation(asked, keep, max_states)
    if keep is None:
        return _expectations([asked], max_states)[0]
    return result.kept_expectation(asked, *_walked_levels(asked, keep, max_states))


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
        size = len(rows)
        if together:
            arcs = sum(len(layer.weight) for layer in some[0].model.layered().layers)
            size = max(1, WEIGHTS_AT_ONCE // max(1, arcs))
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
        return [found for one in asked for found in _expectations([one], max_states)]

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


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _sums(asked: Sequence[Query], max_states: int | None, jobs: int) -> Sums:
    """The expected values of queries that are alike; of one, or of some that go together."""
    first, loss = asked[0], asked[0].loss
    zs, models = [one.z for one in asked if one.z is not None], [one.model for one in asked]
    found: Sums | None = None
    form = window_form(first) if len(asked) == 1 else None
    if form is not None and first.z is None:
        found = composition.summed_value(first, max_states)
    elif form is not None:
        found = walk_windows(form, zs[0], first.model.layered())
    if found is None and zs and isinstance(loss, SpecLoss):
        found = by_structure(loss, models, lambda s, w: s.expectations(w, zs, jobs), max_states)
        if found is None and len(asked) > 1:
            single = all(model is models[0] for model in models)
            models = models[:1] if single else models

            def weights(rows: slice) -> Floats:
                some = models if single else models[rows]
                prepare_many(some)
                return np.stack([model.all_weights() for model in some])

            found = walk_many(loss, np.stack(zs), models[0].layered(), weights)
    return found or joined([walked(one, max_states) for one in asked])


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def walked(asked: Query, max_states: int | None = None, *, weights: bool = True) -> Sums:
    """The expectation at the end of the composition, in a batch of one.

    Without linear counts in weights, nothing cancels but values of both signs.
    """
    return walk_value(asked.view(weights=weights), asked.input(), max_states)


def _walked_levels(asked: Query, keep: int | None, max_states: int | None) -> tuple[Levels, int]:
    """The distribution of the value, and a bound on the roundings behind each probability."""
    view = asked.view(weights=False)
    final = walk(view, asked.input(), keep, max_states)
    held = final.mass[0] > 0
    levels = result.level_sets(view.values(final.codes[held])[0], final.mass[0, held])
    return levels, final.roundings + int(held.sum())


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


# -- long sequences of two labels, where the value looks at counts alone ---------------------------
#
# Sums of ratios of counts come from central moments (``trellis/moments.py``), for independent
# labels and chains of any order. Other values of independent labels: with z given, tp is a count of
# independent events, those of the positions where z is a one, and ref - tp is one of all others.
# Both are held in windows that lack a mass far below rounding, so that the sum over all tables has
# a few million terms for a million labels. What is missing enters the bounds.


def is_long(asked: Query) -> bool:
    """Whether it is a long sequence of two labels, z given, whose value looks at counts alone."""
    if asked.n < LONG_SEQUENCE or asked.z is None or not isinstance(asked.loss, SpecLoss):
        return False
    known = binary_marginals(asked.model) is not None or is_binary_chain(asked.model)
    return known and asked.loss.confusion is not None


def long_expectation(asked: Query, levels: Callable[[Query], Levels]) -> Expectation | None:
    """The expectation of a query that is long; None where this way does not serve.

    ``levels`` gives the distribution of the value under a chain, when it is asked for.
    """
    loss, z, p = asked.loss, asked.z, binary_marginals(asked.model)
    assert isinstance(loss, SpecLoss)
    form, chain = loss.confusion, binary_chain(asked.model)
    assert form is not None
    assert z is not None
    known: Sequence[float] | None = None
    if p is not None:
        known = independent_value(form, z, p)
    elif chain is not None:
        known = chain_value(form, z, chain_of(*chain))
    sides = declared_range(loss.bound, asked.n)
    if known is not None and known[1] <= PROMISED * abs(known[0]):
        (value, error), kept = known[:2], 1.0
        lower, upper = value - error, value + error
    elif p is not None and all(map(math.isfinite, sides)):
        value, lower, upper, kept = _windowed(form, z, p, sides)
    else:
        return None
    result.check_finite(asked.where, value)
    check_range(loss.bound, asked.n, np.array([value / kept]))
    if p is None:
        return Expectation(value, lower, upper, kept, lambda: levels(asked))
    return Expectation(value, lower, upper, kept, lambda: _table_levels(form, z, p))


def _windowed(
    form: Confusion, z: Ints, p: Floats, sides: tuple[float, float]
) -> tuple[float, float, float, float]:
    """The value by windows of counts, its bounds, and the mass of the windows; sides are finite."""
    windows = count_window(p[z == 1]), count_window(p[z != 1])
    value = size = kept = 0.0
    for values, chances in _tables(form, z, *windows):
        value += float((values * chances).sum())
        size += float((np.abs(values) * chances).sum())
        kept += float(chances.sum())
    operations = sum(one.operations + len(one.chances) for one in windows) + 8
    lost, rounding = sum(one.lost for one in windows), relative_error(operations) * size
    low, high = lost * min(0.0, sides[0]) - rounding, lost * max(0.0, sides[1]) + rounding
    return value, value + low, value + high, kept


def _tables(
    form: Confusion, z: Ints, first: Window, last: Window
) -> Iterator[tuple[Floats, Floats]]:
    """Values and probabilities of the tables that have mass, (rows, width), in blocks of rows.

    ``first`` is the count of true positives, ``last`` that of ones of y where z has none.
    """
    rows, rest = max(1, WINDOW_CELLS // len(last.chances)), last.counts[None, :]
    for begin in range(0, len(first.chances), rows):
        tp = first.counts[begin : begin + rows, None]
        values = value_of_counts(form, len(z), tp, float(z.sum()), tp + rest)
        yield values, first.chances[begin : begin + rows, None] * last.chances


def _table_levels(form: Confusion, z: Ints, p: Floats) -> Levels:
    """The distribution of the value, where there are not too many tables to list."""
    first, last = count_window(p[z == 1]), count_window(p[z != 1])
    cells = len(first.chances) * len(last.chances)
    if cells > MOST_LEVEL_CELLS:
        must = f"the distribution may have up to {MOST_LEVEL_CELLS:,} tables"
        remedy = "Ask for the value and its bounds, or for shorter sequences"
        raise SizeLimitError(message("expect", must, f"{cells:,}", remedy))
    blocks = [
        (values.ravel(), chances.ravel()) for values, chances in _tables(form, z, first, last)
    ]
    values, chances = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return result.level_sets(values, chances)
