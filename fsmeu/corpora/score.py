"""Decisions scored against references: by sentence, for the corpus, by type, with intervals.

On the level of sentences, the value of a decision is the mean of its values for the sentences. On
the level of the corpus, counts are summed over the sentences and the value is taken once.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, zip_longest
from typing import Any

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.bootstrap import Estimate, drawn_weights, estimate
from fsmeu.corpora.parse import Item, LineError, Places
from fsmeu.decoding.corpus import CorpusDecision, decode_corpus
from fsmeu.decoding.decode import decode_many
from fsmeu.errors import EmptyError, FsmeuError, InputError, message
from fsmeu.fst.alphabet import Alphabet, Label, as_labels
from fsmeu.fst.tags import KINDS, chunks_of, is_tag
from fsmeu.losses.evaluate import added_counts, check_totals, sentence_counts, value_of_totals
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.semantics.evaluator import BoundLoss
from fsmeu.losses.semantics.walk import registers_of_pairs, values_of_registers
from fsmeu.models.base import prepare_many

Losses = Sequence[tuple[str, SpecLoss]]
"""Names and losses."""

CORPUS = "corpus"
WAYS = ("viterbi", "marginal", "meu", CORPUS)
"""The most probable sequence; the most probable label of each position; the best expected value of
each sentence; that of the corpus, for which all models must be known."""


def chunk_counts(decided: Iterable[Any], golds: Iterable[Any]) -> dict[str, Floats]:
    """Agreeing, decided and given chunks of all sentences by type, (3,) each."""
    by_type: dict[str, Floats] = {}
    for sides in zip(decided, golds, strict=True):
        z, y = (set(chunks_of(tags)) for tags in sides)
        for column, some in enumerate((z & y, z, y)):
            for *_, kind in some:
                by_type.setdefault(kind, np.zeros(3))[column] += 1
    return by_type


def type_scores(totals: Mapping[str, Floats]) -> dict[str, dict[str, Any]]:
    """Precision, recall, F1 and the numbers of given and predicted chunks by type; 0 for 0/0.

    The totals are agreeing, decided and given chunks by type, (3,) each.
    """
    scores = {}
    for kind, counts in sorted(totals.items()):
        both, hyp, ref = (int(count) for count in counts)
        three = {"precision": (both, hyp), "recall": (both, ref), "F1": (2 * both, hyp + ref)}
        shares = {name: above / below if below else 0.0 for name, (above, below) in three.items()}
        scores[kind] = {**shares, "given": ref, "predicted": hyp}
    return scores


def are_chunk_tags(tags: Sequence[Sequence[str]]) -> bool:
    """Whether all tags are O, B-X or I-X, and one of them is not O."""
    seen = {tag for one in tags for tag in one} - {"O"}
    return bool(seen) and all(is_tag(tag, KINDS["bio"]) for tag in seen)


def tag_scores(
    predicted: Sequence[Sequence[str]], given: Sequence[Sequence[str]]
) -> dict[str, float]:
    """Precision, recall and F1 of chunks, accuracy of tags and share of right sequences, by name.

    The first three are there for chunk tags only, and 0 where they are 0/0.
    """
    pairs = list(zip(predicted, given, strict=True))
    same = [a == b for z, y in pairs for a, b in zip(z, y, strict=True)]
    scores = {
        "accuracy": sum(same) / max(1, len(same)),
        "sequences": sum(list(z) == list(y) for z, y in pairs) / max(1, len(pairs)),
    }
    if not are_chunk_tags([*predicted, *given]):
        return scores
    total = np.sum(list(chunk_counts(predicted, given).values()), axis=0)
    chunks = type_scores({"": total})[""]
    return {**{name: chunks[name] for name in ("precision", "recall", "F1")}, **scores}


@dataclass(eq=False)
class ScoreQuestion:
    """What is asked of every record: its scores by named losses."""

    losses: tuple[tuple[str, SpecLoss], ...]
    form: str = "jsonl"
    places: Places = field(default_factory=Places)  # of references and decisions
    ways: tuple[str, ...] = WAYS  # how models decide
    given: Any = None  # the constraint on which models are conditioned
    by_type: bool = False  # whether chunks are counted by type

    def answers(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        """The scores of each record; of one alone, a label that a loss lacks is told with its line.

        Each has the names of "decisions", the length "n", "scores", (decisions, columns), as
        ``scores_of`` gives them, the "labels" of the block, the "item" itself, where the corpus is
        decided as a whole, else None, and "types", for each decision the chunks by type, (3,) each.
        """
        if not items:
            return []
        labels, golds = _labels_of(items), [item.gold for item in items]
        try:
            decided = self._decided(items)
            tables = [scores_of(self.losses, labels, each, golds) for each in decided.values()]
        except InputError as error:
            for k, line in enumerate(items[0].lines if len(items) == 1 else ()):
                here = {y[k] for y in (items[0].gold, *items[0].systems.values())}
                if not all(_knows(loss, label) for _, loss in self.losses for label in here):
                    raise LineError(str(error), line) from None
            raise
        kinds = decided if self.by_type else {}
        return [
            {
                "decisions": tuple(decided),
                "labels": labels,
                "n": len(item.gold),
                "item": item if CORPUS in self.ways else None,
                "scores": [table[row] for table in tables],
                "types": {name: chunk_counts([z[row]], [item.gold]) for name, z in kinds.items()},
            }
            for row, item in enumerate(items)
        ]

    def _decided(self, items: Sequence[Item]) -> dict[str, list[Any]]:
        """The decisions for all records, by name: those of systems, then those of models."""
        names = items[0].systems
        decided: dict[str, list[Any]] = {n: [item.systems[n] for item in items] for n in names}
        models = [item.model for item in items if item.model is not None]
        if models and len(models) < len(items):
            raise InputError(message("record", "all records or none must have models"))
        if models:
            prepare_many(models)
        for way in self.ways if models else ():
            if way == "viterbi":
                decided[way] = [next(iter(model.most_probable(1)))[0] for model in models]
            elif way == "marginal":  # the first label of several
                tops = [model.marginals().argmax(axis=1) for model in models]
                decided[way] = [m.alphabet.decode(k) for m, k in zip(models, tops, strict=True)]
            elif way == "meu":
                for name, loss in self.losses:
                    decisions = decode_many(loss, models)
                    decided[_named(way, name, self.losses)] = [one.labels for one in decisions]
        if not decided and not (models and CORPUS in self.ways):
            must = "there must be something to score: models, or decisions named by --system"
            raise InputError(message("record", must, "a reference alone"))
        return decided


def _named(way: str, loss: str, losses: Losses) -> str:
    """What the decision for a loss is called: one of several is named after its loss."""
    return way if len(losses) == 1 else f"{way} {loss}"


def _knows(loss: SpecLoss, label: Label) -> bool:
    """Whether the label can be one of the loss."""
    if not loss.labels_open:
        return label in loss.alphabet.index
    return not loss.spec.scheme or label == "O" or is_tag(str(label), KINDS[loss.spec.scheme])


def _labels_of(items: Iterable[Item]) -> tuple[Label, ...]:
    """The labels of models, references and systems: those of models first, others in order."""
    known: dict[str, Label] = {}
    more: set[str] = set()
    for item in items:
        known |= {} if item.model is None else {str(one): one for one in item.model.labels}
        more.update(*(map(str, labels) for labels in (item.gold, *item.systems.values())))
    others = sorted(more - known.keys())
    if known:
        return (*known.values(), *others)
    return tuple(sorted(as_labels(others), key=lambda x: (x, "") if isinstance(x, int) else (0, x)))


def with_totals(loss: SpecLoss, labels: tuple[Label, ...]) -> tuple[BoundLoss, list[str] | None]:
    """The loss over these labels, where its own are open, and the counts that its value looks at.

    They are None where the value of a corpus is no function of their sums.
    """
    loss = loss.with_labels(Alphabet(labels)) if loss.labels_open and labels else loss
    try:
        return loss.bound, list(sentence_counts(check_totals(loss, "corpus"), []))
    except InputError:
        return loss.bound, None


def scores_of(
    losses: Losses, labels: tuple[Label, ...], decided: Sequence[Any], golds: Sequence[Any]
) -> Floats:
    """For each loss its value, and what is added to its counts, (records, columns).

    A label sequence is decided for each record, and has a reference.
    """
    columns: list[Floats] = []
    lengths = np.array([len(y) for y in golds], np.int64)
    for name, loss in losses:
        bound, counts = with_totals(loss, labels)
        encode = bound.alphabet.encode
        given = [encode(y, f"gold, {name}") for y in golds]
        chosen = [encode(z, f"decision, {name}") for z in decided]
        ended = registers_of_pairs(bound, list(zip(chosen, given, strict=True)))
        columns.append(values_of_registers(bound, ended, lengths))
        if counts is not None:
            columns += added_counts(bound, ended, lengths).values()
    return np.stack(columns, axis=1)


LEVELS = ("sentence", "corpus")
_HEADS = ("value", "low", "high", "difference", "difference_low", "difference_high")


@dataclass
class Tally:
    """What was found for the sentences.

    ``scores`` has an array for each block of them, (sentences, decisions, columns), as
    ``scores_of`` gives them, and ``types`` the ``chunk_counts`` of each decision.
    """

    decisions: tuple[str, ...] = ()
    labels: dict[str, Label] = field(default_factory=dict)  # all that occur, by their text
    n: list[int] = field(default_factory=list)  # the lengths
    scores: list[Floats] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)  # the records, where they are kept
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
        if results and self.decisions:
            self.scores.append(np.array([data["scores"] for data in results]))


@dataclass(frozen=True)
class Row:
    """One decision by one loss on one level: its value, and that less the baseline's if another."""

    loss: str
    kind: str
    decision: str
    level: str
    score: Estimate
    difference: Estimate | None


