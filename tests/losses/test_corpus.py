"""The value of a corpus: counts summed over sentences, the value taken once."""

from itertools import chain

import numpy as np
import pytest
from seqeval.metrics import f1_score as chunk_f1
from sklearn.metrics import accuracy_score, fbeta_score, jaccard_score, matthews_corrcoef

import fsmeu
from fsmeu.errors import FsmeuError, InputError

TAGS = ["O", "B-NP", "I-NP", "B-VP", "I-VP"]


def corpus(seed, labels, sentences=12, longest=7):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, longest, sentences)
    return [[[labels[k] for k in rng.integers(0, len(labels), n)] for n in lengths] for _ in "zy"]


def joined(sequences):
    return list(chain.from_iterable(sequences))


@pytest.mark.parametrize("seed", range(5))
def test_labels_as_scikit_learn_counts_them(seed):
    """Over the concatenation, which is the same for losses of single positions."""
    zs, ys = corpus(seed, [0, 1])
    z, y = joined(zs), joined(ys)
    for beta in (0.5, 1, 2):
        ours = fsmeu.evaluate_corpus(fsmeu.load("fscore", beta=beta), zs, ys)
        assert ours == pytest.approx(fbeta_score(y, z, beta=beta), rel=1e-12)
    for name, theirs in (
        ("jaccard", jaccard_score(y, z)),
        ("accuracy", accuracy_score(y, z)),
        ("hamming", 1 - accuracy_score(y, z)),
        ("mcc", matthews_corrcoef(y, z)),
    ):
        assert fsmeu.evaluate_corpus(fsmeu.load(name), zs, ys) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_chunks_as_seqeval_counts_them(seed):
    """Chunks end with their sentence: the concatenation would join I-NP to the B-NP before."""
    zs, ys = corpus(seed, TAGS)
    loss = fsmeu.load("chunk_fscore", labels=TAGS)
    ours = fsmeu.evaluate_corpus(loss, zs, ys)
    assert ours == pytest.approx(chunk_f1(ys, zs), rel=1e-12)
    assert ours != fsmeu.evaluate(loss, joined(zs), joined(ys))


def test_counts_by_hand():
    """tp = 1 + 0 + 1, hyp = 2 + 1 + 1, ref = 1 + 1 + 2; registers other than counts start anew."""
    f1 = fsmeu.load("fscore")
    assert fsmeu.evaluate_corpus(f1, ["110", "1", "10"], ["100", "0", "11"]) == 2 * 2 / (4 + 3)
    runs = fsmeu.loads(
        "loss runs\nlabels 0 1\nage a since z == 1 up to 9\ncount c by i + n + (a < 2)\n"
        "value c / n or 7 when n == 0\n"
    )
    # i + n: 1 + 2 and 2 + 2, then 1 + 1; a < 2 at both positions of the first, not in the second.
    assert fsmeu.evaluate_corpus(runs, ["10", "0"], ["00", "0"]) == (3 + 4 + 2 + 2) / 3


def test_no_sentences():
    assert fsmeu.evaluate_corpus(fsmeu.load("fscore"), [], []) == 1.0
    assert fsmeu.evaluate_corpus(fsmeu.load("fscore", empty=0), [""], [""]) == 0.0


def test_values_of_states_are_refused():
    with pytest.raises(InputError, match="looks at state"):
        fsmeu.evaluate_corpus(fsmeu.load("zero_one"), ["01"], ["01"])


def test_values_of_flags_and_ages_are_refused():
    for line in ("flag r when z == y", "age r since z == y up to 3"):
        loss = fsmeu.loads(f"loss l\nlabels 0 1\n{line}\nvalue r\n")
        with pytest.raises(InputError, match="looks at r"):
            fsmeu.evaluate_corpus(loss, ["01"], ["01"])


@pytest.mark.parametrize(
    ("zs", "ys"),
    [(["01"], []), (["01"], ["0"]), (["02"], ["01"]), (5, ["01"]), ([5], ["0"]), ({"01"}, ["01"])],
)
def test_bad_input(zs, ys):
    with pytest.raises(FsmeuError, match="evaluate_corpus"):
        fsmeu.evaluate_corpus(fsmeu.load("fscore"), zs, ys)
