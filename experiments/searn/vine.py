"""Vine growth and sentence extraction as search spaces for ``Searn`` (section 6.2).

An example is a ``Collection``, its output a list of words, and its gold output the references; the
search-based policy of section 6.2.3 tells what an action costs. What is compared is as in Table 2:
oracles that know the references and search with a beam of 20, and SEARN trained against them;
beside these, the first sentences of the documents. The score is ROUGE-2.

Features of units (section 6.2.4): of the word itself, its stem, its part of speech, its relation to
its head; the place and length of its sentence, the length of its document, whether it is quoted;
pronouns and verbs of saying in its subtree. And log-ratios of probabilities of the word, its
sentence and its subtree under language models of the query, of the sentences that share words with
it (in place of the paper's BayeSum representation of the query), and of the summary so far, against
that of the whole collection. A unit of several words, as in sentence extraction, is represented by
the root among them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, check_int, one_of
from fsmeu.learning.saving import register
from fsmeu.searn.features import hashed_sentences, stem
from fsmeu.searn.spaces import CustomSpace, ListStates
from searn.collection import Collection, read_collections, subtree_order
from searn.growth import (
    Growth,
    State,
    action_costs,
    actions,
    best_completion,
    extraction,
    step,
    summary,
    vine_growth,
)
from searn.measures import Means
from searn.rouge import Matches, matches_of, rouge
from searn.synthetic import synthetic_collections
from searn.task import Part, Sizes, Split

__all__ = [
    "GrowingSummary",
    "SummarySpace",
    "SummaryState",
    "UnitFeatures",
    "action_features",
    "collections",
    "first_sentences",
    "oracle_summary",
    "own_collections",
    "rouge_means",
    "unit_features",
]

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


UNITS = {"word": vine_growth, "sentence": extraction}
References = Sequence[Sequence[str]]


@dataclass(frozen=True)
class SummaryState:
    """A partial summary.

    Attributes:
        added: the units added so far.
        growth: the collection with its units.
        known: features of units.
        tables: the matches against references, once they are asked for.
    """

    added: State
    growth: Growth = field(compare=False, repr=False)
    known: UnitFeatures = field(compare=False, repr=False)
    tables: dict[str, Matches] = field(compare=False, repr=False)

    def matches(self, references: References) -> Matches:
        """The matches against these references, which are the same for all states of a search."""
        if "held" not in self.tables:
            texts = tuple(tuple(one) for one in references)
            self.tables["held"] = matches_of(replace(self.growth.collection, references=texts))
        return self.tables["held"]


@register
class GrowingSummary(BaseEstimator):  # type: ignore[misc]
    """A space in which summaries grow unit by unit; the loss is 1 - ROUGE-2.

    Args:
        limit: the greatest number of words in a summary.
        unit: "word" for vine growth, "sentence" for sentence extraction.
        width: the beam of the search that stands for the optimal policy.
    """

    def __init__(self, limit: int = 15, *, unit: str = "word", width: int = 20) -> None:
        self.limit = limit
        self.unit = unit
        self.width = width

    def start(self, x: Collection) -> SummaryState:
        """The empty summary of a collection."""
        name = one_of(type(self).__name__, "unit", self.unit, UNITS)
        growth = UNITS[name](x, self.limit)
        return SummaryState((), growth, unit_features(growth), {})

    def actions(self, state: SummaryState) -> list[int]:
        """The units that may be added; none where the summary is finished."""
        return actions(state.growth, state.added)

    def step(self, state: SummaryState, action: int) -> SummaryState:
        """The summary with one more unit."""
        return replace(state, added=step(state.added, action))

    def features(self, state: SummaryState, action: int) -> dict[str, float]:
        """The features of adding a unit."""
        return action_features(state.growth, state.known, state.added, [action])[0]

    def output(self, state: SummaryState) -> list[str]:
        """The words of the summary."""
        return summary(state.growth, state.added)

    def costs(self, state: SummaryState, y: References) -> NDArray[np.float64]:
        """What each action costs, (actions,), the least of them 0."""
        width = check_int(type(self).__name__, "width", self.width)
        return action_costs(state.growth, state.matches(y), state.added, width)[1]

    def value(self, state: SummaryState, y: References) -> float:
        """The least loss that a beam search from a state finds; its own where it is finished."""
        width = check_int(type(self).__name__, "width", self.width)
        best = best_completion(state.growth, state.matches(y), state.added, width)
        return self.loss(summary(state.growth, best), y)

    def loss(self, output: Sequence[str], y: References) -> float:
        """The loss of a finished summary, 1 - ROUGE-2."""
        return 1.0 - rouge(list(output), y)


@register
class SummarySpace(CustomSpace):
    """Growing summaries as ``Searn`` takes them, the same as ``CustomSpace`` makes of them.

    Features and costs of all actions of a state are found together, the costs by beams that move in
    lockstep: with a hundred words and more, that is several times as fast.
    """

    def fitted(self, ys: Any) -> SummarySpace:
        """A copy without labels."""
        space = SummarySpace(self.space)
        space.labels_ = []
        return space

    def rows(self, states: ListStates) -> tuple[csr_array, Ints]:
        """One row of features for each action of each state, and where those of a state begin."""
        lines = [
            [found]
            for state, units in zip(states.items, states.choices, strict=True)
            for found in action_features(state.growth, state.known, state.added, units)
        ]
        begins = np.concatenate(([0], np.cumsum(states.counts)))
        return hashed_sentences(lines, self.inputs.bits).matrix, begins

    def costs(self, states: ListStates) -> tuple[Floats, Ints]:
        """The cost of each action, (B, most), and -1 for each state: no action is preferred."""
        costs = np.full(self.allowed(states).shape, np.inf)
        golds = (self.gold[k] for k in states.examples.tolist())
        for row, state, gold in zip(costs, states.items, golds, strict=True):
            found = self.space.costs(state, gold)
            row[: len(found)] = found
        return costs, np.full(len(states), -1, np.int64)


def collections(words: int, sizes: Sizes, held_out: bool = False) -> Iterator[Split]:
    """20 synthetic collections to train on and as many to predict; 3 small ones if it is quick.

    Three documents of four sentences for summaries of up to 15 words; for longer ones more of
    them, and more facts to tell, so that about one word in five has room.
    """
    large = {"documents": words // 12, "sentences": 8, "facts": words // 5}
    settings = large if words > 15 else {"documents": 1 if sizes.quick else 3}
    counts, seeds = [count or 20 for count in sizes.of(3)], (1, 3 if held_out else 2)
    pairs = zip(counts, seeds, strict=True)
    yield Split(*(_part(synthetic_collections(count, seed, **settings)) for count, seed in pairs))


def own_collections(folder: Path, sizes: Sizes, held_out: bool = False) -> Iterator[Split]:
    """The collections of a folder in up to ten folds, each predicted after training on the others.

    Nothing else is held out where that is asked for; a quick look takes the first fold.

    Raises:
        InputError: there are fewer than two.
    """
    every = list(read_collections(folder).values())
    if len(every) < 2:
        must = "there must be at least two collections: one is predicted after training on others"
        raise InputError(f"folder {folder}", must, given=len(every))
    folds = min(10, len(every))
    for fold in range(1 if sizes.quick else folds):
        numbers = np.arange(fold, len(every), folds)
        train = [one for k, one in enumerate(every) if k % folds != fold]
        yield Split(_part(train), _part([every[k] for k in numbers]), numbers=numbers)


def _part(given: Sequence[Collection]) -> Part:
    return Part(list(given), [list(one.references) for one in given])


def rouge_means(found: Sequence[Sequence[str]], given: Sequence[Sequence[Sequence[str]]]) -> Means:
    """ROUGE-2 of each summary against its references."""
    scores = [rouge(list(text), texts) for text, texts in zip(found, given, strict=True)]
    return Means(np.array(scores, np.float64).reshape(-1, 1))


def first_sentences(collection: Collection, limit: int) -> list[str]:
    """The first sentence of each document, then the second of each, as long as there is room."""
    growth = extraction(collection, limit)
    documents = collection.documents[[unit[0] for unit in growth.units]]
    places = np.arange(len(growth.units)) - np.searchsorted(documents, documents)
    state: State = ()
    for unit in np.lexsort((documents, places)).tolist():
        if unit in actions(growth, state):
            state = step(state, unit)
    return summary(growth, state)


def oracle_summary(collection: Collection, unit: str, limit: int) -> list[str]:
    """The best summary that a beam search finds which knows the references."""
    growth = UNITS[unit](collection, limit)
    return summary(growth, best_completion(growth, matches_of(collection), ()))
