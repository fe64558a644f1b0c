"""Models from other tools, against what these tools say themselves or plain arithmetic; files."""

import gzip
from itertools import product

import numpy as np
import pytest
from scipy.special import softmax

from fsmeu import models as m
from fsmeu.errors import InputError
from tests import brute_force


def test_logits():
    scores = np.array([[1000.0, 999.0, -np.inf], [-3.0, 0.0, 2.0]])
    model = m.from_logits(scores, {2: "I-X", 0: "O", 1: "B-X"})
    np.testing.assert_allclose(model.probabilities, softmax(scores, axis=1), rtol=1e-14)
    assert model.labels == ("O", "B-X", "I-X")
    np.testing.assert_allclose(m.from_logits([0.0, 2.0, -800.0]).p, [0.5, 1 / (1 + np.exp(-2)), 0])
    assert m.from_logits([], ["a", "b"]).n == 0


SENTENCES = [
    [{"word": "the", "caps": False}, {"word": "dog", "len": 1.5}, {"word": "ran", "set": {"v"}}],
    [{"word": "a"}, {"word": "cat", "len": 0.5}, {"word": "sat", "set": {"v", "w"}}],
    [{"word": "dog", "caps": True}, {"word": "the", "more": {"x": 2.0}}],
]
TAGS = [["B", "I", "O"], ["B", "I", "O"], ["I", "B"]]


@pytest.fixture(scope="module")
def crfsuite():
    return pytest.importorskip("sklearn_crfsuite")


def test_crfsuite_tells_the_same_probabilities(crfsuite):
    """Its weights are told with six decimals."""
    tagger = crfsuite.CRF(c2=0.1, max_iterations=30, all_possible_transitions=True)
    tagger.fit(SENTENCES, TAGS)
    for sentence in (*SENTENCES, SENTENCES[0] + SENTENCES[2]):
        model = m.from_crfsuite(tagger, sentence)
        own = tagger.predict_marginals_single(sentence)
        for row, known in zip(model.marginals(), own, strict=True):
            told = [known[label] for label in model.labels]
            np.testing.assert_allclose(row, told, atol=1e-4 * len(sentence))
        assert model.most_probable(1)[0][0] == tagger.predict_single(sentence)
        for y in list(product(model.labels, repeat=model.n))[:9]:
            known = tagger.tagger_.probability(list(y))
            assert model.probability(y) == pytest.approx(known, rel=1e-4)


def test_crfsuite_is_read_again_after_training_again(crfsuite):
    crf = crfsuite.CRF(c2=1.0)
    with pytest.raises(InputError, match=r"trained sklearn_crfsuite\.CRF"):
        m.from_crfsuite(crf, SENTENCES[0])
    before = m.from_crfsuite(crf.fit(SENTENCES, TAGS), SENTENCES[0]).unary
    crf.fit(SENTENCES[:1], TAGS[:1])
    after = m.from_crfsuite(crf, SENTENCES[0])
    assert after.unary.shape != before.shape or not np.allclose(after.unary, before)
    assert after.most_probable(1)[0][0] == crf.predict_single(SENTENCES[0])


class Gaussian:
    """What a trained GaussianHMM with variances of 1 has that is needed here."""

    startprob_ = np.array([0.6, 0.4])
    transmat_ = np.array([[0.7, 0.3], [0.2, 0.8]])
    means_ = np.array([-1.0, 1.5])

    def _compute_log_likelihood(self, seen):
        return -0.5 * (seen - self.means_) ** 2 - 0.5 * np.log(2 * np.pi)


def test_hmmlearn():
    """One sequence, and several of them in a row."""
    seen, model = [0.3, -2.0, 1.0, 0.5], Gaussian()
    densities = np.exp(-0.5 * (np.array(seen) - model.means_[:, None]) ** 2)
    tables = (model.startprob_, model.transmat_, densities)
    parts = m.from_hmmlearn(model, seen, ["low", "high"], lengths=np.array([3, 0, 1]))
    assert [one.n for one in parts] == [3, 0, 1]
    found = m.from_hmmlearn(model, seen, labels=["low", "high"])
    for one, places in ((found, range(4)), (parts[0], range(3)), (parts[2], [3])):
        for y, p in brute_force.hmm(*tables, places, ("low", "high")).items():
            assert one.probability(y) == pytest.approx(p, rel=1e-12)
    for lengths in ([3], [-1, 5]):
        with pytest.raises(InputError, match="from_hmmlearn lengths"):
            m.from_hmmlearn(model, seen, lengths=lengths)


def test_files_and_shorthand(tmp_path):
    """Names of files, texts with and without a byte order mark, compressed ones, and keys."""
    text, path, packed = '{"probs": [0.25, 1]}', tmp_path / "model.json", tmp_path / "packed"
    path.write_text(text, encoding="utf-8-sig")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    keys = {"model": "bernoulli", "p": [0.25, 1]}
    for source in (path, str(path), packed, text, "\ufeff" + text, keys):
        model = m.from_json(source)
        assert isinstance(model, m.Bernoulli)
        assert model.p.tolist() == [0.25, 1.0]
    tables = {"initial": [0.5, 0.5], "transition": [[1, 0], [0, 1]]}
    hidden = {"emission": [[0.9, 0.1], [0.2, 0.8]], "observations": [0, 0]}
    model = m.from_json({"model": "hmm", **tables, **hidden})
    assert model.probability([0, 0]) == pytest.approx(0.81 / 0.85, rel=1e-14)
    listed = {"model": "nbest", "sequences": ["ab", "bb"], "weights": [0, 0], "log": True}
    assert m.from_json(listed).probability("ab") == 0.5
