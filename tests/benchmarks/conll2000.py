"""CoNLL-2000 (Tjong Kim Sang and Buchholz 2000), and a conditional random field trained on it.

The data are not part of the project: ``./run python experiments/fetch.py conll2000`` fetches them.
What was trained is kept in the user's cache folder. It is not the field of the experiments: it has
fewer features and learns from all sentences in 40 seconds.
"""

import hashlib
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from fsmeu.errors import InputError
from fsmeu.models import from_crfsuite

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "experiments")]

from conll2000_crf import read, shape, tags  # noqa: E402
from data_folder import data_file  # noqa: E402
from pynini_wheel import cache_directory  # noqa: E402

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


def folder():
    """The folder of the data; the test that asks is skipped where there is none."""
    try:
        train, _ = (data_file(f"conll2000/{name}.txt.gz") for name in ("train", "test"))
    except InputError as error:
        pytest.skip(f"CoNLL-2000: {error}")
    return train.parent


def sentences(name):
    """The sentences of "train" or "test", lists of (word, part of speech, tag)."""
    folder()
    return read(name)


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


def trained_field():
    """The log-potentials of the test sentences, from the cache or after training.

    Returns:
        For each sentence the scores of the tags, shape (n, 23), -inf for a tag that the training
        set does not have; and the scores of a tag (last axis) after another, shape (23, 23).
    """
    data = folder()
    key = hashlib.sha256(Path(__file__).read_bytes())
    for name in ("train.txt.gz", "test.txt.gz"):
        key.update((data / name).read_bytes())
    kept = cache_directory() / "benchmarks" / f"conll2000-{key.hexdigest()[:16]}.npz"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        whole = kept.with_suffix(f".{os.getpid()}.npz")
        np.savez(whole, **_trained(sentences("train"), sentences("test")))
        whole.replace(kept)
    with np.load(kept) as arrays:
        return np.split(arrays["unary"], np.cumsum(arrays["lengths"])[:-1]), arrays["pairwise"]


def _trained(train, test):
    """The arrays of a field, those of its sentences one after another, and their lengths."""
    reason = "sklearn-crfsuite is not installed (it is part of the extra 'crf')"
    field = pytest.importorskip("sklearn_crfsuite", reason=reason).CRF(**SETTINGS)
    field.fit([features(one) for one in train], [tags(one) for one in train])
    models = [from_crfsuite(field, features(one)) for one in test]
    known, rows = [TAGS.index(tag) for tag in models[0].labels], [one.unary for one in models]
    unary, pairwise = np.full((sum(map(len, rows)), len(TAGS)), -np.inf), np.zeros((len(TAGS),) * 2)
    unary[:, known], pairwise[np.ix_(known, known)] = np.concatenate(rows), models[0].pairwise
    return {"unary": unary, "pairwise": pairwise, "lengths": [len(one) for one in rows]}
