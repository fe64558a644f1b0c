"""Decisions by the explicit engine: all hypotheses, the loss and the model are one machine.

The tape of hypotheses is an acceptor of all sequences that are allowed. Composed with the loss and
the model by pynini, and determinized on that tape by OpenFst, the machine has one path for each
hypothesis, whose weight is its expected value. Every hypothesis is valued, so the best of them is
proven where a bound on the rounding errors of all values leaves no other better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.precision import PRECISION, with_best_of_all
from fsmeu.decoding.problem import Answer, Problem, allowed_sequences
from fsmeu.errors import SizeLimitError, message
from fsmeu.expectation import composition
from fsmeu.expectation.composition import Composition, compose_layers
from fsmeu.expectation.corpus import Corpus
from fsmeu.expectation.expect import expectation_of
from fsmeu.expectation.query import allowed_by, allowed_layers, bind_labels
from fsmeu.expectation.result import check_finite
from fsmeu.fst.compose import guard_size
from fsmeu.fst.distance import signed_parts, weights_of_inputs
from fsmeu.fst.image import ArcTable
from fsmeu.fst.layers import any_layers
from fsmeu.limits import CANDIDATES, KEPT_CELLS_PER_STATE
from fsmeu.losses.language.syntax import Number
from fsmeu.losses.protocol import Loss, counts_read, value_of_totals
from fsmeu.models import as_model
from fsmeu.trellis.roundings import LEAST, Sums

ELEMENTS_PER_STATE = 20  # pairs (prefix, state) of determinization for each state allowed

# -- one sequence ----------------------------------------------------------------------------------


def explicit_answer(problem: Problem) -> Answer:
    """The best of all allowed sequences, with its expected value; there may be too many."""
    with composition.advising_default():
        labels = len(problem.model.labels)
        sequences = allowed_sequences(problem.constraint, labels, problem.n, problem.budget)
    try:
        built = hypotheses_composition(problem.loss, problem.model, problem.constraint)
        values, errors = _sums_of_inputs(built, sequences)
        how = f"is a path of one composition of {built.states:,} states"
    except SizeLimitError:  # then one by one
        values, errors = _one_by_one(problem, sequences)
        how = "was composed with loss and model"
    row, (value, _, _, exact) = _best("decode", problem.sign, values, errors, sequences)
    count = len(values)
    why = f"each of the {count:,} allowed sequences {how}"
    if count < len(sequences):
        late = f"the {problem.clock.seconds:g} seconds were over"
        why = f"the best of {count:,} sequences, of {len(sequences):,}: {late}"
    elif not exact:
        why = f"{why}; but rounding hides which is best"
    proven = exact and count == len(sequences)
    answer = Answer(sequences[row], proven, why, count, value, float(errors[row]))
    return with_best_of_all(problem, answer)


def hypotheses_composition(loss: Loss, model: Any, constraint: Any = None) -> Composition:
    """The composition of all allowed sequences, the loss and the model, given as to ``decode``."""
    made = as_model(model)
    hypotheses = allowed_layers(made, allowed_by(constraint, made))
    return compose_layers(bind_labels(loss, made.alphabet, "decode"), hypotheses, made.layered())


def _sums_of_inputs(built: Composition, sequences: Ints) -> tuple[Floats, Floats]:
    """The expected values of sequences, and bounds on their errors."""
    total, size, roundings = np.zeros(len(sequences)), np.zeros(len(sequences)), 0
    for sign, part in signed_parts(built.values):
        table = built.weighted(part)
        _guard_prefixes(table, len(sequences))
        weights = weights_of_inputs(table, sequences + 1)
        total, size = total + sign * weights, size + weights
        # Determinization sums, multiplies and divides where a sum over paths only sums.
        roundings = max(roundings, 3 * composition.path_roundings(table, built.machine.n))
    return total, Sums(total, size, size, roundings).errors


def _best(
    where: str, sign: float, values: Floats, errors: Floats, sequences: Ints
) -> tuple[int, tuple[float, float, float, bool]]:
    """The row of the best value; the value, bounds of the best, and whether it is proven."""
    row = int((sign * values).argmax())
    value, error = float(values[row]), float(errors[row])
    check_finite(where, value)
    ends = [value - sign * error, sign * float((sign * values + errors).max())]
    changed = (sequences[: len(values)] != sequences[row]).sum(axis=1) == 1
    step = float(np.median(np.abs(values[changed] - value))) if changed.any() else 0.0
    exact = max(ends) - min(ends) <= PRECISION * max(abs(value), step) + 4 * LEAST
    return row, (value, min(ends), max(ends), exact)


def _guard_prefixes(table: ArcTable, sequences: int) -> None:
    """Refuses what determinization may list: each prefix with each state of its layer."""
    labels = float(table.ilabel.max(initial=1))
    widths = np.bincount(table.depths[0])
    prefixes = np.minimum(labels ** np.arange(len(widths)), sequences)
    guard_size("composition", int(widths @ prefixes) // ELEMENTS_PER_STATE)


def _one_by_one(problem: Problem, sequences: Ints) -> tuple[Floats, Floats]:
    """The expected values of as many sequences as there is time for, at least one, and errors."""
    values: list[tuple[float, float]] = []
    for z in sequences:
        found = expectation_of(problem.query(z), engine="openfst")
        values.append((found.value, max(found.upper - found.value, found.value - found.lower)))
        problem.clock.tell(len(values) / len(sequences))
        if problem.clock.over():
            break
    return np.array(values)[:, 0], np.array(values)[:, 1]


# -- a corpus --------------------------------------------------------------------------------------


def best_corpus_hypotheses(
    corpus: Corpus, sign: float
) -> tuple[list[Ints], tuple[float, float, float, bool]]:
    """The best hypotheses as label indices; their value, bounds, and whether it is proven best."""
    with composition.advising_default():
        each = [
            allowed_sequences(corpus.allowed(row), len(model.labels), model.n, CANDIDATES)
            for row, model in enumerate(corpus.models)
        ]
        sizes = [len(one) for one in each]
        count = math.prod(sizes)
        if count > CANDIDATES:
            must = f"there may be at most {CANDIDATES:,} hypotheses for all sentences together"
            raise SizeLimitError(message("decode_corpus", must, f"{float(count):.6g}"))
        values, errors = _corpus_values(corpus, each)
    rows = np.unravel_index(np.arange(count), sizes) if sizes else ()
    chosen = [one[row] for one, row in zip(each, rows, strict=True)]
    together = np.column_stack([np.zeros((count, 0), np.int64), *chosen])
    row, best = _best("decode_corpus", sign, values, errors, together)
    return [one[row] for one in chosen], best


def _corpus_values(corpus: Corpus, each: Sequence[Ints]) -> tuple[Floats, Floats]:
    """The expected value of the corpus and its error for all choices of hypotheses, two arrays.

    Each sentence is a composition, whose ends are told apart by the counts of the pair; the
    distributions of totals, (choices, totals), grow by one sentence at a time.
    """
    names, bound = counts_read(corpus.loss.bound), corpus.loss.bound
    totals, chances, roundings = np.zeros((len(names), 1)), np.ones((1, 1)), 8
    for loss, model, zs in zip(corpus.losses, corpus.models, each, strict=True):
        # without its value, which need not be defined for a sentence by itself
        plain = replace(loss, spec=replace(loss.spec, value=Number(0.0), range=None))
        free = any_layers(model.alphabet, model.n)
        added, counts, more = _counts(compose_layers(plain, free, model.layered()), names, zs)
        sums = totals[:, :, None] + counts[:, None]
        reached, place = _distinct_columns(sums.reshape(len(names), -1))
        place = place.reshape(sums.shape[1:])
        cells = len(chances) * len(zs) * reached.shape[1]
        guard_size("sums of counts", cells // KEPT_CELLS_PER_STATE)
        after = np.zeros((len(chances), len(zs), reached.shape[1]))
        for k, places in enumerate(place.T):  # other totals so far, other totals now
            after[:, :, places] += chances[:, None] * added[:, k, None]
        totals, chances = reached, after.reshape(-1, reached.shape[1])
        roundings += more + len(place.T)
    values = value_of_totals(
        bound, corpus.n, dict(zip(names, totals, strict=True)), totals.shape[1]
    )
    roundings += totals.shape[1]
    found = Sums(chances @ values, chances.sum(axis=1), chances @ np.abs(values), roundings)
    return found.values, found.errors


def _counts(built: Composition, names: Sequence[str], zs: Ints) -> tuple[Floats, Floats, int]:
    """P(counts given z), (sequences, tuples of counts), the tuples, a bound on the roundings."""
    table, registers = built.plain, built.registers()
    _guard_prefixes(table, len(zs))
    ends, begin = np.flatnonzero(np.isfinite(table.final)), table.start
    counts = [registers[name][ends] - registers[name][begin] for name in names]
    kinds, kind = _distinct_columns(np.array(counts).reshape(len(names), len(ends)))
    found = np.zeros((len(zs), kinds.shape[1]))
    for k in range(kinds.shape[1]):
        final = np.full(table.states, np.inf)
        final[ends[kind == k]] = table.final[ends[kind == k]]
        found[:, k] = weights_of_inputs(replace(table, final=final), zs + 1)
    return found, kinds, 3 * composition.path_roundings(table, zs.shape[1])


def _distinct_columns(columns: Floats) -> tuple[Floats, Ints]:
    """The distinct columns (rows, distinct), and the place of each column among them."""
    padded = np.vstack([np.zeros(columns.shape[1]), columns])  # there may be no rows
    found, place = np.unique(padded, axis=1, return_inverse=True)
    return found[1:], place.ravel()
