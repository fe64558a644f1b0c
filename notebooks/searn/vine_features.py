"""Features of units that may be added to a summary (Daumé et al. 2009, section 6.2.4).

Of the word: itself, its stem, its part of speech, its relation to its head; the place and length of
its sentence, the length of its document, whether it is quoted; pronouns and verbs of saying in its
subtree. And log-ratios of probabilities of the word, its sentence and its subtree under language
models of the query, of the sentences that share words with it (in place of the paper's BayeSum
representation of the query), and of the summary so far, against that of the whole collection. A
unit of several words, as in sentence extraction, is represented by the root among them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from fsmeu.searn.features.templates import stem
from searn.collection import subtree_order
from searn.growth import Growth, State, summary

__all__ = ["UnitFeatures", "action_features", "unit_features"]

_SAYING = frozenset(
    [
        "said",
        "says",
        "say",
        "saying",
        "reported",
        "reports",
        "announced",
        "announces",
        "claimed",
        "claims",
        "told",
        "tells",
        "added",
        "stated",
        "argued",
        "according",
    ]
)
_PRONOUNS = ("PRP", "PRP$", "PRON", "WP")
_SMOOTHING = 5.0  # pseudo-counts that a language model takes from the collection
Features = dict[str, float]


@dataclass(frozen=True)
class UnitFeatures:
    """What is known of units before anything is added.

    Attributes:
        roots: the place of the root word of each unit, (U,).
        fixed: the features of each unit that do not depend on the state, (U,).
        scopes: for each unit the words of itself, its sentence and its subtree, (U,) of dicts.
        background: how often each word stands in the collection.
    """

    roots: tuple[int, ...]
    fixed: tuple[Features, ...]
    scopes: tuple[Mapping[str, Sequence[str]], ...]
    background: Counter[str]


def unit_features(growth: Growth) -> UnitFeatures:
    """The features of the units of a growth that do not depend on the state."""
    held = growth.collection
    below = _subtrees(held.heads)
    roots = tuple(
        next((p for p in unit if held.heads[p] not in unit), unit[0]) for unit in growth.units
    )
    background = Counter(held.words)
    models = {"query": Counter(held.query), "relevant": _relevant(growth)}
    fixed, scopes = [], []
    for unit, root in zip(growth.units, roots, strict=True):
        mates = np.flatnonzero(held.sentences == held.sentences[root]).tolist()
        scope = {
            "unit": [held.words[p] for p in unit],
            "sentence": [held.words[p] for p in mates],
            "subtree": [held.words[p] for p in below[root]],
        }
        found = _of_word(growth, root, mates, below[root])
        for name, model in models.items():
            found |= _ratios(name, model, scope, background)
        fixed.append(found)
        scopes.append(scope)
    return UnitFeatures(roots, tuple(fixed), tuple(scopes), background)


def action_features(
    growth: Growth, known: UnitFeatures, state: State, units: Sequence[int]
) -> list[Features]:
    """The features of adding each of these units to a state, dictionaries of names and values."""
    held = growth.collection
    text = summary(growth, state)
    so_far = Counter(text)
    begun = {int(held.sentences[known.roots[unit]]) for unit in state}
    left = min(4, (growth.limit - len(text)) // 3)
    found = []
    for unit in units:
        root = known.roots[unit]
        new = int(held.sentences[root]) not in begun
        here = {
            f"left={left} new={new}": 1.0,
            f"relation={held.relations[root]} left={left}": 1.0,
            f"repeated={held.words[root] in so_far} tag={held.tags[root]}": 1.0,
        }
        here |= _ratios("summary", so_far, known.scopes[unit], known.background)
        found.append({**known.fixed[unit], **here})
    return found


def _of_word(growth: Growth, root: int, mates: list[int], below: list[int]) -> Features:
    held = growth.collection
    head = int(held.heads[root])
    own = np.flatnonzero(held.documents == held.documents[root])
    place = int(held.sentences[root] - held.sentences[own[0]])
    pronouns = sum(held.tags[p] in _PRONOUNS for p in below)
    saying = sum(held.words[p] in _SAYING for p in below)
    names = [
        "bias",
        f"word={held.words[root]}",
        f"stem={stem(held.words[root])}",
        f"tag={held.tags[root]}",
        f"relation={held.relations[root]}",
        f"head={held.tags[head] if head >= 0 else ''} relation={held.relations[root]}",
        f"place={min(place, 5)}",
        f"length={len(mates) // 5}",
        f"document={len(own) // 50}",
        f"quoted={bool(held.quoted[root])}",
        f"pronouns={min(pronouns, 3)}",
        f"saying={min(saying, 2)}",
        f"below={min(len(below), 8)}",
    ]
    return dict.fromkeys(names, 1.0)


def _ratios(
    name: str,
    model: Counter[str],
    scope: Mapping[str, Sequence[str]],
    background: Counter[str],
) -> Features:
    """Mean log-ratios of the words of each scope under a language model, and their signs."""
    found: Features = {}
    total, size = sum(background.values()), sum(model.values())
    for where, words in scope.items():
        ratios = (
            log((model[w] * total / max(1, background[w]) + _SMOOTHING) / (size + _SMOOTHING))
            for w in words
        )
        mean = sum(ratios) / max(1, len(words))
        found[f"{name} {where}"] = mean
        found[f"{name} {where} {'over' if mean > 0 else 'under'}"] = 1.0
    return found


def _relevant(growth: Growth) -> Counter[str]:
    """The words of the sentences that have a word of the query."""
    held = growth.collection
    asked = set(held.query)
    numbers = {
        int(number)
        for word, number in zip(held.words, held.sentences, strict=True)
        if word in asked
    }
    both: Iterable[tuple[str, int]] = zip(held.words, held.sentences.tolist(), strict=True)
    return Counter(word for word, number in both if number in numbers)


def _subtrees(heads: NDArray[np.int64]) -> list[list[int]]:
    """The places of the words of each word's subtree, itself first."""
    found = [[place] for place in range(len(heads))]
    for place in reversed(subtree_order(heads)):
        if heads[place] >= 0:
            found[heads[place]].extend(found[place])
    return found
