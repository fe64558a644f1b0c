"""Real texts cut with label models of Markov order 0, 1 and 2, for Pk and WindowDiff.

A text is a sequence of gaps between sentences (or paragraphs, or lines); a gap is a boundary (1) or
not (0). A logistic regression sees features of the gap and the last m labels, one indicator for
each combination: P(y_t | x, y_{t-m}, ..., y_{t-1}). Its probabilities along a text are a Markov
chain of order m. Two collections:

- Choi's documents (openings of texts of the Brown corpus, glued together), for segments of 3 to 5,
  6 to 8, 9 to 11 and 3 to 11 sentences. Features: how similar the words on both sides of a gap are
  (cosines of the nearest 1, 2, 4 and 8 sentences, and of the gap before and after). Set 1 is
  trained on, set 2 is cut.
- Ten texts that several people have cut (eight chapters of The Moonstone, an article on astronomy,
  Kubla Khan), 56 segmentations in all. Each is the reference once; features are the shares of the
  text's other annotators who have a boundary at the gap, the gaps beside it, and anywhere. The
  other nine texts are trained on. Beside the three orders, the list of the other annotators'
  segmentations is a model by itself ("list"), which remembers everything.

Decisions:

- 0.5: a boundary where its marginal probability is at least 1/2;
- tuned: the same with the threshold of the least loss on the training texts;
- Viterbi: the most probable sequence (of the list, one of the equally probable ones);
- MEU: the least expected loss, ``fsmeu.decode_many``, which is proven to be the best.

k is half of the mean segment of the training texts.

Seen: MEU is below 0.5 and Viterbi in all 24 rows of Choi's documents. Order 1 is better than order
0 in all eight comparisons, order 2 than order 1 in five (bootstrap intervals without 0), none of
them with segments of 3 to 5: for WindowDiff .2381, .1718, .1820 there, .3072, .2473, .2251 for 3 to
11. Thresholds see marginals only, which hardly change. With order 0 a tuned threshold does as well
as MEU, or better (Pk, 9 to 11: .2117 against .2532): there the model is wrong, and tuning does not
believe it. On annotated texts the order makes no difference beyond chance (.3650, .3573, .3557);
with the list MEU has .3355 and beats the other three decisions.

    ./run python experiments/choi_orders.py

takes a minute of one processor. The data: ``fetch.py choi textseg_multi``. What was found goes to
experiments/results/choi_orders.json, which the notebook 12_markov_order draws.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
from data_folder import data_file, run_script
from numpy.typing import NDArray
from result_files import save
from sklearn.linear_model import LogisticRegression

import fsmeu

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Document = tuple[Floats, Ints]

WIDTHS = (1, 2, 4, 8)
RANGES = ("3-5", "6-8", "9-11", "3-11")
ORDERS = (0, 1, 2)
WAYS = ("0.5", "tuned", "Viterbi", "MEU")
LOSSES = ("pk", "windowdiff")
ANNOTATED = ("kazantseva2012_g2", "kazantseva2012_g5", "hearst1997_stargazer")
ANNOTATED += ("kubla_khan_fournier2013",)


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


def measured(
    train: list[Document], test: list[Document], name: str, order: int
) -> dict[str, Floats]:
    """The losses of the test documents by decision with a chain of that order, (documents,)."""
    fitted = trained(train, order)
    own, models = ([chain(fitted, x, order) for x, _ in part] for part in (train, test))
    return decided(name, own, models, train, test)


def decided(
    name: str, own: list[Any], models: list[Any], train: list[Document], test: list[Document]
) -> dict[str, Floats]:
    """The losses of the test documents by decision, (documents,).

    Args:
        name: of the loss.
        own: label models of the training documents, on which the threshold is tuned.
        models: label models of the test documents.
        train: training documents.
        test: test documents.
    """
    sizes = [(len(y) + 1) / (y.sum() + 1) for _, y in train]
    loss = fsmeu.load(name, k=max(2, round(float(np.mean(sizes)) / 2)))
    before, marginals = ([m.marginals()[:, 1] for m in part] for part in (own, models))
    grid = np.linspace(0.05, 0.95, 37)
    tuned = min(grid, key=lambda t: values(loss, [m >= t for m in before], train).mean())
    best = fsmeu.decode_many(loss, models)
    assert all(one.exact for one in best)
    guesses = {
        "0.5": [m >= 0.5 for m in marginals],
        "tuned": [m >= tuned for m in marginals],
        "Viterbi": [m.most_probable(1)[0][0] for m in models],
        "MEU": [one.labels for one in best],
    }
    return {way: values(loss, guess, test) for way, guess in guesses.items()}


# -- texts that several people have cut -----------------------------------------------------------


def annotated() -> dict[str, list[Ints]]:
    """The segmentations of each text as boundaries, (annotators, gaps)."""
    found = {}
    for file in ANNOTATED:
        body = json.loads(data_file(f"textseg_multi/{file}.json").read_text(encoding="utf-8"))
        for text, coders in body["items"].items():
            found[f"{file}, {text}"] = [boundaries(sizes) for sizes in coders.values()]
    return found


def boundaries(sizes: list[int]) -> Ints:
    """1 at the gaps where segments of these sizes end, (gaps,)."""
    labels = np.zeros(sum(sizes) - 1, np.int64)
    labels[np.cumsum(sizes)[:-1] - 1] = 1
    return labels


def by_votes(cuts: list[Ints]) -> list[tuple[Document, Any]]:
    """Of each annotator: votes of the others as features, (gaps, 4), with labels; their list."""
    found = []
    for k, labels in enumerate(cuts):
        others = [one for j, one in enumerate(cuts) if j != k]
        share = np.mean(others, axis=0)
        around = np.pad(share, 1)
        rows = np.stack([share, around[:-2], around[2:], np.full(len(share), share.mean())], axis=1)
        listed = fsmeu.models.NBest([one.tolist() for one in others], [1.0] * len(others))
        found.append(((rows, labels), listed))
    return found


def left_out(name: str) -> list[tuple[int | str, dict[str, Floats]]]:
    """By order, and for the list: the losses of all segmentations, each text left out once."""
    texts = [by_votes(cuts) for cuts in annotated().values()]
    parts: dict[int | str, list[dict[str, Floats]]] = {}
    for k, text in enumerate(texts):
        rest = [one for j, other in enumerate(texts) if j != k for one in other]
        train, own = map(list, zip(*rest, strict=True))
        test, models = map(list, zip(*text, strict=True))
        for order in ORDERS:
            parts.setdefault(order, []).append(measured(train, test, name, order))
        parts.setdefault("list", []).append(decided(name, own, models, train, test))
    return [
        (order, {way: np.concatenate([one[way] for one in found]) for way in WAYS})
        for order, found in parts.items()
    ]


def main() -> None:
    """Runs the experiment."""
    rows: list[list[Any]] = []
    for span in RANGES:
        train, test = documents(f"1/{span}/"), documents(f"2/{span}/")
        for name in LOSSES:
            rows += [[span, name, order, measured(train, test, name, order)] for order in ORDERS]
    for name in LOSSES:
        rows += [["annotated", name, *one] for one in left_out(name)]
    for span, name, order, found in rows:
        print(span, name, order, {way: f"{v.mean():.4f}" for way, v in found.items()})
    print("what was found:", save("choi_orders", rows, 5))


if __name__ == "__main__":
    run_script(main)
