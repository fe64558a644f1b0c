"""What an experiment is: training and test parts, methods that are compared, printed figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack

from fsmeu.arrays import Ints
from fsmeu.searn.features import HashedSentences
from searn.measures import Measure, chunks, counts_of

__all__ = [
    "AXES",
    "Method",
    "Part",
    "Printed",
    "Sizes",
    "Split",
    "Task",
    "held_out",
    "mirrored",
    "mirrored_tags",
    "part_of",
    "with_neighbours",
]

Labels = list[list[Any]]


@dataclass(frozen=True)
class Part:
    """Sentences with their labels; or collections of documents with their summaries.

    Attributes:
        sentences: their features, ``HashedSentences``; or a list of collections.
        labels: the labels of each; pairs of them where two streams are predicted.
    """

    sentences: Any
    labels: Labels


@dataclass(frozen=True)
class Split:
    """What is trained on and what is predicted.

    Attributes:
        train: what is trained on.
        test: what is predicted.
        numbers: of the examples to predict within the whole corpus, (examples,), where several
            folds predict the same; None where they do not.
    """

    train: Part
    test: Part
    numbers: Ints | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Sizes:
    """How much of the data is used.

    Attributes:
        train: the greatest number of sentences to train on; None for all.
        test: the greatest number of sentences to predict; None for all.
        quick: whether a few are enough where nothing else is said.
    """

    train: int | None = None
    test: int | None = None
    quick: bool = False

    def of(self, few: int) -> tuple[int | None, int | None]:
        """The numbers of sentences to train on and to predict, where ``few`` are few."""
        least = few if self.quick else None
        return self.train or least, self.test or least


@dataclass(frozen=True)
class Method:
    """One way to learn and predict.

    Attributes:
        name: as it stands in tables.
        kind: one of ``methods.KINDS``.
        settings: parameters of ``Searn``, of ``sklearn_crfsuite.CRF``, of the summaries.
        beams: for "searn": what is added to the name, by the size of the beam at test time.
        first: for "searn": the name under which the first iteration alone is shown, if it is.
        once: whether one seed is enough: nothing is drawn, or it is a baseline that takes long.
        axis: what it varies, one of ``AXES``; "main" is run always.
        mirrored: whether sentences of chunk tags are read from right to left.
        neighbours: whether features of the positions before and after are added to those of each.
    """

    name: str
    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    beams: Mapping[int, str] = field(default_factory=lambda: {1: ""})
    first: str | None = None
    once: bool = False
    axis: str = "main"
    mirrored: bool = False
    neighbours: bool = False


AXES = ("main", "learner", "steps", "order", "costs", "beta", "reduction", "why")
"""What methods vary: the learner, one word or one chunk at a time, left to right or right to left,
how costs are found, the weight of a new policy, the reduction to binary problems, and what may keep
SEARN from what a conditional field reaches."""


class Printed(NamedTuple):
    """A figure in the prose of Daumé et al. (2009)."""

    score: str  # what it is, as in ``Measure.scores``
    value: float  # in percent
    trained: int  # sentences trained on: it stands beside runs of the same size alone


@dataclass(frozen=True)
class Task:
    """An experiment.

    Attributes:
        name: as it is asked for.
        summary: what it is, in a line.
        score: what is compared, as in ``Measure.scores``.
        splits: the parts, one pair for each fold, given sizes and whether held-out training data
            take the place of the test data, for the choice of settings.
        methods: what is compared.
        paper: printed figures of sections 6.1.7 and 6.1.8 by method.
        pairs: pairs of rows whose difference is asked for, by the names of the runs.
        counts: how predictions are measured against given labels.
    """

    name: str
    summary: str
    score: str
    splits: Callable[[Sizes, bool], Iterator[Split]]
    methods: Sequence[Method] = ()
    paper: Mapping[str, Printed] = field(default_factory=dict)
    pairs: Sequence[tuple[str, str]] = ()
    counts: Callable[[Any, Any], Measure] = counts_of


def part_of(whole: Part, numbers: Sequence[int]) -> Part:
    """Some sentences of a part, in this order."""
    held = whole.sentences
    starts = held.starts
    chosen = np.asarray(numbers, np.int64)
    lengths = np.diff(starts)[chosen]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    shift = np.repeat(starts[chosen] - ends[:-1], lengths)
    rows = np.arange(ends[-1]) + shift
    segments: Any = held.segments
    if segments is not None:
        parts = {name: getattr(segments, name) for name in ("firsts", "lasts", "within", "wholes")}
        segments = replace(segments, **{name: one[rows] for name, one in parts.items()})
    made = HashedSentences(held.matrix[rows], ends, held.crossed[rows], segments)
    return Part(made, [whole.labels[k] for k in chosen.tolist()])


def held_out(train: Part, share: float = 0.1, shuffled: bool = False) -> Split:
    """The first sentences of a training part to train on, and the last ones to predict.

    Args:
        train: the training part.
        share: of it that is predicted.
        shuffled: whether sentences are drawn, where their order tells what they are.
    """
    count = len(train.labels)
    order = np.random.default_rng(0).permutation(count) if shuffled else np.arange(count)
    cut = count - max(1, round(share * count))
    return Split(part_of(train, order[:cut].tolist()), part_of(train, order[cut:].tolist()))


def mirrored(part: Part) -> Part:
    """Sentences of chunk tags read from right to left; features of positions stay as they are."""
    held = part.sentences
    lengths = np.diff(held.starts)
    rows = np.repeat(held.starts[:-1] + held.starts[1:] - 1, lengths) - np.arange(held.starts[-1])
    seen = HashedSentences(held.matrix[rows], held.starts, held.crossed[rows])
    return Part(seen, [mirrored_tags(one) for one in part.labels])


def mirrored_tags(tags: Sequence[str]) -> list[str]:
    """The same chunks in the order from right to left; B marks the last word of each, then.

    A loss of chunks reads these tags as it reads any: its value is that of the tags themselves.
    """
    found = ["O"] * len(tags)
    for begin, end, name in chunks(tags):
        found[len(tags) - end : len(tags) - begin] = [
            f"B-{name}",
            *[f"I-{name}"] * (end - begin - 1),
        ]
    return found


def with_neighbours(part: Part) -> Part:
    """Sentences with the features of the positions before and after among those of each position.

    Columns of features of a position itself stay; those of the others follow, so that there must be
    three times as many columns as are used.
    """
    held = part.sentences
    rows, columns = held.matrix.shape
    used = int(held.matrix.indices.max(initial=-1)) + 1
    own = held.matrix[:, :used]
    inner = np.ones(rows, bool)
    inner[held.starts[:-1][np.diff(held.starts) > 0]] = False  # all but the first of a sentence
    shifted = np.arange(rows) - 1
    before = diags_array(inner.astype(own.dtype)) @ own[shifted]
    after = diags_array(np.append(inner[1:], False).astype(own.dtype)) @ own[(shifted + 2) % rows]
    wide = csr_array(hstack([own, before, after]))
    arrays = (wide.data, wide.indices.astype(np.int32), wide.indptr)
    matrix = csr_array(arrays, shape=(rows, columns))
    matrix.eliminate_zeros()
    return Part(HashedSentences(matrix, held.starts, held.crossed), part.labels)
