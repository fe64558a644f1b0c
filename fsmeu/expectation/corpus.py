"""The expected value of a corpus: counts summed over sentences, the value taken once at the end.

It is the expectation of ``evaluate_corpus`` over references, whose sentences are independent given
the model. Where the loss splits by tape and looks at one count of each, it comes from a product
tree over sentences of polynomials in the reference's count (``trellis/windows.py``). Independent
labels of two kinds are one sequence, for any value of their confusion table. Other values (roots,
correlations, or registers that read both tapes) need the joint distribution of all counts, whose
size is guarded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import InputError, SizeLimitError
from fsmeu.expectation import query
from fsmeu.expectation.expect import expect
from fsmeu.expectation.result import (
    Expectation,
    Levels,
    LossyValue,
    level_sets,
    ranged_expectation,
)
from fsmeu.expectation.totals import (
    ESCAPED,
    TotalsProblem,
    caps,
    expected_ratio,
    totals_problem,
    unmet_by_totals,
)
from fsmeu.fst.alphabet import listed
from fsmeu.fst.compose import guard_size
from fsmeu.fst.constraint import Constraint, ConstraintLike, as_constraint
from fsmeu.fst.layers import ArcWeights
from fsmeu.losses import protocol
from fsmeu.losses.machine.view import SpecAutomaton
from fsmeu.losses.protocol import (
    Loss,
    LossLike,
    Sequences,
    allowed_by_loss,
    as_loss,
    check_hypothesis,
    takes_loss,
)
from fsmeu.models import Independent, Model, ModelLike
from fsmeu.models.base import arc_weights_many
from fsmeu.models.chains import binary_marginals
from fsmeu.trellis.engine import SplitTrellis
from fsmeu.trellis.lanes import LaneGroup
from fsmeu.trellis.tapes import NonIntegerCountError, value_coefficients
from fsmeu.trellis.trellis_cache import split_trellis_of
from fsmeu.trellis.walk import walk
from fsmeu.trellis.windows import Window, product_tree, sum_of_all

_BY_DRAWING = (
    "Ask for fewer sentences, or for a sample of the values: [fsmeu.evaluate_corpus(loss, zs, ys) "
    "for ys in zip(*[model.sample(200) for model in models])]"
)
_CUT = 1e-22  # what each end of a window may lose at each product; a corpus has thousands of them


class Group(NamedTuple):
    """Sentences of a corpus that are swept together."""

    rows: list[int]  # their places in the corpus
    n: int  # their length
    trellis: SplitTrellis  # of both tapes, their models, and of what is allowed
    models: list[Model]

    @property
    def weights(self) -> ArcWeights:
        """The weights of the models, made anew."""
        return arc_weights_many(self.models)


@dataclass(frozen=True, eq=False)
class Corpus:
    """Sentences that are independent given the model."""

    loss: Loss  # over the labels of the first model in their order
    losses: list[Loss]  # the same over the labels of each model in their order
    models: list[Model]  # of each sentence
    constraint: ConstraintLike | None = None  # what hypotheses must satisfy, as ``decode`` takes it

    @property
    def n(self) -> int:
        """The total length."""
        return sum(model.n for model in self.models)

    @cached_property
    def restricts_hypotheses(self) -> bool:
        """True when the loss is not defined for every hypothesis of every sentence."""
        pairs = zip(self.losses, self.models, strict=True)
        return any(loss.allowed(model.n) is not None for loss, model in pairs)

    def as_one(self) -> Model | None:
        """All sentences as one sequence, for values of a confusion table that sums over them.

        None where labels are not independent, or sentences must satisfy a constraint.
        """
        if self.loss.confusion is None or not self.models:
            return None
        if self.constraint is not None or self.restricts_hypotheses:
            return None
        labels = self.models[0].labels
        marginals = [p for m in self.models if (p := binary_marginals(m)) is not None]
        if len(marginals) < len(self.models) or any(m.labels != labels for m in self.models):
            return None
        return Independent(np.concatenate([m.marginals() for m in self.models]), labels)

    def allowed(self, row: int) -> Constraint | None:
        """What the hypothesis of a sentence must satisfy."""
        model = self.models[row]
        where = f"decode_corpus, models[{row}]"
        allowed = as_constraint(self.constraint, model.alphabet, model.n, where)
        return allowed_by_loss(self.losses[row], allowed, model.n)

    @cached_property
    def groups(self) -> list[Group]:
        """The sentences that are swept together, the longest first."""
        return self.groups_at(None)

    def groups_at(self, cap: int | None) -> list[Group]:
        """The sentences that are swept together, with ages that stop at a cap; None for no cap."""
        groups = []
        for rows in query.group_by_structure(self.models):
            first = self.models[rows[0]]
            allowed = self.allowed(rows[0])
            layers = None if allowed is None else query.allowed_layers(first, allowed).layers
            trellis = split_trellis_of(self.losses[rows[0]], first, layers, cap)
            if trellis.common.any():
                most = f"{limits.PLAIN_PAIRS:,} pairs of labels"
                must = f"what is counted of a corpus may look at up to {most}"
                got = f"{len(first.labels):,} labels"
                raise SizeLimitError("corpus", must, given=got, remedy="Use fewer labels")
            size = query.batch_size(first, len(rows), 1)
            for begin in range(0, len(rows), size):
                some = rows[begin : begin + size]
                groups.append(Group(some, first.n, trellis, [self.models[row] for row in some]))
        return groups


def by_sentence(groups: Iterable[Group], results: Iterable[Iterable[Any]]) -> list[Any]:
    """The results of the sentences of all groups, in the order of sentences."""
    by_row = dict[int, Any]()
    for group, values in zip(groups, results, strict=True):
        by_row.update(zip(group.rows, values, strict=True))
    return [by_row[row] for row in range(len(by_row))]


def corpus_of(loss: LossLike, models: Any, where: str, zs: Sequence[Any] = ()) -> Corpus:
    """The loss, whose value must look at counts alone, and the models, over the same labels.

    Labels that the file leaves open are those of all models, and chunk tags those of zs too.
    """
    loss = as_loss(loss, where)
    models = listed(models, where, "models must be a sequence of models", rows=True)
    names = [f"{where}, models[{row}]" for row in range(len(models))]
    models = list(map(query.model_at, models, names))
    labels = dict.fromkeys(label for model in models for label in model.labels)
    labels |= dict.fromkeys(tag for z in zs for tag in query.further_tags(loss, z))
    fit = partial(query.fitted, loss, further=labels)
    pairs = list(map(fit, models, names))
    first = pairs[0][0] if pairs else loss
    protocol.check_totals(first, where)
    return Corpus(first, [loss for loss, _ in pairs], [model for _, model in pairs])


@takes_loss
def expect_corpus(loss: LossLike, zs: Sequences, models: Iterable[ModelLike]) -> Expectation:
    """The expected value of a corpus of independent sentences, the hypotheses given.

    Args:
        loss: a loss or utility of a file, or its name or path; its value looks at counts alone.
        zs: the hypotheses, a label sequence for each sentence.
        models: the label models of the references, one for each sentence; vectors of probabilities
            stand for ``Bernoulli``.

    Raises:
        InputError: the value looks at something that cannot be summed, or parts do not fit.
        SizeLimitError: the distribution of the counts is too large. That of most corpora is, which
            ``levels``, ``variance`` and ``quantile`` need; the value of a loss that splits by tape
            does without it.
    """
    hypotheses, models = query.paired(zs, models, "expect_corpus")
    corpus = corpus_of(loss, models, "expect_corpus", hypotheses)
    names = [f"expect_corpus, zs[{row}]" for row in range(len(hypotheses))]
    indices = list(map(query.encoded_hypothesis, hypotheses, corpus.models, names))
    for loss, z, name in zip(corpus.losses, indices, names, strict=True):
        check_hypothesis(loss, z, name)
    form = corpus.loss.split
    joined = corpus.as_one()
    is_short = joined is None or corpus.n < limits.LONG_SEQUENCE
    if form is not None and form.counted and is_short:
        with suppress(NonIntegerCountError):
            return split_expectation(corpus, indices)
    if joined is not None:
        return expect(corpus.loss, joined.alphabet.decode(np.concatenate(indices)), joined)
    return _by_tables(corpus, indices)


class CorpusTotals(NamedTuple):
    """A corpus whose value is a ratio of totals."""

    groups: list[Group]
    problem: TotalsProblem

    def reaches_cap(self, zs: Sequence[Ints]) -> bool:
        """Whether an age of some hypothesis reaches the cap where ages stop."""
        pairs = ((group.trellis, row) for group in self.groups for row in group.rows)
        return any(trellis.reaches_cap(zs[row]) for trellis, row in pairs)


def totals_of_corpus(corpus: Corpus, fewest: int = 0) -> Iterator[CorpusTotals]:
    """The corpus with ages that stop at a cap, for each cap that y exceeds with small probability.

    Nothing where the value is no ratio of totals, or y never counts as many as ``fewest``.
    """
    loss = corpus.loss
    if not corpus.models or unmet_by_totals(loss, corpus.n) is not None:
        return
    longest = max(model.n for model in corpus.models)
    for cap in caps(loss, longest) if longest >= limits.CAPPED_LENGTH else [None]:
        groups = corpus.groups_at(cap) if cap is not None else corpus.groups
        lanes = [LaneGroup(group.trellis, group.weights) for group in groups]
        problem = totals_problem(loss, corpus.n, lanes)
        if problem is None or problem.most_counted[1] < fewest:
            return
        if problem.escaped <= ESCAPED:
            yield CorpusTotals(groups, problem)


def split_expectation(corpus: Corpus, zs: Sequence[Ints]) -> Expectation:
    """The expected value if the loss splits by tape; by lanes, or by windows of counts.

    Raises:
        NonIntegerCountError: a counter does not grow by whole numbers.
    """
    return lane_expectation(corpus, zs) or linear_expectation(corpus, zs)


def lane_expectation(corpus: Corpus, zs: Sequence[Ints]) -> Expectation | None:
    """The expected value by lanes; None if it is no ratio of totals, or few items are counted."""
    for totals in totals_of_corpus(corpus, limits.FEW_COUNTED):
        if not totals.reaches_cap(zs):
            return expectation_of_totals(corpus, totals, zs)
    return None


def expectation_of_totals(
    corpus: Corpus, totals: CorpusTotals, zs: Sequence[Ints]
) -> Expectation | None:
    """The expected value by lanes of hypotheses whose ages reach no cap; None if it is none."""
    by_group = [[zs[row] for row in group.rows] for group in totals.groups]
    found = expected_ratio(totals.problem, by_group)
    if found is None:
        return None
    levels = partial(_levels, corpus, zs)
    value = LossyValue(found.value, found.size, escaped=found.escaped)
    return ranged_expectation(corpus.loss, corpus.n, "expect_corpus", value, levels)


def mass_to_cut(corpus: Corpus) -> float:
    """The mass that each end of a window may lose: 0 where the file declares no finite range."""
    return _CUT if corpus.loss.value_range(corpus.n).finite else 0.0


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def linear_expectation(corpus: Corpus, zs: Sequence[Ints]) -> Expectation:
    """The expected value if the loss splits by tape.

    Raises:
        NonIntegerCountError: a counter does not grow by whole numbers.
    """
    loss = corpus.loss
    n = corpus.n
    assert loss.split is not None
    counts = len(loss.split.joint_counts)
    windows = list[list[Window]]()
    hyp = 0
    takes = any(group.trellis.amounts.signs(counts)[0].any() for group in corpus.groups)
    for group in corpus.groups:
        y_tables = group.trellis.y_tables
        cells = (1 + counts) * int(y_tables.columns[group.n] * y_tables.width[group.n])
        guard_size("expect_corpus", cells // limits.CELLS_PER_STATE)
        own = [zs[row] for row in group.rows]
        found = group.trellis.sums(group.weights, own)
        hyp += int(found.ended.sum())
        totals = found.totals
        if takes:  # the sums of what joint counts add without signs stand behind
            plain = group.trellis.sums(group.weights, own, absolute=True).totals
            totals = np.concatenate([totals, plain[:, 1:]], axis=1)
        windows.append([Window(0, tables) for tables in totals])
    quantities = 1 + counts * (1 + takes)
    total = sum_of_all(by_sentence(corpus.groups, windows), mass_to_cut(corpus), quantities)
    masses = total.masses
    joint = total.tables[1 : 1 + counts]
    slopes, offset = value_coefficients(loss.split, n, hyp, total.counts, masses > 0)
    slope = np.array(slopes).reshape(joint.shape)
    value = float(masses @ offset) + float((joint * slope).sum())
    sizes = np.abs(total.tables[1 + counts :] if takes else joint)
    size = float(masses @ np.abs(offset)) + float((sizes * np.abs(slope)).sum())
    estimate = LossyValue(value, size, float(masses.sum()), total.lost)
    return ranged_expectation(loss, n, "expect_corpus", estimate, partial(_levels, corpus, zs))


def _levels(corpus: Corpus, zs: Sequence[Ints]) -> Levels:
    """The distribution of the value, which needs that of all counts together."""
    return _by_tables(corpus, zs).levels


# -- the joint distribution of all counts ----------------------------------------------------------


class _CountDistribution(NamedTuple):
    """A joint distribution of counts, with an axis for each, the least of each count at 0."""

    masses: Floats
    possible: Bools  # which tuples occur; others have probability 0 in spite of transforms


def _by_tables(corpus: Corpus, zs: Sequence[Ints]) -> Expectation:
    """The expected value from a table with a cell for every tuple of totals that are looked at."""
    whole = protocol.check_totals(corpus.loss, "expect_corpus")
    names = protocol.counts_read(whole)
    if corpus.n > limits.MOST_TABLED_LABELS:
        must = (
            f"the distribution of counts is tabled for up to {limits.MOST_TABLED_LABELS:,} labels"
        )
        raise SizeLimitError("expect_corpus", must, given=f"{corpus.n:,}", remedy=_BY_DRAWING)
    parts = list[_CountDistribution]()
    labels = 0
    least = size = np.zeros(1 + len(names))  # the first axis has one place, as there may be no name
    for loss, z, model in zip(corpus.losses, zs, corpus.models, strict=True):
        low, part = _sentence_counts(loss, z, model, names)
        least = least + low
        size = size + np.array(part.masses.shape) - 1
        parts.append(part)
        labels += model.n
        _guard_table(1 + size)
        if (
            len(parts) == limits.FEW_WALKED
        ):  # half as fast as so far: later sentences may count less
            _guard_table(1 + size * max(1.0, corpus.n / labels / 2), "about ")
    none = np.ones((1,) * len(least))
    [table] = product_tree(parts or [_CountDistribution(none, none > 0)], _plus)[-1]
    totals = np.array(np.nonzero(table.possible))
    masses = table.masses[table.possible]
    added = dict(zip(names, (totals + least[:, None])[1:], strict=True))
    values = protocol.value_of_totals(whole.at(corpus.n), added, len(masses))
    value = float(values @ masses)
    estimate = LossyValue(value, float(np.abs(values) @ masses), float(masses.sum()))
    levels = partial(level_sets, values, masses)
    return ranged_expectation(corpus.loss, corpus.n, "expect_corpus", estimate, levels)


def _guard_table(shape: Floats | Ints, about: str = "") -> None:
    """Refuses a table of more tuples of totals than may be held."""
    cells = math.prod(shape.tolist())
    if cells > limits.MOST_CORPUS_TABLE:
        must = (
            f"the counts of the corpus may have up to {limits.MOST_CORPUS_TABLE:,} tuples of totals"
        )
        given = f"{about}{cells:,.0f}"
        raise SizeLimitError("expect_corpus", must, given=given, remedy=_BY_DRAWING)


def _sentence_counts(
    loss: Loss, z: Ints, model: Model, names: Sequence[str]
) -> tuple[Floats, _CountDistribution]:
    """The least counts of a sentence, 0 before them, and their joint distribution."""
    bound = protocol.check_totals(loss, "expect_corpus")
    view = SpecAutomaton(bound.at(len(z)), z, merge=False)
    final = walk(view, model.layered())
    occurs = final.mass[0] > 0
    registers = view.registers(final.codes[occurs])
    lengths = np.full(int(occurs.sum()), len(z))
    added = protocol.added_counts(bound, registers, lengths)
    counts = np.stack([0.0 * lengths, *(added[name] for name in names)])
    low = counts.min(axis=1)
    places = (counts - low[:, None]).astype(np.int64)
    for name, column, place in zip(names, counts[1:], places[1:], strict=True):
        if len(broken := column[column != column.min() + place]):
            must = f"{name} must grow by whole numbers, for a table of its distribution"
            raise InputError("expect_corpus", must, given=f"the value {broken[0]:g}")
    shape = 1 + places.max(axis=1)
    _guard_table(shape)
    masses = np.zeros(shape)
    np.add.at(masses, tuple(places), final.mass[0, occurs])
    return low, _CountDistribution(masses, masses > 0)


def _plus(left: _CountDistribution, right: _CountDistribution) -> _CountDistribution:
    """The joint distribution of the totals of two parts, by Fourier transforms."""
    shape = [a + b - 1 for a, b in zip(left.masses.shape, right.masses.shape, strict=True)]
    axes = tuple(range(len(shape)))
    possible, masses = (  # both convolved over all axes
        np.fft.irfftn(np.fft.rfftn(a, shape, axes) * np.fft.rfftn(b, shape, axes), shape, axes)
        for a, b in ((left.possible, right.possible), (left.masses, right.masses))
    )
    occurs = possible > 0.5
    return _CountDistribution(np.where(occurs, np.maximum(masses, 0.0), 0.0), occurs)
