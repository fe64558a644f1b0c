"""The script of the tagger's experiment runs, and counts chunks as seqeval does."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fsmeu.data_folder import data_folder

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "notebooks" / "conll2000_tagger.py"


def script():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("conll2000_tagger", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_chunks_are_counted_as_seqeval_counts_them():
    metrics = pytest.importorskip("seqeval.metrics")
    tags, random = ["O", "B-NP", "I-NP", "B-VP", "I-VP"], np.random.default_rng(7)
    z, y = ([[tags[k] for k in random.integers(0, 5, 8)] for _ in range(20)] for _ in range(2))
    assert script().chunk_fscore(z, y) == pytest.approx(metrics.f1_score(y, z), rel=1e-12)


def test_the_quick_run():
    if not (data_folder() / "conll2000" / "train.txt.gz").is_file():
        pytest.skip("CoNLL-2000 is not there: set FSMEU_DATA to the folder that holds conll2000")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--quick"], capture_output=True, text=True, check=True
    )
    for way in ("likelihood + Viterbi", "likelihood + MEU", "expected F1 + MEU"):
        assert way in done.stdout
