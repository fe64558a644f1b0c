"""The consensus of samples: against all answers there are, scored by scikit-learn and seqeval."""

import warnings
from functools import partial
from itertools import product

import numpy as np
import pytest
from seqeval.metrics import f1_score as chunk_f1
from seqeval.scheme import IOBES
from sklearn.metrics import accuracy_score, f1_score, fbeta_score, jaccard_score

import fsmeu
from fsmeu.decoding.consensus import decide_samples

TYPES = ("A", "B")


def table_of(score, zs, ys):
    """The score of each row of 0 and 1 against each: every pair is a class of scikit-learn's."""
    pairs = [(y, z) for z in zs for y in ys]
    y, z = (np.array(side).T for side in zip(*pairs, strict=True))
    return np.reshape(score(y, z), (len(zs), len(ys)))


def accuracies(y, z):
    return [accuracy_score(*pair) for pair in zip(y.T, z.T, strict=True)]


SET_SCORES = {
    "fscore": (partial(f1_score, average=None, zero_division=1), {}),
    "fscore, beta 2": (partial(fbeta_score, beta=2, average=None, zero_division=1), {"beta": 2}),
    "fscore, empty 0": (partial(f1_score, average=None, zero_division=0), {"empty": 0}),
    "jaccard": (partial(jaccard_score, average=None, zero_division=1), {}),
    "accuracy": (accuracies, {}),
}


@pytest.mark.parametrize("name", SET_SCORES)
def test_sets_of_labels(name):
    """No set of labels has a higher mean score against the samples, by scikit-learn."""
    score, params = SET_SCORES[name]
    loss = fsmeu.load(name.partition(",")[0], **params)
    random = np.random.default_rng(1)
    items = ["dog", "cat", "mouse", 7, (1, 2)]
    every = list(product((0, 1), repeat=len(items)))
    for _ in range(6):
        rows = random.random((4, len(items))) < random.random(len(items))
        rows[0] |= ~rows.any(axis=0)  # each item is in some sample
        samples = [{items[k] for k in np.flatnonzero(row)} for row in rows]
        weights = random.integers(1, 4, 4)
        means = table_of(score, every, rows.astype(int)) @ weights / weights.sum()
        found = decide_samples(samples, loss, weights)
        at = every.index(tuple(int(item in found.answer) for item in items))
        assert means[at] == pytest.approx(means.max(), abs=1e-12)
        assert found.decision.value == pytest.approx(means.max(), abs=1e-9)
        assert found.decision.exact


def span_sets(n):
    """All sets of spans of ``TYPES`` over n positions that do not overlap."""
    if n <= 0:
        return [frozenset()]
    found = list(span_sets(n - 1))
    for start in range(n):
        for one, kind in product(span_sets(start), TYPES):
            found.append(one | {(start, n, kind)})
    return found


def test_number_of_span_sets():
    """The last position is in no span, or ends one of two types that begins anywhere before."""
    counts = [1]
    for n in range(1, 5):
        counts.append(counts[-1] + 2 * sum(counts))
        assert len(set(span_sets(n))) == len(span_sets(n)) == counts[-1]


def iob2(spans, n):
    tags = ["O"] * n
    for start, end, kind in spans:
        tags[start:end] = [f"B-{kind}"] + [f"I-{kind}"] * (end - start - 1)
    return tags


def iobes(spans, n):
    tags = ["O"] * n
    for start, end, kind in spans:
        inner = [f"I-{kind}"] * (end - start - 2)
        tags[start:end] = [f"B-{kind}", *inner, f"E-{kind}"] if end - start > 1 else [f"S-{kind}"]
    return tags


