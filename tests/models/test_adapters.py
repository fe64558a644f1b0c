"""Models from other tools, against what these tools say themselves or plain arithmetic."""

import json
from itertools import product

import numpy as np
import pytest
from scipy.special import softmax

from fsmeu import models as m
from fsmeu.errors import InputError
from tests import brute_force


class Tensor:
    """An array of another library: it records derivatives until it is detached."""

    def __init__(self, array, dtype, attached=True):
        self.array, self.dtype, self.attached = np.asarray(array), dtype, attached

    def detach(self):
        return Tensor(self.array, self.dtype, attached=False)

    def cpu(self):
        return self

    def double(self):
        return Tensor(self.array.astype(np.float64), "torch.float64", self.attached)

    def __array__(self, dtype=None, copy=None):
        if self.attached or self.dtype == "torch.bfloat16":
            raise RuntimeError("this tensor cannot become an array")
        return self.array.astype(dtype or self.array.dtype)


def single(random, *shape):
    """Distributions along the last axis, in single precision."""
    weights = np.exp(random.normal(size=shape).astype(np.float32) * np.float32(3))
    return weights / weights.sum(axis=-1, keepdims=True, dtype=np.float32)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("size", [2, 23, 200])
def test_rows_in_single_precision(seed, size):
    rows = single(np.random.default_rng(seed), 40, size)
    exact = rows.astype(np.float64)
    exact /= exact.sum(axis=1, keepdims=True)
    for given in (rows, rows.tolist(), Tensor(rows, "torch.float32")):
        model = m.Independent(given)
        np.testing.assert_allclose(model.probabilities, exact, rtol=1e-14)
        np.testing.assert_allclose(model.marginals(), exact, rtol=1e-14)
        np.testing.assert_array_equal(m.as_model(given).marginals(), model.marginals())
    text = json.dumps({"model": "independent", "probabilities": rows.tolist()})
    np.testing.assert_allclose(m.from_json(text).marginals(), exact, rtol=1e-14)


def test_other_models_in_single_precision():
    random = np.random.default_rng(5)
    first, links = single(random, 3), single(random, 3, 3)
    parts = [m.Markov(first, links, n=4), m.Independent(np.float16(single(random, 4, 3)).tolist())]
    made = [*parts, m.Mixture(parts, single(random, 2)), m.hmm(first, links, links, [0, 1, 2])]
    for model in made:
        assert model.total_mass() == pytest.approx(1.0, abs=1e-13)
    assert m.Bernoulli(np.float32([0.1, 1.0])).p[0] == np.float64(np.float32(0.1))


def test_half_precision():
    rows = np.float16([[0.1, 0.2, 0.7], [0.3333, 0.3333, 0.3333]])
    exact = rows.astype(np.float64) / rows.astype(np.float64).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(m.Independent(rows).marginals(), exact, rtol=1e-14)
    coarse = Tensor([[0.5, 0.25, 0.24609375]], "torch.bfloat16")
    np.testing.assert_allclose(m.Independent(coarse).probabilities.sum(), 1.0, rtol=1e-15)


def test_logits():
    scores = np.array([[1000.0, 999.0, -np.inf], [-3.0, 0.0, 2.0]])
    model = m.from_logits(scores, ["O", "B-X", "I-X"])
    np.testing.assert_allclose(model.probabilities, softmax(scores, axis=1), rtol=1e-14)
    assert model.labels == ("O", "B-X", "I-X")
    named = m.from_logits(Tensor(scores, "torch.float64"), {2: "I-X", 0: "O", 1: "B-X"})
    assert named.labels == model.labels
    np.testing.assert_array_equal(named.probabilities, model.probabilities)
    np.testing.assert_allclose(m.from_logits([0.0, 2.0, -800.0]).p, [0.5, 1 / (1 + np.exp(-2)), 0])
    assert m.from_logits([], ["a", "b"]).n == 0


SENTENCES = [
    [{"word": "the", "caps": False}, {"word": "dog", "len": 1.5}, {"word": "ran", "set": {"v"}}],
    [{"word": "a"}, {"word": "cat", "len": 0.5}, {"word": "sat", "set": {"v", "w"}}],
    [{"word": "dog", "caps": True}, {"word": "the", "more": {"x": 2.0}}],
]
TAGS = [["B", "I", "O"], ["B", "I", "O"], ["I", "B"]]


