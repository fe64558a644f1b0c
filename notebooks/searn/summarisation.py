"""Summarisation by vine growth and by sentence extraction (section 6.2) on synthetic collections.

What is compared is as in Table 2: oracles that know the references and search with a beam of 20,
and SEARN trained against them; beside these, the first sentences of the documents, and SEARN's
first iteration. The score is ROUGE-2, its interval a bootstrap over collections.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from searn.beam_policy import best_completion
from searn.collection import Collection
from searn.growth import State, actions, extraction, step, summary
from searn.matches import matches_of
from searn.measures import Means
from searn.rouge import rouge
from searn.synthetic import synthetic_collections
from searn.task import Part, Split
from searn.vine_space import UNITS

__all__ = ["LIMIT", "collections", "first_sentences", "oracle_summary", "rouge_means"]

LIMIT = 15
"""Words of a summary."""


def collections(seed: int, quick: bool) -> Iterator[Split]:
    """20 collections of 3 documents to train on and as many to predict; 3 of one if it is quick.

    Args:
        seed: of the collections to predict; those to train on have seed 1.
        quick: whether there are few.
    """
    count, documents = (3, 1) if quick else (20, 3)
    made = [synthetic_collections(count, one, documents) for one in (1, seed)]
    yield Split(*(Part(one, [list(c.references) for c in one]) for one in made))


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


def oracle_summary(collection: Collection, unit: str, limit: int = LIMIT) -> list[str]:
    """The best summary that a beam search finds which knows the references."""
    growth = UNITS[unit](collection, limit)
    return summary(growth, best_completion(growth, matches_of(collection), ()))