@pytest.fixture(scope="module")
def seqeval_table():
    """F1 of each set of spans over 3 positions against each."""
    every = span_sets(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [
            [chunk_f1([iob2(y, 3)], [iob2(z, 3)], zero_division=0) for y in every] for z in every
        ]
    return np.array(rows)


@pytest.mark.parametrize("smooth", [None, 0.4])
@pytest.mark.parametrize("name", ["chunk_fscore", "chunk_fscore_iob1", "chunk_fscore_iobes"])
@pytest.mark.thirds
def test_sets_of_spans(name, smooth, seqeval_table):
    """No set of spans has a higher expected F1, by seqeval; smoothing is that of tags."""
    random, n = np.random.default_rng(2), 3
    every = span_sets(n)
    scheme = {"chunk_fscore": "bio"}.get(name, name.rpartition("_")[2])
    for _ in range(6):
        samples = [every[k] for k in random.integers(len(every), size=3)]
        shares = np.zeros(len(every))
        for sample in samples:
            shares[every.index(sample)] += 1 / 3
        if smooth is not None:
            model = fsmeu.models.from_samples(samples, scheme=scheme)
            rows, write = model.marginals(), WRITERS[scheme]
            labels = list(model.labels)
            chances = np.zeros(len(every))
            for k, spans in enumerate(every):
                tags = write(spans, n)[: model.n]
                if set(tags) <= set(labels) and all(end <= model.n for _, end, _ in spans):
                    at = [labels.index(tag) for tag in tags]
                    chances[k] = np.prod(rows[np.arange(model.n), at])
            shares = (1 - smooth) * shares + smooth * chances / chances.sum()
        found = decide_samples(samples, fsmeu.load(name, empty=0), smooth=smooth)
        assert isinstance(found.answer, frozenset)
        values = seqeval_table @ shares
        assert values[every.index(found.answer)] == pytest.approx(values.max(), abs=1e-9)
        assert found.decision.value == pytest.approx(values.max(), abs=1e-9)
        assert found.decision.exact


def iob1(spans, n):
    tags = ["O"] * n
    for start, end, kind in sorted(spans):
        touches = start and tags[start - 1] in (f"B-{kind}", f"I-{kind}")
        tags[start:end] = [f"I-{kind}"] * (end - start)
        tags[start] = f"B-{kind}" if touches else f"I-{kind}"
    return tags


WRITERS = {"bio": iob2, "iob1": iob1, "iobes": iobes}


def test_tags_and_spans_have_the_same_consensus():
    """Samples as tags of a scheme or as spans; answers as tags are well formed."""
    random, n = np.random.default_rng(3), 4
    every = span_sets(n)
    for scheme, name in (("bio", "chunk_fscore"), ("iobes", "chunk_fscore_iobes")):
        for _ in range(10):
            samples = [every[k] for k in random.integers(len(every), size=4)]
            whole = [*samples, frozenset({(n - 1, n, "A")})]  # all positions are in some span
            spans = fsmeu.consensus(whole, name)
            tags = fsmeu.consensus([WRITERS[scheme](one, n) for one in whole], name)
            assert tags == WRITERS[scheme](spans, n)


def test_iobes_by_seqeval():
    """The strict count of seqeval agrees with that of spans."""
    samples = [{(0, 2, "A")}, {(0, 2, "A"), (2, 3, "B")}, {(2, 3, "B")}]
    found = fsmeu.consensus(samples, "chunk_fscore_iobes")
    tags = [iobes(one, 3) for one in samples]

    def total(z):
        return sum(
            chunk_f1([y], [iobes(z, 3)], mode="strict", scheme=IOBES, zero_division=0) for y in tags
        )

    assert total(found) == pytest.approx(max(map(total, span_sets(3))))


@pytest.mark.parametrize("smooth", [None, 0.25, 1.0])
def test_sequences_with_smoothing(smooth):
    """F1 of labels in a row, under samples mixed with independent labels of their marginals."""
    random, n = np.random.default_rng(4), 5
    every = list(product((0, 1), repeat=n))
    table = table_of(SET_SCORES["fscore"][0], every, every)
    for _ in range(6):
        samples = random.integers(0, 2, (3, n))
        weights = random.random(3)
        weights /= weights.sum()
        p = weights @ samples
        share = smooth or 0.0
        chances = np.array([np.prod(np.where(y, p, 1 - p)) for y in every]) * share
        for weight, sample in zip(weights, samples, strict=True):
            chances[every.index(tuple(sample.tolist()))] += (1 - share) * weight
        found = decide_samples(samples, "fscore", weights, smooth)
        values = table @ chances
        assert found.decision.value == pytest.approx(values.max(), abs=1e-9)
        assert values[every.index(tuple(found.answer.tolist()))] == pytest.approx(values.max())


def test_tag_sequences_by_accuracy():
    """Labels that are no chunks: the most frequent at each position, as anyone would vote."""
    samples = [["DT", "NN", "VB"], ["DT", "JJ", "VB"], ["DT", "NN", "NN"]]
    assert fsmeu.consensus(samples, "hamming") == ["DT", "NN", "VB"]


# -- types of answers ------------------------------------------------------------------------------


def test_answers_have_the_type_of_the_samples():
    assert fsmeu.consensus(["0110", "0110"], "fscore") == "0110"
    assert fsmeu.consensus([["1", "0"], ["1", "0"]], "fscore") == ["1", "0"]
    assert fsmeu.consensus([(1, 0)], "fscore") == (1, 0)
    assert fsmeu.consensus([{"a"}], "fscore") == {"a"}
    answer = fsmeu.consensus([[True, False, True]], "fscore")
    assert answer == [True, False, True]
    assert all(type(label) is bool for label in answer)
    frozen = fsmeu.consensus([frozenset("ab"), frozenset("ab")], "fscore")
    assert frozen == frozenset("ab")
    assert type(frozen) is frozenset
    for dtype in (np.int8, np.bool_, np.float32):
        array = fsmeu.consensus(np.array([[1, 0, 1]], dtype), "fscore")
        assert array.dtype == dtype
        assert array.tolist() == [1, 0, 1]
    words = fsmeu.consensus([np.array(["a"]), np.array(["long"]), np.array(["long"])], "hamming")
    assert words.tolist() == ["long"]


def test_empty_samples():
    assert fsmeu.consensus([set(), set()], "fscore") == set()
    assert fsmeu.consensus([set(), set()], "chunk_fscore") == set()
    assert fsmeu.consensus(["", ""], "fscore") == ""
    assert fsmeu.consensus([[]], "hamming") == []


def test_weights_and_duplicates_are_the_same():
    """A sample that is listed twice is one of twice the weight; sums of weights do not matter."""
    first, second, third = {"a", "b"}, {"b", "c"}, {"d"}
    listed = decide_samples([first, second, second, third], "fscore")
    weighted = decide_samples([first, second, third], "fscore", [10, 20, 10])
    assert listed.answer == weighted.answer
    assert listed.decision.value == pytest.approx(weighted.decision.value, rel=1e-14)


def test_loss_of_fixed_labels():
    """A label of the loss that no sample has may stand in an answer."""
    loss = fsmeu.load("cost_matrix", cost=[[0, 9, 9], [9, 0, 9], [1, 1, 0]], labels="abc")
    assert fsmeu.consensus(["ab", "ba"], loss) == "cc"


def test_overlapping_spans_are_labels_of_a_set():
    nested = {(0, 5, "ORG"), (0, 2, "LOC")}
    assert fsmeu.consensus([nested, nested, {(0, 5, "ORG")}], "fscore") == nested


def test_sets_of_spans_without_a_scheme_are_told_of_it():
    model = fsmeu.models.from_samples([{(0, 2, "NP")}, {(3, 4, "NP")}])
    with pytest.raises(fsmeu.InputError, match=r'Got 0.*from_samples\(samples, scheme="bio"\)'):
        fsmeu.decode("chunk_fscore", model)


# -- refusals --------------------------------------------------------------------------------------

NP = fsmeu.load("chunk_fscore", types=["NP"])
REFUSALS = {
    "lengths": ([[0, 1], [0]], "fscore", "samples[1]: all samples must have as many labels"),
    "text": ("0110", "fscore", "must be a list of label sequences"),
    "nothing": ([], "fscore", "at least one sample"),
    "kinds": ([{1}, [1]], "fscore", "samples[1]: all samples must be sequences"),
    "outside": ([[0, 1], [0, 2]], "fscore", "samples[1]: entry 1 must be one of 0, 1"),
    "overlap": ([{(0, 2, "A"), (1, 3, "B")}], "chunk_fscore", "spans must not overlap"),
    "no span": ([set(), {"a"}], "chunk_fscore", "samples[1]: each span must be (start, end, type)"),
    "no width": ([{(2, 2, "A")}], "chunk_fscore", "the position after its last"),
    "negative": ([{(-1, 2, "A")}], "chunk_fscore", "whole numbers from 0 on"),
    "no tag": ([["O", "x"]], "chunk_fscore", "samples[0]: labels must be chunk tags"),
    "spaces": (["B-NP O"], "chunk_fscore", "text.split()"),
    "scheme": ([["S-NP"]], "chunk_fscore", "samples[0]: labels must be chunk tags"),
    "NaN": ([{float("nan")}], "fscore", "a label must be equal to itself"),
    "number": ([1, 2], "fscore", "samples[0]: a sample must be"),
    "mapping": ([{1: 2}], "fscore", "samples[0]: a sample must be"),
    "bytes": ([b"01"], "fscore", "samples[0]: a sample must be"),
    "unordered": ({1, 2}, "fscore", "in order"),
    "fraction": ([[1.5]], "hamming", "samples[0]: each label must be an int or a text"),
    "list in list": ([["a"], [["b"]]], "hamming", "samples[1]: each label must be"),
    "fixed labels": ([{"a"}], fsmeu.load("hamming", labels="xyz"), "one over 0 and 1"),
    "other type": ([{(0, 1, "NP")}, {(0, 1, "PP")}], NP, "samples[1]: the type of (0, 1, 'PP')"),
    "other tag": ([["O", "B-PP"]], NP, "samples[0]: entry 1 must be one of O, B-NP, I-NP"),
    "lists of spans": ([[(0, 2, "A")], []], "chunk_fscore", "[{tuple(span) for span in sample}"),
    "lists for labels": ([[(0, 2, "A")]] * 2, "fscore", "Give sets of spans: [{tuple(span)"),
    "lists of lists": ([[[0, 2, "A"]]], "chunk_fscore", "Give sets of spans: [{tuple(span)"),
    "far end": ([{(0, 10**9, "NP")}], "chunk_fscore", "FSMEU_MAX_ARCS"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refused_samples(name):
    samples, loss, text = REFUSALS[name]
    with pytest.raises(fsmeu.FsmeuError) as caught:
        fsmeu.consensus(samples, loss)
    assert str(caught.value).startswith("consensus")
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"weights": [1]}, "weights: must have shape (2,)"),
        ({"weights": [1, float("nan")]}, "Got nan at entry 1"),
        ({"weights": [1, -1]}, "Got -1.0 at entry 1"),
        ({"weights": [0, 0]}, "at least one weight must be positive"),
        ({"smooth": 1.5}, "smooth: must be a number from 0 to 1"),
        ({"smooth": float("nan")}, "smooth: must be a number from 0 to 1"),
        ({"smooth": "much"}, "smooth: must be"),
    ],
)
def test_refused_options(given, text):
    with pytest.raises(fsmeu.FsmeuError) as caught:
        fsmeu.consensus([{1}, {2}], "fscore", **given)
    assert text in str(caught.value)
