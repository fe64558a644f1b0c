"""The estimator: Figure 1 of the paper, its options, engines, and files."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

import fsmeu
from fsmeu.errors import InputError
from fsmeu.expectation.expect import ENGINES
from fsmeu.searn import Searn
from fsmeu.searn.column_tagger import ColumnTagger
from fsmeu.searn.learners.linear import Logistic
from fsmeu.searn.learners.reductions import Multiclass
from fsmeu.searn.spaces.tagging import LeftToRight
from tests.searn.stubs import ROWS, TAGS, PlainTagging, few, running_sums, words

QUICK = {"bits": 12, "random_state": 0, "crossed": ("number",), "learner": Logistic(rate=0.1)}


def quick(loss="hamming", **given):
    return Searn(loss, **{**QUICK, **given})


WRONG = 'loss wrong "wrong labels"\nlabels any\ncount bad when z != y\nvalue bad'
"""A loss under which all mistakes cost the same, however long a sentence is."""
CHUNKS = [["B-X", "I-X", "O"], ["O", "B-Y"], ["B-Y", "B-X", "I-X", "I-X"]]


@pytest.fixture(scope="module")
def sums():
    return running_sums(np.random.default_rng(0), 80)


class Records(Logistic):
    """A learner that keeps what it was asked and what it answered."""

    seen: ClassVar[list] = []

    def learn(self, given, seed):
        found = super().learn(given, seed)
        self.seen.append((given, seed, found))
        return found


def tagged(count, seed=0):
    """Sentences whose tags follow from their words."""
    rng = np.random.default_rng(seed)
    ys = [CHUNKS[k] for k in rng.integers(3, size=count)]
    noise = iter(rng.integers(30, size=10 * count))
    X = [[{"w": f"{tag} {next(noise) % 3}", "one": 1} for tag in y] for y in ys]
    return X, ys


@pytest.mark.parametrize("learner", ["logistic", "perceptron", "one-against-all"])
@pytest.mark.thirds
def test_sums_are_learned(sums, learner):
    """Labels that only the label before makes clear; the loss counts positions, as score does."""
    X, y = sums
    told, made = [], quick(fsmeu.loads(WRONG), learner=learner, beam=1, folds=2, iterations=2)
    made.fit(X, y, progress=lambda *news: told.append(news))
    assert made.score(X, y) > 0.98
    assert made.predict_single(X[0]) == made.predict(X)[0]
    assert made.predict([]) == []
    assert made.predict([[], X[0]]) == [[], made.predict_single(X[0])]
    assert [done for done, _ in told] == [0.25, 0.5, 0.75, 1]
    assert told[-1][1] == "iteration 2 of 2"


PAIR = ("hamming", "chunk_fscore")


@pytest.mark.parametrize(
    ("space", "loss", "least"),
    [
        (PlainTagging(sorted({tag for one in CHUNKS for tag in one})), None, 0.8),
        *(("word-at-a-time", loss, 0.95) for loss in PAIR),
        *(("chunk-at-a-time", loss, 0.95) for loss in PAIR),
        ("alternating", PAIR, 0.95),
    ],
)
@pytest.mark.thirds
def test_spaces_are_learned(space, loss, least):
    X, y = tagged(40)
    if space == "alternating":
        y = [[(tag[0], tag) for tag in one] for one in y]
    made = Searn(loss, space=space, folds=2, iterations=2, bits=14, random_state=0, beam=3)
    assert made.fit(X, y).score(X, y) > least


BEAMS = {"logistic": 10, "perceptron": 1, "one-against-all": 1, LogisticRegression(): 10}


@pytest.mark.parametrize(("learner", "size"), BEAMS.items())
def test_a_beam_is_the_default_where_scores_are_log_probabilities(learner, size):
    """Sums of other scores compare no outputs; here the beam and greedy search differ."""
    rng = np.random.default_rng(0)
    X, y = words(rng, [6] * 40, 3), rng.integers(3, size=(40, 6)).tolist()
    made = Searn(learner=learner, iterations=1, folds=1, bits=10, random_state=0).fit(X, y)
    found = made.predict(X)
    assert found == made.set_params(beam=size).predict(X)
    assert found != made.set_params(beam=11 - size).predict(X)


def test_first_iteration_is_a_maximum_entropy_markov_model():
    """Logistic regression on gold histories, with features that share no code with ours."""
    rng = np.random.default_rng(0)
    X, y = words(rng, [6] * 40), rng.integers(3, size=(40, 6)).tolist()
    base = LogisticRegression(tol=1e-10, max_iter=2000)
    learner = Multiclass(base, weighted=False)
    made = Searn(learner=learner, iterations=1, folds=1, bits=22, beam=1, random_state=0).fit(X, y)

    def described(x, labels):
        t, before = len(labels), [None, None, *labels][-2:][::-1]
        told = {f"w={x[t]['w']}": 1, "bias": 1}
        return {**told, f"1={before[0]}": 1, f"2={before[0]},{before[1]}": 1}

    vectors = DictVectorizer()
    rows = [described(x, y[k][:t]) for k, x in enumerate(X) for t in range(6)]
    memm = clone(base).fit(vectors.fit_transform(rows), np.ravel(y))
    for x, found in zip(X, made.predict(X), strict=True):
        labels = []
        for _ in x:
            labels += memm.predict(vectors.transform([described(x, labels)])).tolist()
        assert labels == found


def test_roll_in_is_held_out(sums):
    """A model that decides for a sentence while rolling in was not trained on it."""
    X, y = sums
    Records.seen.clear()
    made = quick(learner=Records(epochs=1), folds=3, iterations=2, beta=1.0).fit(X, y)
    decisions = [len(given) for given, _, _ in Records.seen]
    assert len(decisions) == 4 + 1  # three folds and all; all
    assert decisions[3] == decisions[4] == sum(map(len, y))
    assert sum(decisions[:3]) == 2 * decisions[3]
    assert made.reports_[1]["loss"] > 0
    alone = quick(learner=Records(epochs=1), folds=1, iterations=2, beta=1.0).fit(X, y)
    assert alone.reports_[1]["loss"] <= made.reports_[1]["loss"]


@pytest.mark.parametrize(
    ("given", "betas"),
    [
        ({"beta": 0.4, "iterations": 3}, [0.4] * 3),
        ({"beta": 0.5, "iterations": 10, "influence": 0.2}, [0.5] * 3),  # 1/8 is below 0.2
        ({"beta": 0.5, "iterations": None, "influence": 0.2}, [0.5] * 3),
        ({"beta": 1.0, "iterations": 2}, [1.0, 1.0]),  # policy iteration
        ({"beta": "theory", "iterations": 2}, [1 / 8, 1 / 8]),
    ],
)
def test_weights_are_those_of_figure_1(sums, given, betas):
    """Until the optimal policy, which loses nothing, has lost its influence."""
    X, y = ([one[:2] for one in part[:20]] for part in sums)
    made = quick(folds=1, **given).fit(X, y)
    assert [report["beta"] for report in made.reports_] == betas
    left = np.cumprod(1 - np.array(betas))
    assert [report["optimal"] for report in made.reports_] == pytest.approx(left)
    raw = [beta * np.prod(1 - np.array(betas[k + 1 :])) for k, beta in enumerate(betas)]
    np.testing.assert_allclose(made.weights_, raw / np.sum(raw), rtol=1e-12)
    assert made.reports_[0]["loss"] == 0


@pytest.mark.parametrize("given_dev", [False, True])
def test_beta_by_search(sums, given_dev):
    X, y = sums
    dev = (X[:30], y[:30]) if given_dev else ()
    learner = Logistic(epochs=1, rate=0.2)
    made = quick(beta="search", iterations=3, folds=2, learner=learner).fit(X, y, *dev)
    assert made.reports_[0]["beta"] == 1
    decided = sum(map(len, y if given_dev else [one for k, one in enumerate(y) if k % 10]))
    assert made.reports_[0]["decisions"] == decided


def same_models(one, other):
    pairs = list(zip(one.models_, other.models_, strict=True))
    assert np.array_equal(one.weights_, other.weights_)
    assert all(np.array_equal(a.weights, b.weights) for a, b in pairs)
    assert all(np.array_equal(a.columns, b.columns) for a, b in pairs)


def test_same_seed_same_model(sums):
    made = quick(folds=2, iterations=2).fit(*sums)
    same_models(made, quick(folds=2, iterations=2, n_jobs=2).fit(*sums))


def test_training_goes_on_after_it_was_killed(sums, tmp_path):
    """The same weights as without the interruption; a file of other data is refused."""
    X, y = (part[:30] for part in sums)
    how = {"folds": 2, "iterations": 3}
    held = {"checkpoint": str(tmp_path / "state.skops"), **how}

    def killed(number, _):
        if number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quick(**held).fit(X, y, on_iteration=killed)
    calls, whole = [], quick(**how).fit(X, y)
    for _ in range(2):  # the second time nothing is left to do
        same_models(quick(**held).fit(X, y, on_iteration=lambda k, _: calls.append(k)), whole)
        assert calls == [3]
    for other in ({}, {"learner": Logistic(rate=0.1, importance="equal")}):
        with pytest.raises(InputError, match="same parameters and data"):
            quick(**held, **other).fit(X[not other :], y[not other :])
    held["space"] = PlainTagging("abc")  # whose examples cannot be compared
    with pytest.raises(InputError, match="checkpoint is for spaces over labels"):
        quick(None, **held).fit(X, y)


# -- engines --------------------------------------------------------------------------------------

PAIRS = [[(tag[0], tag) for tag in line] for line in TAGS]


@pytest.mark.parametrize(
    ("space", "loss", "y", "given"),
    [
        ("left-to-right", "hamming", TAGS, {"costs": "sampled"}),
        ("word-at-a-time", "chunk_fscore", TAGS, {"costs": "expected"}),
        ("chunk-at-a-time", "chunk_fscore", TAGS, {"ties": "all"}),
        ("alternating", ("hamming", "chunk_fscore"), PAIRS, {}),
    ],
)
def test_both_engines_train_the_same_model(space, loss, y, given):
    """The costs are equal up to rounding, in every decision."""
    X = [[{"w": word} for word, _ in row] for row in ROWS]
    settings = {"iterations": 2, "folds": 2, "bits": 12, "random_state": 0, "space": space}
    seen, found = [], []
    for engine in ENGINES:
        Records.seen.clear()
        made = Searn(loss, engine=engine, learner=Records(), **settings, **given).fit(X, y)
        seen.append([decisions for decisions, *_ in Records.seen])
        found.append(made.predict(X))
    assert found[0] == found[1]
    for one, other in zip(*seen, strict=True):
        np.testing.assert_allclose(one.costs, other.costs, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(one.targets, other.targets)


# -- rows of texts -------------------------------------------------------------------------------


def test_templates_of_ones_own():
    """One that sees the part of speech alone tells all apart, one that sees a constant none."""
    searn = few("left-to-right").set_params(loss="hamming")
    seeing = ColumnTagger(["pos"], crossed=["pos[-1]"], searn=searn, bits=14).fit(ROWS, TAGS)
    assert [one[:3] for one in seeing.predict(ROWS)] == [one[:3] for one in TAGS]
    blind = ColumnTagger(["bias"], searn=few(LeftToRight(history=0)), bits=14).fit(ROWS, TAGS)
    assert len({tag for one in blind.predict(ROWS) for tag in one}) == 1
