"""Text segmentation on Choi's documents: WindowDiff by a threshold and by the best expectation.

A document is a sequence of gaps between sentences, and a gap is a boundary (1) or not (0). A linear
-chain conditional random field (sklearn-crfsuite) is trained on the 400 documents of sets 1 and 2;
its features are cosines of the words before and after a gap. The 300 documents of set 3 are cut by

- marginal: a boundary where its probability is at least 1/2;
- Viterbi: the most probable sequence;
- tuned: a boundary where its probability is at least the threshold that has the least WindowDiff on
  the training documents;
- MEU: the boundaries of the least expected WindowDiff, ``fsmeu.decode``, proven to be the best.

WindowDiff counts windows of k gaps, k half the mean segment of the training documents; less is
better. Both sets draw from the same texts (the Brown corpus), so the figures say how decisions
compare, not how well new texts are cut.

    ./run python notebooks/segmentation.py [--quick]

takes two minutes of one processor. The data are found through FSMEU_DATA, or in ../shared/data
beside the project. ``--quick`` trains on 20 documents and cuts 20.
"""

from __future__ import annotations

import argparse
import io
import lzma
import re
import tarfile
from collections import Counter
from typing import Any

import numpy as np
from data_folder import data_file
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import fsmeu
from fsmeu.bootstrap import drawn_weights, percentiles

Floats = NDArray[np.float64]
Document = tuple[list[Counter[str]], list[str]]

WIDTHS = (1, 2, 4, 8)
"""Sentences on each side of a gap whose words are compared."""
DRAWS = 1000
SEED = 0


def documents(sets: str) -> list[Document]:
    """The words of each sentence and the label of each gap, of the documents of some sets."""
    data = lzma.decompress(data_file("choi/choi.tar.xz").read_bytes())
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        names = sorted(
            name for name in archive.getnames() if re.fullmatch(rf"[{sets}]/.*\.ref", name)
        )
        texts = [archive.extractfile(name).read().decode("latin-1") for name in names]  # type: ignore[union-attr]
    return [document(text) for text in texts]


def document(text: str) -> Document:
    """The words of each sentence and the label of each gap, of one document."""
    segments = [part.strip().splitlines() for part in re.split(r"^=+$", text, flags=re.MULTILINE)]
    segments = [[line for line in lines if line.strip()] for lines in segments if "".join(lines)]
    words = [Counter(re.findall(r"[a-z]+", line.lower())) for lines in segments for line in lines]
    labels = ["01"[k == 0] for lines in segments for k in range(len(lines))][1:]
    return words, labels


def rarity(train: list[Document]) -> dict[str, float]:
    """The logarithm of the inverse share of sentences that hold a word."""
    sentences = [one for words, _ in train for one in words]
    held = Counter(word for one in sentences for word in one)
    return {word: float(np.log(len(sentences) / count)) for word, count in held.items()}


def cosine(left: list[Counter[str]], right: list[Counter[str]], weights: dict[str, float]) -> float:
    """The cosine of the weighted words of two runs of sentences."""
    one, two = (sum(side, Counter()) for side in (left, right))
    unseen = max(weights.values())
    squares = {w: weights.get(w, unseen) ** 2 for w in {*one, *two}}
    norms = [np.sqrt(sum(c * c * squares[w] for w, c in side.items())) for side in (one, two)]
    return float(sum(one[w] * two[w] * squares[w] for w in one) / (norms[0] * norms[1] or 1))


def features(words: list[Counter[str]], weights: dict[str, float]) -> list[dict[str, float]]:
    """The cosines at each gap, and how far each is below those of the gaps beside it."""
    gaps = range(1, len(words))
    table: dict[str, Floats] = {}
    for width in WIDTHS:
        near = np.array(
            [cosine(words[max(0, g - width) : g], words[g : g + width], weights) for g in gaps]
        )
        padded = np.pad(near, 2, mode="edge")
        table[f"cosine{width}"] = 10 * near
        for away in (1, 2):
            table[f"depth{width},{-away}"] = 10 * (padded[2 - away : -2 - away] - near)
            table[f"depth{width},{away}"] = 10 * (padded[2 + away : len(padded) - 2 + away] - near)
    return [{name: float(column[k]) for name, column in table.items()} for k in range(len(gaps))]