def rows_of(
    tally: Tally,
    losses: Losses,
    baseline: str,
    draws: int,
    seed: int,
    tell: Callable[[int], None] = lambda made: None,
) -> list[Row]:
    """The scores of every decision by every loss; by those that do not sum up, of sentences alone.

    ``tell`` is called with the number of draws for the intervals made since the last call.
    """
    if not tally.n:
        raise EmptyError(message("corpus", "must hold at least one record"))
    if not tally.decisions:
        return []
    table, lengths = np.concatenate(tally.scores), np.array(tally.n, np.float64)
    sides: list[tuple[str, str, str, Callable[[Floats], Floats]]] = []
    for name, loss in losses:
        bound, counts = with_totals(loss, tuple(tally.labels.values()))
        means, table = table[:, :, 0], table[:, :, 1:]
        sides.append((name, loss.kind, "sentence", partial(_means, means)))
        if counts is not None:
            added, table = table[:, :, : len(counts)], table[:, :, len(counts) :]
            value = partial(_totals, bound, counts, added, lengths)
            sides.append((name, loss.kind, "corpus", value))
    found = [[side[-1](np.ones((1, len(tally.n))))] for side in sides]  # then those of draws
    for weights in drawn_weights(len(tally.n), draws, seed):
        for part, side in zip(found, sides, strict=True):
            part.append(side[-1](weights))
        tell(len(weights))
    rows, at = [], tally.decisions.index(baseline)
    for (name, kind, level, _), part in zip(sides, found, strict=True):
        every = np.concatenate(part)
        less = every - every[:, at : at + 1]
        for k, decision in enumerate(tally.decisions):
            score, other = (estimate(float(one[0, k]), one[1:, k]) for one in (every, less))
            rows.append(Row(name, kind, decision, level, score, None if k == at else other))
    return rows


