"""Large corpora by moments of their counts, beside the search over windows of counts."""

import numpy as np
import pytest

import fsmeu
from fsmeu.decoding import corpus_moments
from fsmeu.expectation import corpus as expected
from fsmeu.losses.algebra.ratios import ratio_of_totals
from fsmeu.models import arc_weights_many
from fsmeu.trellis.kept import structure_of
from tests.support.kernels import run_kernels

TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


def sentences(seed, count, scale):
    """Models of short sentences, all drawn."""
    random = np.random.default_rng(seed)
    link = random.normal(size=(5, 5)) * scale
    for _ in range(count):
        unary = random.normal(size=(int(random.integers(1, 9)), 5)) * scale
        yield fsmeu.models.from_potentials(unary, link, labels=TAGS)


@pytest.fixture
def without_moments(monkeypatch):
    def switch():
        monkeypatch.setattr(corpus_moments, "best_by_moments", lambda *_: None)
        monkeypatch.setattr(expected, "moment_value", lambda *_: None)

    return switch


@pytest.mark.parametrize(("name", "scale"), [("chunk_fscore", 1.0), ("chunk_fscore", 3.0)])
def test_as_by_windows(name, scale, without_moments):
    """The same decision; the bounds of either hold the value of the other."""
    loss, models = fsmeu.load(name, empty=0), list(sentences(4, 150, scale))
    told = []
    found = fsmeu.decode_corpus(loss, models, progress=lambda *sides: told.append(sides), jobs=2)
    assert told == [(found.lower, found.upper)]
    value = fsmeu.expect_corpus(loss, found.labels, models)
    without_moments()
    wanted = fsmeu.decode_corpus(loss, models)
    again = fsmeu.expect_corpus(loss, found.labels, models)
    assert found.exact
    assert found.labels == wanted.labels
    assert found.value == pytest.approx(wanted.value, rel=1e-11)
    assert found.lower <= wanted.upper
    assert wanted.lower <= found.upper
    assert found.gap < 1e-10
    assert value.lower <= again.upper
    assert again.lower <= value.upper
    assert value.upper - value.lower < 1e-10


def test_expectations_are_within_their_bounds(without_moments):
    """For hypotheses that are far from the best."""
    loss, models = fsmeu.load("chunk_fscore", beta=2), list(sentences(9, 120, 2.0))
    zs = [["B-X", "O", "I-Y"] * (model.n // 3) + ["O"] * (model.n % 3) for model in models]
    value = fsmeu.expect_corpus(loss, zs, models)
    without_moments()
    again = fsmeu.expect_corpus(loss, zs, models)
    assert value.value == pytest.approx(again.value, rel=1e-11)
    assert value.lower <= again.upper
    assert again.lower <= value.upper


@pytest.mark.parametrize("name", ["chunk_fscore", "fscore", "chunk_recall"])
@pytest.mark.parametrize("how", ["plain", "compiled"])
def test_moments_of_a_sentence_are_those_of_its_counts(name, how, monkeypatch):
    """Sweeps over moments give the sums over counts that sweeps over counts give."""
    run_kernels(how, monkeypatch.setattr)
    loss = fsmeu.load(name, labels=TAGS) if name != "fscore" else fsmeu.load(name)
    models = list(sentences(3, 6, 1.0))
    if name == "fscore":
        random = np.random.default_rng(5)
        models = [fsmeu.models.Bernoulli(random.random(n)) for n in (5, 1, 8)]
    for model in models:
        structure, n = structure_of(loss, model), model.n
        layered = arc_weights_many([model])
        z = np.random.default_rng(n).integers(len(model.labels), size=n)
        counts, joint = structure.sums(layered, [z])[0][0]
        moments = structure.moments(5).sums(layered, [z])[0][0]
        powers = np.arange(len(counts)) ** np.arange(5.0)[:, None] / [[1], [1], [2], [6], [24]]
        np.testing.assert_allclose(moments, [powers @ counts, powers @ joint], rtol=1e-13)
        ones = np.eye(5)[None, :1]
        scores, chances = structure.moments(5).scores(layered, ones)
        whole = scores.dense(len(structure.score_cells(n)))[0]
        np.testing.assert_allclose(chances[0], powers @ counts, rtol=1e-13)
        for power, lane in zip(powers, whole.T, strict=True):
            wanted, _ = structure.scores(layered, np.ascontiguousarray(power[None, None]))
            np.testing.assert_allclose(lane, wanted.dense(len(lane))[0, :, 0], rtol=1e-12)
        np.testing.assert_allclose(
            score_of(structure, z, whole), powers @ joint, rtol=1e-12, atol=1e-15
        )


def score_of(structure, z, scores):
    """The sum of the scores, (cells, lanes), of the steps of a hypothesis, (lanes,)."""
    h, pair, found = structure.h, 0, np.zeros(scores.shape[1])
    cells = {tuple(cell): k for k, cell in enumerate(structure.score_cells(len(z)).tolist())}
    for i, label in enumerate(z):
        pair, colour, _ = h.step[h.kind[i], pair, label]
        for row in (*h.early[colour], *h.late[h.kind[i], pair]):
            found += scores[cells[i, int(row)]] if (i, int(row)) in cells else 0.0
    return found


@pytest.mark.parametrize("name", ["jaccard", "kappa", "recall"])
def test_other_losses_are_no_such_ratios(name):
    """Ratios that look at both tapes, and what may divide by 0."""
    loss = fsmeu.load(name)
    if loss.split is not None:
        assert ratio_of_totals(loss.split, 9, np.arange(1.0, 10), 9.0) is None


def test_the_ratio_of_totals():
    """Coefficients on 1, the joint count and the reference's count."""
    form = fsmeu.load("fscore", beta=2).split
    found = ratio_of_totals(form, 9, np.array([1.0, 4.0]), 9.0)
    assert found.top.tolist() == [[0, 0], [1, 1], [0, 0]]
    assert found.below == pytest.approx(np.array([[0.2, 0.8], [0, 0], [0.8, 0.8]]))
