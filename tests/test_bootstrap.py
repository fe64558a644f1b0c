"""Bootstrap intervals against scipy's, from the same draws."""

import numpy as np
import pytest
from scipy import stats

from fsmeu import bootstrap
from fsmeu.bootstrap import drawn_weights, estimate


@pytest.mark.parametrize("cells", [1 << 22, 50, 1])
def test_means_and_ratios(monkeypatch, cells):
    """Whether all corpora are drawn at once or one by one; a pair of samples is drawn together."""
    monkeypatch.setattr(bootstrap, "_DRAWN_CELLS", cells)
    rng = np.random.default_rng(1)
    tp, whole = rng.integers(0, 4, 23), rng.integers(4, 9, 23)
    weights = np.concatenate(list(drawn_weights(23, 200, seed=5)))
    assert (weights.sum(axis=1) == 23).all()

    def ratio(a, b, axis=-1):
        return a.sum(axis) / b.sum(axis)

    theirs = stats.bootstrap(
        (tp, whole), ratio, paired=True, vectorized=True, n_resamples=200, batch=1,
        method="percentile", rng=np.random.default_rng(5),
    )  # fmt: skip
    ours = estimate(tp.sum() / whole.sum(), weights @ tp / (weights @ whole))
    np.testing.assert_allclose((ours.low, ours.high), tuple(theirs.confidence_interval), rtol=1e-12)


def test_nothing_drawn():
    assert list(drawn_weights(3, 0, seed=0)) == []
    assert estimate(0.5, np.zeros(0)).low is None
