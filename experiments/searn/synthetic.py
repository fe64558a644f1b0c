"""Synthetic collections to summarise, since the DUC data may not be passed on.

A collection is about a few facts: who did what to whom. Documents tell these facts in sentences
with adjectives, places and attributions that no reference keeps, among sentences about other
things. Each reference tells some of the facts and nothing else, so that words grown along the trees
can reach what whole sentences cannot. Everything is drawn from a seeded generator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from fsmeu.errors import check_int
from searn.collection import Collection, checked

__all__ = ["synthetic_collections"]

_NOUNS = [
    "council",
    "bridge",
    "company",
    "factory",
    "river",
    "school",
    "museum",
    "engine",
    "harbour",
    "library",
    "bank",
    "market",
    "union",
    "minister",
    "court",
    "train",
    "airport",
    "hospital",
    "farm",
    "forest",
    "team",
    "tower",
    "valley",
    "theatre",
    "ship",
]
_VERBS = [
    "opened",
    "closed",
    "bought",
    "sold",
    "built",
    "moved",
    "joined",
    "left",
    "saved",
    "praised",
]
_ADJECTIVES = [
    "old",
    "new",
    "large",
    "small",
    "northern",
    "southern",
    "famous",
    "quiet",
    "busy",
    "modern",
]
_PLACES = [
    "spring",
    "summer",
    "winter",
    "autumn",
    "town",
    "country",
    "city",
    "north",
    "south",
    "east",
]
_SAYING = ["said", "reported", "announced", "claimed"]
_SPEAKERS = ["officials", "witnesses", "they", "analysts"]
_Fact = tuple[str, str, str]
_T = TypeVar("_T")


@dataclass
class _Text:
    """Words with their trees, as they are written."""

    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    sentences: list[int] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)
    quoted: list[bool] = field(default_factory=list)

    def write(self, rows: list[tuple[str, str, str, int]], document: int, quoted: bool) -> None:
        """Adds a sentence of (word, tag, relation, head within the sentence)."""
        begin, number = len(self.words), (self.sentences[-1] + 1 if self.sentences else 0)
        for word, tag, relation, head in rows:
            self.words.append(word)
            self.tags.append(tag)
            self.relations.append(relation)
            self.heads.append(head if head < 0 else begin + head)
            self.sentences.append(number)
            self.documents.append(document)
            self.quoted.append(quoted)


def synthetic_collections(
    count: int, seed: int, documents: int = 3, sentences: int = 4, facts: int = 3
) -> list[Collection]:
    """Collections of a seed.

    Args:
        count: how many.
        seed: of the generator.
        documents: how many documents each has.
        sentences: how many sentences each document has; about eight words each.
        facts: how many facts a collection is about.
    """
    where = "synthetic collections"
    for name, value in (("documents", documents), ("sentences", sentences), ("facts", facts)):
        check_int(where, name, value)
    random = np.random.default_rng(seed)
    return [_collection(random, documents, sentences, facts) for _ in range(count)]


def _collection(
    random: np.random.Generator, documents: int, sentences: int, facts: int
) -> Collection:
    topic = random.permutation(_NOUNS)[:4].tolist()
    others = [noun for noun in _NOUNS if noun not in topic]
    told = [_fact(random, topic) for _ in range(facts)]
    text = _Text()
    for document in range(documents):
        for place in range(sentences):
            first = document * sentences + place
            about = first < facts or random.random() < 0.3  # each fact is told at least once
            fact = told[first % facts] if about else _fact(random, others)
            text.write(_sentence(random, fact), document, bool(random.random() < 0.1))
    references = tuple(_reference(random, told) for _ in range(5))
    return checked(
        Collection(
            tuple(text.words),
            tuple(text.tags),
            tuple(text.relations),
            np.array(text.heads, np.int64),
            np.array(text.sentences, np.int64),
            np.array(text.documents, np.int64),
            np.array(text.quoted, bool),
            tuple(topic),
            references,
        )
    )


def _fact(random: np.random.Generator, nouns: list[str]) -> _Fact:
    who, whom = random.permutation(nouns)[:2].tolist()
    return who, _one(random, _VERBS), whom


def _one(random: np.random.Generator, items: list[_T]) -> _T:
    return items[int(random.integers(len(items)))]


def _sentence(random: np.random.Generator, fact: _Fact) -> list[tuple[str, str, str, int]]:
    """A fact in full: the ADJECTIVE who did the ADJECTIVE whom in the PLACE, officials said."""
    who, did, whom = fact
    subject, thing = random.random(2) < 0.5
    words: list[tuple[str, str, str, str]] = [("the", "DT", "det", who)]
    if subject:
        words.append((_one(random, _ADJECTIVES), "JJ", "amod", who))
    words += [(who, "NN", "nsubj", did), (did, "VBD", "root", ""), ("the", "DT", "det", whom)]
    if thing:
        words.append((_one(random, _ADJECTIVES), "JJ", "amod", whom))
    words.append((whom, "NN", "dobj", did))
    if random.random() < 0.6:
        where = _one(random, _PLACES)
        words += [("in", "IN", "prep", did), ("the", "DT", "det", where)]
        words.append((where, "NN", "pobj", "in"))
    if random.random() < 0.3:
        saying, speaker = _one(random, _SAYING), _one(random, _SPEAKERS)
        tag = "PRP" if speaker == "they" else "NNS"
        words += [(speaker, tag, "nsubj", saying), (saying, "VBD", "parataxis", did)]
    places = {word: k for k, (word, tag, _, _) in enumerate(words) if tag != "DT"}
    return [(word, tag, how, places.get(head, -1)) for word, tag, how, head in words]


def _reference(random: np.random.Generator, told: list[_Fact]) -> tuple[str, ...]:
    """Most facts, in short, in an order of its own."""
    kept = [told[k] for k in random.permutation(len(told)).tolist()]
    kept = kept[: max(1, len(kept) - int(random.integers(2)))]
    return tuple(word for who, did, whom in kept for word in ("the", who, did, "the", whom))
