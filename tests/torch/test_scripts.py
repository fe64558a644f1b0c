"""The scripts that train networks: their parts against enumeration and others, and quick runs."""

import itertools
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from tests.experiments.conftest import FOLDER, needs, ran
from tests.torch.support import torch

sys.path.append(str(FOLDER))
import chunk_network
import multi_label_network


def test_likelihood_and_best_tags_are_those_of_enumeration():
    """Of three sentences of 4, 3 and 1 tokens."""
    random = torch.Generator().manual_seed(1)
    emissions = torch.randn(3, 4, 3, generator=random, dtype=torch.float64)
    transitions = torch.randn(3, 3, generator=random, dtype=torch.float64)
    tags = torch.randint(0, 3, (3, 4), generator=random)
    mask = torch.arange(4) < torch.tensor([4, 3, 1])[:, None]
    logs = chunk_network.log_likelihood(emissions, transitions, tags, mask)
    best = chunk_network.viterbi(emissions, transitions, mask)
    for row, n in enumerate(mask.sum(1).tolist()):
        scores = {
            z: sum(float(emissions[row, i, k]) for i, k in enumerate(z))
            + sum(float(transitions[a, b]) for a, b in itertools.pairwise(z))
            for z in itertools.product(range(3), repeat=n)
        }
        whole = np.logaddexp.reduce(list(scores.values()))
        given = tuple(tags[row, :n].tolist())
        assert float(logs[row]) == pytest.approx(scores[given] - whole, abs=1e-12)
        assert tuple(best[row, :n].tolist()) == max(scores, key=scores.get)


def test_scores_of_rows_are_those_of_sklearn():
    random = np.random.default_rng(3)
    z = random.integers(0, 2, (200, 4))
    y = random.integers(0, 2, (200, 4))
    found = multi_label_network.row_scores(torch.from_numpy(z), torch.from_numpy(y))
    assert found.mean() == pytest.approx(f1_score(y, z, average="samples", zero_division=1))
    p = torch.from_numpy(random.random((200, 4)))
    threshold = multi_label_network.tuned_threshold(p, torch.from_numpy(y))
    best = f1_score(y, p.numpy() >= threshold, average="samples", zero_division=1)
    for other in (0.0, 0.2, 0.5, 0.9):
        assert best >= f1_score(y, p.numpy() >= other, average="samples", zero_division=1) - 0.002


def test_calibration_is_that_of_a_logistic_regression():
    random = np.random.default_rng(2)
    logits = random.normal(size=(300, 3))
    labels = random.random((300, 3)) < 1 / (1 + np.exp(1 - 0.5 * logits))
    found = multi_label_network.calibrated(
        torch.from_numpy(logits).float(), torch.from_numpy(labels.astype(int))
    )
    wanted = LogisticRegression(C=1e9).fit(logits.reshape(-1, 1), labels.ravel())
    assert found.tolist() == pytest.approx([wanted.coef_[0, 0], wanted.intercept_[0]], abs=1e-3)


def test_soft_and_exact_expected_f1():
    """Both are F1 where the network is sure; between, the exact one is the mean over all labels."""
    logits = torch.tensor([[0.3, -1.0, 2.0]])
    rows = multi_label_network.Rows(logits, torch.tensor([[1, 0, 1]]))
    objectives = multi_label_network.Objectives(rows)
    p = torch.sigmoid(logits)[0].tolist()
    value = 0.0
    for z in itertools.product((0, 1), repeat=3):
        share = np.prod([q if one else 1 - q for q, one in zip(p, z, strict=True)])
        value += share * 2 * (z[0] + z[2]) / (sum(z) + 2)
    soft = 2 * (p[0] + p[2]) / (sum(p) + 2)
    for name, wanted in (("soft F1", 1 - soft), ("expected F1", 1 - value)):
        sure = objectives.value(name, 60.0 * logits.sign(), torch.tensor([0]))
        assert float(sure) == pytest.approx(0.0, abs=1e-12)
        found = objectives.value(name, logits, torch.tensor([0]))
        assert float(found) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.nightly
def test_quick_run_of_the_chunk_network(tmp_path):
    needs("conll2000/train.txt.gz", "conll2000/test.txt.gz")
    data = str(tmp_path / "data")
    runs = str(tmp_path / "runs")
    few = ("--sizes", "30", "--seeds", "1", "--workers", "1", "--scale", "0.03")
    ran("chunk_network.py", "prepare", "--out", data)
    ran("chunk_network.py", "train", "--data", data, "--out", runs, *few)
    told, _ = ran("chunk_network.py", "table", "--data", data, "--runs", runs, "--tested", "20")
    for way in chunk_network.WAYS:
        assert way in told


@pytest.mark.nightly
def test_quick_run_of_the_multi_label_network():
    needs("scene/scene_train.csv.gz", "scene/scene_test.csv.gz")
    told, _ = ran("multi_label_network.py", "--quick")
    assert all(told.count(name) >= 3 for name in multi_label_network.OBJECTIVES)
