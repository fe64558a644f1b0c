"""Experiments: results in a folder, tables of them, baselines; measures; the chain of Theorem 3."""

import json
import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import fsmeu
from fsmeu import errors
from fsmeu.errors import InputError
from fsmeu.searn.features import HashedSentences
from fsmeu.searn.learners.linear import AveragedPerceptron
from searn import experiment as module
from searn import methods
from searn.chain import DELTA, EPSILON, chain_losses, markov_loss
from searn.experiment import Plan, differences, experiment, rows_of
from searn.measures import Counts, chunks, counts_of, interval, pair_counts
from searn.results import read_folder
from searn.task import Method, Part, Split, Task, mirrored, mirrored_tags


def part(seed, sentences=12):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (3 * sentences, 8)).astype(np.float32)
    labels = [["B-X" if row[0] else "O" for row in rows[3 * k : 3 * k + 3]] for k in range(12)]
    starts = np.arange(0, 3 * sentences + 1, 3)
    crossed = np.empty((3 * sentences, 0), np.uint64)
    return Part(HashedSentences(csr_array(rows), starts, crossed), labels)


def splits(sizes, held_out):
    for fold in range(2):
        yield Split(part(fold), part(10), numbers=np.arange(12))


def settings(epochs):
    learner = AveragedPerceptron(epochs=epochs)
    return {"learner": learner, "iterations": 1, "folds": 1, "beta": 1.0}


TASK = Task(
    "toy",
    "a toy",
    "accuracy",
    splits,
    (Method("long", "searn", settings(3)), Method("short", "searn", settings(1))),
    pairs=(("long", "short"), ("long", "other")),
)


@pytest.fixture
def ran(monkeypatch):
    """The names of runs that are done."""
    names, run = [], module.runs_of

    def told(method, split, seed, every):
        names.append((method.name, seed))
        return run(method, split, seed, every)

    monkeypatch.setattr(module, "runs_of", told)
    return names


def test_an_experiment_goes_on(tmp_path, ran):
    """Runs that are there are not done again; other settings are; the table is the same."""
    plain = rows_of(TASK, experiment(TASK, Plan(range(2))))
    ran.clear()
    experiment(TASK, Plan(range(1), folds=1, folder=tmp_path))
    assert ran == [("long", 0), ("short", 0)]
    kept = rows_of(TASK, experiment(TASK, Plan(range(2), folder=tmp_path)))
    assert len(ran) == 8
    for one, other in zip(plain, kept, strict=True):
        cleared = {"training": 0, "predicting": 0, "memory": 0}
        assert replace(one, **cleared) == replace(other, **cleared)
        assert (one.folds, len(one.by_seed)) == (2, 2)
        assert (one.trained, one.tested) == (12, 24)
    assert rows_of(TASK, read_folder(tmp_path / "runs")) == kept
    longer = Method("long", "searn", settings(4))
    experiment(replace(TASK, methods=(longer,)), Plan(range(1), folder=tmp_path))
    assert len(ran) == 10


def test_seeds_with_fewer_folds_are_left_out(tmp_path):
    experiment(TASK, Plan(range(1), folder=tmp_path))
    experiment(TASK, Plan(range(2), folds=1, folder=tmp_path))
    rows = rows_of(TASK, read_folder(tmp_path / "runs"))
    assert [(row.folds, len(row.by_seed)) for row in rows] == [(2, 1)] * 2


def test_differences_are_those_of_means(tmp_path):
    results = experiment(TASK, Plan(range(2)))
    values = {row.method: row.value for row in rows_of(TASK, results)}
    (found,) = differences(TASK, results)
    assert found.value == pytest.approx(values["long"] - values["short"], abs=1e-12)
    assert found.low <= found.value <= found.high


