"""Decisions scored against references: by sentence, for the corpus, by type, with intervals.

On the level of sentences, the value of a decision is the mean of its values for the sentences. On
the level of the corpus, counts are summed over the sentences and the value is taken once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import Any

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.bootstrap import drawn_weights, estimate
from fsmeu.corpora.records import Item, LineError, RecordFields
from fsmeu.decoding.corpus import decode_corpus
from fsmeu.decoding.decision import CorpusDecision
from fsmeu.decoding.decode import decode_many
from fsmeu.errors import Argument, EmptyError, FsmeuError, InputError, as_number, wording
from fsmeu.fst.alphabet import Label, as_labels
from fsmeu.fst.tags import KINDS, chunks_of, is_tag
from fsmeu.losses import protocol
from fsmeu.losses.loss import SpecLoss, load
from fsmeu.losses.semantics.evaluator import BoundLoss
from fsmeu.losses.semantics.walk import registers_of_pairs, values_of_registers
from fsmeu.models.base import prepare_many
from fsmeu.models.derived import tempered
from fsmeu.progress import Progress

Losses = Sequence[tuple[str, SpecLoss]]
"""Names and losses."""
CORPUS = "corpus"
WAYS = ("viterbi", "marginal", "meu", CORPUS)
"""The most probable sequence; the most probable label of each position; the best expected value of
each sentence; that of the corpus, for which all models must be known."""
_NUMBERS = ("value", "low", "high", "difference", "difference_low", "difference_high")
HEADS = ("loss", "kind", "decision", "level", *_NUMBERS)
_GAP = 1e-5  # how far below the best expected value that of a decision may be


def are_chunk_tags(tags: Iterable[Sequence[str]]) -> bool:
    """Whether all tags are O, B-X or I-X, and one of them is not O."""
    others = set(chain.from_iterable(tags)) - {"O"}
    return bool(others) and all(is_tag(tag, KINDS["bio"]) for tag in others)


def tag_scores(
    predicted: Sequence[Sequence[str]], gold: Sequence[Sequence[str]]
) -> dict[str, float]:
    """Precision, recall and F1 of chunks, accuracy of tags and share of right sequences, by name.

    The first three are there for chunk tags only, and 0 where they are 0/0.
    """
    losses = {"accuracy": load("accuracy")}
    if are_chunk_tags([*predicted, *gold]):
        alphas = {"precision": 0, "recall": 1, "F1": 0.5}.items()
        losses = {k: load("chunk_fscore", alpha=x, empty=0) for k, x in alphas} | losses
    scores = {k: protocol.evaluate_corpus(loss, predicted, gold) for k, loss in losses.items()}
    wrong = protocol.evaluate_many(load("zero_one"), predicted, gold)
    return {**scores, "sequences": 1.0 - float(wrong.mean())}


def chunk_counts(z: Sequence[Any], y: Sequence[Any]) -> Counter[tuple[str, int]]:
    """Numbers of chunks by (type, k): k = 0 for those that agree, 1 for those of z, 2 for y."""
    hyp, ref = (set(chunks_of(tags)) for tags in (z, y))
    return Counter((kind, k) for k, part in enumerate((hyp & ref, hyp, ref)) for *_, kind in part)


def type_scores(counts: Counter[tuple[str, int]]) -> dict[str, dict[str, Any]]:
    """Precision, recall, F1 and the numbers of given and predicted chunks by type; 0 for 0/0."""
    scores = {}
    for kind in sorted({kind for kind, _ in counts}):
        both, hyp, ref = (counts[kind, k] for k in range(3))
        three = {"precision": (both, hyp), "recall": (both, ref), "F1": (2 * both, hyp + ref)}
        shares = {name: above / below if below else 0.0 for name, (above, below) in three.items()}
        scores[kind] = {**shares, "given": ref, "predicted": hyp}
    return scores


@dataclass(eq=False)
class ScoreQuestion:
    """The query for every record: its scores by named losses."""

    losses: tuple[tuple[str, SpecLoss], ...]
    form: str = "jsonl"
    places: RecordFields = field(default_factory=RecordFields)  # of references and decisions
    ways: tuple[str, ...] = WAYS  # how models decide
    given: Any = None  # the constraint on which models are conditioned
    temperature: float | None = None  # at which they decide, after that
    by_type: bool = False  # whether chunks are counted by type

    def answers(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        """The scores of each record; of one alone, a label that a loss lacks is told with its line.

        Each has the names of "decisions", the length "n", "scores", (decisions, columns), as
        ``scores_of`` gives them, the "labels" of the block, the "item" itself, where the corpus is
        decided as a whole, else None, and "types", the ``chunk_counts`` of each decision.
        """
        items = items if self.temperature is None else _tempered(items, self.temperature)
        labels = _labels_of(items)
        golds = [item.gold for item in items]
        try:
            decided = self._decided(items)
            table = scores_of(self.losses, labels, decided, golds)
        except InputError as error:
            for k, line in enumerate(items[0].lines if len(items) == 1 else ()):
                here = {y[k] for y in (items[0].gold, *items[0].systems.values())}
                if not all(_knows(loss, label) for _, loss in self.losses for label in here):
                    found = LineError(error.where, error.must, line, given=error.given)
                    raise found.but(remedy=error.remedy) from None
            raise
        kinds = decided if self.by_type else {}
        return [
            {
                "decisions": tuple(decided),
                "labels": labels,
                "n": len(item.gold),
                "item": item if CORPUS in self.ways else None,
                "scores": table[row],
                "types": {name: chunk_counts(z[row], item.gold) for name, z in kinds.items()},
            }
            for row, item in enumerate(items)
        ]

    def _decided(self, items: Sequence[Item]) -> dict[str, list[Any]]:
        """The decisions for all records, by name: those of systems, then those of models."""
        names = items[0].systems
        several = len(self.losses) > 1
        decided: dict[str, list[Any]] = {n: [item.systems[n] for item in items] for n in names}
        models = [item.model for item in items if item.model is not None]
        if models and len(models) < len(items):
            raise InputError("record", "all records or none must have models")
        prepare_many(models)
        for way in self.ways if models else ():
            if way == "viterbi":
                decided[way] = [next(iter(model.most_probable(1)))[0] for model in models]
            elif way == "marginal":  # the first label of several
                decided[way] = [m.alphabet.decode(m.marginals().argmax(axis=1)) for m in models]
            elif way == "meu":
                for name, loss in self.losses:
                    decisions = decode_many(loss, models)
                    decided[way + f" {name}" * several] = [d.labels for d in decisions]
        if not decided and not (models and CORPUS in self.ways):
            named = wording("decisions named by ", Argument("systems"))
            must = wording("there must be something to score: models, or ", *named.parts)
            raise InputError("record", must, given="a reference alone")
        return decided


def _tempered(items: Sequence[Item], temperature: float) -> list[Item]:
    """The records, their models at a temperature; an InputError where one has no model."""
    if any(item.model is None for item in items):
        raise InputError("temperature", "records must have models", given="decisions alone")
    return [item._replace(model=tempered(item.model, temperature)) for item in items]


def _knows(loss: SpecLoss, label: Label) -> bool:
    """Whether the label can be one of the loss."""
    if not loss.labels_open:
        return label in loss.alphabet.index
    return not loss.spec.scheme or label == "O" or is_tag(str(label), KINDS[loss.spec.scheme])


def _labels_of(items: Iterable[Item]) -> tuple[Label, ...]:
    """The labels of models, references and systems: those of models first, others in order."""
    of_models = {str(x): x for item in items if item.model is not None for x in item.model.labels}
    more = {str(x) for item in items for x in chain(item.gold, *item.systems.values())}
    others = sorted(more - of_models.keys(), key=lambda text: (as_number(text) or 0, text))
    return (*of_models.values(), *(others if of_models else as_labels(others)))


def with_totals(loss: SpecLoss, labels: tuple[Label, ...]) -> tuple[BoundLoss, list[str] | None]:
    """The loss over these labels, if its own are open, and the counts a corpus sums up, or None."""
    loss = loss.over([labels])
    try:
        return loss.bound, protocol.counts_read(protocol.check_totals(loss, "corpus"))
    except InputError:
        return loss.bound, None


def scores_of(
    losses: Losses, labels: tuple[Label, ...], decided: Mapping[str, Any], golds: Sequence[Any]
) -> Floats:
    """For each loss its value, and what is added to its counts, (records, decisions, columns)."""
    columns: list[Floats] = []
    lengths = np.tile(np.array([len(y) for y in golds], np.int64), len(decided))
    for name, loss in losses:
        bound, counts = with_totals(loss, labels)
        references = [bound.alphabet.encode(y, f"gold, {name}") for y in golds] * len(decided)
        decisions = chain.from_iterable(decided.values())
        hypotheses = [bound.alphabet.encode(z, f"decision, {name}") for z in decisions]
        registers = registers_of_pairs(bound, list(zip(hypotheses, references, strict=True)))
        columns.append(values_of_registers(bound, registers, lengths))
        if counts is not None:
            columns += protocol.added_counts(bound, registers, lengths).values()
    table: Floats = np.array(columns).reshape(len(columns), len(decided), len(golds))
    return np.asarray(table.T)


@dataclass
class Tally:
    """The scores and decisions of the sentences so far."""

    decisions: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()  # of the first block
    n: list[int] = field(default_factory=list)  # the lengths
    scores: list[Floats] = field(default_factory=list)  # the ``scores_of`` each block
    items: list[Item] = field(default_factory=list)  # the records, where they are kept
    types: dict[str, Counter[tuple[str, int]]] = field(default_factory=dict)  # by decision

    def add(self, results: Sequence[dict[str, Any]]) -> None:
        """Adds a block of answers of ``ScoreQuestion``; an InputError if decisions are others."""
        for data in results:
            if not self.n:
                self.decisions = data["decisions"]
                self.labels = data["labels"]
            if data["decisions"] != self.decisions:
                must = f"all records must have the decisions {', '.join(self.decisions)}"
                where = f"record {data['record']:,}"
                raise InputError(where, must, given=", ".join(data["decisions"]))
            self.n.append(data["n"])
            self.items += [] if data["item"] is None else [data["item"]]
            for name, counts in data["types"].items():
                self.types.setdefault(name, Counter()).update(counts)
        self.scores += [np.array([data["scores"] for data in results])] if results else []


def rows_of(
    tally: Tally, losses: Losses, baseline: str, draws: int, seed: int, progress: Progress
) -> list[dict[str, Any]]:
    """The value of every decision by every loss and level, and that less the baseline's if another.

    The keys are ``HEADS``; None for what there is not. Losses that do not sum up have the level of
    sentences alone. ``progress`` is called with the share of the draws that are made.
    """
    if not tally.n:
        raise EmptyError("corpus", "must hold at least one record")
    if not tally.decisions:
        return []
    bounds = [with_totals(loss, tally.labels) for _, loss in losses]
    ends = np.cumsum([1 + len(counts or ()) for _, counts in bounds])
    tables = np.split(np.concatenate(tally.scores), ends[:-1], axis=2)
    by_level: dict[tuple[str, str, str], list[Floats]] = {}
    made = 0
    for weights in chain([np.ones((1, len(tally.n)))], drawn_weights(len(tally.n), draws, seed)):
        for (name, loss), (bound, counts), table in zip(losses, bounds, tables, strict=True):
            for level, values in _values(bound, counts, table, tally.n, weights).items():
                by_level.setdefault((name, loss.kind, level), []).append(values)
        made += len(weights)
        progress(made / (1 + draws), "")
    rows = []
    at = tally.decisions.index(baseline)
    for (name, kind, level), part in by_level.items():
        drawn = np.concatenate(part)
        less = drawn - drawn[:, at : at + 1]
        for k, decision in enumerate(tally.decisions):
            both = [estimate(float(x[0, k]), x[1:, k]) for x in (drawn, less)]
            numbers = chain(*(vars(e).values() for e in both[: 1 + (k != at)]))
            rows.append(dict(zip_longest(HEADS, (name, kind, decision, level, *numbers))))
    return rows


def _values(
    bound: BoundLoss, names: list[str] | None, table: Floats, lengths: list[int], weights: Floats
) -> dict[str, Floats]:
    """Values of corpora, (corpora, decisions), by level; of (sentences, decisions, 1 + counts).

    The weights say how often each sentence is in each corpus, (corpora, sentences).
    """
    means = weights @ table[:, :, 0] / len(table)
    if names is None:
        return {"sentence": means}
    totals = np.tensordot(weights, table[:, :, 1:], axes=(1, 0))  # (corpora, decisions, counts)
    of_corpus = np.empty(means.shape)
    sizes = weights @ np.array(lengths, np.float64)
    for size in np.unique(sizes):  # n is the same for corpora of one size
        rows = np.flatnonzero(sizes == size)
        added = {name: totals[rows, :, j].ravel() for j, name in enumerate(names)}
        values = protocol.value_of_totals(bound.at(int(size)), added, of_corpus[rows].size)
        of_corpus[rows] = values.reshape(len(rows), -1)
    return {"sentence": means, "corpus": of_corpus}


def decide_whole(
    tally: Tally, losses: Losses, progress: Progress
) -> Iterator[tuple[str, CorpusDecision | FsmeuError]]:
    """The best decisions for the corpus, by name, or why there is none; they join the tally.

    ``progress`` is told bounds of the best expected value.
    """
    models = [item.model for item in tally.items]
    golds = [item.gold for item in tally.items]
    labels = _labels_of(tally.items)
    for name, loss in losses if models and None not in models else ():
        way = f"meu {CORPUS}" + f" {name}" * (len(losses) > 1)
        try:
            decision = decode_corpus(loss, models, gap=_GAP, progress=progress)
        except FsmeuError as error:
            yield way, error
            continue
        table = scores_of(losses, labels, {way: decision.labels}, golds)
        tally.scores = [np.concatenate([np.concatenate(tally.scores), table], axis=1)]
        tally.decisions = (*tally.decisions, way)
        yield way, decision
