"""Choi's documents cut with label models of Markov order 0, 1 and 2, for Pk and WindowDiff.

A document is a sequence of gaps between sentences; a gap is a boundary (1) or not (0). A logistic
regression sees how similar the words on both sides of a gap are (cosines of the nearest 1, 2, 4 and
8 sentences, and of the gap before and after) and the last m labels, one indicator for each
combination: P(y_t | x, y_{t-m}, ..., y_{t-1}). Its probabilities along a document are a Markov
chain of order m. It is trained on set 1 and cuts set 2, for segments of 3 to 5 and of 3 to 11
sentences. Decisions:

- 0.5: a boundary where its marginal probability is at least 1/2;
- tuned: the same with the threshold of the least loss on the training documents;
- Viterbi: the most probable sequence;
- MEU: the least expected loss, ``fsmeu.decode_many``, which is proven to be the best.

k is half of the mean segment of the training documents.

    ./run python notebooks/choi_orders.py

takes a few minutes of one processor. The data are found through FSMEU_DATA, or in ../shared/data
beside the project. What was found goes to notebooks/results/choi_orders.json, which the notebook
11_markov_order draws.
"""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
from data_folder import data_file
from numpy.typing import NDArray
from result_files import save
from sklearn.linear_model import LogisticRegression

import fsmeu

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Document = tuple[Floats, Ints]

WIDTHS = (1, 2, 4, 8)
RANGES = ("3-5", "3-11")
ORDERS = (0, 1, 2)
WAYS = ("0.5", "tuned", "Viterbi", "MEU")


def documents(folder: str, most: int | None = None) -> list[Document]:
    """Features of the gaps of each document, (gaps, 12), and its boundaries, (gaps,)."""
    made, texts = [], {}
    with tarfile.open(data_file("choi/choi.tar.xz")) as archive:
        for one in archive:
            if one.isfile() and one.name.startswith(folder):
                held: Any = archive.extractfile(one)
                texts[one.name] = held.read().decode("latin-1")
    for _, text in sorted(texts.items())[:most]:
        parts = text.split("==========")
        segments = [[line for line in part.splitlines() if line.strip()] for part in parts]
        segments = [one for one in segments if one]
        sentences = [line for one in segments for line in one]
        ends = np.cumsum([len(one) for one in segments])[:-1] - 1
        labels = np.zeros(len(sentences) - 1, np.int64)
        labels[ends] = 1
        made.append((features(sentences), labels))
    return made


def features(sentences: list[str]) -> Floats:
    """Cosines of the words before and after each gap, and of its neighbours, (gaps, 12)."""
    bags = [Counter(w for w in re.findall(r"[a-z]+", s.lower()) if len(w) > 3) for s in sentences]
    rows = np.array(
        [[_cosine(bags, gap, width) for width in WIDTHS] for gap in range(len(bags) - 1)]
    )
    before, after = np.vstack([rows[:1], rows[:-1]]), np.vstack([rows[1:], rows[-1:]])
    return np.hstack([rows, rows - before, rows - after])


def _cosine(bags: list[Counter[str]], gap: int, width: int) -> float:
    left = sum(bags[max(0, gap + 1 - width) : gap + 1], Counter[str]())
    right = sum(bags[gap + 1 : gap + 1 + width], Counter[str]())
    above = sum(count * right[word] for word, count in left.items())
    below = sum(c * c for c in left.values()) * sum(c * c for c in right.values())
    return float(above / np.sqrt(below)) if below else 0.0


def with_past(rows: Floats, past: Ints, order: int) -> Floats:
    """Features beside one indicator for each combination of the last labels."""
    number = sum(past[:, k] << k for k in range(order)) if order else np.zeros(len(rows), np.int64)
    return np.hstack([rows, np.eye(2**order)[number]])


def trained(given: list[Document], order: int) -> LogisticRegression:
    """P(label | features, last labels); before the first gap there are none."""
    rows, labels = [], []
    for x, y in given:
        padded = np.concatenate([np.zeros(order, np.int64), y])
        past = np.array([padded[t : t + order] for t in range(len(y))]).reshape(len(y), order)
        rows.append(with_past(x, past, order))
        labels.append(y)
    return LogisticRegression(C=1.0, max_iter=1000).fit(np.vstack(rows), np.concatenate(labels))


def chain(fitted: LogisticRegression, x: Floats, order: int) -> Any:
    """The label model of a document."""
    tables = np.zeros((len(x), *(2,) * (order + 1)))
    for past in product((0, 1), repeat=order):
        held = np.tile(np.array(past, np.int64), (len(x), 1)).reshape(len(x), order)
        tables[(slice(None), *past)] = fitted.predict_proba(with_past(x, held, order))
    if order == 0:
        return fsmeu.models.Bernoulli(tables[:, 1])
    first = tables[(0, *(0,) * order)]
    for t in range(1, order):  # the joint distribution of the first labels
        steps = np.array([tables[(t, *(0,) * (order - t), *p)] for p in product((0, 1), repeat=t)])
        first = first[..., None] * steps.reshape(*(2,) * t, 2)
    return fsmeu.models.Markov(first, tables[order:])


def values(loss: Any, guesses: list[Any], given: list[Document]) -> Floats:
    """The loss of each document, (documents,)."""
    pairs = zip(guesses, given, strict=True)
    return np.array([loss([int(b) for b in guess], y.tolist()) for guess, (_, y) in pairs])


def measured(train: list[Document], test: list[Document], name: str, order: int) -> dict[str, Any]:
    """The losses of the test documents by decision, and what the model expects of MEU."""
    sizes = [(len(y) + 1) / (y.sum() + 1) for _, y in train]
    loss = fsmeu.load(name, k=max(2, round(float(np.mean(sizes)) / 2)))
    fitted = trained(train, order)
    own, models = ([chain(fitted, x, order) for x, _ in part] for part in (train, test))
    before, marginals = ([m.marginals()[:, 1] for m in part] for part in (own, models))
    grid = np.linspace(0.05, 0.95, 37)
    tuned = min(grid, key=lambda t: values(loss, [m >= t for m in before], train).mean())
    decided = fsmeu.decode_many(loss, models)
    assert all(one.exact for one in decided)
    guesses = {
        "0.5": [m >= 0.5 for m in marginals],
        "tuned": [m >= tuned for m in marginals],
        "Viterbi": [m.most_probable(1)[0][0] for m in models],
        "MEU": [one.labels for one in decided],
    }
    return {way: values(loss, guess, test) for way, guess in guesses.items()}


def main() -> None:
    """Runs the experiment."""
    rows = []
    for span in RANGES:
        train, test = documents(f"1/{span}/"), documents(f"2/{span}/")
        for name in ("pk", "windowdiff"):
            for order in ORDERS:
                found = measured(train, test, name, order)
                rows.append([span, name, order, found])
                print(span, name, order, {way: f"{v.mean():.4f}" for way, v in found.items()})
    print("what was found:", save("choi_orders", rows, 5))


if __name__ == "__main__":
    main()