def test_a_strange_file_is_refused(tmp_path):
    experiment(TASK, Plan(range(1), folder=tmp_path))
    path = next((tmp_path / "runs" / "toy").iterdir())
    large = {"kind": "means", "amounts": [[1]], "numbers": [10**30]}
    strange = [json.dumps({"mark": "", "results": [one]}).encode() for one in ({}, large)]
    for content in (b"", b"{}", *strange):
        path.write_bytes(content)
        with pytest.raises(InputError, match="must hold results"):
            list(read_folder(tmp_path / "runs"))


def test_rows_of_an_example_are_drawn_together():
    """An example that two folds predict alike counts like one that one fold predicts."""
    rng = np.random.default_rng(0)
    amounts = rng.integers(1, 5, (20, 6)).astype(float)
    numbers = np.arange(20)
    once = interval([Counts(amounts)], "F1")
    doubled = Counts(np.concatenate([amounts, amounts]))
    twice = interval([doubled], "F1", examples=np.concatenate([numbers, numbers]))
    assert (once.value, once.low, once.high) == pytest.approx(
        (twice.value, twice.low, twice.high), abs=1e-12
    )
    apart = interval([doubled], "F1")
    assert apart.high - apart.low < once.high - once.low


@pytest.mark.parametrize("settings", [{"algorithm": "lbfgs", "c2": 1.0}, {"algorithm": "ap"}])
def test_crfsuite_learns_what_only_transitions_tell(settings):
    """The first label is shown; the second, of which nothing is seen, is the one after it."""
    pytest.importorskip("sklearn_crfsuite")
    first = np.arange(60) % 3
    rows = np.zeros((60, 2, 4))
    rows[np.arange(60), 0, first] = rows[:, 1, 3] = 1
    labels = [["abc"[one], "abc"[(one + 1) % 3]] for one in first]
    seen = csr_array(rows.reshape(120, 4)), np.arange(0, 121, 2)
    assert methods.crf_predictions((*seen, labels), seen, **settings) == labels


def test_without_crfsuite(monkeypatch):
    monkeypatch.setattr(errors, "is_installed", lambda name: False)
    with pytest.raises(errors.MissingExtra, match="pip install"):
        methods.crf_predictions((None, None, []), (None, None))


# -- chunk F1 is that of seqeval; intervals behave as they must -----------------------------------

TAGS = ["O", "B-NP", "I-NP", "B-VP", "I-VP"]
LINES = st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), min_size=1, max_size=8)
PAIRS = st.lists(LINES, min_size=1, max_size=6).map(
    lambda both: ([[z for z, _ in one] for one in both], [[y for _, y in one] for one in both])
)


@given(PAIRS)
def test_scores_are_those_of_seqeval(pair):
    metrics = pytest.importorskip("seqeval.metrics")
    z, y = pair
    found = counts_of(z, y).scores()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, score in (
            ("F1", metrics.f1_score),
            ("precision", metrics.precision_score),
            ("recall", metrics.recall_score),
            ("accuracy", metrics.accuracy_score),
        ):
            assert found[name] == pytest.approx(score(y, z), abs=1e-12), name
    assert found["sequences"] == np.mean([a == b for a, b in zip(z, y, strict=True)])


def test_the_interval_is_that_of_the_normal_distribution():
    """Accuracy of sentences of one tag is a mean: the interval is near 1.96 s / sqrt(n)."""
    random = np.random.default_rng(3)
    right = random.random(900) < 0.8
    counts = counts_of([["a"] if one else ["b"] for one in right], [["a"]] * 900)
    found = interval([counts], "accuracy", draws=2000, seed=1)
    width = 1.96 * np.sqrt(right.mean() * (1 - right.mean()) / 900)
    assert found.value == pytest.approx(right.mean(), abs=1e-12)
    assert found.high - found.value == pytest.approx(width, rel=0.15)
    assert found.value - found.low == pytest.approx(width, rel=0.15)
    assert interval([counts, counts], "accuracy", draws=2000, seed=1) == found


