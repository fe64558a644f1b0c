"""Scores of a corpus: means over sentences, values of the whole, and their intervals."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.bootstrap import Estimate, drawn_weights, estimate
from fsmeu.corpora.parse import Item
from fsmeu.corpora.score import CORPUS, named, over_labels, scores_of, sums_up
from fsmeu.decoding.corpus import CorpusDecision, decode_corpus
from fsmeu.errors import EmptyError, FsmeuError, InputError, message
from fsmeu.fst.alphabet import Label
from fsmeu.losses.evaluate import check_totals, sentence_counts, value_of_totals
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.semantics.evaluator import BoundLoss

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
        values: for each block, (sentences, losses, decisions).
        counts: for each block and loss, (sentences, decisions, counts), or None.
        items: the records themselves, where they are kept.
        types: for each decision, agreeing, decided and given chunks by type, (3,) each.
    """

    decisions: tuple[str, ...] = ()
    labels: dict[str, Label] = field(default_factory=dict)
    n: list[int] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)
    counts: list[list[Floats | None]] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    types: dict[str, dict[str, Floats]] = field(default_factory=dict)

    def add(self, results: Sequence[dict[str, Any]]) -> None:
        """Adds a block of what ``ScoreQuestion.answers`` found.

        Raises:
            InputError: other decisions than before.
        """
        for data in results:
            self.decisions = self.decisions if self.n else data["decisions"]
            if data["decisions"] != self.decisions:
                must = f"all records must have the decisions {', '.join(self.decisions)}"
                where = f"record {data['record']:,}"
                raise InputError(message(where, must, ", ".join(data["decisions"])))
            self.n.append(data["n"])
            self.items += [] if data["item"] is None else [data["item"]]
            for name, counts in data["types"].items():
                mine = self.types.setdefault(name, {})
                for kind, each in counts.items():
                    mine[kind] = mine.get(kind, 0.0) + each
        for label in chain(*dict.fromkeys(data["labels"] for data in results)):
            self.labels.setdefault(str(label), label)
        if results:
            self.values.append(np.array([data["values"] for data in results]))
            by_loss = zip(*(data["counts"] for data in results), strict=True)
            self.counts.append([None if of[0] is None else np.array(of) for of in by_loss])


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
        raise EmptyError(message("corpus", "must hold at least one record"))
    sides = [
        (name, loss.kind, level, values_of)
        for k, (name, loss) in enumerate(losses)
        for level, values_of in _levels(tally, k, loss)
    ]
    drawn: list[list[Floats]] = [[] for _ in sides]
    for weights in drawn_weights(len(tally.n), draws, seed):
        for found, (*_, values_of) in zip(drawn, sides, strict=True):
            found.append(values_of(weights))
        tell(len(weights))
    rows, at = [], tally.decisions.index(baseline) if tally.decisions else 0
    for (name, kind, level, values_of), parts in zip(sides, drawn, strict=True):
        value = values_of(np.ones((1, len(tally.n))))[0]
        every = np.concatenate([np.zeros((0, len(value))), *parts])
        for k, decision in enumerate(tally.decisions):
            score = estimate(float(value[k]), every[:, k])
            less = estimate(float(value[k] - value[at]), every[:, k] - every[:, at])
            rows.append(Row(name, kind, decision, level, score, None if k == at else less))
    return rows


def _levels(
    tally: Tally, k: int, loss: SpecLoss
) -> Iterator[tuple[str, Callable[[Floats], Floats]]]:
    """The levels of a loss, each with a function that gives the values of decisions.

    The function is given how often each sentence is in each corpus, (corpora, sentences), and
    returns (corpora, decisions).
    """
    values = np.concatenate([block[:, k] for block in tally.values])
    yield "sentence", lambda weights: weights @ values / len(values)
    loss = over_labels(loss, tuple(tally.labels.values()))
    if not sums_up(loss):
        bound = check_totals(loss, "corpus")
        parts = [block[k] for block in tally.counts]
        counts = np.concatenate([part for part in parts if part is not None])
        lengths = np.array(tally.n, np.float64)
        yield "corpus", lambda weights: _values_of_totals(bound, weights, counts, lengths)


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


def decide_whole(
    tally: Tally,
    losses: Sequence[tuple[str, SpecLoss]],
    tell: Callable[[float, float], None] | None = None,
) -> list[tuple[str, CorpusDecision | str]]:
    """The decisions that are best for the corpus, by name, or why there is none; added to a tally.

    Args:
        tally: what was found for each sentence; it has kept the records.
        losses: names and losses.
        tell: called with bounds of the best expected value now and then.
    """
    models = [item.model for item in tally.items]
    if not models or None in models:
        return []
    found: list[tuple[str, CorpusDecision | str]] = []
    for name, loss in losses:
        way = named(f"meu {CORPUS}", name, len(losses))
        try:
            decision = decode_corpus(loss, models, gap=_GAP, progress=tell)
        except FsmeuError as error:
            found.append((way, str(error)))
            continue
        _add(tally, way, decision, losses)
        found.append((way, decision))
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
        value, added = scores_of(bound, decision.labels, tally.items, name)
        values.append(value)
        parts = [part for block in tally.counts if (part := block[k]) is not None]
        if added is None:
            counts.append(None)
        else:
            sums = np.concatenate(parts) if parts else np.zeros((len(value), 0, added.shape[1]))
            counts.append(np.concatenate([sums, added[:, None]], axis=1))
    new = np.stack(values, axis=1)[:, :, None]
    tally.values = [np.concatenate([np.concatenate(tally.values), new], axis=2)]
    tally.counts = [counts]
