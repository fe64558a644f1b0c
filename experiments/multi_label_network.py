"""Multi-label networks: cross-entropy, soft F1 and exact expected F1, decided in three ways.

The score is F1 of the labels of a row, on average over rows (0/0 is 1), of two data sets:

- scene: 1,211 images for training and 1,196 for testing, 294 features, 6 labels;
- reuters: texts of one to three documents of Reuters-21578 each, drawn at random (3,000 from the
  training and 2,000 from the test documents); the labels of a text are the classes of its
  documents, 65 in all; features are the 2,000 most frequent terms, as log(1 + count).

A network with one hidden layer gives each label a logit, and labels are independent given the row.
It is trained by

- cross-entropy: the sum over labels, on average over rows;
- soft F1: 1 - 2 (sum of p y) / (sum of p + sum of y), on average over rows: a ratio of expectations
  (Jansche 2005) in place of the expectation of the ratio;
- expected F1: 1 - E[F1], exact (``fsmeu.torch.ExpectedScore``).

A fifth of the training rows is held out: the weights of the epoch are kept whose objective is best
there (training ends when eight epochs have not been better), and thresholds are tuned there.
Test rows are decided by

- 0.5: labels whose probability is at least 1/2;
- tuned: labels above the threshold, one for all, that has the best mean F1 on held-out rows;
- exact: the labels of the greatest expected F1 (``fsmeu.torch.decode``);
- calibrated, exact: the same, of logits a x + b, where a and b, one of each for all labels, make
  the labels of held-out rows most likely (Platt 1999).

Intervals hold 95 of 100 bootstrap draws of seeds and of test rows. A seed draws the held-out rows,
the first weights, the order of batches, and the texts of reuters.

    .venv-torch/bin/python experiments/multi_label_network.py [--seeds 5] [--quick]

needs PyTorch (``./run test --torch`` installs it in .venv-torch), and takes minutes of one
processor. The data: ``fetch.py scene reuters65``. What was found goes to
experiments/results/multi_label_network.json; with ``--quick`` (scene, one seed, two epochs) it is
printed alone.

Seen, scene and reuters, means of five seeds: cross-entropy .6953 and .8224 at 0.5, .7534 and .8472
tuned, .7442 and .8343 exact, .7478 and .8444 calibrated; expected F1 .7445 and .8186 at 0.5, .7470
and .8239 tuned, .7496 and .8192 exact; soft F1 within .01 of expected F1. So training for F1 helps
at 0.5 on scene alone, and brings nothing where a threshold is tuned.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from chunk_network import PYTHON
from data_folder import data_file, data_folder, run_script
from natarajan2016 import scene
from numpy.typing import NDArray
from result_files import save
from rich.console import Console
from rich.table import Table
from scipy.io import loadmat
from scipy.sparse import csr_array
from torch import Tensor, nn

from fsmeu.bootstrap import drawn_weights, percentiles
from fsmeu.torch import ExpectedScore, Plan, decode

HIDDEN = 100
DROPOUT = 0.3
LEARNING_RATE = 2e-3
BATCH = 64
EPOCHS = 40
PATIENCE = 8
TERMS = 2000
TEXTS = (3000, 2000)  # for training and testing
MOST_DOCUMENTS = 3
DRAWS = 2000
OBJECTIVES = ("cross-entropy", "soft F1", "expected F1")
DECISIONS = ("0.5", "tuned", "exact", "calibrated, exact")
Floats = NDArray[np.float64]


class Rows(NamedTuple):
    """Features (rows, features) and labels (rows, labels) of 0 and 1."""

    features: Tensor
    labels: Tensor

    def some(self, chosen: Tensor) -> Rows:
        """The rows with these numbers."""
        return Rows(self.features[chosen], self.labels[chosen])


class Data(NamedTuple):
    """Rows to train with and to test with."""

    train: Rows
    test: Rows


# -- the data -------------------------------------------------------------------------------------


def as_rows(features: Any, labels: Any) -> Rows:
    """Arrays as rows."""
    columns = np.asarray(features, np.float32)
    return Rows(torch.from_numpy(columns), torch.from_numpy(np.asarray(labels, np.int64)))


def scene_data(seed: int) -> Data:
    """The published split, features standardised; the same for every seed."""
    held = scene(data_folder(), seed)
    middle = held.train.mean(axis=0)
    wide = held.train.std(axis=0)
    train = as_rows((held.train - middle) / wide, held.train_labels)
    return Data(train, as_rows((held.test - middle) / wide, held.test_labels))


def mixed_texts(documents: Any, classes: Any, count: int, random: Any) -> tuple[Any, Any]:
    """Sums of the term counts of one to three documents, and the classes that are among them."""
    sizes = random.integers(1, MOST_DOCUMENTS + 1, count)
    chosen = random.integers(len(classes), size=sizes.sum())
    text = np.repeat(np.arange(count), sizes)
    pick = csr_array((np.ones(len(chosen)), (text, chosen)), (count, len(classes)))
    labels = np.zeros((count, 65), np.int64)
    labels[text, classes[chosen] - 1] = 1
    return (pick @ documents).toarray(), labels


def reuters_data(seed: int) -> Data:
    """Texts that the seed draws."""
    found = loadmat(data_file("reuters65/Reuters21578.mat"))
    counts = csr_array(found["fea"]).astype(np.float64)
    classes = found["gnd"].ravel().astype(np.int64)
    random = np.random.default_rng(seed)
    rows = [found[name].ravel().astype(np.int64) - 1 for name in ("trainIdx", "testIdx")]
    frequency = np.asarray((counts[rows[0]] > 0).sum(axis=0)).ravel()
    terms = np.sort(np.argsort(-frequency, kind="stable")[:TERMS])
    parts = []
    for chosen, count in zip(rows, TEXTS, strict=True):
        own = counts[chosen][:, terms]
        features, labels = mixed_texts(own, classes[chosen], count, random)
        parts.append(as_rows(np.log1p(features), labels))
    return Data(*parts)


DATA: dict[str, Callable[[int], Data]] = {"scene": scene_data, "reuters": reuters_data}


# -- training -------------------------------------------------------------------------------------


def network(features: int, labels: int) -> nn.Module:
    """A network with one hidden layer; logits (B, labels) of features (B, features)."""
    return nn.Sequential(
        nn.Linear(features, HIDDEN), nn.ReLU(), nn.Dropout(DROPOUT), nn.Linear(HIDDEN, labels)
    )


def soft_f1(logits: Tensor, labels: Tensor) -> Tensor:
    """The ratio of expectations of each row, (B,)."""
    p = torch.sigmoid(logits)
    return 2 * (p * labels).sum(1) / (p.sum(1) + labels.sum(1))


class Objectives:
    """The three objectives of some rows, of which plans are made once."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.layer = ExpectedScore("fscore")
        plan = self.layer.plan(rows.labels)
        assert isinstance(plan, Plan)
        self.plan = plan

    def value(self, name: str, logits: Tensor, chosen: Tensor) -> Tensor:
        """The objective of the rows with these numbers, to be minimised."""
        labels = self.rows.labels[chosen].to(logits.dtype)
        if name == "cross-entropy":
            cells = nn.functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
            return cells.sum(1).mean()
        if name == "soft F1":
            return 1 - soft_f1(logits, labels).mean()
        return 1 - self.layer(logits, self.plan.rows(chosen))


