"""CoNLL-2000: its sentences, their features, and the conditional random field of all experiments.

"CRF, 300 sentences" is one field wherever it stands, in scripts, notebooks and pages: sklearn-
crfsuite with ``SETTINGS`` on the features of ``features``, trained on the 300 sentences that
``drawn`` draws with seed 0 from the training set. Chunk F1 of the 2,012 test sentences by its most
probable tags (Viterbi) is .8956. Other numbers of sentences and other seeds are drawn likewise.

Features are words and parts of speech in a window of five positions, pairs and triples of
neighbours, shapes, and beginnings and ends of words. The data: ``./run python experiments/fetch.py
conll2000``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from data_folder import data_file, need_crfsuite

import fsmeu
from fsmeu.corpora.records import Sentence, read_sentences
from searn.measures import counts_of

SENTENCES = 300
"""How many sentences are drawn where nothing else is said."""
SETTINGS = {
    "algorithm": "lbfgs",
    "c2": 0.1,
    "max_iterations": 100,
    "all_possible_transitions": True,
}
"""Of every field of sklearn-crfsuite."""


# -- sentences ------------------------------------------------------------------------------------


def read(name: str) -> list[Sentence]:
    """The sentences of "train" or "test": word, part of speech, tag.

    Raises:
        MissingDataError: the data are not there.
    """
    return read_sentences(data_file(f"conll2000/{name}.txt.gz"), least=3)


def drawn(sentences: Sequence[Sentence], count: int = SENTENCES, seed: int = 0) -> list[Sentence]:
    """So many random sentences; all of them, in a random order, for 0."""
    order = np.random.default_rng(seed).permutation(len(sentences))
    return [sentences[k] for k in order[: count or len(sentences)]]


def tags(sentence: Sentence) -> list[str]:
    """The third column."""
    return [row[2] for row in sentence]


# -- features -------------------------------------------------------------------------------------


def shape(word: str) -> str:
    """Capital letters as X, small ones as x, digits as 0; at most eight characters."""
    kinds = ((str.isupper, "X"), (str.islower, "x"), (str.isdigit, "0"))
    return "".join(next((to for is_kind, to in kinds if is_kind(c)), c) for c in word[:8])


def features(sentence: Sentence) -> list[list[str]]:
    """For each position the names of its features, which all have the value 1."""
    words = ["<<", "<", *(row[0].lower() for row in sentence), ">", ">>"]
    parts = ["<<", "<", *(row[1] for row in sentence), ">", ">>"]
    shapes = ["", *(shape(row[0]) for row in sentence), ""]
    found = []
    for i, (word, *_) in enumerate(sentence):
        w, p = words[i : i + 5], parts[i : i + 5]
        row = ["bias"]
        row += [f"w{k}={one}" for k, one in enumerate(w)]
        row += [f"p{k}={one}" for k, one in enumerate(p)]
        row += [f"ww{k}={w[k]} {w[k + 1]}" for k in (1, 2)]
        row += [f"pp{k}={p[k]} {p[k + 1]}" for k in range(4)]
        row += [f"ppp{k}={p[k]} {p[k + 1]} {p[k + 2]}" for k in range(3)]
        row += [f"wp{k}{j}={w[k]} {p[j]}" for k, j in ((2, 2), (1, 2), (2, 3), (2, 1))]
        row += [f"shape{k}={one}" for k, one in enumerate(shapes[i : i + 3])]
        row += [f"begin={word[:k].lower()}" for k in range(1, min(5, len(word)))]
        row += [f"end={word[-k:].lower()}" for k in range(1, min(5, len(word)))]
        found.append([sys.intern(name) for name in row])  # half a million names, ten million uses
    return found


# -- the field ------------------------------------------------------------------------------------


def new_crf() -> Any:
    """An untrained field of sklearn-crfsuite with the settings of all experiments."""
    need_crfsuite()
    from sklearn_crfsuite import CRF

    return CRF(**SETTINGS)


def trained_crf(train: Sequence[Sentence]) -> Any:
    """A field of sklearn-crfsuite, trained on these sentences."""
    return new_crf().fit([features(one) for one in train], [tags(one) for one in train])


def crf_models(field: Any, test: Sequence[Sentence]) -> list[fsmeu.models.Model]:
    """The distribution of a trained field over the tags of each sentence."""
    return [fsmeu.models.from_crfsuite(field, features(one)) for one in test]


# -- scores ---------------------------------------------------------------------------------------


def chunk_fscore(found: list[list[str]], given: list[list[str]]) -> float:
    """F1 of the chunks of all sentences together."""
    return float(counts_of(found, given).scores()["F1"])


def accuracy(found: list[list[str]], given: list[list[str]]) -> float:
    """The share of tags that are right."""
    return float(counts_of(found, given).scores()["accuracy"])