@given(PAIRS)
def test_pairs_are_counted_by_stream(pair):
    """Accuracy is that of both streams laid end to end, chunks are those of the second."""
    z, y = pair
    joint = [
        [[(first[0], second) for first, second in zip(a, b, strict=True)] for a, b in both]
        for both in (zip(z, z, strict=True), zip(z, y, strict=True))
    ]
    found = pair_counts(*joint).scores()
    flat = [[[label for two in one for label in two] for one in part] for part in joint]
    same = [a == b for m, t in zip(*flat, strict=True) for a, b in zip(m, t, strict=True)]
    assert found["accuracy"] == pytest.approx(np.mean(same), rel=1e-12)
    assert found["F1"] == counts_of(z, y).scores()["F1"]
    assert found["sequences"] == np.mean([a == b for a, b in zip(*joint, strict=True)])


# -- from right to left: mirrored chunk tags have the same chunks, losses of chunks their value ----


@given(LINES)
def test_chunk_losses_have_the_same_value(pairs):
    z, y = ([pair[k] for pair in pairs] for k in (0, 1))
    for name in ("chunk_fscore", "chunk_precision", "chunk_recall"):
        loss = fsmeu.load(name, labels=TAGS)
        assert loss(mirrored_tags(z), mirrored_tags(y)) == pytest.approx(loss(z, y), abs=1e-15)


@given(LINES)
def test_mirrored_twice_is_well_formed_and_has_the_same_chunks(pairs):
    tags = [pair[0] for pair in pairs]
    turned = mirrored_tags(tags)
    n = len(tags)
    assert chunks(turned) == {(n - end, n - begin, name) for begin, end, name in chunks(tags)}
    again = mirrored_tags(turned)
    assert chunks(again) == chunks(tags)
    assert all(tag[0] != "I" or again[k - 1][1:] == tag[1:] for k, tag in enumerate(again))


def test_positions_keep_their_features():
    rows = csr_array(np.diag(np.arange(1.0, 6.0)))
    seen = HashedSentences(rows, np.array([0, 2, 5]), np.arange(5, dtype=np.uint64)[:, None])
    found = mirrored(Part(seen, [["B-X", "I-X"], ["B-X", "O", "O"]]))
    assert found.sentences.matrix.toarray().argmax(axis=1).tolist() == [1, 0, 4, 3, 2]
    assert found.sentences.crossed.ravel().tolist() == [1, 0, 4, 3, 2]
    assert found.labels == [["B-X", "I-X"], ["O", "O", "B-X"]]


# -- Theorem 3: equation 14 beside enumeration, and the chain on which an MEMM fails --------------


@pytest.mark.parametrize("length", range(1, 7))
@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1, 3)])
def test_equation_14_is_enumeration(length, epsilon):
    """Over all patterns of wrong looks; a position is wrong after an odd number of them."""
    total = Fraction(0)
    for wrong in product((0, 1), repeat=length):
        chance = prod(epsilon if one else 1 - epsilon for one in wrong)
        total += chance * sum(sum(wrong[: t + 1]) % 2 for t in range(length))
    assert markov_loss(length, epsilon) == pytest.approx(float(total), rel=1e-12)


def deviation(length, epsilon):
    """Of wrong labels in a sentence; the covariance is (r^(t-s) - r^(s+t)) / 4, s <= t."""
    r, places = 1 - 2 * epsilon, range(1, length + 1)
    return (sum(r ** abs(t - s) - r ** (s + t) for s in places for t in places) / 4) ** 0.5


@pytest.mark.nightly
def test_searn_recovers_where_an_memm_does_not():
    """MEMM errs as equation 14 says, SEARN no more than the hint, within four standard errors."""
    found = chain_losses(40, 16_000)
    own, hint = deviation(40, EPSILON) / 20, (40 * DELTA * (1 - DELTA)) ** 0.5 / 20
    assert found["MEMM"] == pytest.approx(markov_loss(40, EPSILON), abs=4 * own)
    assert found["SEARN, iteration 2"] < 40 * DELTA + 4 * hint
    assert found["SEARN, iteration 2"] < found["MEMM"] / 2
