"""Streams: the running measure is scikit-learn's of the predictions so far."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import f1_score, fbeta_score, jaccard_score

from fsmeu.learning.online import FOFOClassifier, OFOClassifier, OnlineLogisticClassifier, streaming
from fsmeu.learning.online.streaming import Task, places, run_orders, running_measure
from tests.learning.online.test_rules import data, made

BITS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12)


@given(BITS, st.sampled_from([0.5, 1.0, 2.0]))
@settings(max_examples=30)
def test_every_prefix_is_measured(pairs, beta):
    z, y = (np.array(column) for column in zip(*pairs, strict=True))
    ends = range(1, len(y) + 1)
    wanted = [fbeta_score(y[:t], z[:t], beta=beta, zero_division=0) for t in ends]
    assert running_measure(z, y, beta=beta) == pytest.approx(wanted)
    wanted = [jaccard_score(y[:t], z[:t], zero_division=0) for t in ends]
    assert running_measure(z, y, "jaccard") == pytest.approx(wanted)


@given(st.integers(1, 1000), st.integers(1, 50))
def test_places_end_with_the_total(total, most):
    found = places(total, most)
    assert len(found) == min(total, most)
    assert found[0] >= 1
    assert found[-1] == total
    assert (np.diff(found) >= max(1, total // len(found))).all()


def streamed(learner, rows, labels, tell=lambda *one: None, **plan):
    """What one copy of a learner reaches; the order is that of the file unless it is shuffled."""
    task = Task(rows, labels, np.unique(labels))
    plan = {"passes": 1, "shuffles": 0, "seed": 0, **plan}
    return run_orders("name", learner, task, task, tell=tell, **plan)


@pytest.mark.parametrize("size", [1, 64, 1000])
@pytest.mark.parametrize(
    ("learner", "measure", "score"),
    [
        (FOFOClassifier(gamma_scale="auto", average="suffix"), "F1", f1_score),
        (FOFOClassifier(measure="jaccard"), "Jaccard", jaccard_score),
        (OnlineLogisticClassifier(beta=2.0), "F2", lambda y, z: fbeta_score(y, z, beta=2)),
    ],
)
def test_streams_are_one_call(learner, measure, score, size, monkeypatch):
    """The values are those of one call with all examples, in whatever pieces they come."""
    rows, bits = data(150)
    labels, whole = np.array(["no", "yes"])[bits], made(learner)
    if hasattr(whole, "horizon"):
        whole.set_params(horizon=150)
    predicted = whole.predict_then_fit(rows, labels)
    monkeypatch.setattr(streaming, "STREAMED_EXAMPLES", size)
    told = []
    found = streamed(made(learner), csr_array(rows), labels, lambda *one: told.append(one))
    assert found.seen.tolist() == list(range(1, 151))
    running = running_measure(predicted == "yes", bits, learner.measure, learner.beta)
    assert found.curves[0] == pytest.approx(running)
    assert found.curves[0, -1] == pytest.approx(whole.score_)
    assert sum(one[0] for one in told) == 150
    assert found.measure == measure
    assert told[-1][1] == f"{measure} {whole.score_:.4f}"
    assert found.tests == pytest.approx([score(bits, whole.predict(rows) == "yes")])
    assert found.speed > 0


def test_passes_are_shuffled_anew():
    """Two passes are one over the two orders, one after the other."""
    rows, labels = data(400)
    found = streamed(OFOClassifier(), rows, labels, passes=2, shuffles=1, seed=3)
    random = np.random.default_rng((3, 0))
    order = np.concatenate([random.permutation(400), random.permutation(400)])
    assert not np.array_equal(order[:400], order[400:])
    once = OFOClassifier()
    predicted = once.predict_then_fit(rows[order], labels[order])
    assert found.seen.tolist() == list(range(4, 801, 4))
    assert found.curves[0] == pytest.approx(running_measure(predicted, labels[order])[3::4])
    assert found.first.weights_ == pytest.approx(once.weights_, rel=1e-9)
