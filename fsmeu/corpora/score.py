"""Decisions scored against references: what each sentence is worth, and adds to the counts."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.checking.examples import as_labels
from fsmeu.corpora.by_type import chunk_counts
from fsmeu.corpora.columns import LineError
from fsmeu.corpora.decisions import CORPUS, WAYS, decisions_of
from fsmeu.corpora.gold import GoldItem, Places, read_gold
from fsmeu.corpora.work import Result, answer_block, unpacked
from fsmeu.errors import InputError, sentence
from fsmeu.fst.alphabet import Alphabet, Label
from fsmeu.fst.tags import KINDS, is_tag
from fsmeu.losses.corpus import added_counts, check_totals
from fsmeu.losses.evaluate import registers_of_pairs, values_of_registers
from fsmeu.losses.loss import SpecLoss

__all__ = ["ScoreQuestion", "answer_scores", "over_labels", "scores_of", "sums_up"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Pairs = list[tuple[Ints, Ints]]


@dataclass(frozen=True, eq=False)
class ScoreQuestion:
    """What is asked of every record.

    Attributes:
        losses: names and losses.
        form: the format of the records.
        places: where references and decisions stand.
        ways: how models decide.
        given: the constraint on which models are conditioned, or None.
        by_type: whether chunks are counted by type.
    """

    losses: tuple[tuple[str, SpecLoss], ...]
    form: str = "jsonl"
    places: Places = field(default_factory=Places)
    ways: tuple[str, ...] = WAYS
    given: Any = None
    by_type: bool = False


def answer_scores(question: bytes, block: bytes) -> list[Result]:
    """The scores of a block of records, in their order.

    Each is data with the names of "decisions", the length "n", and for each loss "values",
    (decisions,), and "counts", (decisions, counts), or None where the value is no function of
    sums; with the "labels" of the block; with the "item" itself, where the corpus is decided
    as a whole, else None; and with "types", for each decision the chunks by type, (3,) each.

    Args:
        question: a pickled ``ScoreQuestion``.
        block: a pickled list of records.
    """
    asked: ScoreQuestion = unpacked(question)
    return answer_block(
        pickle.loads(block),
        partial(read_gold, form=asked.form, places=asked.places, given=asked.given),
        partial(_scores, asked),
        partial(_alone, asked),
    )


def _alone(asked: ScoreQuestion, item: GoldItem) -> dict[str, Any]:
    """What one record is worth; a label that a loss does not know is told with its line."""
    try:
        return _scores(asked, [item])[0]
    except InputError as error:
        for k, line in enumerate(item.lines):
            labels = {item.gold[k], *(labels[k] for labels in item.systems.values())}
            if not all(_knows(loss, label) for _, loss in asked.losses for label in labels):
                raise LineError(str(error), line) from None
        raise


def _knows(loss: SpecLoss, label: Label) -> bool:
    """Whether the label can be one of the loss."""
    if not loss.labels_open:
        return label in loss.alphabet.index
    return not loss.spec.scheme or label == "O" or is_tag(str(label), KINDS[loss.spec.scheme])


def _scores(asked: ScoreQuestion, items: Sequence[GoldItem]) -> list[dict[str, Any]]:
    """What each record is worth by each loss under each decision."""
    if not items:
        return []
    decided = _decided(asked, items)
    labels = _labels_of(items)
    tables = []
    for name, loss in asked.losses:
        bound = over_labels(loss, labels)
        tables.append([scores_of(bound, each, items, name) for each in decided.values()])
    known = {"decisions": tuple(decided), "labels": labels}
    keep = CORPUS in asked.ways
    golds = [item.gold for item in items]
    types = {
        name: chunk_counts(each, golds) if asked.by_type else {} for name, each in decided.items()
    }
    return [
        {
            **known,
            "n": len(item.gold),
            "item": item if keep else None,
            "values": [np.array([values[row] for values, _ in table]) for table in tables],
            "counts": [_counts_of_row(table, row) for table in tables],
            "types": {
                name: {kind: counts[row] for kind, counts in by_type.items()}
                for name, by_type in types.items()
            },
        }
        for row, item in enumerate(items)
    ]


def _counts_of_row(table: Sequence[tuple[Floats, Floats | None]], row: int) -> Floats | None:
    """What a record adds under each decision, (decisions, counts), or None."""
    found = [counts[row] for _, counts in table if counts is not None]
    return np.array(found) if found else None


def _decided(asked: ScoreQuestion, items: Sequence[GoldItem]) -> dict[str, list[Any]]:
    """The decisions for all records, by name: those of systems, then those of models."""
    found: dict[str, list[Any]] = {
        name: [item.systems[name] for item in items] for name in items[0].systems
    }
    models = [item.model for item in items if item.model is not None]
    if models and len(models) < len(items):
        raise InputError(sentence("record", "all records or none must have models"))
    if models:
        found |= decisions_of(models, asked.ways, asked.losses)
    if not found and not (models and CORPUS in asked.ways):
        must = "there must be something to score: models, or decisions named by --system"
        raise InputError(sentence("record", must, "a reference alone"))
    return found


def _labels_of(items: Iterable[GoldItem]) -> tuple[Label, ...]:
    """The labels of models, references and systems: those of models first, others in order."""
    known: dict[str, Label] = {}
    more: set[str] = set()
    for item in items:
        for label in () if item.model is None else item.model.labels:
            known.setdefault(str(label), label)
        for sequence in (item.gold, *item.systems.values()):
            more.update(map(str, sequence))
    others = sorted(more - known.keys())
    if known:
        return (*known.values(), *others)
    return tuple(sorted(as_labels(others), key=lambda x: (x, "") if isinstance(x, int) else (0, x)))


def over_labels(loss: SpecLoss, labels: tuple[Label, ...]) -> SpecLoss:
    """The loss over these labels, where its own are open; it needs one label at least."""
    return loss.with_labels(Alphabet(labels)) if loss.labels_open and labels else loss


def sums_up(loss: SpecLoss) -> str:
    """Why there is no value of a corpus; empty where there is one."""
    try:
        check_totals(loss, "corpus")
    except InputError as error:
        return str(error)
    return ""


def scores_of(
    loss: SpecLoss, decided: Sequence[Any], items: Sequence[GoldItem], name: str
) -> tuple[Floats, Floats | None]:
    """Values, (records,), and what is added to the counts, (records, counts), or None.

    Args:
        loss: a loss whose labels include all that occur.
        decided: a label sequence for each record.
        items: the records.
        name: what the loss was called, for messages.
    """
    alphabet = loss.alphabet
    pairs: Pairs = [
        (alphabet.encode(z, f"decision, {name}"), alphabet.encode(item.gold, f"gold, {name}"))
        for z, item in zip(decided, items, strict=True)
    ]
    lengths = np.array([len(y) for _, y in pairs], np.int64)
    ended = registers_of_pairs(loss.bound, pairs)
    values = values_of_registers(loss.bound, ended, lengths)
    if sums_up(loss):
        return values, None
    counts = added_counts(loss.bound, ended, lengths)
    return values, np.stack(list(counts.values()), axis=1) if counts else np.zeros((len(pairs), 0))
