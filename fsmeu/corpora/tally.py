"""Scores of a corpus: means over sentences, values of the whole, and their intervals."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.bootstrap import Estimate, drawn_weights, estimate
from fsmeu.corpora.parse import Item
from fsmeu.corpora.score import CORPUS, named, over_labels, scores_of, sums_up
from fsmeu.decoding.corpus import CorpusDecision, decode_corpus
from fsmeu.errors import EmptyError, FsmeuError, InputError, sentence
from fsmeu.fst.alphabet import Label
from fsmeu.losses.corpus import check_totals, sentence_counts, value_of_totals
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.semantics.bound import BoundLoss

__all__ = ["LEVELS", "Row", "Tally", "decide_whole", "row_data", "rows_csv", "rows_of"]

LEVELS = ("sentence", "corpus")
_HEADS = ("value", "low", "high", "difference", "difference_low", "difference_high")


@dataclass
class Tally:
    """What was found for the sentences, in blocks of them.

    Attributes:
        decisions: their names.
        labels: all labels that occur, by their text.
        n: the lengths.
        values: for each block and loss, (sentences, decisions).
        counts: for each block and loss, (sentences, decisions, counts), or None.
        items: the records themselves, where they are kept.
        types: for each decision, agreeing, decided and given chunks by type, (3,) each.
    """

    decisions: tuple[str, ...] = ()
    labels: dict[str, Label] = field(default_factory=dict)
    n: list[int] = field(default_factory=list)
    values: list[list[Floats]] = field(default_factory=list)
    counts: list[list[Floats | None]] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    types: dict[str, dict[str, Floats]] = field(default_factory=dict)

    def add(self, results: Sequence[dict[str, Any]]) -> None:
        """Adds a block of what ``answer_scores`` found.

        Raises:
            InputError: other decisions than before.
        """
        for data in results:
            if not self.n:
                self.decisions = data["decisions"]
            if data["decisions"] != self.decisions:
                must = f"all records must have the decisions {', '.join(self.decisions)}"
                where = f"record {data['record']:,}"
                raise InputError(sentence(where, must, ", ".join(data["decisions"])))
            self.n.append(data["n"])
            if data["item"] is not None:
                self.items.append(data["item"])
            for name, counts in data["types"].items():
                mine = self.types.setdefault(name, {})
                for kind, each in counts.items():
                    mine[kind] = mine.get(kind, 0.0) + each
        for labels in {data["labels"] for data in results}:
            for label in labels:
                self.labels.setdefault(str(label), label)
        if results:
            self.values.append([np.array(of) for of in _by_loss(results, "values")])
            counts = _by_loss(results, "counts")
            self.counts.append([None if of[0] is None else np.array(of) for of in counts])


def _by_loss(results: Sequence[dict[str, Any]], key: str) -> list[list[Any]]:
    """What the results hold under a key, for each loss."""
    return [list(of) for of in zip(*(data[key] for data in results), strict=True)]


@dataclass(frozen=True)
class Row:
    """One decision by one loss on one level.

    Attributes:
        loss: the name of the loss.
        kind: "loss" or "utility".
        decision: the name of the decision.
        level: one of ``LEVELS``.
        score: the value with its interval.
        difference: the same of the value less that of the baseline; None for the baseline.
    """

    loss: str
    kind: str
    decision: str
    level: str
    score: Estimate
    difference: Estimate | None


def rows_of(
    tally: Tally,
    losses: Sequence[tuple[str, SpecLoss]],
    baseline: str,
    draws: int,
    seed: int,
    tell: Callable[[int], None] = lambda made: None,
) -> list[Row]:
    """The scores of every decision by every loss; by those that do not sum up, of sentences alone.

    Args:
        tally: what was found for each sentence.
        losses: names and losses.
        baseline: the decision that the others are compared with.
        draws: how many corpora are drawn for the intervals.
        seed: of the draws.
        tell: called with the number of draws made since the last call.

    Raises:
        EmptyError: there are no sentences.
    """
    if not tally.n:
        raise EmptyError(sentence("corpus", "must hold at least one record"))
    sides = [side for k, named in enumerate(losses) for side in _sides(tally, k, *named)]
    ones = np.ones((1, len(tally.n)))
    values = [side.of(ones)[0] for side in sides]
    drawn: list[list[Floats]] = [[] for _ in sides]
    for weights in drawn_weights(len(tally.n), draws, seed):
        for found, side in zip(drawn, sides, strict=True):
            found.append(side.of(weights))
        tell(len(weights))
    rows = []
    for side, value, parts in zip(sides, values, drawn, strict=True):
        every = np.concatenate(parts) if parts else np.zeros((0, len(value)))
        rows += side.rows(tally.decisions, value, every, baseline)
    return rows


@dataclass(frozen=True, eq=False)
class _Side:
    """One loss on one level.

    Attributes:
        loss: the name of the loss.
        kind: "loss" or "utility".
        level: one of ``LEVELS``.
        of: the values of the decisions, (corpora, decisions), given how often each sentence is in
            each corpus, (corpora, sentences).
    """

    loss: str
    kind: str
    level: str
    of: Callable[[Floats], Floats]

    def rows(
        self, decisions: Sequence[str], value: Floats, drawn: Floats, baseline: str
    ) -> list[Row]:
        """A row for each decision: values (decisions,), those of drawn corpora (draws, ...)."""
        at = decisions.index(baseline)
        found = []
        for k, name in enumerate(decisions):
            score = estimate(float(value[k]), drawn[:, k])
            less = estimate(float(value[k] - value[at]), drawn[:, k] - drawn[:, at])
            difference = None if k == at else less
            found.append(Row(self.loss, self.kind, name, self.level, score, difference))
        return found


def _sides(tally: Tally, k: int, name: str, loss: SpecLoss) -> list[_Side]:
    values = np.concatenate([block[k] for block in tally.values])
    sides = [_Side(name, loss.kind, "sentence", lambda weights: weights @ values / len(values))]
    bound_loss = over_labels(loss, tuple(tally.labels.values()))
    if sums_up(bound_loss):
        return sides
    bound = check_totals(bound_loss, "corpus")
    parts = [block[k] for block in tally.counts]
    counts = np.concatenate([part for part in parts if part is not None])
    lengths = np.array(tally.n, np.float64)

    def whole(weights: Floats) -> Floats:
        return _values_of_totals(bound, weights, counts, lengths)

    return [*sides, _Side(name, loss.kind, "corpus", whole)]


def _values_of_totals(bound: BoundLoss, weights: Floats, counts: Floats, lengths: Floats) -> Floats:
    """The values of whole corpora, (corpora, decisions); counts are (sentences, decisions, counts).

    Corpora of the same length are valued together: ``n`` is the same for them.
    """
    totals = np.tensordot(weights, counts, axes=(1, 0))  # (corpora, decisions, counts)
    found = np.empty((len(weights), counts.shape[1]))
    sizes = weights @ lengths
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        names = sentence_counts(bound, [])
        added = {name: totals[rows, :, j].ravel() for j, name in enumerate(names)}
        values = value_of_totals(bound, int(size), added, len(rows) * found.shape[1])
        found[rows] = values.reshape(len(rows), -1)
    return found


def row_data(row: Row) -> dict[str, Any]:
    """The row as plain data, its numbers by the names of ``_HEADS``."""
    less = row.difference
    numbers = [row.score.value, row.score.low, row.score.high]
    numbers += [None] * 3 if less is None else [less.value, less.low, less.high]
    names = {"loss": row.loss, "kind": row.kind, "decision": row.decision, "level": row.level}
    return {**names, **dict(zip(_HEADS, numbers, strict=True))}


def rows_csv(rows: Sequence[Row]) -> str:
    """The rows as csv text, one line for each loss, decision and level."""
    text = io.StringIO()
    names = ["loss", "kind", "decision", "level", *_HEADS]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(row_data(row) for row in rows)
    return text.getvalue()


_GAP = 1e-5
"""How far below the best expected value that of a decision may be: less than scores are shown."""


@dataclass(frozen=True)
class Decided:
    """What became of the decision for a corpus.

    Attributes:
        name: what it is called.
        decision: the decision, or None.
        refused: why there is none; empty where there is one.
    """

    name: str
    decision: CorpusDecision | None = None
    refused: str = ""


def decide_whole(
    tally: Tally,
    losses: Sequence[tuple[str, SpecLoss]],
    tell: Callable[[float, float], None] | None = None,
) -> list[Decided]:
    """Adds to a tally the hypotheses that are best for the corpus, by each loss that allows it.

    Args:
        tally: what was found for each sentence; it has kept the records.
        losses: names and losses.
        tell: called with bounds of the best expected value now and then.

    Returns:
        What became of the decision for each loss.
    """
    models = [item.model for item in tally.items]
    if not models or None in models:
        return []
    found = []
    for name, loss in losses:
        way = named(f"meu {CORPUS}", name, len(losses))
        try:
            decision = decode_corpus(loss, models, gap=_GAP, progress=tell)
        except FsmeuError as error:
            found.append(Decided(way, None, str(error)))
            continue
        _add(tally, way, decision, losses)
        found.append(Decided(way, decision))
    return found


def _add(
    tally: Tally, way: str, decision: CorpusDecision, losses: Sequence[tuple[str, SpecLoss]]
) -> None:
    """Scores a decision and puts it behind the others; the blocks become one."""
    tally.decisions = (*tally.decisions, way)
    values: list[Floats] = []
    counts: list[Floats | None] = []
    for k, (name, loss) in enumerate(losses):
        bound = over_labels(loss, tuple(tally.labels.values()))
        worth, added = scores_of(bound, decision.labels, tally.items, name)
        before = np.concatenate([block[k] for block in tally.values])
        values.append(np.column_stack([before, worth]))
        parts = [part for block in tally.counts if (part := block[k]) is not None]
        if added is None:
            counts.append(None)
        else:
            sums = np.concatenate(parts) if parts else np.zeros((len(worth), 0, added.shape[1]))
            counts.append(np.concatenate([sums, added[:, None]], axis=1))
    tally.values, tally.counts = [values], [counts]
