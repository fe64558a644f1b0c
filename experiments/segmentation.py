"""Text segmentation on Choi's documents: Pk and WindowDiff by thresholds and the best expectation.

A document is a sequence of gaps between sentences, and a gap is a boundary (1) or not (0). A chain
conditional random field (sklearn-crfsuite) is trained on the 400 documents of sets 1 and 2; its
features are those of ``choi_orders.py``, cosines of the words around a gap. The 300 documents of
set 3 are cut by

- marginal: a boundary where its probability is at least 1/2;
- Viterbi: the most probable sequence;
- tuned: a boundary where its probability is at least the threshold that has the least loss on the
  training documents;
- MEU: the boundaries of the least expected loss, ``fsmeu.decode``, proven to be the best.

Both losses count windows of k gaps, k half the mean segment of the training documents; less is
better. Both sets draw from the same texts (the Brown corpus), so the figures say how decisions
compare, not how well new texts are cut.

    ./run python experiments/segmentation.py [--quick]

takes a minute of one processor. The data: ``fetch.py choi``. ``--quick`` trains on 40 documents and
cuts 20. What was found goes to experiments/results/segmentation.json (not with --quick), which the
notebook 12_markov_order draws.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from choi_orders import LOSSES, Document, Floats, documents
from data_folder import need_crfsuite, run_script
from result_files import save
from rich.console import Console
from rich.table import Table

import fsmeu
from fsmeu.bootstrap import drawn_weights, percentiles

DRAWS = 1000
SEED = 0


def columns(rows: Floats) -> list[dict[str, float]]:
    """The features of each gap, (gaps, features), as crfsuite takes them."""
    return [{str(k): 10 * float(value) for k, value in enumerate(row)} for row in rows]


def models(train: list[Document], tested: list[Document]) -> list[list[fsmeu.models.Model]]:
    """The distributions of a field over the labels of each document of both lists."""
    need_crfsuite()
    from sklearn_crfsuite import CRF

    seen, new = ([columns(rows) for rows, _ in docs] for docs in (train, tested))
    field = CRF(algorithm="lbfgs", c2=0.1, max_iterations=200, all_possible_transitions=True)
    field.fit(seen, [names(labels) for _, labels in train])
    return [[fsmeu.models.from_crfsuite(field, one) for one in docs] for docs in (seen, new)]


def names(labels: Any) -> list[str]:
    """Truth values as crfsuite's labels."""
    return ["01"[bool(label)] for label in labels]


def boundary_probabilities(model: fsmeu.models.Model) -> Floats:
    """P(boundary) at each gap, (gaps,)."""
    return np.asarray(model.marginals())[:, list(model.labels).index("1")]


def half_mean_segment(docs: list[Document]) -> int:
    """Half the mean number of sentences of a segment, rounded."""
    sentences = sum(len(labels) + 1 for _, labels in docs)
    return max(1, round(sentences / sum(int(labels.sum()) + 1 for _, labels in docs) / 2))


def main() -> None:
    """Trains, cuts and prints the table."""
    parser = argparse.ArgumentParser(description="Segmentation by the least expected loss.")
    parser.add_argument("--quick", action="store_true", help="20 documents each")
    quick = parser.parse_args().quick
    most = 20 if quick else None
    train, tested = [*documents("1/", most), *documents("2/", most)], documents("3/", most)
    seen, new = models(train, tested)
    golds = [names(labels) for _, labels in tested]
    rows = []
    for name in LOSSES:
        loss = fsmeu.load(name, k=half_mean_segment(train), labels=["0", "1"])
        ways = decisions(loss, train, seen, new)
        scores = {way: np.array(fsmeu.evaluate_many(loss, z, golds)) for way, z in ways.items()}
        show(loss, ways, scores, golds)
        rows += [[name, way, values] for way, values in scores.items()]
    if not quick:
        print("what was found:", save("segmentation", rows, 5))


def decisions(
    loss: Any, train: list[Document], seen: list[Any], new: list[Any]
) -> dict[str, list[Any]]:
    """Labels of the test documents by the name of the decision."""
    fitted = [boundary_probabilities(m) for m in seen]
    golds = [names(labels) for _, labels in train]

    def risk(threshold: float) -> float:
        guesses = [names(p >= threshold) for p in fitted]
        return float(np.mean(fsmeu.evaluate_many(loss, guesses, golds)))

    tuned = min(np.linspace(0.05, 0.95, 37), key=risk)
    probabilities = [boundary_probabilities(m) for m in new]
    best = fsmeu.decode_many(loss, new)
    assert all(one.exact for one in best)
    return {
        "marginal": [names(p >= 0.5) for p in probabilities],
        "Viterbi": [m.most_probable(1)[0][0] for m in new],
        "tuned": [names(p >= tuned) for p in probabilities],
        "MEU": [one.labels for one in best],
    }


def show(
    loss: Any, ways: dict[str, list[Any]], scores: dict[str, Floats], golds: list[list[str]]
) -> None:
    """Prints the mean of each way, with the interval of its difference to MEU."""
    drawn = np.concatenate(list(drawn_weights(len(golds), DRAWS, SEED))) / len(golds)
    title = f"{loss.name}, k = {loss.params['k']:.0f}, {len(golds)} documents"
    table = Table("decision", loss.name, "MEU is less by", "boundaries", title=title)
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
    run_script(main)
