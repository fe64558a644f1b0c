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

from fsmeu.arrays import Floats
from fsmeu.checking.examples import as_labels
from fsmeu.corpora.columns import LineError
from fsmeu.corpora.parse import Item, Places, read_gold
from fsmeu.corpora.records import Record
from fsmeu.decoding.decode_many import decode_many
from fsmeu.errors import InputError, message
from fsmeu.fst.alphabet import Alphabet, Label
from fsmeu.fst.tags import KINDS, is_tag
from fsmeu.losses.corpus import added_counts, check_totals, sentence_counts
from fsmeu.losses.evaluate import registers_of_pairs, values_of_registers
from fsmeu.losses.library import load
from fsmeu.losses.loss import SpecLoss
from fsmeu.models import Model
from fsmeu.models.base import marginals_many, prepare_many

CORPUS = "corpus"
WAYS = ("viterbi", "marginal", "meu", CORPUS)
"""The most probable sequence; the most probable label of each position; the best expected value of
each sentence; that of the corpus, for which all models must be known."""

Decided = list[list[Label]]


def decisions_of(
    models: Sequence[Model], ways: Sequence[str], losses: Sequence[tuple[str, SpecLoss]]
) -> dict[str, Decided]:
    """The decisions for each model, by the name of how they are made: some of ``WAYS``.

    There is a decision "meu" for each of the named losses. What is decided for the corpus is left
    out.
    """
    decided: dict[str, Decided] = {}
    prepare_many(models)
    for way in ways:
        if way == "viterbi":
            decided[way] = [_most_probable(model) for model in models]
        elif way == "marginal":
            decided[way] = _marginal(models)
        elif way == "meu":
            for name, loss in losses:
                best = decode_many(loss, models)
                decided[named("meu", name, len(losses))] = [one.labels for one in best]
    return decided


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
    decided: Decided = [[] for _ in models]
    for rows in groups.values():
        chances = marginals_many([models[row] for row in rows])
        for row, best in zip(rows, chances.argmax(axis=2), strict=True):
            decided[row] = [models[row].labels[k] for k in best]
    return decided


def chunk_counts(decided: Sequence[Any], golds: Sequence[Any]) -> dict[str, Floats]:
    """Agreeing, decided and given chunks of each sentence by type, (sentences, 3) each.

    They are the counts of ``chunk_fscore`` where tags of other types are O. There is a tag sequence
    and its reference for each sentence.
    """
    tags = {str(tag) for part in (decided, golds) for one in part for tag in one}
    by_type = {}
    for kind in sorted({tag.partition("-")[2] for tag in tags} - {""}):
        loss = _one_type(kind)
        encode = loss.alphabet.encode
        sides = ([encode(_only(one, kind)) for one in part] for part in (decided, golds))
        counts = sentence_counts(loss.bound, list(zip(*sides, strict=True)))
        by_type[kind] = np.stack([counts[name] for name in ("tp", "hyp", "ref")], axis=1)
    return by_type


@cache
def _one_type(kind: str) -> SpecLoss:
    return load("chunk_fscore", types=[kind])


def _only(tags: Sequence[Label], kind: str) -> list[Label]:
    return [tag if str(tag).partition("-")[2] == kind else "O" for tag in tags]


def type_scores(totals: Mapping[str, Floats]) -> dict[str, dict[str, Any]]:
    """Precision, recall, F1 and the numbers of given and predicted chunks by type.

    The totals are agreeing, decided and given chunks by type, (3,) each. What is 0/0 is 0.
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
    total = np.sum([part.sum(axis=0) for part in chunk_counts(predicted, given).values()], axis=0)
    chunks = type_scores({"": total})[""]
    return {**{name: chunks[name] for name in ("precision", "recall", "F1")}, **scores}


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
        """The scores of each record by each loss under each decision.

        Each has the names of "decisions", the length "n", "values", (losses, decisions), for each
        loss "counts", (decisions, counts), or None where the value is no function of sums; the
        "labels" of the block; the "item" itself, where the corpus is decided as a whole, else
        None; and "types", for each decision the chunks by type, (3,) each.
        """
        if not items:
            return []
        decided, labels, golds = self._decided(items), _labels_of(items), [i.gold for i in items]
        values, counts = [], []
        for name, loss in self.losses:
            bound = over_labels(loss, labels)
            scores = [scores_of(bound, each, golds, name) for each in decided.values()]
            values.append([value for value, _ in scores])
            added = [count for _, count in scores if count is not None]
            counts.append(np.stack(added, axis=1) if added else None)  # (records, decisions, ...)
        table = np.array(values).reshape(len(self.losses), len(decided), len(items))
        scored = decided if self.by_type else {}
        types = {name: chunk_counts(z, golds) for name, z in scored.items()}
        return [
            {
                "decisions": tuple(decided),
                "labels": labels,
                "n": len(item.gold),
                "item": item if CORPUS in self.ways else None,
                "values": table[:, :, row],
                "counts": [None if one is None else one[row] for one in counts],
                "types": {
                    name: {kind: each[row] for kind, each in by_type.items()}
                    for name, by_type in types.items()
                },
            }
            for row, item in enumerate(items)
        ]

    def answer(self, item: Item) -> dict[str, Any]:
        """The scores of one; a label that a loss does not know is told with its line."""
        try:
            return self.answers([item])[0]
        except InputError as error:
            for k, line in enumerate(item.lines):
                labels = {item.gold[k], *(labels[k] for labels in item.systems.values())}
                if not all(_knows(loss, label) for _, loss in self.losses for label in labels):
                    raise LineError(str(error), line) from None
            raise

    def _decided(self, items: Sequence[Item]) -> dict[str, list[Any]]:
        """The decisions for all records, by name: those of systems, then those of models."""
        names = items[0].systems
        decided: dict[str, list[Any]] = {n: [item.systems[n] for item in items] for n in names}
        models = [item.model for item in items if item.model is not None]
        if models and len(models) < len(items):
            raise InputError(message("record", "all records or none must have models"))
        if models:
            decided |= decisions_of(models, self.ways, self.losses)
        if not decided and not (models and CORPUS in self.ways):
            must = "there must be something to score: models, or decisions named by --system"
            raise InputError(message("record", must, "a reference alone"))
        return decided


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
    loss: SpecLoss, decided: Sequence[Any], golds: Sequence[Any], name: str
) -> tuple[Floats, Floats | None]:
    """Values, (records,), and what is added to the counts, (records, counts), or None.

    There is a label sequence and its reference for each record; the loss knows all their labels.
    """
    encode = loss.alphabet.encode
    pairs = [
        (encode(z, f"decision, {name}"), encode(y, f"gold, {name}"))
        for z, y in zip(decided, golds, strict=True)
    ]
    lengths = np.array([len(y) for _, y in pairs], np.int64)
    ended = registers_of_pairs(loss.bound, pairs)
    values = values_of_registers(loss.bound, ended, lengths)
    if sums_up(loss):
        return values, None
    counts = added_counts(loss.bound, ended, lengths)
    return values, np.stack(list(counts.values()), axis=1) if counts else np.zeros((len(pairs), 0))
