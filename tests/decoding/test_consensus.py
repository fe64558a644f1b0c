"""The consensus of samples: against all answers there are, scored by scikit-learn and seqeval."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from seqeval.metrics import f1_score as chunk_f1
from seqeval.scheme import IOBES
from sklearn.metrics import accuracy_score, f1_score, fbeta_score, jaccard_score

import fsmeu

TYPES = ("A", "B")


def accuracies(y, z):
    return [accuracy_score(*pair) for pair in zip(y.T, z.T, strict=True)]


SET_SCORES = {
    "fscore": (partial(f1_score, average=None, zero_division=1), {}),
    "fscore, beta 2": (partial(fbeta_score, beta=2, average=None, zero_division=1), {"beta": 2}),
    "fscore, empty 0": (partial(f1_score, average=None, zero_division=0), {"empty": 0}),
    "jaccard": (partial(jaccard_score, average=None, zero_division=1), {}),
    "accuracy": (accuracies, {}),
}


def table_of(score, every):
    """The score of each row of 0 and 1 against each: every pair is a class of scikit-learn's."""
    y, z = (np.array(side).T for side in zip(*product(every, repeat=2), strict=True))
    return np.reshape(score(y, z), (len(every), len(every))).T


@pytest.mark.parametrize("name", SET_SCORES)
def test_sets_of_labels(name):
    """No set of labels has a higher mean score against the samples, by scikit-learn."""
    score, params = SET_SCORES[name]
    random = np.random.default_rng(1)
    items = ["dog", "cat", 7, (1, 2)]
    every = list(product((0, 1), repeat=len(items)))
    table = table_of(score, every)
    for _ in range(6):
        rows = random.random((4, len(items))) < random.random(len(items))
        rows[0] |= ~rows.any(axis=0)  # each item is in some sample
        samples = [{items[k] for k in np.flatnonzero(row)} for row in rows]
        weights = random.integers(1, 4, 4)
        means = table[:, [every.index(tuple(row.astype(int).tolist())) for row in rows]] @ weights
        answer = fsmeu.consensus(samples, fsmeu.load(name.partition(",")[0], **params), weights)
        found = means[every.index(tuple(int(item in answer) for item in items))]
        assert found == pytest.approx(means.max(), rel=1e-12)
        repeated = [one for one, w in zip(samples, weights, strict=True) for _ in range(w)]
        assert fsmeu.consensus(repeated, fsmeu.load(name.partition(",")[0], **params)) == answer


def span_sets(n):
    """All sets of spans of ``TYPES`` over n positions that do not overlap."""
    if n <= 0:
        return [frozenset()]
    found = list(span_sets(n - 1))
    for start in range(n):
        for one, kind in product(span_sets(start), TYPES):
            found.append(one | {(start, n, kind)})
    return found


def tags_of(spans, n, scheme="bio"):
    """The tags of a scheme that spell these spans."""
    tags = ["O"] * n
    for start, end, kind in sorted(spans):
        tags[start:end] = [f"B-{kind}"] + [f"I-{kind}"] * (end - start - 1)
        if scheme == "iobes":
            tags[end - 1] = f"E-{kind}" if end - start > 1 else f"S-{kind}"
        before = tags[start - 1] if start else "O"
        if scheme == "iob1" and before not in (f"B-{kind}", f"I-{kind}"):
            tags[start] = f"I-{kind}"
    return tags


SCHEMES = {"chunk_fscore": "bio", "chunk_fscore_iob1": "iob1", "chunk_fscore_iobes": "iobes"}


@pytest.fixture(scope="module")
def seqeval_table():
    """F1 of each set of spans over 3 positions against each, as IOBES tags, read strictly."""
    tags = [tags_of(one, 3, "iobes") for one in span_sets(3)]
    score = partial(chunk_f1, mode="strict", scheme=IOBES, zero_division=0)
    return np.array([[score([y], [z]) if y != z else max(y) != "O" for y in tags] for z in tags])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("smooth", [None, 0.4])
@pytest.mark.parametrize("name", SCHEMES)
def test_sets_of_spans(name, smooth, seqeval_table):
    """No set of spans has a higher expected F1, by seqeval; smoothing is that of tags."""
    random, n, scheme = np.random.default_rng(2), 3, SCHEMES[name]
    every = span_sets(n)
    for _ in range(3):
        samples = [every[k] for k in random.integers(len(every), size=3)]
        samples.append(frozenset({(2, 3, "A")}))  # so that all positions are in some span
        shares = np.zeros(len(every))
        for sample in samples:
            shares[every.index(sample)] += 1 / 4
        if smooth is not None:
            marginals = fsmeu.models.from_samples(samples, scheme=scheme).marginals()
            labels = fsmeu.models.from_samples(samples, scheme=scheme).labels
            chances = np.zeros(len(every))
            for k, spans in enumerate(every):
                tags = tags_of(spans, n, scheme)
                if set(tags) <= set(labels):
                    chances[k] = np.prod(marginals[range(n), [labels.index(tag) for tag in tags]])
            shares = (1 - smooth) * shares + smooth * chances / chances.sum()
        answer = fsmeu.consensus(samples, fsmeu.load(name, empty=0), smooth=smooth)
        values = seqeval_table @ shares
        assert isinstance(answer, frozenset)
        assert values[every.index(answer)] == pytest.approx(values.max(), rel=1e-9)
        if smooth is None:  # answers as tags are well formed
            tagged = [tags_of(one, n, scheme) for one in samples]
            written = fsmeu.consensus(tagged, fsmeu.load(name, empty=0))
            row = [tags_of(one, n, scheme) for one in every].index(written)
            assert values[row] == pytest.approx(values.max(), rel=1e-9)


def test_answers_have_the_type_of_the_samples():
    assert fsmeu.consensus(["0110", "0110"], "fscore") == "0110"
    assert fsmeu.consensus([["1", "0"], ["1", "0"]], "fscore") == ["1", "0"]
    assert fsmeu.consensus([(1, 0)], "fscore") == (1, 0)
    answer = fsmeu.consensus([[True, False, True]], "fscore")
    assert (answer, type(answer[0])) == ([True, False, True], bool)
    frozen = fsmeu.consensus([frozenset("ab"), frozenset("ab")], "fscore")
    assert (frozen, type(frozen)) == (frozenset("ab"), frozenset)
    for dtype in (np.int8, np.bool_, np.float32):
        array = fsmeu.consensus(np.array([[1, 0, 1]], dtype), "fscore")
        assert (array.dtype, array.tolist()) == (dtype, [1, 0, 1])
    words = fsmeu.consensus([np.array(["a"]), np.array(["long"]), np.array(["long"])], "hamming")
    assert words.tolist() == ["long"]
    assert fsmeu.consensus([set(), set()], "chunk_fscore") == set()
    assert fsmeu.consensus(["", ""], "fscore") == ""


def test_labels_that_are_no_chunks_and_spans_that_are_none():
    """A vote at each position; a label of the loss that no sample has; spans that overlap."""
    samples = [["DT", "NN", "VB"], ["DT", "JJ", "VB"], ["DT", "NN", "NN"]]
    assert fsmeu.consensus(samples, "hamming") == ["DT", "NN", "VB"]
    loss = fsmeu.load("cost_matrix", cost=[[0, 9, 9], [9, 0, 9], [1, 1, 0]], labels="abc")
    assert fsmeu.consensus(["ab", "ba"], loss) == "cc"
    nested = {(0, 5, "ORG"), (0, 2, "LOC")}
    assert fsmeu.consensus([nested, nested, {(0, 5, "ORG")}], "fscore") == nested
