"""Quick runs of the scripts that train networks; they need PyTorch, and data."""

import sys

import pytest

from tests.experiments.conftest import FOLDER, needs, ran
from tests.torch.support import torch  # noqa: F401

sys.path.append(str(FOLDER))
import chunk_network
import multi_label_network


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
