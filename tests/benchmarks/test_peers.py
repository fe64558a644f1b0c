"""Best F1 of rows of independent labels beside others: the same decisions, and their times.

GFM and xCOLUMNs are no part of the environment; docs/peers.md says how to have them in a folder.
"""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import fsmeu
from tests.benchmarks import ye2012
from tests.benchmarks.measure import compare, record

F1 = fsmeu.load("fscore")
SIZES = {6: 10_000, 100: 2_000, 300: 600, 1000: 200}  # rows, by their number of labels
FEW = {6: 2_000, 100: 200, 300: 30, 1000: 10}  # rows where the other needs long


@pytest.fixture(autouse=True)
def one_thread():
    """One thread of linear algebra, which GFM is made of: processor time adds up all of them."""
    with threadpool_limits(1):
        yield


def rows_of(n, count):
    return np.random.default_rng(2).beta(0.5, 1, (count, n))


def labels_of(decisions):
    """Labels of decisions, all of which are proven, (rows, n)."""
    assert all(d.exact for d in decisions)
    return np.array([d.labels for d in decisions])


def decided_together(rows):
    return labels_of(fsmeu.decode_many(F1, rows))


def decided_one_by_one(rows):
    return labels_of([fsmeu.decode(F1, p) for p in rows])


def beside(name, theirs, rows):
    """Rows of the table: the time of 1,000 rows by the other, and by either function of fsmeu."""
    count, n = rows.shape
    for ours in (decided_together, decided_one_by_one):
        function = "decode_many" if ours is decided_together else "decode"
        theirs(rows), ours(rows)
        times = compare(lambda: theirs(rows), lambda ours=ours: ours(rows))
        title = f"best F1, 1,000 rows of {n:,} labels: {name} | {function}"
        record(title, times[0] * 1000 / count, times[1] * 1000 / count)


@pytest.mark.parametrize("n", SIZES)
def test_ye_2012(n):
    rows = rows_of(n, SIZES[n])
    decisions = fsmeu.decode_many(F1, rows)
    labels, values = ye2012.best_fscore(rows)
    np.testing.assert_array_equal(labels_of(decisions), labels)
    np.testing.assert_allclose([d.value for d in decisions], values, rtol=1e-12)
    beside("Ye et al. 2012, compiled", ye2012.best_fscore, rows)


@pytest.mark.parametrize("n", SIZES)
def test_gfm(n):
    peer = pytest.importorskip("example_wise_f1_maximizer.meta_estimator")
    weights = peer.create_gfm_weight_matrix(n)

    def gfm(rows):
        labels = np.zeros(rows.shape, np.int64)
        for row, p in zip(labels, rows, strict=True):
            row[peer.gfm(*ye2012.joint_table(p), weights).astype(np.int64)] = 1
        return labels

    rows = rows_of(n, FEW[n])
    np.testing.assert_array_equal(decided_together(rows), gfm(rows))
    beside("GFM", gfm, rows)


@pytest.mark.parametrize("n", SIZES)
def test_xcolumns(n):
    """F1 of expected counts, the label-wise measure: a row is a column, without a budget."""
    peer = pytest.importorskip("xcolumns.block_coordinate")

    def ascended(rows):
        columns = np.ascontiguousarray(rows.T)
        return peer.predict_optimizing_macro_f1_score_using_bc(columns, k=0, seed=1).T

    rows = rows_of(n, SIZES[n])
    best = fsmeu.decode_many(F1, rows)
    found = ascended(rows).astype(np.int64)
    values = [fsmeu.expect(F1, z, p).value for z, p in zip(found, rows, strict=True)]
    lost = np.array([d.value for d in best]) - values
    same = np.mean((found == labels_of(best)).all(axis=1))
    assert (lost >= -1e-12).all()
    print(f"xCOLUMNs, {n:,} labels: {same:.1%} the same, {lost.mean():.1e} of F1 lost in the mean")
    beside("xCOLUMNs", ascended, rows)
