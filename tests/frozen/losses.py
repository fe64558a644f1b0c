"""The losses of frozen problems: those of the shelf by name, and files that the explorer writes.

The parameters of the shelf stand here, so that a loss that is added to it, or a new default,
changes no problem. Files are stored with their answers, so that a change of their writer changes
none.
"""

import random
from dataclasses import asdict, dataclass

import fsmeu
from tests.explore.programs import PAIRS, Family
from tests.losses.writer import LABEL_SETS

BINARY = (0, 1)
VERY_MANY = 2_000
"""Labels beyond which few losses and models have answers."""
BIO = ("O", "B-X", "I-X", "B-Y", "I-Y")
LABELS = {
    "any": (BINARY, BINARY, ("a", "b", "c"), (0, 1, 2, 3)),
    "bio": (BIO, BIO[:3]),
    "iob1": (("O", "I-X", "B-X", "I-Y", "B-Y"), ("O", "I-X", "B-X")),
    "iobes": (("O", "S-X", "B-X", "I-X", "E-X"),),
}
"""What the labels of a loss are drawn from, where its file leaves them open."""

_BETA = {"beta": (1, 1, 0.5, 2), "empty": (0, 1)}
_EMPTY = {"empty": (0, 1, 1)}
_RATES = {"drop": (0, 1), "empty": (0, 1)}
SHELF = {
    "accuracy": ("any", {}),
    "balanced_accuracy": ("", _RATES),
    "boundary_fscore": ("", {"tolerance": (0, 1, 2), **_BETA}),
    "chunk_fscore": ("bio", _BETA),
    "chunk_fscore_iob1": ("iob1", _BETA),
    "chunk_fscore_iobes": ("iobes", _BETA),
    "chunk_precision": ("bio", _EMPTY),
    "chunk_recall": ("bio", _EMPTY),
    "chunk_type_fscore": ("bio", _BETA),
    "cost_matrix": ("any", {"cost": ("table",), "mean": (0, 1)}),
    "event_fscore": ("", {"tolerance": (0, 1, 2), **_BETA}),
    "fractional_linear": ("", {"c0": (0, 1), "d0": (0, 1), "d2": (1, 2), **_EMPTY}),
    "fscore": ("", _BETA),
    "g_mean": ("", _RATES),
    "g_tp_pr": ("", _EMPTY),
    "h_mean": ("", _RATES),
    "hamming": ("any", {}),
    "jaccard": ("", _EMPTY),
    "kappa": ("", {"empty": (0, 1)}),
    "mcc": ("", {"empty": (0, 1)}),
    "pk": ("", {"k": (1, 2, 3, 4)}),
    "precision": ("", _EMPTY),
    "q_mean": ("", {"root": (0, 1), **_RATES}),
    "recall": ("", _EMPTY),
    "run_length": ("any", {"cap": (1, 2, 4)}),
    "sec": ("", {}),
    "span_fscore": ("bio", _BETA),
    "specificity": ("", _EMPTY),
    "threshold": ("any", {"m": (0, 1, 3)}),
    "transitions": ("any", {}),
    "weighted_cost": ("", {"c_fp": (1, 2), "c_fn": (1, 0.3), "mean": (0, 1)}),
    "weighted_windows": ("", {"k": (2, 3), "power": (0, 1, 2), "c_fn": (1, 2)}),
    "windowdiff": ("", {"k": (1, 2, 3), "weighted": (0, 1)}),
    "zero_one": ("any", {}),
}
"""By name: which labels a loss takes ("" for its own, 0 and 1), and values of its parameters."""
_LONG = """fscore fscore fscore jaccard accuracy hamming precision recall specificity weighted_cost
fractional_linear cost_matrix sec pk zero_one h_mean transitions threshold chunk_recall
chunk_fscore chunk_precision span_fscore event_fscore"""
LONG = _LONG.split()
"""Losses that have answers for long sequences, by some model; one that is there thrice is drawn
three times as often."""
VERY_LONG = _LONG.split()[:10]
"""Losses that have answers for 100,000 labels, by most models."""
TOTALS = (*LONG, "chunk_fscore", "chunk_fscore_iob1", "chunk_fscore_iobes", "chunk_type_fscore")
"""Losses of corpora, whose values look at counts alone."""


@dataclass(frozen=True)
class FrozenLoss:
    """A loss by name or as the text of a file, with what it is loaded with.

    Attributes:
        source: the name, or the text.
        labels: its labels.
        asks: whether they are given when it is loaded.
        given: its parameters.
    """

    source: str
    labels: tuple
    asks: bool
    given: dict

    @property
    def is_written(self):
        """Whether it is no loss of the shelf."""
        return "\n" in self.source

    def load(self):
        """The loss as the package has it."""
        read = fsmeu.loads if self.is_written else fsmeu.load
        return read(self.source, labels=self.labels if self.asks else None, **self.given)

    def stored(self):
        """What a file keeps of it."""
        return {**asdict(self), "labels": list(self.labels)}


def restored(stored):
    """The loss that a file keeps."""
    return FrozenLoss(**{**stored, "labels": tuple(stored["labels"])})


def draw_loss(seed, most, for_corpus=False, plain=False):
    """A loss by a seed, for sequences of this length at most.

    Args:
        seed: of its draws.
        most: the greatest length.
        for_corpus: whether its value should be one of counts.
        plain: whether it must be on the shelf.
    """
    source = random.Random(seed)
    if most > VERY_MANY:
        return _from_shelf(source, VERY_LONG)
    if plain or source.random() < (0.75 if most > 60 or for_corpus else 0.4):
        return _from_shelf(source, LONG if most > 60 else TOTALS if for_corpus else [*SHELF])
    return _written(source, most, for_corpus)


def _from_shelf(source, names):
    name = source.choice(names)
    scheme, parameters = SHELF[name]
    labels = source.choice(LABELS[scheme]) if scheme else BINARY
    given = {key: source.choice(values) for key, values in parameters.items()}
    if given.get("cost") == "table":
        given["cost"] = [[source.randint(-3, 6) / 2 for _ in labels] for _ in labels]
    return FrozenLoss(name, labels, bool(scheme), given)


def _written(source, most, for_corpus):
    """A file of one of the explorer's families, or of any kind; simple ones for long sequences."""
    labels = BINARY if source.random() < 0.4 else source.choice([*PAIRS, *LABEL_SETS])
    writer = Family(source, labels, risky=source.random() < 0.05)
    if most > 60 or for_corpus:
        writer.temper = 0.0
    is_family = most > 25 or for_corpus or source.random() < 0.7
    text, asks = writer.family() if is_family else writer.file()
    return FrozenLoss(text, tuple(labels), asks, writer.given)
