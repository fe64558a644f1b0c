"""Decisions scored against references: by sentence, for the corpus, by type, with intervals.

On the level of sentences, the value of a decision is the mean of its values for the sentences. On
the level of the corpus, counts are summed over the sentences and the value is taken once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.checking.examples import as_labels
from fsmeu.corpora.columns import LineError
from fsmeu.corpora.parse import Item, Places, read_gold
from fsmeu.corpora.records import Record
from fsmeu.decoding.decode_many import decode_many
from fsmeu.errors import InputError, message
from fsmeu.fst.alphabet import Alphabet, Label
from fsmeu.fst.tags import KINDS, is_tag
from fsmeu.losses.evaluate import added_counts, check_totals, sentence_counts
from fsmeu.losses.loss import SpecLoss, load
from fsmeu.losses.semantics.walk import registers_of_pairs, values_of_registers
from fsmeu.models import Model
from fsmeu.models.base import marginals_many, prepare_many

__all__ = [
    "CORPUS",
    "WAYS",
    "ScoreQuestion",
    "are_chunk_tags",
    "named",
    "over_labels",
    "scores_of",
    "sums_up",
    "tag_scores",
    "type_scores",
]

CORPUS = "corpus"
WAYS = ("viterbi", "marginal", "meu", CORPUS)
"""The most probable sequence; the most probable label of each position; the best expected value of
each sentence; that of the corpus, for which all models must be known."""

Decided = list[list[Label]]


def decisions_of(
    models: Sequence[Model], ways: Sequence[str], losses: Sequence[tuple[str, SpecLoss]]
) -> dict[str, Decided]:
    """The decisions for each model, by the name of how they are made.

    Args:
        models: label models.
        ways: some of ``WAYS``; what is decided for the corpus is left out.
        losses: names and losses; there is a decision "meu" for each of them.
    """
    found: dict[str, Decided] = {}
    prepare_many(models)
    for way in ways:
        if way == "viterbi":
            found[way] = [_most_probable(model) for model in models]
        elif way == "marginal":
            found[way] = _marginal(models)
        elif way == "meu":
            for name, loss in losses:
                decided = decode_many(loss, models)
                found[named("meu", name, len(losses))] = [one.labels for one in decided]
    return found


def named(way: str, loss: str, losses: int) -> str:
    """What the decision for a loss is called: one of several is named after its loss."""
    return way if losses == 1 else f"{way} {loss}"


def _most_probable(model: Model) -> list[Label]:
    best = model.most_probable(1)
    if not best:
        raise InputError(message("model", "some sequence must have positive probability"))
    return best[0][0]


def _marginal(models: Sequence[Model]) -> Decided:
    """The most probable label of each position; the first of several."""
    groups: dict[tuple[int, int], list[int]] = {}
    for row, model in enumerate(models):
        groups.setdefault((model.n, len(model.labels)), []).append(row)
    found: Decided = [[] for _ in models]
    for rows in groups.values():
        chances = marginals_many([models[row] for row in rows])
        for row, best in zip(rows, chances.argmax(axis=2), strict=True):
            found[row] = [models[row].labels[k] for k in best]
    return found


_NAMES = ("tp", "hyp", "ref")


def chunk_counts(decided: Sequence[Any], golds: Sequence[Any]) -> dict[str, Floats]:
    """Agreeing, decided and given chunks of each sentence by type, (sentences, 3) each.

    They are the counts of ``chunk_fscore`` where tags of other types are O.

    Args:
        decided: a tag sequence for each sentence.
        golds: its reference.
    """
    tags = {str(tag) for part in (decided, golds) for one in part for tag in one}
    found = {}
    for kind in sorted({tag.partition("-")[2] for tag in tags} - {""}):
        loss = _one_type(kind)
        pairs = [
            (loss.alphabet.encode(_only(z, kind)), loss.alphabet.encode(_only(y, kind)))
            for z, y in zip(decided, golds, strict=True)
        ]
        counts = sentence_counts(loss.bound, pairs)
        found[kind] = np.stack([counts[name] for name in _NAMES], axis=1)
    return found


@cache
def _one_type(kind: str) -> SpecLoss:
    return load("chunk_fscore", types=[kind])


def _only(tags: Sequence[Label], kind: str) -> list[Label]:
    return [tag if str(tag).partition("-")[2] == kind else "O" for tag in tags]


def type_scores(totals: Mapping[str, Floats]) -> dict[str, dict[str, Any]]:
    """Precision, recall and F1 by type, and the numbers of given and decided chunks.

    Args:
        totals: agreeing, decided and given chunks by type, (3,) each.
    """
    found = {}
    for kind, counts in sorted(totals.items()):
        both, hyp, ref = (int(count) for count in counts)
        found[kind] = {
            "precision": both / hyp if hyp else 0.0,
            "recall": both / ref if ref else 0.0,
            "F1": 2 * both / (hyp + ref) if hyp + ref else 0.0,
            "given": ref,
            "predicted": hyp,
        }
    return found


def are_chunk_tags(tags: Sequence[Sequence[str]]) -> bool:
    """Whether all tags are O, B-X or I-X, and one of them is not O."""
    seen = {tag for one in tags for tag in one} - {"O"}
    return bool(seen) and all(is_tag(tag, KINDS["bio"]) for tag in seen)


def tag_scores(found: Sequence[Sequence[str]], given: Sequence[Sequence[str]]) -> dict[str, float]:
    """Precision, recall and F1 of chunks, accuracy of tags and share of right sequences, by name.

    The first three are there for chunk tags only, and 0 where they are 0/0.

    Args:
        found: the predicted tags of each sentence.
        given: its tags, as many.
    """
    pairs = list(zip(found, given, strict=True))
    same = [a == b for z, y in pairs for a, b in zip(z, y, strict=True)]
    scores = {
        "accuracy": sum(same) / max(1, len(same)),
        "sequences": sum(list(z) == list(y) for z, y in pairs) / max(1, len(pairs)),
    }
    if not are_chunk_tags([*found, *given]):
        return scores
    total = np.sum([part.sum(axis=0) for part in chunk_counts(found, given).values()], axis=0)
    chunks = type_scores({"": total})[""]
    return {**{name: chunks[name] for name in ("precision", "recall", "F1")}, **scores}


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

    def read(self, record: Record) -> Item:
        """A record as data."""
        return read_gold(record, self.form, self.places, self.given)

    def answers(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        """The scores of each record.

        Each has the names of "decisions", the length "n", "values", (losses, decisions), for each
        loss "counts", (decisions, counts), or None where the value is no function of sums; the
        "labels" of the block; the "item" itself, where the corpus is decided as a whole, else
        None; and "types", for each decision the chunks by type, (3,) each.
        """
        return _scores(self, items)

    def answer(self, item: Item) -> dict[str, Any]:
        """The scores of one; a label that a loss does not know is told with its line."""
        try:
            return _scores(self, [item])[0]
        except InputError as error:
            for k, line in enumerate(item.lines):
                labels = {item.gold[k], *(labels[k] for labels in item.systems.values())}
                if not all(_knows(loss, label) for _, loss in self.losses for label in labels):
                    raise LineError(str(error), line) from None
            raise


def _knows(loss: SpecLoss, label: Label) -> bool:
    """Whether the label can be one of the loss."""
    if not loss.labels_open:
        return label in loss.alphabet.index
    return not loss.spec.scheme or label == "O" or is_tag(str(label), KINDS[loss.spec.scheme])


def _scores(asked: ScoreQuestion, items: Sequence[Item]) -> list[dict[str, Any]]:
    """What each record is worth by each loss under each decision."""
    if not items:
        return []
    decided, labels = _decided(asked, items), _labels_of(items)
    scores = [
        [scores_of(over_labels(loss, labels), each, items, name) for each in decided.values()]
        for name, loss in asked.losses
    ]
    values = np.array([[value for value, _ in of_loss] for of_loss in scores])
    values = values.reshape(len(scores), len(decided), len(items))
    added = [[counts for _, counts in of_loss if counts is not None] for of_loss in scores]
    counts = [
        np.stack(some, axis=1) if some else None for some in added
    ]  # (records, decisions, ...)
    golds = [item.gold for item in items]
    types = {
        name: chunk_counts(each, golds) if asked.by_type else {} for name, each in decided.items()
    }
    return [
        {
            "decisions": tuple(decided),
            "labels": labels,
            "n": len(item.gold),
            "item": item if CORPUS in asked.ways else None,
            "values": values[:, :, row],
            "counts": [None if one is None else one[row] for one in counts],
            "types": {
                name: {kind: each[row] for kind, each in by_type.items()}
                for name, by_type in types.items()
            },
        }
        for row, item in enumerate(items)
    ]


def _decided(asked: ScoreQuestion, items: Sequence[Item]) -> dict[str, list[Any]]:
    """The decisions for all records, by name: those of systems, then those of models."""
    found: dict[str, list[Any]] = {
        name: [item.systems[name] for item in items] for name in items[0].systems
    }
    models = [item.model for item in items if item.model is not None]
    if models and len(models) < len(items):
        raise InputError(message("record", "all records or none must have models"))
    if models:
        found |= decisions_of(models, asked.ways, asked.losses)
    if not found and not (models and CORPUS in asked.ways):
        must = "there must be something to score: models, or decisions named by --system"
        raise InputError(message("record", must, "a reference alone"))
    return found


def _labels_of(items: Iterable[Item]) -> tuple[Label, ...]:
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
    loss: SpecLoss, decided: Sequence[Any], items: Sequence[Item], name: str
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
