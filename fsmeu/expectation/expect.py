"""``expect``, ``expect_many`` and ``gradient``: expected values and their derivatives.

Which way computes an expectation depends on the query alone (``_expectations``): moments or windows
of counts for long sequences, a sum over windows, a structure of both tapes where the loss splits,
else the general walk. Sequences of equal length, labels and kind of model go the last two ways
together. The derivative for the weight of an arc of the model is the mass that arrives at it, by a
sweep forward, times what follows it is worth, by one backward; the model pulls these back to its
own parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fsmeu import errors
from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, SizeLimitError, check_int, message
from fsmeu.expectation import composition, result
from fsmeu.expectation.composition import window_form
from fsmeu.expectation.query import Query, alike, queries, query
from fsmeu.expectation.result import Expectation, Levels, bounded_expectations, check_finite
from fsmeu.fst.compose import guard_size
from fsmeu.fst.layers import ArcWeights
from fsmeu.limits import CELLS_PER_STATE, CHEAP_STATES, LONG_SEQUENCE, WINDOW_CELLS
from fsmeu.losses.algebra.confusion import Confusion, value_of_counts
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.domains import check_range, declared_range
from fsmeu.models import Gradient, Model, Parametrized, arc_weights_many, as_model
from fsmeu.models.base import prepare_many
from fsmeu.models.chains import binary_chain, binary_marginals, is_binary_chain
from fsmeu.parallel import checked_jobs, in_shares
from fsmeu.trellis.moments import PROMISED, chain_of, chain_value, independent_value
from fsmeu.trellis.roundings import Sums, joined, relative_error
from fsmeu.trellis.walk import SMALL_SPACE, walk, walk_gradient, walk_many, walk_windows
from fsmeu.trellis.windows import Window, count_window

if TYPE_CHECKING:
    from fsmeu.trellis.engine import Structure

T = TypeVar("T")

ENGINES = ("lattice", "openfst")
WEIGHTS_AT_ONCE = 1 << 22  # weights of models whose sentences are computed together: 32 MB
MOST_LEVEL_CELLS = 20_000_000  # tables of counts whose values are listed: 1 GB while sorted
DIGITS = 1e-10  # a value whose error may be a greater part is computed again, counts as states


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
    engine = errors.one_of("expect", "engine", engine, ENGINES)
    if keep is not None:
        keep = check_int("expect", "keep", keep)
    if max_states is not None:
        max_states = check_int("expect", "max_states", max_states)
    found = expectation_of(asked, max_states, keep, engine)
    return replace(found, _outputs=partial(_outputs, asked, max_states, engine))


def _outputs(asked: Query, max_states: int | None, engine: str) -> dict[str, float]:
    """The expectations of the further outputs that the loss's file names, by name."""
    each = ((name, replace(asked, loss=one)) for name, one in asked.loss.outputs.items())
    return {name: expectation_of(one, max_states, None, engine).value for name, one in each}


def expectation_of(
    asked: Query, max_states: int | None = None, keep: int | None = None, engine: str = "lattice"
) -> Expectation:
    """The expected value of a query, as ``expect`` has it."""
    if engine == "openfst":
        return composition.explicit_expectation(asked, keep, max_states)
    if keep is None:
        return _expectations([asked], max_states)[0]
    return result.kept_expectation(asked, *_walked_levels(asked, keep, max_states))


