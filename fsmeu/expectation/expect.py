"""``expect``, ``expect_many`` and ``gradient``: expected values and their derivatives.

Which way computes an expectation depends on the query alone (``_expectations``): rules or windows
of counts for long sequences, a sum over windows, a structure of both tapes where the loss splits,
else the general walk. Sequences of equal length, labels and kind of model go the last two ways
together. The derivative for the weight of an arc of the model is the forward mass of its source
times the backward value of its target; the model pulls these back to its own parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fsmeu import errors, limits
from fsmeu.arrays import Floats
from fsmeu.errors import InputError, SizeLimitError, check_int
from fsmeu.expectation import composition, result
from fsmeu.expectation.composition import window_form
from fsmeu.expectation.documents import document_expectation, document_gradient, is_document
from fsmeu.expectation.long_sequences import is_long, long_expectation
from fsmeu.expectation.query import (
    Query,
    batch_size,
    group_by_structure,
    paired,
    queries_of,
    query_of,
)
from fsmeu.expectation.result import (
    Expectation,
    Expectations,
    Levels,
    check_finite,
    estimated_expectations,
)
from fsmeu.fst.compose import max_states as most_states
from fsmeu.losses.protocol import Loss, LossLike, as_loss, takes_loss
from fsmeu.models import (
    Gradient,
    HypothesisLike,
    Model,
    ModelLike,
    Parametrized,
    as_model,
)
from fsmeu.models.base import arc_weights_many, prepare_many
from fsmeu.parallel import checked_jobs, in_shares, threads, workers
from fsmeu.trellis.engine import SplitTrellis
from fsmeu.trellis.estimate import Estimate, joined
from fsmeu.trellis.trellis_cache import Refused, is_valued, trellis_of
from fsmeu.trellis.walk import (
    walk,
    walk_gradient,
    walk_many,
    walk_windows,
)

ENGINES = ("auto", "openfst")


@takes_loss
def expect(
    loss: LossLike,
    z: HypothesisLike,
    model: ModelLike,
    *,
    engine: str = "auto",
    keep: int | None = None,
    max_states: int | None = None,
) -> Expectation:
    """The expected value of a loss or utility of hypothesis z when the reference follows a model.

    Args:
        loss: a loss or utility, or its name or path as ``load`` takes it.
        z: a label sequence, or a model (a distribution on the hypothesis tape, independent of y).
        model: a label model; a sequence of probabilities stands for ``Bernoulli``.
        engine: "auto" streams the composition layer by layer; "openfst" builds it with pynini.
        keep: expand only this many of the most probable states of each layer (Jansche 2007, section
            4); ``lower`` and ``upper`` then hold the truth between them.
        max_states: limit on the number of states that may be built.

    >>> from fsmeu.losses.loss import load
    >>> round(expect(load("fscore"), "110", [0.9, 0.5, 0.3]).value, 6)
    0.731333
    """
    options = ExpectOptions(engine, keep, max_states).checked("expect")
    query = query_of(loss, z, model)
    expectation = expectation_of(query, options)
    return replace(expectation, _outputs=partial(_outputs, query, options))


class ExpectOptions(NamedTuple):
    """How expectations are computed: the options of ``expect``."""

    engine: str = "auto"
    keep: int | None = None
    max_states: int | None = None

    def checked(self, where: str) -> ExpectOptions:
        """The same options; an InputError if one is invalid."""
        engine = errors.one_of(where, "engine", self.engine, ENGINES)
        keep = None if self.keep is None else check_int(where, "keep", self.keep)
        limit = self.max_states
        return ExpectOptions(
            engine, keep, None if limit is None else check_int(where, "max_states", limit)
        )


_DEFAULT = ExpectOptions()


def _outputs(query: Query, options: ExpectOptions) -> dict[str, float]:
    """The expectations of the further outputs that the loss's file names, by name."""
    pairs = ((name, replace(query, loss=loss)) for name, loss in query.loss.outputs.items())
    return {name: expectation_of(x, options._replace(keep=None)).value for name, x in pairs}


def expectation_of(query: Query, options: ExpectOptions = _DEFAULT) -> Expectation:
    """The expected value of a query, as ``expect`` has it."""
    if options.engine == "openfst":
        return composition.explicit_expectation(query, options.keep, options.max_states)
    if options.keep is None:
        return _expectations([query], options.max_states)[0]
    levels = _walked_levels(query, options.keep, options.max_states)
    return result.kept_expectation(query, levels)