def models(train: list[Document], tested: list[Document]) -> list[list[fsmeu.models.Model]]:
    """The distributions of a field over the labels of each document of both lists."""
    from sklearn_crfsuite import CRF

    weights = rarity(train)
    seen, new = ([features(words, weights) for words, _ in docs] for docs in (train, tested))
    field = CRF(algorithm="lbfgs", c2=0.1, max_iterations=200, all_possible_transitions=True)
    field.fit(seen, [labels for _, labels in train])
    return [[fsmeu.models.from_crfsuite(field, one) for one in docs] for docs in (seen, new)]


def boundary_probabilities(model: fsmeu.models.Model) -> Floats:
    """P(boundary) at each gap, (gaps,)."""
    return np.asarray(model.marginals())[:, list(model.labels).index("1")]


def cut(probabilities: Floats, threshold: float) -> list[str]:
    """The labels of a threshold."""
    return [str(int(p >= threshold)) for p in probabilities]


def half_mean_segment(docs: list[Document]) -> int:
    """Half the mean number of sentences of a segment, rounded."""
    sentences = sum(len(words) for words, _ in docs)
    segments = sum(labels.count("1") + 1 for _, labels in docs)
    return max(1, round(sentences / segments / 2))


def main() -> None:
    """Trains, cuts and prints the table."""
    parser = argparse.ArgumentParser(description="Segmentation by the least expected WindowDiff.")
    parser.add_argument("--quick", action="store_true", help="20 documents each")
    most = 20 if parser.parse_args().quick else None
    train, tested = documents("12")[:most], documents("3")[:most]
    loss = fsmeu.load("windowdiff", k=half_mean_segment(train), labels=["0", "1"])
    seen, new = models(train, tested)
    fitted = [boundary_probabilities(m) for m in seen]
    golds = [labels for _, labels in train]

    def risk(threshold: float) -> float:
        return float(np.mean(fsmeu.evaluate_many(loss, [cut(p, threshold) for p in fitted], golds)))

    tuned = min(np.linspace(0.05, 0.95, 37), key=risk)
    probabilities = [boundary_probabilities(m) for m in new]
    decisions = fsmeu.decode_many(loss, new)
    ways = {
        "marginal": [cut(p, 0.5) for p in probabilities],
        "Viterbi": [m.most_probable(1)[0][0] for m in new],
        f"tuned ({tuned:.3f})": [cut(p, tuned) for p in probabilities],
        "MEU": [one.labels for one in decisions],
    }
    show(loss, ways, [labels for _, labels in tested])
    print(f"Proven best: {sum(d.exact for d in decisions)} of {len(decisions)} documents.")


def show(loss: Any, ways: dict[str, list[Any]], golds: list[list[str]]) -> None:
    """Prints the mean of each way, with the interval of its difference to MEU."""
    scores = {name: np.array(fsmeu.evaluate_many(loss, zs, golds)) for name, zs in ways.items()}
    drawn = np.concatenate(list(drawn_weights(len(golds), DRAWS, SEED))) / len(golds)
    title = f"WindowDiff, k = {loss.params['k']:.0f}, {len(golds)} documents"
    table = Table("decision", "WindowDiff", "MEU is less by", "boundaries", title=title)
    for name, values in scores.items():
        more = values - scores["MEU"]
        low, high = percentiles(drawn @ more)
        gain = "" if name == "MEU" else f"{more.mean():.4f} ({low:.4f} to {high:.4f})"
        boundaries = sum(list(z).count("1") for z in ways[name])
        table.add_row(name, f"{values.mean():.4f}", gain, str(boundaries))
    given = sum(labels.count("1") for labels in golds)
    table.caption = f"{given} boundaries are given; intervals hold 95 of 100 bootstrap draws"
    Console(width=90).print(table)


if __name__ == "__main__":
    main()
