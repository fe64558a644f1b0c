"""Taggers: likelihood as in crfsuite, expected utility by lists; out-of-fold models."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

import fsmeu
from fsmeu.errors import InputError
from fsmeu.learning import MaxExpectedUtilityTagger, cross_val_models
from fsmeu.learning.tagger import feature_items

TAGS = ("B-NP", "B-VP", "I-NP", "I-VP", "O")
WORDS = dict(zip(TAGS, ("the a my", "has is", "dog cat man", "seen been", ". ,"), strict=True))


def drawn(count=12, seed=3):
    """Sentences whose words say their tags, one in five of them another's."""
    random = np.random.default_rng(seed)
    sentences, tags = [], []
    for _ in range(count):
        one = ["B-NP", "I-NP", "B-VP", "I-VP", "B-NP", "I-NP", "O"][int(random.integers(3)) :]
        said = [TAGS[int(random.integers(5))] if random.random() < 0.2 else tag for tag in one]
        words = [str(random.choice(WORDS[tag].split())) for tag in said]
        sentences.append(
            [{"word": word, "bias": 1.0, "first": i == 0} for i, word in enumerate(words)]
        )
        tags.append(one)
    return sentences, tags


@pytest.mark.parametrize(
    "position",
    [
        {"word": "dog", "size": 3, "upper": True, "lower": False, "weight": 0.5},
        {"near": ["a", "b"], "deep": {"x": 1.5, "y": "z"}},
        {},
    ],
)
def test_features_are_those_of_crfsuite(position):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    assert [dict(feature_items(position))] == pycrfsuite.ItemSequence([position]).items()


def test_likelihood_training_is_that_of_crfsuite():
    crfsuite = pytest.importorskip("sklearn_crfsuite")
    sentences, tags = drawn()
    known = crfsuite.CRF(
        algorithm="lbfgs", c2=1.0, max_iterations=500, epsilon=1e-9, delta=1e-12,
        all_possible_states=True, all_possible_transitions=True,
    )  # fmt: skip
    known.fit(sentences, tags)
    made = MaxExpectedUtilityTagger(likelihood_iterations=500, utility_iterations=0)
    made.fit(sentences, tags)
    assert sorted(known.classes_) == made.classes_.tolist()
    for (before, after), weight in known.transition_features_.items():
        place = tuple(made.classes_.tolist().index(tag) for tag in (before, after))
        assert made.transition_weights_[place] == pytest.approx(weight, abs=1e-3)
    expected, found = known.predict_marginals(sentences), made.predict_marginals(sentences)
    for one, other in zip(expected, found, strict=True):
        for a, b in zip(one, other, strict=True):
            assert b == pytest.approx(a, abs=1e-3)
    assert made.predict_most_probable(sentences) == [list(one) for one in known.predict(sentences)]
    chances = [m.probability(y) for m, y in zip(made.models(sentences), tags, strict=True)]
    assert made.log_likelihood_ == pytest.approx(np.log(chances).sum(), rel=1e-9)


def test_rare_features_are_left_out():
    sentences, tags = [[["a", "b"], ["b"]], [["b", "c", "c"]]], [["A", "B"], ["A"]]
    quick = {"likelihood_iterations": 1, "utility_iterations": 0}
    for least, names in ((1, ["a", "b", "c"]), (2, ["b"])):
        made = MaxExpectedUtilityTagger("hamming", min_freq=least, **quick).fit(sentences, tags)
        assert made.feature_names_ == names


def test_scores_far_apart():
    """One sequence has all the mass, and the sums of its scores are great."""
    made = MaxExpectedUtilityTagger("hamming", likelihood_iterations=1, utility_iterations=0)
    made.fit([[["x"], ["y"]]], [["A", "B"]])
    made.state_weights_ = np.array([[900.0, 0.0], [0.0, 900.0]])
    made.transition_weights_ = np.array([[-5.0, 200.0], [0.0, 0.0]])
    [[first, second]] = made.predict_marginals([[["x"], ["y"]]])
    assert [first["A"], second["B"]] == pytest.approx([1.0, 1.0], abs=1e-15)
    assert [first["B"], second["A"]] == pytest.approx([0.0, 0.0], abs=1e-80)
    made.transition_weights_[0] = -1e4, -1e4  # so that no A is followed by anything
    assert made.predict_most_probable([[["x"], ["y"]]]) == [["B", "B"]]


@pytest.mark.parametrize("name", ["chunk_fscore", "hamming"])
def test_training_ends_where_no_step_gains(name):
    """The objective by lists of all tags: the mean value, and the way from the likely weights."""
    x = [[{"a": 1.0}, {"b": 2.0}], [{"b": 1.0}, {"a": 1.0}, {"b": -1.0}]]
    y = [["B-X", "O"], ["O", "B-X", "I-X"]]
    made = MaxExpectedUtilityTagger(name, utility_iterations=200, utility_c2=0.05).fit(x, y)
    likely = clone(made).set_params(utility_iterations=0).fit(x, y)
    loss = fsmeu.load(name, labels=["B-X", "I-X", "O"])

    def value(one):
        return np.mean([
            sum(m.probability(z) * loss(z, tags) for z in itertools.product(m.labels, repeat=m.n))
            for m, tags in zip(one.models(x), y, strict=True)
        ])  # fmt: skip

    def objective():
        way = ((made.state_weights_ - likely.state_weights_) ** 2).sum()
        way += ((made.transition_weights_ - likely.transition_weights_) ** 2).sum()
        return len(x) * (1 if name == "chunk_fscore" else -1) * value(made) - 0.05 * way

    assert made.expected_values_ == pytest.approx([value(likely), value(made)], rel=1e-9)
    for weights in (made.state_weights_, made.transition_weights_):
        for place in np.ndindex(weights.shape):
            end, kept, sides = objective(), weights[place], []
            for step in (1e-3, -1e-3):
                weights[place] = kept + step
                sides.append(objective())
            weights[place] = kept
            assert sides[0] == pytest.approx(sides[1], abs=1e-7)
            assert max(sides) < end
    assert likely.expected_values_ == []


