"""All hypotheses of the explicit engine as one machine, and lists of what corpora may be.

An acceptor of all sequences that are allowed, composed with the loss and the model by pynini, and
determinized on the tape of hypotheses by OpenFst, has one path for each hypothesis, whose weight is
its expected value. So the best is proven where a bound on the rounding errors of all values leaves
no other better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.candidates import allowed_sequences, late_sentence, valued_candidates
from fsmeu.decoding.decision import PRECISION
from fsmeu.decoding.problem import HIDDEN, Answer, Problem
from fsmeu.errors import SizeLimitError
from fsmeu.expectation import composition
from fsmeu.expectation.composition import Composition, compose_layers
from fsmeu.expectation.corpus import Corpus
from fsmeu.expectation.query import allowed_layers, bind_labels
from fsmeu.expectation.result import check_finite
from fsmeu.fst.compose import guard_size
from fsmeu.fst.constraint import ConstraintLike, as_constraint
from fsmeu.fst.distance import signed_parts, weights_of_inputs
from fsmeu.fst.image import ArcTable
from fsmeu.losses.loss import without_value
from fsmeu.losses.protocol import (
    Loss,
    allowed_by_loss,
    check_totals,
    counts_read,
    state_of_totals,
    value_of_totals,
)
from fsmeu.models import ModelLike, as_model
from fsmeu.trellis.roundings import LEAST, BoundedValues
from fsmeu.trellis.value_roundings import register_errors, value_errors
from fsmeu.twofold import two_sum


def best_of_all(problem: Problem) -> Answer:
    """The best of all allowed sequences, with its expected value; there may be too many."""
    sequences = allowed_sequences(problem.model, problem.constraint, problem.budget)
    count = len(sequences)
    try:
        built = hypotheses_composition(problem.loss, problem.model, problem.constraint)
        values, errors = _sums_of_inputs(built, sequences, problem.model.roundings)
        how = f"is a path of one composition of {built.states:,} states"
    except SizeLimitError:  # then one by one
        values, errors = valued_candidates(problem, list(sequences), "openfst")
        how = "was composed with loss and model"
    best = _best("decode", problem.sign, values, errors, sequences)
    why = f"each of the {count:,} allowed sequences {how}"
    why = why if best.exact else f"{why}; but {HIDDEN}"
    late = late_sentence(problem, len(values), count)
    exact = best.exact and not late
    error = float(errors[best.row])
    return Answer(sequences[best.row], exact, late or why, len(values), best.value, error)


def hypotheses_composition(
    loss: Loss, model: ModelLike, constraint: ConstraintLike | None = None
) -> Composition:
    """The composition of all allowed sequences, the loss and the model, given as to ``decode``."""
    model = as_model(model)
    bound = bind_labels(loss, model.alphabet, "decode")
    given = as_constraint(constraint, model.alphabet, model.n)
    allowed = allowed_by_loss(bound, given, model.n)
    return compose_layers(bound, allowed_layers(model, allowed), model.layered())


def _sums_of_inputs(built: Composition, sequences: Ints, behind: int) -> tuple[Floats, Floats]:
    """The expected values of sequences, and bounds on their errors.

    ``behind`` bounds the roundings behind the weights of the model.
    """
    total = np.zeros(len(sequences))
    size = np.zeros(len(sequences))
    roundings = 0
    for sign, part in signed_parts(built.values):
        table = built.weighted(part)
        guard_prefixes(table, len(sequences))
        weights = weights_of_inputs(table, sequences + 1)
        total = total + sign * weights
        size = size + weights
        # Determinization sums, multiplies and divides where a sum over paths only sums.
        roundings = max(roundings, 3 * composition.path_roundings(table, built.machine.n))
    return total, BoundedValues(total, size, size, roundings + behind).errors


class ListedBest(NamedTuple):
    """The best of sequences that are all listed."""

    row: int  # its place in the list
    value: float
    lower: float  # the best value is at least this
    upper: float  # and at most this
    exact: bool  # whether it is proven that none is better


def _best(where: str, sign: float, values: Floats, errors: Floats, sequences: Ints) -> ListedBest:
    row = int((sign * values).argmax())
    value = float(values[row])
    check_finite(where, value)
    ends = [value - sign * float(errors[row]), sign * float((sign * values + errors).max())]
    changed = (sequences[: len(values)] != sequences[row]).sum(axis=1) == 1
    step = float(np.median(np.abs(values[changed] - value))) if changed.any() else 0.0
    exact = max(ends) - min(ends) <= PRECISION * max(abs(value), step) + 4 * LEAST
    return ListedBest(row, value, min(ends), max(ends), exact)


def guard_prefixes(table: ArcTable, sequences: float) -> None:
    """Refuses what determinization may list: each prefix with each state of its layer."""
    labels = float(table.ilabel.max(initial=1))
    widths = np.bincount(table.depths[0])
    prefixes = np.minimum(labels ** np.arange(len(widths)), min(sequences, 1e12))
    guard_size("composition", int(widths @ prefixes) // limits.ELEMENTS_PER_STATE)


def best_corpus_hypotheses(corpus: Corpus, sign: float) -> tuple[list[Ints], ListedBest]:
    """The best hypotheses as label indices, and what is known of them."""
    with composition.advising_default():
        hypotheses = [
            allowed_sequences(model, corpus.allowed(row), limits.CANDIDATES)
            for row, model in enumerate(corpus.models)
        ]
        sizes = [len(zs) for zs in hypotheses]
        count = math.prod(sizes)
        if count > limits.CANDIDATES:
            must = (
                f"there may be at most {limits.CANDIDATES:,} hypotheses for all sentences together"
            )
            raise SizeLimitError("decode_corpus", must, given=f"{float(count):.6g}")
        values, errors = _corpus_values(corpus, hypotheses)
    rows = np.unravel_index(np.arange(count), sizes) if sizes else ()
    choices = [zs[row] for zs, row in zip(hypotheses, rows, strict=True)]
    joined = np.column_stack([np.zeros((count, 0), np.int64), *choices])
    best = _best("decode_corpus", sign, values, errors, joined)
    return [zs[best.row] for zs in choices], best


def _corpus_values(corpus: Corpus, hypotheses: Sequence[Ints]) -> tuple[Floats, Floats]:
    """The expected value of the corpus and its error for all choices of hypotheses, two arrays.

    Each sentence is a composition, whose ends are told apart by the counts of the pair; the
    distributions of totals, (choices, totals), grow by one sentence at a time.
    """
    bound = check_totals(corpus.loss, "decode_corpus")
    names = counts_read(bound)
    # A row of zeros comes before the totals, as there may be no name.
    totals = np.zeros((1 + len(names), 1))
    chances = np.ones((1, 1))
    roundings = 8
    lost = dict.fromkeys(names, 0.0)  # bounds on the errors of totals
    for row, zs in enumerate(hypotheses):
        model = corpus.models[row]
        allowed = allowed_layers(model, corpus.allowed(row))
        # its value need not be defined for a sentence by itself
        built = compose_layers(without_value(corpus.losses[row]), allowed, model.layered())
        added, counts, more = _counts(built, names, zs)
        sums, rest = two_sum(totals[:, :, None], counts[:, None])
        errors = register_errors(built.machine)
        for name, part in zip(names, np.abs(rest[1:]), strict=True):
            lost[name] += float(np.max(errors.get(name, 0.0)) + part.max(initial=0.0))
        reached, place = np.unique(sums.reshape(len(sums), -1), axis=1, return_inverse=True)
        place = place.reshape(sums.shape[1:])
        cells = len(chances) * len(zs) * reached.shape[1]
        guard_size("sums of counts", cells // limits.KEPT_CELLS_PER_STATE)
        after = np.zeros((len(chances), len(zs), reached.shape[1]))
        for k, places in enumerate(place.T):  # other totals so far, other totals now
            after[:, :, places] += chances[:, None] * added[:, k, None]
        totals = reached
        chances = after.reshape(-1, reached.shape[1])
        roundings += more + len(place.T) + model.roundings
    read = dict(zip(names, totals[1:], strict=True))
    at = bound.at(corpus.n)
    values = value_of_totals(at, read, totals.shape[1])
    registers = state_of_totals(at, read, totals.shape[1])
    roundings += totals.shape[1]
    expected = BoundedValues(
        chances @ values, chances.sum(axis=1), chances @ np.abs(values), roundings
    )
    off = value_errors(at, registers, lost, totals.shape[1])
    known = np.isfinite(off)
    unknown = np.where((chances[:, ~known] > 0).any(axis=1), np.inf, 0.0)
    return expected.values, expected.errors + chances[:, known] @ off[known] + unknown


def _counts(built: Composition, names: Sequence[str], zs: Ints) -> tuple[Floats, Floats, int]:
    """P(counts given z), (sequences, tuples of counts), 0 and the counts, a bound on roundings."""
    table = built.plain
    registers = built.registers()
    guard_prefixes(table, len(zs))
    ends = np.flatnonzero(np.isfinite(table.final))
    begin = table.start
    counts = [registers[name][ends] - registers[name][begin] for name in names]
    rows = np.array([np.zeros(len(ends)), *counts])
    kinds, kind = np.unique(rows, axis=1, return_inverse=True)
    kind = kind.ravel()
    chances = np.zeros((len(zs), kinds.shape[1]))
    for k in range(kinds.shape[1]):
        final = np.full(table.states, np.inf)
        final[ends[kind == k]] = table.final[ends[kind == k]]
        chances[:, k] = weights_of_inputs(replace(table, final=final), zs + 1)
    return chances, kinds, 3 * composition.path_roundings(table, zs.shape[1])
