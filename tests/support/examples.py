"""Two classes of examples, and the files that hold them."""

import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file, make_classification

X, Y = make_classification(90, 4, weights=[0.7], flip_y=0.1, random_state=2)
X = np.round(X, 6)


def data(n=300, seed=0, features=5, shift=1.5):
    """Rows and labels 0 and 1 of a logistic model, (n, features) and (n,); a shift makes 1 rare."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, features)) * (random.random((n, features)) < 0.7)
    chances = 1 / (1 + np.exp(-(rows @ random.normal(size=features) * 2 - shift)))
    return rows, (random.random(n) < chances).astype(int)


def as_svmlight(path, rows=X, labels=Y, zero_based=False):
    dump_svmlight_file(rows, labels, str(path), zero_based=zero_based)


def as_csv(path, rows=X, labels=Y, header="a,b,c,d,kind"):
    pairs = zip(rows.tolist(), labels.tolist(), strict=True)
    lines = [",".join(map(str, [*row, label])) for row, label in pairs]
    path.write_text("\n".join([header, *lines] if header else lines) + "\n")


def as_npz(path, rows=X, labels=Y):
    np.savez(path, X=rows, y=labels)


def as_sparse(path, rows=X, labels=Y):
    held = csr_array(rows)
    parts = {"data": held.data, "indices": held.indices, "indptr": held.indptr}
    np.savez(path, shape=held.shape, y=labels, **parts)


WRITERS = {"svm": as_svmlight, "csv": as_csv, "npz": as_npz, "sparse.npz": as_sparse}