@takes_loss
def expect_many(
    loss: LossLike,
    zs: Iterable[HypothesisLike],
    models: Iterable[ModelLike],
    *,
    engine: str = "auto",
    keep: int | None = None,
    max_states: int | None = None,
    jobs: int = 1,
    scheduler: Any = None,
) -> Expectations:
    """The expected value of each hypothesis under its model, with bounds: ``expect`` of every pair.

    Args:
        loss: a loss or utility, or its name or path as ``load`` takes it.
        zs: hypotheses, label sequences of any lengths or models; or an array (sequences, n).
        models: a label model for each; vectors of probabilities stand for ``Bernoulli``.
        engine: as for ``expect``, as are ``keep`` and ``max_states``; for all the same.
        keep: states per layer.
        max_states: limit on the number of states of each.
        jobs: how many threads compute; processes, where sequences are not computed together.
        scheduler: the address of a Dask scheduler, or a client of ``distributed``, whose workers
            compute.

    >>> from fsmeu.losses.loss import load
    >>> expect_many(load("hamming"), ["10", "111"], [[0.9, 0.5], [0.5, 0.5, 0.5]]).values
    array([0.3, 0.5])
    """
    loss = as_loss(loss, "expect_many")
    options = ExpectOptions(engine, keep, max_states).checked("expect_many")
    queries = queries_of(loss, zs, models, "expect_many")
    count = checked_jobs("expect_many", jobs)
    if scheduler is None:
        found = expectations_of(queries, options, count)
    else:
        found = np.full((_NUMBERS, len(queries)), np.nan)
    apart = np.flatnonzero(np.isnan(found[0])).tolist()
    if apart:
        left = [queries[row] for row in apart]
        pairs = [(x.labels if x.distribution is None else x.distribution, x.model) for x in left]
        sizes = [x.n for x in left]
        few = min(count, len(apart))
        question = (loss, options)
        with workers("expect_many", few, scheduler) as pool:
            shares = in_shares(pool, _share, question, pairs, sizes)
        found[:, apart] = np.transpose(shares)
    return Expectations(*found)


_NUMBERS = 4  # of an expectation: value, lower and upper bound, mass that was kept


def expectations_of(
    queries: Sequence[Query], options: ExpectOptions = _DEFAULT, jobs: int = 1
) -> Floats:
    """Values, lower bounds, upper bounds and masses kept of queries, (4, queries).

    With several jobs, they are nan where queries are not computed together: processes may do that.
    """
    out = np.full((_NUMBERS, len(queries)), np.nan)
    blocks = list[Sequence[int]]()
    plain = options.engine == "auto" and options.keep is None
    for rows in group_by_structure(queries):
        first = queries[rows[0]]
        size = 1
        if plain and _go_together(first):
            size = batch_size(first.model, len(queries), jobs)
        elif jobs > 1:
            continue
        blocks += [rows[begin : begin + size] for begin in range(0, len(rows), size)]

    def computed(block: Sequence[int]) -> None:
        some = [queries[row] for row in block]
        if plain:
            found = _expectations(some, options.max_states)
        else:
            found = [expectation_of(query, options) for query in some]
        out[:, block] = np.transpose([(x.value, x.lower, x.upper, x.kept) for x in found])

    with threads(jobs) as each:
        list(each(computed, blocks))
    return out


def values_and_reaches(queries: Sequence[Query]) -> Floats:
    """Expected values of queries of one structure, and how far they may be off, (2, queries)."""
    first = queries[0]
    alone = len(queries) == 1 and not (is_long(first) or is_document(first))
    if not first.n or not (alone or _go_together(first)):
        found = [expectation_of(query) for query in queries]
        pairs = [(x.value, max(x.upper - x.value, x.value - x.lower)) for x in found]
        values: Floats = np.array(pairs).T
        return values
    estimate = _estimate(queries, None)
    check_finite(first.where, estimate.values)
    return np.stack([estimate.values, estimate.reach(first.loss.value_range(first.n).width)])


def _share(
    question: tuple[Loss, ExpectOptions], pairs: list[tuple[Any, Model]]
) -> list[list[float]]:
    """For each pair of a hypothesis and its model: value, lower bound, upper bound, mass kept."""
    loss, options = question
    found = expect_many(loss, *zip(*pairs, strict=True), **options._asdict())
    numbers = np.stack([found.values, found.lower, found.upper, found.kept], axis=1)
    return numbers.tolist()  # type: ignore[no-any-return]


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _expectations(queries: Sequence[Query], max_states: int | None = None) -> list[Expectation]:
    """The expectations of one query, or of several of one structure."""
    levels = partial(_levels, max_states)
    for applies, find in ((is_long, long_expectation), (is_document, document_expectation)):
        if applies(queries[0]):
            found = find(queries[0], levels)
            if found is not None:
                return [found]
    return _swept(queries, max_states)


