"""The script of the tagger's experiment runs, and counts chunks as seqeval does."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "notebooks" / "conll2000_tagger.py"


def test_chunks_are_counted_as_seqeval_counts_them(load):
    metrics = pytest.importorskip("seqeval.metrics")
    tags, random = ["O", "B-NP", "I-NP", "B-VP", "I-VP"], np.random.default_rng(7)
    z, y = ([[tags[k] for k in random.integers(0, 5, 8)] for _ in range(20)] for _ in range(2))
    assert load("conll2000_tagger").chunk_fscore(z, y) == pytest.approx(
        metrics.f1_score(y, z), rel=1e-12
    )


@pytest.mark.nightly
def test_the_quick_run(conll2000):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--quick"], capture_output=True, text=True, check=True
    )
    for way in ("likelihood + Viterbi", "likelihood + MEU", "expected F1 + MEU"):
        assert way in done.stdout
