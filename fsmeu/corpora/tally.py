"""Scores of a corpus: means over sentences, values of the whole, and their intervals."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import Any

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.bootstrap import Estimate, drawn_weights, estimate
from fsmeu.corpora.parse import Item
from fsmeu.corpora.score import CORPUS, named, over_labels, scores_of, sums_up
from fsmeu.decoding.corpus import CorpusDecision, decode_corpus
from fsmeu.errors import EmptyError, FsmeuError, InputError, message
from fsmeu.fst.alphabet import Label
from fsmeu.losses.corpus import check_totals, sentence_counts, value_of_totals
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.semantics.evaluator import BoundLoss

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
        """Adds a block of answers of ``ScoreQuestion``; an InputError if decisions are others."""
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

    def counts_of(self, k: int) -> Floats:
        """What is added to the counts of a loss, (sentences, decisions, counts)."""
        return np.concatenate([part for block in self.counts if (part := block[k]) is not None])


@dataclass(frozen=True)
class Row:
    """One decision by one loss on one level.

    The score is the value with its interval, the difference the same of the value less that of the
    baseline; None for the baseline.
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

    The others are compared with the baseline. ``tell`` is called with the number of draws for the
    intervals made since the last call.

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
        counts, lengths = tally.counts_of(k), np.array(tally.n, np.float64)
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
    """The row as plain data by name; None for what there is not."""
    both = (row.score,) if row.difference is None else (row.score, row.difference)
    numbers = [number for one in both for number in (one.value, one.low, one.high)]
    names = {"loss": row.loss, "kind": row.kind, "decision": row.decision, "level": row.level}
    return {**names, **dict(zip_longest(_HEADS, numbers))}


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

    The tally has kept the records. ``tell`` is called with bounds of the best expected value.
    """
    models, golds = [item.model for item in tally.items], [item.gold for item in tally.items]
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
        bound = [(over_labels(one, tuple(tally.labels.values())), name) for name, one in losses]
        scores = [scores_of(one, decision.labels, golds, name) for one, name in bound]
        _put(tally, way, scores)
        found.append((way, decision))
    return found


def _put(tally: Tally, way: str, scores: Sequence[tuple[Floats, Floats | None]]) -> None:
    """Puts a decision behind the others, with its values and counts by each loss.

    The blocks of the tally become one.
    """
    values = np.stack([value for value, _ in scores], axis=1)[:, :, None]
    counts: list[Floats | None] = []
    for k, (_, added) in enumerate(scores):
        before = [tally.counts_of(k)] if added is not None and tally.decisions else []
        more = None if added is None else np.concatenate([*before, added[:, None]], axis=1)
        counts.append(more)
    tally.values = [np.concatenate([np.concatenate(tally.values), values], axis=2)]
    tally.decisions, tally.counts = (*tally.decisions, way), [counts]