def _swept(queries: Sequence[Query], max_states: int | None) -> list[Expectation]:
    """The expectations of one query, or of several of one structure, by sweeps over positions."""
    estimate = _estimate(queries, max_states)
    return estimated_expectations(queries, estimate, partial(_levels, max_states))


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _estimate(queries: Sequence[Query], max_states: int | None) -> Estimate:
    """The expected values of one query, or of several of one structure, by sweeps.

    Where digits cancel, all counts become parts of states (a walk without weights), so that nothing
    cancels but values of two signs; if that is cheap.
    """
    first = queries[0]
    estimate = _sums(queries, max_states)
    cancels = estimate.cancels(first.loss.value_range(first.n).width)
    for row in np.flatnonzero(cancels).tolist():
        with suppress(errors.FsmeuError):
            cheap = max(1, limits.CHEAP_STATES // max(1, first.n))
            again = walked(queries[row], min(cheap, max_states or cheap), weights=False)
            if again.sizes[0] < estimate.sizes[row]:
                for column, found in zip(estimate, again, strict=True):
                    column[row] = found[0]
    possible = estimate.masses != 0
    first.loss.check_range(first.n, estimate.values[possible] / estimate.masses[possible])
    return estimate


def _go_together(query: Query) -> bool:
    """Whether queries of this structure can be computed in one batch."""
    loss = query.loss
    if loss.bound is None or query.z is None or is_long(query) or window_form(query) is not None:
        return False
    if is_document(query):
        return False
    if loss.split is not None and loss.split.counted:
        return True
    space = query.view(weights=True).space
    return space is not None and space <= limits.SMALL_SPACE


def _sums(queries: Sequence[Query], max_states: int | None) -> Estimate:
    """The expected values of one query, or of several of one structure."""
    first = queries[0]
    sums = None
    form = window_form(first)
    if form is not None and first.z is None:
        return composition.summed_value(first, max_states)
    if form is not None and first.z is not None:
        sums = walk_windows(form, first.z, first.model.layered())
    if sums is None:
        sums = _by_trellis(queries, max_states)
    if sums is None and len(queries) > 1:
        models = [query.model for query in queries]
        distinct = models[:1] if all(model is models[0] for model in models) else models
        zs = np.stack([query.z for query in queries if query.z is not None])
        weights = arc_weights_many(distinct)
        sums = walk_many(first.loss, zs, first.model.layered(), weights)
    return sums or joined([walked(query, max_states) for query in queries])


def _by_trellis(queries: Sequence[Query], max_states: int | None) -> Estimate | None:
    """The expected values of queries of one structure by sweeps over a trellis, or None."""
    zs = [query.z for query in queries if query.z is not None]
    trellis = swept_trellis(queries[0].loss, queries[0].model, max_states) if zs else None
    if trellis is None:
        return None
    return trellis.expectations(arc_weights_many([query.model for query in queries]), zs)


def walked(query: Query, max_states: int | None = None, *, weights: bool = True) -> Estimate:
    """The expected value by a walk over the states of the loss, layer by layer.

    Without ``weights`` all counts are parts of states, and nothing cancels but values of two signs.
    """
    return walk(query.view(weights=weights), query.input(), max_states=max_states).sums()


def _levels(max_states: int | None, query: Query) -> Levels:
    return _walked_levels(query, None, max_states)


def _walked_levels(query: Query, keep: int | None, max_states: int | None) -> Levels:
    """The distribution of the value, by a walk in which all counts are parts of states."""
    view = query.view(weights=False)
    final = walk(view, query.input(), keep, max_states)
    possible = final.mass[0] > 0
    return result.level_sets(view.values(final.codes[possible])[0], final.mass[0, possible])


def swept_trellis(loss: Loss, model: Model, max_states: int | None = None) -> SplitTrellis | None:
    """The trellis of the loss split by tape and the model; None where there is none to sweep over.

    None where the loss does not split by tape with a counter for each at most, where a step is
    undefined for some pair of sequences, or where the trellis would be too large.
    """
    if loss.split is None or not loss.split.counted:
        return None
    trellis = trellis_of(loss, model)
    if isinstance(trellis, Refused):
        return None
    n = model.n
    by_state = (1 + trellis.counts) * int(trellis.y_tables.width[n])
    rows = max(int(trellis.paths.columns[n]), by_state)
    cells = int(trellis.y_tables.columns[n]) * rows
    if cells // limits.CELLS_PER_STATE > most_states(max_states) or not is_valued(trellis, n):
        return None
    return trellis


# -- derivatives -----------------------------------------------------------------------------------


@takes_loss
def gradient(
    loss: LossLike, z: HypothesisLike, model: ModelLike, *, engine: str = "auto"
) -> Gradient:
    """The derivatives of ``expect(loss, z, model).value`` with respect to the model's parameters.

    Args:
        loss: a loss or utility, or its name or path as ``load`` takes it.
        z: a label sequence, or a model on the hypothesis tape.
        model: a model with parameters: ``Bernoulli`` gives dE/dp of shape (n,), ``Independent``
            dE/dp of shape (n, L), ``Markov`` and ``from_potentials`` a dictionary of arrays.
        engine: "auto" or "openfst".

    >>> from fsmeu.losses.loss import load
    >>> gradient(load("hamming"), "10", [0.9, 0.5])
    array([-0.5,  0.5])
    """
    return value_and_gradient(loss, z, model, engine=engine)[1]


@takes_loss
def value_and_gradient(
    loss: LossLike, z: HypothesisLike, model: ModelLike, *, engine: str = "auto"
) -> tuple[float, Gradient]:
    """The expected value and its derivatives, from one pass forward and one backward."""
    engine = errors.one_of("gradient", "engine", engine, ENGINES)
    values, slopes = value_and_gradient_many(loss, [z], [model], engine=engine)
    return float(values[0]), slopes[0]


@takes_loss
def value_and_gradient_many(
    loss: LossLike,
    zs: Iterable[HypothesisLike],
    models: Iterable[ModelLike],
    *,
    engine: str = "auto",
) -> tuple[Floats, list[Gradient]]:
    """The expected value of each hypothesis, (batch,), and the derivatives for each model.

    ``value_and_gradient`` of every pair; models of one length and structure are swept together.
    """
    engine = errors.one_of("gradient", "engine", engine, ENGINES)
    zs, models = paired(zs, models, "gradient")
    queries = [query_of(loss, z, model, "gradient") for z, model in zip(zs, models, strict=True)]
    fitting = list[Parametrized]()
    for query, model in zip(queries, models, strict=True):
        lacking = set(query.model.labels) - set(as_model(model).labels)
        if lacking:
            must = "the model must have all labels of the loss and of z, as each has a derivative"
            got = f"one without {', '.join(sorted(map(str, lacking)))}"
            raise InputError("gradient", must, given=got, remedy="Give them the probability 0")
        if not isinstance(query.model, Parametrized):
            must = "the model must have parameters: Bernoulli, Independent, Markov, from_potentials"
            raise InputError("gradient", must, given=type(query.model).__name__)
        fitting.append(query.model)
    values = np.empty(len(queries))
    slopes = dict[int, Gradient]()
    for rows in group_by_structure(queries):
        derivatives = _derivatives([queries[row] for row in rows], engine)
        for row, (value, per_arc) in zip(rows, derivatives, strict=True):
            check_finite("gradient", np.concatenate([[value], *per_arc]))
            values[row] = value
            slopes[row] = fitting[row].pullback(per_arc, value)
    return values, [slopes[row] for row in range(len(queries))]


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _derivatives(queries: Sequence[Query], engine: str) -> list[tuple[float, list[Floats]]]:
    """For each query of one structure: the expected value and its derivatives by arc weights."""
    if engine == "openfst":
        return [composition.explicit_gradient(query) for query in queries]
    zs = [query.z for query in queries if query.z is not None]
    if zs and queries[0].n:
        models = [query.model for query in queries]
        prepare_many(models)  # so that they keep it: derivatives are pulled back over their layers
        if is_document(queries[0]):
            found = [document_gradient(query) for query in queries]
            if all(one is not None for one in found):
                return [one for one in found if one is not None]
        trellis = swept_trellis(queries[0].loss, queries[0].model)
        if trellis is not None:
            with suppress(SizeLimitError):  # the walk below may hold fewer numbers
                values, slopes = trellis.gradients(arc_weights_many(models), zs)
                return list(zip(values.tolist(), slopes, strict=True))
    results = []
    for query in queries:
        fixed = isinstance(query.model, Parametrized) and query.model.fixed_support
        value, per_arc = walk_gradient(query.view(weights=True), query.input(), fixed)
        if query.z is None:  # arcs are paired with those of the hypothesis
            pairs = zip(query.hypothesis.layers, per_arc, strict=True)
            per_arc = [left.weight @ arcs.reshape(len(left.weight), -1) for left, arcs in pairs]
        results.append((value, per_arc))
    return results
