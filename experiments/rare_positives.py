"""Data sets with few positive examples, of the kind of Jansche 2005, section 7.

``fetch.py ijcnn1 covtype a9a`` fetches them. The paper's own data (3,535 and 408 sentences of
broadcast news, 28 features, about a quarter of them positive) were never published.
"""

from __future__ import annotations

import lzma
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from data_folder import data_file
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import StandardScaler

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]

ROOT = Path(__file__).resolve().parent.parent


def svmlight(name: str, features: int) -> tuple[Floats, Truths]:
    """Examples, (examples, features), and which are positive, of a file of -1 and +1."""
    rows, labels = load_svmlight_file(str(data_file(name)), n_features=features)
    return rows.toarray(), labels > 0


def covtype(kind: int) -> tuple[Floats, Truths]:
    """A fixed sample of 40,000 examples of covtype, (40000, 54), and which are of the class."""
    with lzma.open(data_file("covtype/covtype_cols.i16le.xz")) as file:
        columns = np.frombuffer(file.read(), "<i2").reshape(13, -1)
    sample = np.random.default_rng(0).permutation(columns.shape[1])[:40_000]
    columns = columns[:, sample].astype(np.int64)
    areas, soils = np.eye(4)[columns[10] - 1], np.eye(40)[columns[11] - 1]
    return np.hstack([columns[:10].T, areas, soils]), columns[12] == kind


TASKS: dict[str, Callable[[], tuple[Floats, Truths]]] = {
    "ijcnn1": partial(svmlight, "ijcnn1/ijcnn1.trn.bz2", 22),
    "covtype 6": partial(covtype, 6),
    "covtype 5": partial(covtype, 5),
    "w8a": partial(svmlight, "w8a/w8a.gz", 300),
    "a9a": partial(svmlight, "a9a/a9a.gz", 123),
}


def split(rows: Floats, positive: Truths, train: int, test: int, seed: int) -> Any:
    """Training rows and classes, test rows and classes: disjoint random examples, standardised."""
    order = np.random.default_rng(seed).permutation(len(rows))
    first, second = order[:train], order[train : train + test]
    scaler = StandardScaler().fit(rows[first])
    given, held = scaler.transform(rows[first]), scaler.transform(rows[second])
    return given, positive[first], held, positive[second]