def trained(name: str, given: Rows, held_out: Rows, seed: int, epochs: int) -> nn.Module:
    """The network of the epoch whose objective is best on held-out rows."""
    torch.manual_seed(seed)
    model = network(given.features.shape[1], given.labels.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    learn = Objectives(given)
    watch = Objectives(held_out)
    everyone = torch.arange(len(held_out.labels))
    least = float("inf")
    best: dict[str, Tensor] = {}
    since = 0
    for _ in range(epochs):
        model.train()
        for chosen in torch.randperm(len(given.labels)).split(BATCH):
            optimizer.zero_grad()
            learn.value(name, model(given.features[chosen]), chosen).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            value = float(watch.value(name, model(held_out.features), everyone))
        since += 1
        if value < least:
            least = value
            since = 0
            best = {key: tensor.clone() for key, tensor in model.state_dict().items()}
        if since == PATIENCE:
            break
    model.load_state_dict(best)
    return model


# -- decisions ------------------------------------------------------------------------------------


def row_scores(found: Tensor, labels: Tensor) -> Floats:
    """F1 of each row, 1 where nothing is there and nothing was found."""
    right = (found * labels).sum(1).double()
    both = (found.sum(1) + labels.sum(1)).double()
    return torch.where(both > 0, 2 * right / both.clamp(min=1), torch.ones_like(both)).numpy()


def tuned_threshold(p: Tensor, labels: Tensor) -> float:
    """The threshold of the best mean F1, of 2,000 quantiles of the probabilities of rows."""
    ranked = torch.sort(p.flatten()).values
    places = torch.linspace(0, len(ranked) - 1, 2001)[1:].long()
    thresholds = ranked[places].unique().tolist()
    return max(thresholds, key=lambda t: row_scores((p >= t).long(), labels).mean())


def calibrated(logits: Tensor, labels: Tensor) -> Tensor:
    """The factor and the shift of logits that make labels (rows, labels) most likely, (2,)."""
    found = torch.tensor([1.0, 0.0], requires_grad=True)
    optimizer = torch.optim.LBFGS([found], max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        moved = found[0] * logits + found[1]
        value = nn.functional.binary_cross_entropy_with_logits(moved, labels.to(logits.dtype))
        value.backward()
        return value

    optimizer.step(loss)
    return found.detach()


class Decided(NamedTuple):
    """F1 of test rows by way of deciding, (rows,) each, and what goes with it."""

    scores: dict[str, Floats]
    threshold: float
    expected: dict[str, float]  # mean expected F1 of exact decisions
    proven: dict[str, float]  # the share of rows


def decided(model: nn.Module, held_out: Rows, test: Rows) -> Decided:
    """The test rows, decided in each way."""
    with torch.no_grad():
        logits = model(test.features)
        known = model(held_out.features)
    threshold = tuned_threshold(torch.sigmoid(known), held_out.labels)
    factor, shift = calibrated(known, held_out.labels)
    p = torch.sigmoid(logits)
    best = {
        "exact": decode("fscore", logits),
        "calibrated, exact": decode("fscore", factor * logits + shift),
    }
    found = {"0.5": (p >= 0.5).long(), "tuned": (p >= threshold).long()}
    found |= {way: made.labels for way, made in best.items()}
    scores = {way: row_scores(labels, test.labels) for way, labels in found.items()}
    expected = {way: float(made.values.mean()) for way, made in best.items()}
    proven = {way: float(made.exact.double().mean()) for way, made in best.items()}
    return Decided(scores, threshold, expected, proven)


def run_seed(data: Data, seed: int, epochs: int) -> dict[str, Decided]:
    """The decisions of all objectives for one seed."""
    random = np.random.default_rng(seed)
    order = torch.from_numpy(random.permutation(len(data.train.labels)))
    fifth = len(order) // 5
    held_out = data.train.some(order[:fifth])
    given = data.train.some(order[fifth:])
    return {
        name: decided(trained(name, given, held_out, seed, epochs), held_out, data.test)
        for name in OBJECTIVES
    }


# -- the table ------------------------------------------------------------------------------------


def interval(lead: Floats) -> tuple[float, float]:
    """Between which ends 95 of 100 draws of differences (seeds, rows) lie."""
    seeds, rows = lead.shape
    means = [lead @ weights.T / rows for weights in drawn_weights(rows, DRAWS, 0)]
    random = np.random.default_rng(0)
    chosen = random.multinomial(seeds, np.full(seeds, 1 / seeds), DRAWS) / seeds
    return percentiles((chosen.T * np.concatenate(means, axis=1)).sum(axis=0))


def show(name: str, found: list[dict[str, Decided]]) -> list[dict[str, Any]]:
    """Prints the table of a data set; its rows."""
    table = Table(
        "trained by", "decided by", "F1", "over seeds", title=f"{name}, {len(found)} seeds"
    )
    for head in ("minus cross-entropy, tuned", "minus cross-entropy, same decision", "beside"):
        table.add_column(head)
    values = {
        (objective, way): np.stack([one[objective].scores[way] for one in found])
        for objective in OBJECTIVES
        for way in DECISIONS
    }
    rows = []
    for (objective, way), own in values.items():
        by_seed = own.mean(axis=1)
        row: dict[str, Any] = {"objective": objective, "decision": way, "f1": by_seed}
        spread = float(by_seed.std(ddof=1)) if len(by_seed) > 1 else 0.0
        cells = [objective, way, f"{by_seed.mean():.4f}", f"{spread:.4f}"]
        for key, base in (("tuned", "tuned"), ("same", way)):
            if (objective, way) == (OBJECTIVES[0], base):
                cells.append("")
                continue
            lead = own - values[OBJECTIVES[0], base]
            low, high = interval(lead)
            row[key] = [float(lead.mean()), low, high]
            cells.append(f"{lead.mean():+.4f} ({low:+.4f} to {high:+.4f})")
        beside = ""
        if way == "tuned":
            row["thresholds"] = [one[objective].threshold for one in found]
            beside = "at " + " ".join(f"{t:.2g}" for t in row["thresholds"])
        if way in found[0][objective].expected:
            row["expected"] = float(np.mean([one[objective].expected[way] for one in found]))
            row["proven"] = float(np.mean([one[objective].proven[way] for one in found]))
            beside = f"expected {row['expected']:.4f}, proven {row['proven']:.1%}"
        table.add_row(*cells, beside)
        rows.append(row)
    Console(width=150).print(table)
    return rows


def main() -> None:
    """Trains, decides, and prints both tables."""
    parser = argparse.ArgumentParser(description="Multi-label networks and their decisions for F1.")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="scene, one seed, two epochs")
    given = parser.parse_args()
    torch.set_num_threads(1)
    names = ["scene"] if given.quick else list(DATA)
    seeds = 1 if given.quick else given.seeds
    epochs = 2 if given.quick else EPOCHS
    found = {}
    for name in names:
        by_seed = [run_seed(DATA[name](seed), seed, epochs) for seed in range(seeds)]
        found[name] = show(name, by_seed)
    if not given.quick:
        words = f"experiments/{Path(__file__).name} --seeds {seeds}"
        save("multi_label_network", found, 6, f"{PYTHON} {words}")


if __name__ == "__main__":
    run_script(main)
