"""The value of one pair, of many and of a corpus, against a second reading of the file."""

import random
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import f1_score as chunk_f1
from sklearn.metrics import accuracy_score, fbeta_score, jaccard_score, matthews_corrcoef

import fsmeu
from fsmeu.errors import FsmeuError, InputError, LossFileError
from tests.strategies import losses
from tests.support.python_losses import Mistakes


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), case=losses(risky=True))
def test_many_pairs_have_the_values_of_each(seed, case):
    """Many are walked over together, each alone by itself: the same bits, or both refuse."""
    rng, loss = random.Random(seed), case.load()
    zs = [rng.choices(case.labels, k=rng.choice((0, 1, 2, 5))) for _ in range(110)]
    ys = [rng.choices(case.labels, k=len(z)) for z in zs]
    try:
        each = [loss(z, y) for z, y in zip(zs, ys, strict=True)]
    except LossFileError:
        with pytest.raises(LossFileError):
            fsmeu.evaluate_many(loss, zs, ys)
    else:
        assert fsmeu.evaluate_many(loss, zs, ys).tolist() == each
        assert fsmeu.evaluate_many(loss, zs[:9], ys[:9]).tolist() == each[:9]


def test_a_fault_among_many_is_told_with_its_own_length():
    loss = fsmeu.loads("loss f labels 0 1 count c by 1 / (2 - z * i) value c")
    zs = ["0000"] * 200 + ["01"]
    with pytest.raises(LossFileError, match=r"division by zero when .*i=2 n=2"):
        fsmeu.evaluate_many(loss, zs, zs)
    assert fsmeu.evaluate_many(loss, zs[:-1], zs[:-1]).tolist() == [2.0] * 200


def test_many_pairs_of_a_python_loss():
    loss = fsmeu.function_loss(Mistakes(), "ab")
    assert fsmeu.evaluate_many(loss, ["ab", "", "bba"], ["bb", "", "abb"]).tolist() == [1, 0, 2]


def test_many_pairs_over_open_labels():
    """Labels are read from all sentences together."""
    zs, ys = [["B-A", "I-A"], ["O"]], [["B-A", "O"], ["B-C"]]
    values = fsmeu.evaluate_many(fsmeu.load("chunk_fscore"), zs, ys)
    assert values.tolist() == [0.0, 0.0]
    assert fsmeu.evaluate_many(fsmeu.load("chunk_fscore"), [], []).tolist() == []


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
    loss = fsmeu.load("chunk_fscore")
    ours = fsmeu.evaluate_corpus(loss, zs, ys)
    assert ours == pytest.approx(chunk_f1(ys, zs), rel=1e-12)
    assert ours == fsmeu.evaluate_corpus(fsmeu.load("chunk_fscore", labels=TAGS), zs, ys)
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


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("state a b arc a -> b arc b -> b value at b", "state"),
        ("flag r when z == y value r", "r"),
        ("age r since z == y up to 3 value r", "r"),
    ],
)
def test_values_of_other_registers_are_refused(line, name):
    with pytest.raises(InputError, match=f"looks at {name}"):
        fsmeu.evaluate_corpus(fsmeu.loads(f"loss l labels 0 1 {line}"), ["01"], ["01"])


@pytest.mark.parametrize("ask", [fsmeu.evaluate_many, fsmeu.evaluate_corpus])
@pytest.mark.parametrize(
    ("zs", "ys"),
    [(["01"], []), (["01"], ["0"]), (["02"], ["01"]), (5, ["01"]), ([5], ["0"]), ({"01"}, ["01"])],
)
def test_bad_input(ask, zs, ys):
    with pytest.raises(FsmeuError, match=ask.__name__):
        ask(fsmeu.load("fscore"), zs, ys)


@given(losses(), st.integers(0, 2**32 - 1))
def test_the_value_of_a_pair_is_that_of_the_pair_exchanged(case, seed):
    loss = case.load()
    random, size = np.random.default_rng(seed), len(loss.alphabet)
    n = int(random.integers(0, 5))
    z, y = random.integers(0, size, (2, 6, n))
    assert loss.swapped.swapped.spec.registers == loss.spec.registers
    try:
        expected = loss.pair_values(z, y)
    except fsmeu.FsmeuError:
        with pytest.raises(fsmeu.FsmeuError):
            loss.swapped.pair_values(y, z)
    else:
        assert np.array_equal(loss.swapped.pair_values(y, z), expected)


def test_a_python_loss_exchanged():
    python = fsmeu.function_loss(Misses())
    assert [one([0, 1, 0], [1, 1, 0]) for one in (python, python.swapped)] == [1, 0]
    assert fsmeu.expect(python.swapped, [1, 1], [0.25, 0.5]).value == 1.25


class Misses(Mistakes):
    """How many positions of y are missed."""

    def step(self, state, z, y):
        return state + (z == 0 and y == 1)