def test_a_warm_start_with_other_sentences_keeps_weights_by_name():
    sentences, tags = drawn(2)
    made = MaxExpectedUtilityTagger(utility_iterations=0).fit(sentences, tags)
    tagged = [["B-ADJP" if tag == "O" else tag for tag in one] for one in tags]
    named = [[{**row, "other": 1.0} for row in one] for one in sentences]
    before, known = made.state_weights_, made.feature_names_
    kept = [k for k, tag in enumerate(made.classes_.tolist()) if tag != "O"]
    moves = made.transition_weights_[np.ix_(kept, kept)]
    made.set_params(warm_start=True, likelihood_iterations=0).fit(named, tagged)
    assert made.classes_.tolist() == ["B-ADJP", *TAGS[:-1]]
    assert made.feature_names_ == sorted([*known, "other"])
    rows = [made.feature_names_.index(name) for name in known]
    assert made.state_weights_[np.ix_(rows, range(1, 5))].tolist() == before[:, kept].tolist()
    assert made.transition_weights_[1:, 1:].tolist() == moves.tolist()
    assert not made.state_weights_[:, 0].any()
    assert not made.state_weights_[made.feature_names_.index("other")].any()


def test_decisions_are_those_of_decode():
    sentences, tags = drawn()
    made = MaxExpectedUtilityTagger(utility_iterations=0).fit(sentences, tags)
    loss = fsmeu.load("chunk_fscore", labels=made.classes_.tolist())
    expected = [list(fsmeu.decode(loss, model).labels) for model in made.models(sentences)]
    assert made.predict(sentences) == expected
    assert made.predict_single(sentences[0]) == expected[0]
    assert made.score(sentences, tags) == pytest.approx(
        np.mean(np.concatenate(expected) == np.concatenate(tags))
    )
    assert made.predict([]) == []


# -- models of sentences that a tagger has not seen ------------------------------------------------

X, Y = drawn(count=14)


class Frequencies:
    """A tagger without parameters, of no family: how often each tag was seen, whatever the word."""

    def __init__(self):
        self.seen = None

    def fit(self, _, tags):
        assert self.seen is None, "a copy is fitted once"
        flat = [tag for one in tags for tag in one]
        self.labels = sorted(set(flat))
        self.seen = [flat.count(label) / len(flat) for label in self.labels]
        return self

    def model(self, x):
        return fsmeu.models.Independent([self.seen] * len(x), self.labels)


def test_each_model_is_of_a_tagger_that_did_not_see_the_sentence():
    """Any tagger will do, with a function that gives models."""
    groups = [k % 4 for k in range(len(X))]
    tagger = Frequencies()
    found = cross_val_models(tagger, X, Y, model=Frequencies.model, cv=GroupKFold(4), groups=groups)
    assert tagger.seen is None
    for k, model in enumerate(found):
        others = [tag for j, one in enumerate(Y) if groups[j] != groups[k] for tag in one]
        wanted = [others.count(label) / len(others) for label in model.labels]
        np.testing.assert_allclose(model.marginals()[0], wanted, rtol=1e-12)


def test_crfsuite():
    sklearn_crfsuite = pytest.importorskip("sklearn_crfsuite")
    field = sklearn_crfsuite.CRF(c2=0.1, all_possible_transitions=True)
    found = cross_val_models(field, X, Y, model=fsmeu.models.from_crfsuite, cv=2)
    half = sklearn_crfsuite.CRF(c2=0.1, all_possible_transitions=True).fit(X[7:], Y[7:])
    for one, model in zip(half.predict_marginals(X[:7]), found[:7], strict=True):
        wanted = [[row.get(label, 0.0) for label in model.labels] for row in one]
        np.testing.assert_allclose(model.marginals(), wanted, atol=2e-5)


def test_a_tag_that_one_fold_did_not_see_has_probability_zero():
    tags = [*Y[:-1], ["B-XP", *Y[-1][1:]]]
    models = cross_val_models(Frequencies(), X, tags, model=Frequencies.model, cv=7)
    assert {frozenset(model.labels) for model in models} == {frozenset({"B-XP", *TAGS})}
    assert models[-1].marginals()[0][models[-1].labels.index("B-XP")] == 0.0
    with pytest.raises(InputError, match=r"references\[13\]: must have positive probability"):
        fsmeu.calibrate(models, tags)
    found = fsmeu.calibrate(models, tags, skip_impossible=True)
    assert found.skipped == 1
    assert found.temperature == fsmeu.calibrate(models[:-1], tags[:-1]).temperature
