"""Samples of answers: majority, union, intersection, the best sample, and the consensus for F1.

Ten models of bootstrap samples of the training set give ten answers to every test question:

- chunks: conditional random fields (sklearn-crfsuite) of CoNLL-2000, each of as many sentences,
  drawn with repetition from the same few; an answer is the set of chunks of a sentence;
- scene: chains of logistic regressions (``ClassifierChain``), labels in random order, of the
  training images drawn with repetition; an answer is the set of the labels of an image.

Ways to make one answer of ten:

- one sample: the first;
- tags by majority (chunks alone): the most frequent tag of each token;
- union, intersection, majority: what is in any, in all, in more than half of the samples;
- best sample: the one of the greatest mean F1 against all (minimum Bayes risk among samples);
- consensus: ``fsmeu.consensus``, the best of all answers; also with ``smooth=0.3``.

F1 is the mean over test questions, 0/0 being 1, beside that of all chunks or labels together; the
difference to majority has the interval of 95 of 100 bootstrap draws of test questions.

    ./run python experiments/consensus.py [--sentences 300] [--tested 2012] [--quick]

takes three minutes of one processor. The data: ``fetch.py conll2000 scene``. ``--quick`` trains on
40 sentences and tags 40, and takes 200 images.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import numpy as np
from conll2000_crf import SENTENCES, Sentence, drawn, features, read, tags, trained_crf
from data_folder import data_folder, run_script
from natarajan2016 import scene
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain

import fsmeu
from fsmeu.fst.tags import chunks_of

MODELS = 10
SMOOTH = 0.3
DRAWS = 2000
Answer = AbstractSet[Hashable]
Way = Callable[[Sequence[Any]], Answer]


class Counts(NamedTuple):
    """What is counted of one answer."""

    right: int
    found: int
    given: int

    @property
    def fscore(self) -> float:
        """F1, 1 where there is nothing to be found and nothing was."""
        both = self.found + self.given
        return 2 * self.right / both if both else 1.0


def counts(found: Answer, given: Answer) -> Counts:
    """The counts of an answer against another."""
    return Counts(len(found & given), len(found), len(given))


def more_than(share: float) -> Way:
    """The items of more than this share of the samples."""

    def way(samples: Sequence[Answer]) -> Answer:
        times = Counter(item for sample in samples for item in sample)
        return {item for item, count in times.items() if count > share * len(samples)}

    return way


def best_sample(samples: Sequence[Answer]) -> Answer:
    """The sample of the greatest mean F1 against all samples, the first of several."""
    return max(samples, key=lambda z: sum(counts(z, y).fscore for y in samples))


def consensus(name: str, smooth: float | None = None) -> Way:
    """The best of all answers; the loss is loaded once, and keeps what is derived of it."""
    loss = fsmeu.load(name)
    return lambda samples: fsmeu.consensus(samples, loss, smooth=smooth)


def ways(loss: str) -> dict[str, Way]:
    """Every way to make one answer of several, by name."""
    return {
        "one sample": lambda samples: samples[0],
        "union": more_than(0),
        "intersection": more_than(1 - 1 / (2 * MODELS)),
        "majority": more_than(0.5),
        "best sample": best_sample,
        "consensus": consensus(loss),
        f"consensus, smooth={SMOOTH}": consensus(loss, SMOOTH),
    }


def chunk_samples(train: list[Sentence], test: list[Sentence]) -> list[list[list[str]]]:
    """The tags of each test sentence by fields of bootstrap samples, (sentences, fields)."""
    random = np.random.default_rng(0)
    columns = []
    for _ in track(range(MODELS), "training fields", transient=True):
        again = [train[k] for k in random.integers(len(train), size=len(train))]
        columns.append(trained_crf(again).predict([features(one) for one in test]))
    return [list(row) for row in zip(*columns, strict=True)]


def spans(tagged: Sequence[str]) -> frozenset[tuple[int, int, str]]:
    """The chunks of tags as a set."""
    return frozenset(chunks_of(tagged))


def token_majority(samples: Sequence[Sequence[str]]) -> Answer:
    """The chunks of the most frequent tag of each token."""
    return spans([Counter(column).most_common(1)[0][0] for column in zip(*samples, strict=True)])


def scene_samples(images: int) -> tuple[list[list[Answer]], list[Answer]]:
    """Label sets of test images by chains of bootstrap samples, and the true ones."""
    data = scene(data_folder(), 0)
    random = np.random.default_rng(0)
    x: NDArray[np.float64] = data.train
    columns = []
    for seed in track(range(MODELS), "training chains", transient=True):
        rows = random.integers(len(x), size=len(x))
        chain = ClassifierChain(LogisticRegression(max_iter=300), order="random", random_state=seed)
        chain.fit(x[rows], data.train_labels[rows].astype(int))
        columns.append(chain.predict(data.test[:images]) > 0.5)

    def as_sets(table: NDArray[np.bool_]) -> list[Answer]:
        return [frozenset(np.flatnonzero(row).tolist()) for row in table]

    samples = zip(*map(as_sets, columns), strict=True)
    return [list(row) for row in samples], as_sets(data.test_labels[:images])


def interval(differences: NDArray[np.float64]) -> tuple[float, float]:
    """The ends between which 95 of 100 bootstrap means of differences lie."""
    random = np.random.default_rng(0)
    size = len(differences)
    means = [differences[random.integers(size, size=size)].mean() for _ in range(DRAWS)]
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def show(title: str, decided: dict[str, list[Answer]], given: list[Answer], spent: Any) -> None:
    """Prints the table of one task; ``spent`` are seconds of each way."""
    table = Table("way", "F1", "F1 of all", "minus majority", "95%", "ms each", title=title)
    found = {
        way: [counts(z, y) for z, y in zip(answers, given, strict=True)]
        for way, answers in decided.items()
    }
    means = {way: np.array([one.fscore for one in rows]) for way, rows in found.items()}
    for way, rows in found.items():
        whole = Counts(*(sum(column) for column in zip(*rows, strict=True)))
        cells = [way, f"{means[way].mean():.4f}", f"{whole.fscore:.4f}", "", ""]
        if way != "majority":
            difference = means[way] - means["majority"]
            low, high = interval(difference)
            cells[3:] = [f"{difference.mean():+.4f}", f"{low:+.4f} {high:+.4f}"]
        table.add_row(*cells, f"{1000 * spent[way] / len(given):.1f}")
    Console(width=100).print(table)


def run(title: str, samples: list[Any], given: list[Answer], chosen: dict[str, Way]) -> None:
    """Decides in each way, and prints the table."""
    decided: dict[str, list[Answer]] = {}
    spent: dict[str, float] = {}
    for name, way in chosen.items():
        begin = time.process_time()
        decided[name] = [way(one) for one in samples]
        spent[name] = time.process_time() - begin
    show(title, decided, given, spent)


def on_spans(way: Way) -> Way:
    """The way for sets of spans, of samples that are tags."""
    return lambda samples: way([spans(one) for one in samples])


def main() -> None:
    """Trains, samples, decides and prints both tables."""
    parser = argparse.ArgumentParser(description="One answer of ten, in several ways.")
    parser.add_argument(
        "--sentences", type=int, default=SENTENCES, help="sentences that are drawn from"
    )
    parser.add_argument("--tested", type=int, default=2012, help="sentences of the test set")
    parser.add_argument("--quick", action="store_true", help="40 sentences and 200 images")
    given = parser.parse_args()
    if given.quick:
        given.sentences, given.tested = 40, 40
    test = read("test")[: given.tested]
    tagged = chunk_samples(drawn(read("train"), given.sentences), test)
    of_spans = {name: on_spans(way) for name, way in ways("chunk_fscore").items()}
    of_tags: dict[str, Way] = {"tags by majority": token_majority}
    title = f"chunks: {MODELS} fields of {given.sentences} sentences, {len(test):,} tagged"
    run(title, tagged, [spans(tags(one)) for one in test], of_tags | of_spans)
    samples, labels = scene_samples(200 if given.quick else 10_000)
    run(f"scene: {MODELS} chains, {len(labels):,} images", samples, labels, ways("fscore"))


if __name__ == "__main__":
    run_script(main)