def _means(values: Floats, weights: Floats) -> Floats:
    """Mean values of corpora in which sentences are so often, (corpora, decisions)."""
    return weights @ values / len(values)


def _totals(
    bound: BoundLoss, names: Sequence[str], counts: Floats, lengths: Floats, weights: Floats
) -> Floats:
    """Values of whole corpora, (corpora, decisions), of counts, (sentences, decisions, counts)."""
    totals = np.tensordot(weights, counts, axes=(1, 0))  # (corpora, decisions, counts)
    found = np.empty((len(weights), counts.shape[1]))
    sizes = weights @ lengths
    for size in np.unique(sizes):  # n is the same for corpora of one size
        rows = np.flatnonzero(sizes == size)
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
    tally: Tally, losses: Losses, tell: Callable[[float, float], None] | None = None
) -> list[tuple[str, CorpusDecision | str]]:
    """The decisions that are best for the corpus, by name, or why there is none.

    They are added to the tally, which has kept the records. ``tell`` is called with bounds of the
    best expected value.
    """
    models, golds = [item.model for item in tally.items], [item.gold for item in tally.items]
    if not models or None in models:
        return []
    found: list[tuple[str, CorpusDecision | str]] = []
    for name, loss in losses:
        way = _named(f"meu {CORPUS}", name, losses)
        try:
            decision = decode_corpus(loss, models, gap=_GAP, progress=tell)
        except FsmeuError as error:
            found.append((way, str(error)))
            continue
        labels = tuple(tally.labels.values())
        table = scores_of(losses, labels, decision.labels, golds)[:, None]
        before = [np.concatenate(tally.scores)] if tally.decisions else []
        tally.scores = [np.concatenate([*before, table], axis=1)]
        tally.decisions = (*tally.decisions, way)
        found.append((way, decision))
    return found
