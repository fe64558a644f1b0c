"""CoNLL-2000 (Tjong Kim Sang and Buchholz 2000), and a conditional random field trained on it.

The data are not part of the project: ``./run python experiments/fetch.py conll2000`` fetches them.
The field is not that of the experiments: it has fewer features and learns from all sentences in
40 seconds.
"""

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from fsmeu.errors import InputError
from fsmeu.models import from_crfsuite

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments"))

from conll2000_crf import read, shape, tags  # noqa: E402

TYPES = ("ADJP", "ADVP", "CONJP", "INTJ", "LST", "NP", "PP", "PRT", "SBAR", "UCP", "VP")
TAGS = ("O", *(f"{kind}-{name}" for name in TYPES for kind in "BI"))
SETTINGS = {
    "algorithm": "lbfgs",
    "c2": 1.0,
    "min_freq": 2,
    "max_iterations": 60,
    "all_possible_transitions": True,
}
"""About 40 seconds of training."""


# -- the data -------------------------------------------------------------------------------------


def sentences(name):
    """The sentences of "train" or "test", lists of (word, part of speech, tag)."""
    try:
        return read(name)
    except InputError as error:
        pytest.skip(f"CoNLL-2000: {error}")


def features(sentence):
    """For each position the names of its features, which all have the value 1."""
    words = ["", "", *(word.lower() for word, _, _ in sentence), "", ""]
    parts = ["", "", *(part for _, part, _ in sentence), "", ""]
    rows = []
    for i, (word, _, _) in enumerate(sentence):
        row = ["bias", f"shape={shape(word)}", f"-2={word[-2:]}", f"-3={word[-3:]}"]
        row += [f"w{k - 2}={words[i + k]}" for k in range(5)]
        row += [f"p{k - 2}={parts[i + k]}" for k in range(5)]
        row += [f"pp{k - 2}={parts[i + k]} {parts[i + k + 1]}" for k in range(4)]
        rows.append(row)
    return rows


# -- the field ------------------------------------------------------------------------------------


@cache
def trained_field():
    """The log-potentials of the test sentences, after training.

    Returns:
        For each sentence the scores of the tags, shape (n, 23), -inf for a tag that the training
        set does not have; and the scores of a tag (last axis) after another, shape (23, 23).
    """
    train, test = sentences("train"), sentences("test")
    reason = "sklearn-crfsuite is not installed (it is part of the extra 'crf')"
    field = pytest.importorskip("sklearn_crfsuite", reason=reason).CRF(**SETTINGS)
    field.fit([features(one) for one in train], [tags(one) for one in train])
    models = [from_crfsuite(field, features(one)) for one in test]
    known = [TAGS.index(tag) for tag in models[0].labels]
    pairwise = np.zeros((len(TAGS),) * 2)
    pairwise[np.ix_(known, known)] = models[0].pairwise
    unary = [np.full((one.n, len(TAGS)), -np.inf) for one in models]
    for scores, one in zip(unary, models, strict=True):
        scores[:, known] = one.unary
    return unary, pairwise
