"""Out-of-fold models, against taggers that are fitted by hand and the likelihood by enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.model_selection import GroupKFold, KFold

import fsmeu
from fsmeu.errors import InputError
from fsmeu.learning import MaxExpectedUtilityTagger, cross_val_models
from tests.learning.test_tagger import TAGS, drawn

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
    tagger = MaxExpectedUtilityTagger(utility_iterations=0, likelihood_iterations=5)
    found = cross_val_models(tagger, X, Y, cv=3)
    assert not hasattr(tagger, "classes_")
    for train, test in KFold(3).split(X):
        tagger.fit([X[k] for k in train], [Y[k] for k in train])
        for k, wanted in zip(test, tagger.models([X[k] for k in test]), strict=True):
            assert found[k].labels == wanted.labels
            np.testing.assert_allclose(found[k].marginals(), wanted.marginals(), rtol=1e-12)


def test_any_tagger_and_a_function_that_gives_models():
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


def test_the_temperature_out_of_fold_is_that_of_the_greatest_likelihood():
    """By lists of all sequences and scipy; weights of so few sentences are too sure."""
    random = np.random.default_rng(5)
    x = [[{"bias": 1.0, "at": float(v)} for v in random.normal(size=3)] for _ in range(12)]
    y = [[str(int(t["at"] + random.normal() > 0)) for t in one] for one in x]
    tagger = MaxExpectedUtilityTagger("hamming", c2=0.001, utility_iterations=0)
    models = cross_val_models(tagger, x, y, cv=4)
    listed = [{z: m.probability(z) for z in product("01", repeat=3)} for m in models]

    def worse(log_t):
        value = 0.0
        for p, reference in zip(listed, y, strict=True):
            powers = {z: q ** np.exp(-log_t) for z, q in p.items()}
            value -= np.log(powers[tuple(reference)] / sum(powers.values()))
        return value

    found = fsmeu.calibrate(models, y)
    likely = float(np.exp(minimize_scalar(worse, bracket=(-1.0, 1.0)).x))
    assert found.temperature == pytest.approx(likely, rel=1e-5)
    assert found.temperature > 1
    assert found.log_likelihood > found.before


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