def expect_many(
    loss: Loss, zs: Iterable[Any], models: Iterable[Any], *, jobs: int = 1, scheduler: Any = None
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
    threads, values = checked_jobs("expect_many", jobs), np.full(len(asked), np.nan)
    if scheduler is None:
        values = values_and_errors(asked, threads)[0]
    apart = np.flatnonzero(np.isnan(values)).tolist()
    if apart:
        some = [asked[row] for row in apart]
        pairs = [(x.labels if x.distribution is None else x.distribution, x.model) for x in some]
        sizes, few = [one.n for one in some], min(threads, len(apart))
        values[apart] = in_shares("expect_many", _share, loss, pairs, sizes, few, scheduler)
    return values


def values_and_errors(asked: Sequence[Query], jobs: int = 1) -> Floats:
    """The expected values of queries, and bounds on their errors, (2, queries).

    With several jobs, they are nan where queries are not computed together: processes may do that.
    """
    found = np.full((2, len(asked)), np.nan)
    for rows in alike(asked):
        first, size = asked[rows[0]], 1
        if _go_together(first):
            arcs = sum(len(layer.weight) for layer in first.model.layered().layers)
            size = max(1, WEIGHTS_AT_ONCE // max(1, arcs))
        elif jobs > 1:
            continue
        for begin in range(0, len(rows), size):
            some = rows[begin : begin + size]
            found[:, some] = with_errors(_expectations([asked[row] for row in some], jobs=jobs))
    return found


def with_errors(found: Sequence[Expectation]) -> Floats:
    """The expected values, and bounds on their errors, (2, expectations)."""
    errors = [max(one.upper - one.value, one.value - one.lower) for one in found]
    return np.array([[one.value for one in found], errors])


def _share(loss: Loss, pairs: list[tuple[Any, Model]]) -> list[float]:
    """The values of some pairs of a hypothesis and its model."""
    values: list[float] = expect_many(loss, *zip(*pairs, strict=True)).tolist()
    return values


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _expectations(
    asked: Sequence[Query], max_states: int | None = None, jobs: int = 1
) -> list[Expectation]:
    """The expectations of one query, or of several that go together."""
    levels = partial(_levels, max_states)
    if is_long(asked[0]) and (long := long_expectation(asked[0], levels)) is not None:
        return [long]
    results = bounded_expectations(asked, _sums(asked, max_states, jobs), levels)
    for row, one in enumerate(results):
        if one.upper - one.value <= DIGITS * abs(one.value):
            continue
        # Large terms cancel; those of both signs that are left belong to different pairs.
        with suppress(errors.FsmeuError):
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
    loss, alone = asked.loss, asked.z is None or is_long(asked) or window_form(asked) is not None
    if alone or not isinstance(loss, SpecLoss):
        return False
    if loss.split is not None and loss.split.counted:
        return True
    space = asked.view(weights=True).space
    return space is not None and space <= SMALL_SPACE


def _sums(asked: Sequence[Query], max_states: int | None, jobs: int) -> Sums:
    """The expected values of one query, or of several that go together."""
    first, loss, found = asked[0], asked[0].loss, None
    zs, models = [one.z for one in asked if one.z is not None], [one.model for one in asked]
    form = window_form(first)
    if form is not None and zs:
        found = walk_windows(form, zs[0], first.model.layered())
    elif form is not None:
        found = composition.summed_value(first, max_states)
    if found is None and zs and isinstance(loss, SpecLoss):
        found = by_structure(loss, models, lambda s, w: s.expectations(w, zs, jobs), max_states)
        if found is None and len(asked) > 1:
            some = models[:1] if all(model is models[0] for model in models) else models
            prepare_many(some)
            weights = np.stack([model.all_weights() for model in some])
            found = walk_many(loss, np.stack(zs), models[0].layered(), weights)
    return found or joined([walked(one, max_states) for one in asked])


def walked(asked: Query, max_states: int | None = None, *, weights: bool = True) -> Sums:
    """The expectation by a walk; without linear counts in weights, only values can cancel."""
    return walk(asked.view(weights=weights), asked.input(), max_states=max_states).sums()


def _levels(max_states: int | None, asked: Query) -> Levels:
    return _walked_levels(asked, None, max_states)[0]


def _walked_levels(asked: Query, keep: int | None, max_states: int | None) -> tuple[Levels, int]:
    """The distribution of the value, and a bound on the roundings behind each probability."""
    view = asked.view(weights=False)
    final = walk(view, asked.input(), keep, max_states)
    held = final.mass[0] > 0
    levels = result.level_sets(view.values(final.codes[held])[0], final.mass[0, held])
    return levels, final.roundings + int(held.sum())


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
        for cells in (int(found.h.columns[n]), (1 + found.counts) * int(found.r.width[n])):
            guard_size("composition", size * cells // CELLS_PER_STATE, max_states)
        return ask(found, arc_weights_many(models))
    except (errors.LossFileError, SizeLimitError, UncountableError):
        return None


# -- derivatives -----------------------------------------------------------------------------------


def gradient(loss: Loss, z: Any, model: Any, *, engine: str = "lattice") -> Gradient:
    """The derivatives of ``expect(loss, z, model).value`` with respect to the model's parameters.

    Args:
        loss: a loss or utility.
        z: a label sequence, or a model on the hypothesis tape.
        model: a model with parameters: ``Bernoulli`` gives dE/dp of shape (n,), ``Independent``
            dE/dp of shape (n, L), ``Markov`` and ``from_potentials`` a dictionary of arrays.
        engine: "lattice" or "openfst".

    >>> from fsmeu.losses.loss import load
    >>> gradient(load("hamming"), "10", [0.9, 0.5])
    array([-0.5,  0.5])
    """
    return value_and_gradient(loss, z, model, engine=engine)[1]


def value_and_gradient(
    loss: Loss, z: Any, model: Any, *, engine: str = "lattice"
) -> tuple[float, Gradient]:
    """The expected value and its derivatives, from one pass forward and one backward."""
    engine = errors.one_of("gradient", "engine", engine, ENGINES)
    values, slopes = value_and_gradient_many(loss, [z], [model], engine)
    return float(values[0]), slopes[0]


def value_and_gradient_many(
    loss: Loss, zs: Sequence[Any], models: Sequence[Any], engine: str = "lattice"
) -> tuple[Floats, list[Gradient]]:
    """The expected value of each hypothesis, (batch,), and the derivatives for each model.

    ``value_and_gradient`` of every pair; models of one length and structure are swept together.
    """
    asked = [query(loss, z, model, "gradient") for z, model in zip(zs, models, strict=True)]
    fitting = list[Parametrized]()
    for one, model in zip(asked, models, strict=True):
        lacking = set(one.model.labels) - set(as_model(model).labels)
        if lacking:
            must = "the model must have all labels of the loss and of z, as each has a derivative"
            got = f"one without {', '.join(sorted(map(str, lacking)))}"
            raise InputError(message("gradient", must, got, "Give them the probability 0"))
        if not isinstance(one.model, Parametrized):
            must = "the model must have parameters: Bernoulli, Independent, Markov, from_potentials"
            raise InputError(message("gradient", must, type(one.model).__name__))
        fitting.append(one.model)
    values, slopes = np.empty(len(asked)), dict[int, Gradient]()
    for rows in alike(asked):
        found = _derivatives([asked[row] for row in rows], engine)
        for row, (value, per_arc) in zip(rows, found, strict=True):
            check_finite("gradient", np.concatenate([[value], *per_arc]))
            values[row], slopes[row] = value, fitting[row].pullback(per_arc, value)
    return values, [slopes[row] for row in range(len(asked))]


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _derivatives(asked: Sequence[Query], engine: str) -> list[tuple[float, list[Floats]]]:
    """Value and arcs' derivatives of queries that are alike, together where tapes split."""
    if engine == "openfst":
        return [composition.explicit_gradient(one) for one in asked]
    loss, zs = asked[0].loss, [one.z for one in asked if one.z is not None]
    if isinstance(loss, SpecLoss) and zs and asked[0].n:
        models = [one.model for one in asked]
        found = by_structure(loss, models, lambda one, weights: one.gradients(weights, zs))
        if found is not None:
            return list(zip(found[0].tolist(), found[1], strict=True))
    results = []
    for one in asked:
        fixed = isinstance(one.model, Parametrized) and one.model.fixed_support
        value, per_arc = walk_gradient(one.view(weights=True), one.input(), fixed)
        if one.z is None:  # arcs are paired with those of the hypothesis
            pairs = zip(one.hypothesis.layers, per_arc, strict=True)
            per_arc = [left.weight @ arcs.reshape(len(left.weight), -1) for left, arcs in pairs]
        results.append((value, per_arc))
    return results


# -- long sequences of two labels, where the value looks at counts alone ---------------------------
#
# Sums of ratios of counts come from central moments (``trellis/moments.py``). Other values, of
# independent labels: with z given, tp counts independent events, where z is a one, and ref - tp
# all others. Both are held in windows that lack a mass far below rounding, which enters the bounds:
# the sum over all tables has a few million terms for a million labels.


def is_long(asked: Query) -> bool:
    """Whether it is a long sequence of two labels, z given, whose value looks at counts alone."""
    if asked.n < LONG_SEQUENCE or asked.z is None or not isinstance(asked.loss, SpecLoss):
        return False
    known = binary_marginals(asked.model) is not None or is_binary_chain(asked.model)
    return known and asked.loss.confusion is not None


def long_expectation(asked: Query, levels: Callable[[Query], Levels]) -> Expectation | None:
    """The expectation of a long query, None where this does not serve; ``levels`` serve chains."""
    loss, z, p = asked.loss, asked.z, binary_marginals(asked.model)
    assert isinstance(loss, SpecLoss)
    form, chain = loss.confusion, binary_chain(asked.model)
    assert form is not None
    assert z is not None
    known: Sequence[float] | None = None if p is None else independent_value(form, z, p)
    if p is None and chain is not None:
        known = chain_value(form, z, chain_of(*chain))
    if known is not None and known[1] <= PROMISED * abs(known[0]):
        found = *known[:2], 1.0, 0.0
    elif p is not None and all(map(math.isfinite, declared_range(loss.bound, asked.n))):
        found = _windowed(form, z, p)
    else:
        return None
    listed = partial(levels, asked) if p is None else partial(_table_levels, form, z, p)
    return result.ranged_expectation(loss, asked.n, asked.where, found, listed)


def _windowed(form: Confusion, z: Ints, p: Floats) -> tuple[float, float, float, float]:
    """The value by windows of counts, its error, the mass of the windows, and what they lost."""
    windows = count_window(p[z == 1]), count_window(p[z != 1])
    value = size = kept = 0.0
    for values, chances in _tables(form, z, *windows):
        value += float((values * chances).sum())
        size += float((np.abs(values) * chances).sum())
        kept += float(chances.sum())
    operations = sum(one.operations + len(one.masses) for one in windows) + 8
    return value, relative_error(operations) * size, kept, sum(one.lost for one in windows)


def _tables(
    form: Confusion, z: Ints, first: Window, last: Window
) -> Iterator[tuple[Floats, Floats]]:
    """Values and probabilities of the tables that have mass, (rows, width), in blocks of rows."""
    rows, rest = max(1, WINDOW_CELLS // len(last.masses)), last.counts[None, :]
    for begin in range(0, len(first.masses), rows):
        tp = first.counts[begin : begin + rows, None]
        values = value_of_counts(form, len(z), tp, float(z.sum()), tp + rest)
        yield values, first.masses[begin : begin + rows, None] * last.masses


def _table_levels(form: Confusion, z: Ints, p: Floats) -> Levels:
    """The distribution of the value, where there are not too many tables to list."""
    first, last = count_window(p[z == 1]), count_window(p[z != 1])
    cells = len(first.masses) * len(last.masses)
    if cells > MOST_LEVEL_CELLS:
        must = f"the distribution may have up to {MOST_LEVEL_CELLS:,} tables"
        remedy = "Ask for the value and its bounds, or for shorter sequences"
        raise SizeLimitError(message("expect", must, f"{cells:,}", remedy))
    blocks = [np.stack(np.broadcast_arrays(*block)) for block in _tables(form, z, first, last)]
    return result.level_sets(*np.concatenate(blocks, axis=1).reshape(2, -1))