@pytest.fixture(scope="module")
def tagger():
    crfsuite = pytest.importorskip("sklearn_crfsuite")
    crf = crfsuite.CRF(c2=0.1, max_iterations=30, all_possible_transitions=True)
    return crf.fit(SENTENCES, TAGS)


@pytest.mark.parametrize("sentence", [*SENTENCES, SENTENCES[0] + SENTENCES[2]])
def test_crfsuite_tells_the_same_probabilities(tagger, sentence):
    """Its weights are told with six decimals."""
    model = m.from_crfsuite(tagger, sentence)
    own = tagger.predict_marginals_single(sentence)
    for row, known in zip(model.marginals(), own, strict=True):
        told = [known[label] for label in model.labels]
        np.testing.assert_allclose(row, told, atol=1e-4 * len(sentence))
    assert model.most_probable(1)[0][0] == tagger.predict_single(sentence)
    for y in list(product(model.labels, repeat=model.n))[:9]:
        known = tagger.tagger_.probability(list(y))
        assert model.probability(y) == pytest.approx(known, rel=1e-4)


def test_crfsuite_is_read_again_after_training_again(tagger):
    import sklearn_crfsuite

    crf = sklearn_crfsuite.CRF(c2=1.0).fit(SENTENCES, TAGS)
    before = m.from_crfsuite(crf, SENTENCES[0]).unary
    crf.fit(SENTENCES[:1], TAGS[:1])
    after = m.from_crfsuite(crf, SENTENCES[0])
    assert after.unary.shape != before.shape or not np.allclose(after.unary, before)
    assert after.most_probable(1)[0][0] == crf.predict_single(SENTENCES[0])


def test_what_is_no_tagger_is_told(tagger):
    import sklearn_crfsuite

    for wrong in (sklearn_crfsuite.CRF(), "crf", None):
        with pytest.raises(InputError, match=r"trained sklearn_crfsuite\.CRF"):
            m.from_crfsuite(wrong, SENTENCES[0])
    for features in (3, [3], [{"a": object()}]):
        with pytest.raises(InputError, match="features must be"):
            m.from_crfsuite(tagger, features)


class Gaussian:
    """What a trained GaussianHMM with variances of 1 has that is needed here."""

    startprob_ = np.array([0.6, 0.4])
    transmat_ = np.array([[0.7, 0.3], [0.2, 0.8]])
    means_ = np.array([-1.0, 1.5])

    def _compute_log_likelihood(self, seen):
        return -0.5 * (seen - self.means_) ** 2 - 0.5 * np.log(2 * np.pi)


def test_hmmlearn():
    seen, model = [0.3, -2.0, 1.0], Gaussian()
    found = m.from_hmmlearn(model, seen, labels=["low", "high"])
    densities = np.exp(-0.5 * (np.array(seen) - model.means_[:, None]) ** 2)
    tables = (model.startprob_, model.transmat_, densities)
    for y, p in brute_force.hmm(*tables, range(3), ("low", "high")).items():
        assert found.probability(y) == pytest.approx(p, rel=1e-12)
    with pytest.raises(InputError, match="trained model of hmmlearn"):
        m.from_hmmlearn(object(), seen)


def test_hmmlearn_with_several_sequences():
    seen, model = [0.3, -2.0, 1.0, 0.5], Gaussian()
    found = m.from_hmmlearn(model, seen, ["low", "high"], lengths=np.array([3, 0, 1]))
    assert [one.n for one in found] == [3, 0, 1]
    for one, part in zip(found, (seen[:3], [], seen[3:]), strict=True):
        if part:
            alone = m.from_hmmlearn(model, part, ["low", "high"])
            np.testing.assert_allclose(one.marginals(), alone.marginals(), rtol=1e-13)
    for lengths in ([3], [2, 3], [-1, 5], 4, ["a"]):
        with pytest.raises(InputError, match="from_hmmlearn lengths"):
            m.from_hmmlearn(model, seen, lengths=lengths)
