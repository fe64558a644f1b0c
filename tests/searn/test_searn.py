"""The estimator: Figure 1 of the paper, its options, its files, and what it refuses."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

import fsmeu
from fsmeu.corpora.score import are_chunk_tags
from fsmeu.errors import FsmeuError, InputError
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
    made = quick(fsmeu.loads(WRONG), learner=learner, beam=1, folds=2).fit(X, y)
    assert made.score(X, y) > 0.98
    assert made.predict_single(X[0]) == made.predict(X)[0]


PAIR = ("hamming", "chunk_fscore")


@pytest.mark.parametrize(
    ("space", "loss", "least"),
    [
        *(("word-at-a-time", loss, 0.95) for loss in PAIR),
        *(("chunk-at-a-time", loss, 0.95) for loss in PAIR),
        ("alternating", PAIR, 0.95),
        (PlainTagging(sorted({tag for one in CHUNKS for tag in one})), None, 0.8),
    ],
)
def test_spaces_are_learned(space, loss, least):
    X, y = tagged(60)
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


def test_first_iteration_is_a_maximum_entropy_markov_model(sums):
    """Logistic regression on gold histories, with features that share no code with ours."""
    X, y = sums
    base = LogisticRegression(C=1.0, tol=1e-10, max_iter=2000)
    made = Searn(
        learner=Multiclass(base, weighted=False), iterations=1, folds=1, bits=22, random_state=0
    ).fit(X, y)

    def described(x, labels, t):
        before = [None, None, *labels][t : t + 2][::-1]
        told = {f"number={x[t]['number']}": 1, "one": 1, "bias": 1}
        return {**told, f"1={before[0]}": 1, f"2={before[0]},{before[1]}": 1}

    states = [(k, t) for k in range(len(X)) for t in range(len(X[k]))]
    vectors = DictVectorizer()
    rows = vectors.fit_transform([described(X[k], y[k], t) for k, t in states])
    memm = clone(base).fit(rows, [y[k][t] for k, t in states])
    (model,) = made.models_
    search = made.space_.over(LeftToRight().read_inputs(X, 22, (), "test"))
    for k in range(10):
        state = search.start(np.array([k]))
        for t in range(len(X[k])):
            found = np.exp(model.scores(search.rows(state)[0]))[0]
            want = memm.predict_proba(vectors.transform([described(X[k], y[k], t)]))[0]
            # Both solvers stop at a slope of 1e-10, near the same point of a strictly convex loss.
            np.testing.assert_allclose(found, want, atol=1e-6)
            state = search.step(state, np.array([made.labels_.index(y[k][t])]))


def test_importance_is_equal_where_every_mistake_costs_the_same(sums):
    """With the number of wrong labels as loss, costs weigh all states alike: the same model."""
    X, y = sums
    count = fsmeu.loads(WRONG)
    learners = (Logistic(importance=how, epochs=2) for how in ("cost", "equal"))
    one, other = (quick(count, learner=a, iterations=1, folds=1).fit(X, y) for a in learners)
    np.testing.assert_allclose(one.models_[0].weights, other.models_[0].weights, atol=1e-6)


KINDS = {"a": 0.01, "b": 0.3, "c": 0.4, "d": 0.45}
"""How often words of a kind have the label 1."""


def missed_ones(count, seed):
    """Sentences of 5 to 12 words of the kinds, equally often, with labels drawn for each word."""
    rng = np.random.default_rng(seed)
    kinds = [rng.choice([*KINDS], size=n) for n in rng.integers(5, 13, count)]
    y = [[int(rng.random() < KINDS[kind]) for kind in one] for one in kinds]
    return [[{"kind": kind} for kind in one] for one in kinds], y


BY_COST = ("", "perceptron", "all-pairs", "one-against-all", "regression", LogisticRegression())


@pytest.mark.nightly
@pytest.mark.parametrize("learner", BY_COST)  # the first is the default
def test_a_missed_1_costs_20(learner):
    """A false 1 costs 1, so that 1 is best where its probability is above 1/21, in b, c and d.

    The least expected loss of a word is then (.01 * 20 + .7 + .6 + .55) / 4 = .51, of always 1
    .71, of always 0, which is the more probable label everywhere, 5.8.
    """
    best = np.mean([min(20 * p, 1 - p) for p in KINDS.values()])
    assert best == pytest.approx(0.5125)
    loss = fsmeu.load("weighted_cost", c_fn=20)
    train, test = missed_ones(200, 1), missed_ones(300, 2)

    def lost(**given):
        made = Searn(loss, bits=10, random_state=0, iterations=2, folds=2, **given).fit(*train)
        return np.mean([loss(z, y) for z, y in zip(made.predict(test[0]), test[1], strict=True)])

    assert lost(**({"learner": learner} if learner else {})) < 0.6
    if not learner:
        assert lost(learner="logistic-argmin") > 5
        assert lost(learner=Multiclass(weighted=False)) > 5
        assert lost(learner="perceptron-argmin") > 3  # which comes near to no probabilities


class Records(Logistic):
    seen: ClassVar[list] = []

    def learn(self, given, seed):
        found = super().learn(given, seed)
        self.seen.append((given, seed, found))
        return found


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


def test_costs_under_the_policy(sums):
    """Both ways run; the first iteration has the optimal policy, and the same costs as without."""
    X, y = sums[0][:40], sums[1][:40]
    for costs in ("optimal", "expected", "sampled"):
        made = quick(costs=costs, iterations=2, folds=2, learner=Records(rate=0.2))
        Records.seen.clear()
        made.fit(X, y)
        first = Records.seen[2][0]
        if costs == "optimal":
            want = first.costs
        np.testing.assert_allclose(first.costs, want, atol=1e-12)
        assert made.score(X, y) > 0.9


def same_models(one, other):
    pairs = list(zip(one.models_, other.models_, strict=True))
    assert np.array_equal(one.weights_, other.weights_)
    assert all(np.array_equal(a.weights, b.weights) for a, b in pairs)
    assert all(np.array_equal(a.columns, b.columns) for a, b in pairs)


def test_same_seed_same_model(sums):
    made = quick(folds=2, iterations=2).fit(*sums)
    same_models(made, quick(folds=2, iterations=2, n_jobs=2).fit(*sums))


def test_training_goes_on_after_it_was_killed(sums, tmp_path):
    """The same weights as without the interruption; another file of other data is refused."""
    X, y = sums
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
    with pytest.raises(InputError, match="same parameters and data"):
        quick(**held).fit(X[1:], y[1:])
    with pytest.raises(InputError, match="same parameters and data"):
        quick(**held, learner=Logistic(rate=0.1, importance="equal")).fit(X, y)
    held["space"] = PlainTagging("abc")  # whose examples cannot be compared
    with pytest.raises(InputError, match="checkpoint is for spaces over labels"):
        quick(None, **held).fit(X, y)


def test_labels_of_any_type():
    X = [[{"w": str(k)} for k in (1, 2, 3)]] * 5
    y = [[1.5, None, ("a", 2)]] * 5
    made = Searn(iterations=1, folds=1, bits=10, random_state=0).fit(X, y)
    assert made.predict(X[:1]) == [[1.5, None, ("a", 2)]]


def test_progress_is_told(sums):
    told = []
    quick(iterations=2, folds=2).fit(*sums, progress=lambda *news: told.append(news))
    assert [done for done, _ in told] == [0.25, 0.5, 0.75, 1]
    assert told[-1][1] == "iteration 2 of 2"


ONE, A = [[{"w": "1"}]], [["a"]]
STRANGE_DATA = [
    ({}, [], [], "not empty"),
    ({}, [[]], [[]], "not empty"),
    ({}, ONE, [], "one label for each position"),
    ({}, ONE, [["a", "b"]], "1 positions and 2 labels"),
    ({}, 3, A, "list of lists"),
    ({}, [[3]], A, "dictionary of features"),
    ({}, ONE, [[["a"]]], "hashable"),
    ({"beta": "theory", "iterations": None}, [ONE[0] * 25], [A[0] * 25], "iterations"),
]
STRANGE_PARAMS = [
    ("loss", "chunk_fscore", "chunk tags"),
    ("loss", "hammming", "hamming"),
    ("loss", "fscore", "labels"),
    ("space", "word-at-a-time", "chunk tags"),
    ("space", "chunk-at-a-time", "chunk tags"),
    ("space", "alternating", "pair of labels"),
    ("space", "sideways", "space must be one of"),
    ("space", 3, "space must be one of"),
    ("space", LeftToRight(history=-1), "history"),
    ("learner", "magic", "learner must be one of"),
    ("learner", Multiclass(object()), "sample_weight"),
    ("learner", Logistic(dropout=1), "dropout"),
    ("beta", "guess", "beta must be one of"),
    ("costs", "none", "costs must be one of"),
    ("ties", "none", "ties must be one of"),
    *((name, value, name) for name, value in [("beta", 0), ("beta", 1.5), ("iterations", 0)]),
    *((name, value, name) for name, value in [("influence", -1), ("folds", 0), ("crossed", 3)]),
    *((name, value, name) for name, value in [("bits", 40), ("bits", 0), ("random_state", "x")]),
]


@pytest.mark.parametrize(
    ("params", "X", "y", "says"),
    [*STRANGE_DATA, *(({name: value}, ONE, A, says) for name, value, says in STRANGE_PARAMS)],
)
def test_bad_input(params, X, y, says):
    with pytest.raises(FsmeuError, match=says):
        Searn(**params).fit(X, y)


def test_a_parameter_without_default_is_a_parameter_of_the_loss():
    """The advice names the argument that the estimator takes."""
    with pytest.raises(InputError, match=r'no default\. Give loss_params=\{"k": VALUE\}'):
        Searn("pk").fit(ONE, [["0"]])


def test_bad_input_later(sums):
    X, y = sums
    made = quick(iterations=1, folds=1).fit(X, y)
    for change, says in (({"beam": 0}, "beam"), ({"combine": "x"}, "combine must be one of")):
        with pytest.raises(FsmeuError, match=says):
            clone(made).set_params(**change).fit(X[:5], y[:5]).predict(X)
    with pytest.raises(FsmeuError, match="one label for each position"):
        made.score(X, y[1:])
    with pytest.raises(FsmeuError, match="among those of training"):
        quick(beta="search").fit(X, y, X[:1], [["z"] * len(X[0])])
    with pytest.raises(FsmeuError, match="given together"):
        quick(beta="search").fit(X, y, X[:1])
    assert made.predict([]) == []
    assert made.predict([[], X[0]])[0] == []


# -- rows of texts -------------------------------------------------------------------------------


def test_templates_of_ones_own():
    """One that sees the part of speech alone tells all apart, one that sees a constant none."""
    searn = few("left-to-right").set_params(loss="hamming")
    seeing = ColumnTagger(["pos"], crossed=["pos[-1]"], searn=searn, bits=14).fit(ROWS, TAGS)
    assert [one[:3] for one in seeing.predict(ROWS)] == [one[:3] for one in TAGS]
    blind = ColumnTagger(["bias"], searn=few(LeftToRight(history=0)), bits=14).fit(ROWS, TAGS)
    assert len({tag for one in blind.predict(ROWS) for tag in one}) == 1


def test_refusals():
    tagger = ColumnTagger(searn=few("word-at-a-time"), bits=14).fit(ROWS, TAGS)
    with pytest.raises(InputError, match="2 columns, as in training"):
        tagger.predict([[("a",)]])
    with pytest.raises(InputError, match="same number of columns"):
        ColumnTagger().fit([[("a", "b"), ("a",)]], [["O", "O"]])
    with pytest.raises(InputError, match="templates must be one of"):
        ColumnTagger("nothing").fit(ROWS, TAGS)


def test_chunk_tags():
    assert are_chunk_tags([["O", "B-ROWS"], ["I-TAGS"]])
    assert not are_chunk_tags([["O"]])
    assert not are_chunk_tags([["O", "B"]])
    assert not are_chunk_tags([["NN", "B-ROWS"]])
