"""All hypotheses of the explicit engine as one machine, and lists of what corpora may be.

An acceptor of all sequences that are allowed, composed with the loss and the model by pynini, and
determinized on the tape of hypotheses by OpenFst, has one path for each hypothesis, whose weight is
its expected value.
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
from fsmeu.decoding.problem import Answer, Problem
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
    value_of_totals,
)
from fsmeu.models import ModelLike, as_model
from fsmeu.trellis.estimate import Estimate


def best_of_all(problem: Problem) -> Answer:
    """The best of all allowed sequences, with its expected value; there may be too many."""
    sequences = allowed_sequences(problem.model, problem.constraint, problem.budget)
    count = len(sequences)
    try:
        built = hypotheses_composition(problem.loss, problem.model, problem.constraint)
        values = _sums_of_inputs(built, sequences)
        how = f"is a path of one composition of {built.states:,} states"
    except SizeLimitError:  # then one by one
        values = valued_candidates(problem, list(sequences), "openfst")
        how = "was composed with loss and model"
    best = int((problem.sign * values).argmax())
    late = late_sentence(problem, len(values), count)
    why = late or f"each of the {count:,} allowed sequences {how}"
    gap = math.inf if late else 0.0
    return Answer(sequences[best], why, len(values), float(values[best]), gap)


def hypotheses_composition(
    loss: Loss, model: ModelLike, constraint: ConstraintLike | None = None
) -> Composition:
    """The composition of all allowed sequences, the loss and the model, given as to ``decode``."""
    model = as_model(model)
    bound = bind_labels(loss, model.alphabet, "decode")
    given = as_constraint(constraint, model.alphabet, model.n)
    allowed = allowed_by_loss(bound, given, model.n)
    return compose_layers(bound, allowed_layers(model, allowed), model.layered())


def _sums_of_inputs(built: Composition, sequences: Ints) -> Floats:
    """The expected values of sequences, (sequences,)."""
    total = np.zeros(len(sequences))
    for sign, part in signed_parts(built.values):
        table = built.weighted(part)
        guard_prefixes(table, len(sequences))
        total += sign * weights_of_inputs(table, sequences + 1)
    return total


class ListedBest(NamedTuple):
    """The best of choices of hypotheses that are all listed."""

    hypotheses: list[Ints]  # label indices of each sentence
    value: float
    reach: float  # how far the value may be off


def guard_prefixes(table: ArcTable, sequences: float) -> None:
    """Refuses what determinization may list: each prefix with each state of its layer."""
    labels = float(table.ilabel.max(initial=1))
    widths = np.bincount(table.depths[0])
    prefixes = np.minimum(labels ** np.arange(len(widths)), min(sequences, 1e12))
    guard_size("composition", int(widths @ prefixes) // limits.ELEMENTS_PER_STATE)


def best_corpus_hypotheses(corpus: Corpus, sign: float) -> ListedBest:
    """The best hypotheses for all sentences of a corpus, of which there may be few."""
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
        estimate = _corpus_values(corpus, hypotheses)
    best = int((sign * estimate.values).argmax())
    check_finite("decode_corpus", estimate.values[best])
    reach = estimate.reach(corpus.loss.value_range(corpus.n).width)
    rows = np.unravel_index(best, sizes) if sizes else ()
    chosen = [zs[row] for zs, row in zip(hypotheses, rows, strict=True)]
    return ListedBest(chosen, float(estimate.values[best]), float(reach[best]))


def _corpus_values(corpus: Corpus, hypotheses: Sequence[Ints]) -> Estimate:
    """The expected value of the corpus for each choice of hypotheses.

    Each sentence is a composition, whose ends are told apart by the counts of the pair; the
    distributions of totals, (choices, totals), grow by one sentence at a time.
    """
    bound = check_totals(corpus.loss, "decode_corpus")
    names = counts_read(bound)
    # A row of zeros comes before the totals, as there may be no name.
    totals = np.zeros((1 + len(names), 1))
    masses = np.ones((1, 1))
    for row, zs in enumerate(hypotheses):
        model = corpus.models[row]
        allowed = allowed_layers(model, corpus.allowed(row))
        # its value need not be defined for a sentence by itself
        built = compose_layers(without_value(corpus.losses[row]), allowed, model.layered())
        added, counts = _counts(built, names, zs)
        sums = totals[:, :, None] + counts[:, None]
        reached, place = np.unique(sums.reshape(len(sums), -1), axis=1, return_inverse=True)
        place = place.reshape(sums.shape[1:])
        cells = len(masses) * len(zs) * reached.shape[1]
        guard_size("sums of counts", cells // limits.KEPT_CELLS_PER_STATE)
        after = np.zeros((len(masses), len(zs), reached.shape[1]))
        for k, places in enumerate(place.T):  # other totals so far, other totals now
            after[:, :, places] += masses[:, None] * added[:, k, None]
        totals = reached
        masses = after.reshape(-1, reached.shape[1])
    read = dict(zip(names, totals[1:], strict=True))
    values = value_of_totals(bound.at(corpus.n), read, totals.shape[1])
    return Estimate(masses @ values, masses @ np.abs(values), masses.sum(axis=1))


def _counts(built: Composition, names: Sequence[str], zs: Ints) -> tuple[Floats, Floats]:
    """P(counts given z), (sequences, tuples of counts), and a 0 before each tuple of counts."""
    table = built.plain
    registers = built.registers()
    guard_prefixes(table, len(zs))
    ends = np.flatnonzero(np.isfinite(table.final))
    begin = table.start
    counts = [registers[name][ends] - registers[name][begin] for name in names]
    rows = np.array([np.zeros(len(ends)), *counts])
    kinds, kind = np.unique(rows, axis=1, return_inverse=True)
    kind = kind.ravel()
    masses = np.zeros((len(zs), kinds.shape[1]))
    for k in range(kinds.shape[1]):
        final = np.full(table.states, np.inf)
        final[ends[kind == k]] = table.final[ends[kind == k]]
        masses[:, k] = weights_of_inputs(replace(table, final=final), zs + 1)
    return masses, kinds
