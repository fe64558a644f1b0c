"""What an experiment is: training and test parts, methods that are compared, printed figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.searn.features.sentences import HashedSentences
from searn.measures import Measure, counts_of

__all__ = ["Method", "Part", "Split", "Task", "held_out", "part_of"]

Ints = NDArray[np.int64]
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
class Method:
    """One way to learn and predict.

    Attributes:
        name: as it stands in tables.
        kind: one of ``methods.KINDS``.
        settings: parameters of ``Searn``, of ``perceptron``, of the field, of the summaries.
        beams: for "searn": what is added to the name, by the size of the beam at test time.
        first: for "searn": the name under which the first iteration alone is shown, if it is.
        once: whether one seed is enough: nothing is drawn, or it is a baseline that takes long.
    """

    name: str
    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    beams: Mapping[int, str] = field(default_factory=lambda: {1: ""})
    first: str | None = None
    once: bool = False


@dataclass(frozen=True)
class Task:
    """An experiment.

    Attributes:
        name: as it is asked for.
        summary: what it is, in a line.
        score: what is compared, as in ``Measure.scores``.
        splits: the parts, one pair for each fold; with few sentences if it is called with True.
        held_out: the same within the training data, for the choice of settings.
        methods: what is compared.
        paper: figures in the prose of Daumé et al. (2009, section 6.1.7), by method.
        pairs: pairs of rows whose difference is asked for, by the names of the runs.
        counts: how predictions are measured against given labels.
    """

    name: str
    summary: str
    score: str
    splits: Callable[[bool], Iterator[Split]]
    held_out: Callable[[bool], Iterator[Split]]
    methods: Sequence[Method] = ()
    paper: Mapping[str, float] = field(default_factory=dict)
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
    segments = None if held.segments is None else held.segments.taken(rows, ends)
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
