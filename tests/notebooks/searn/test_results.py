"""Results in a folder: experiments go on where they ended, tables are made of them; baselines."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from fsmeu import errors
from fsmeu.errors import InputError
from fsmeu.searn.features import HashedSentences
from fsmeu.searn.learners.linear import AveragedPerceptron
from searn import experiment as module
from searn import methods
from searn.experiment import Plan, differences, experiment, rows_of
from searn.measures import Counts, Means, interval
from searn.results import read_folder
from searn.task import Method, Part, Split, Task


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
    (
        Method("long", "searn", settings(3)),
        Method("short", "searn", settings(1)),
    ),
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


def test_the_difference_of_equal_runs_is_zero():
    runs = [Means(np.random.default_rng(1).random((9, 1)))]
    found = interval(runs, "ROUGE-2", less=runs)
    assert (found.value, found.low, found.high) == (0, 0, 0)


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
