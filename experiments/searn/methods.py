"""Methods of an experiment, run on one split with one seed; their processor time and memory."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from fsmeu.arrays import Ints
from fsmeu.errors import need_installed, one_of
from fsmeu.searn.searn import Searn
from searn.incremental import IncrementalPerceptron
from searn.structured_svm import StructuredSVM
from searn.task import Labels, Method, Part, Split, mirrored, mirrored_tags, with_neighbours
from searn.vine import first_sentences, oracle_summary

__all__ = ["KINDS", "Clock", "Run", "crf_predictions", "peak_memory", "reset_peak", "runs_of"]

_STATUS = Path("/proc/self/status")


def reset_peak() -> None:
    """Lets the peak of memory start anew, where the system can (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> float:
    """The greatest memory of this process since the last reset (or its start), in megabytes."""
    with suppress(OSError, ValueError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return float(line.split()[1]) / 1024
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


class Clock:
    """Seconds of processor time of this process, which can be stopped.

    Attributes:
        seconds: what was counted so far.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._begun: float | None = time.process_time()

    def stop(self) -> float:
        """Stops, and returns the seconds so far."""
        if self._begun is not None:
            self.seconds += time.process_time() - self._begun
            self._begun = None
        return self.seconds

    def start(self) -> None:
        """Goes on."""
        if self._begun is None:
            self._begun = time.process_time()


def crf_predictions(
    train: tuple[csr_array, Ints, Sequence[Sequence[str]]],
    test: tuple[csr_array, Ints],
    **settings: Any,
) -> list[list[str]]:
    """Predicted labels of each test sentence.

    Args:
        train: features of positions, where each sentence starts and the last ends, labels.
        test: the same without labels.
        settings: of ``sklearn_crfsuite.CRF``: algorithm "lbfgs" for a conditional random field,
            "ap" for the structured averaged perceptron (Collins 2002; equation 15 of the paper).

    Raises:
        MissingExtra: sklearn-crfsuite is not installed.
    """
    need_installed("sklearn_crfsuite", "crf", "CRF")
    import sklearn_crfsuite

    field = sklearn_crfsuite.CRF(all_possible_transitions=True, **settings)
    field.fit(_items(train[0], train[1]), [list(one) for one in train[2]])
    return [list(one) for one in field.predict(_items(*test))]


def _items(rows: csr_array, starts: Ints) -> list[list[Any]]:
    """Features of each position of each sentence by the numbers of their columns.

    Lists of names where all values are 1, which take a tenth of the memory of dictionaries.
    """
    columns, numbers = np.unique(rows.indices, return_inverse=True)
    known = [str(column) for column in columns.tolist()]
    names = [known[k] for k in numbers.tolist()]
    ends = rows.indptr.tolist()
    found: list[Any] = [names[a:b] for a, b in pairwise(ends)]
    if not (rows.data == 1).all():
        values = rows.data.tolist()
        spans = zip(found, pairwise(ends), strict=True)
        found = [dict(zip(one, values[a:b], strict=True)) for one, (a, b) in spans]
    return [found[begin:end] for begin, end in pairwise(starts.tolist())]


@dataclass(frozen=True)
class Run:
    """What a method predicted.

    Attributes:
        name: of the method, with what is added for the beam.
        iteration: of SEARN, from 0; 0 for other methods.
        found: the predicted labels.
        training: seconds of processor time until then.
        predicting: the same for the prediction.
        memory: the peak of memory of the process so far, in megabytes, the data included.
    """

    name: str
    iteration: int
    found: Labels
    training: float
    predicting: float
    memory: float


def runs_of(method: Method, split: Split, seed: int, every: bool = False) -> Iterator[Run]:
    """The runs of a method on one split.

    Args:
        method: the method.
        split: what is trained on and predicted.
        seed: of everything that is drawn.
        every: whether SEARN predicts after each iteration, not only the first and last.
    """
    one_of("tasks", "a method", method.kind, KINDS)
    reset_peak()
    if method.mirrored:
        split = Split(mirrored(split.train), mirrored(split.test), numbers=split.numbers)
    if method.neighbours:
        parts = (with_neighbours(split.train), with_neighbours(split.test))
        split = Split(*parts, numbers=split.numbers)
    for run in KINDS[method.kind](method, split, seed, every):
        turned = [mirrored_tags(one) for one in run.found] if method.mirrored else run.found
        yield replace(run, found=turned)


def _searn(method: Method, split: Split, seed: int, every: bool) -> list[Run]:
    clock, runs = Clock(), []
    model = Searn(**{**method.settings, "random_state": seed})

    def predict(name: str, iteration: int) -> None:
        """Predicts after an iteration (from 1), outside of the time for training."""
        training = clock.stop()
        for size, more in method.beams.items():
            run = _predicted(model, size, split)
            runs.append(Run(name + more, iteration - 1, *run[:1], training, *run[1:]))
        clock.start()

    def look(iteration: int, learned: Searn) -> None:
        if every or (iteration == 1 and method.first is not None):
            predict(method.name if every else str(method.first), iteration)

    model.fit(split.train.sentences, split.train.labels, on_iteration=look)
    if not every:  # training may have ended before the greatest number of iterations
        predict(method.name, model.iterations or len(model.reports_))
    return runs


def _predicted(model: Searn, size: int, split: Split) -> tuple[Labels, float, float]:
    watch = Clock()
    held = model.beam
    found = model.set_params(beam=size).predict(split.test.sentences)
    model.set_params(beam=held)
    return found, watch.stop(), peak_memory()


def _crf(method: Method, split: Split, seed: int, every: bool) -> list[Run]:
    def predict(train: Part, test: Part) -> Labels:
        rows = train.sentences
        return crf_predictions(
            (rows.matrix, rows.starts, train.labels),
            (test.sentences.matrix, test.sentences.starts),
            **method.settings,
        )

    return _by_stream(method, split, predict)


def _of_sequences(
    make: Callable[..., IncrementalPerceptron | StructuredSVM],
) -> Callable[[Method, Split, int, bool], list[Run]]:
    """Sequence labellers that are learned from whole sentences."""

    def run(method: Method, split: Split, seed: int, every: bool) -> list[Run]:
        def predict(train: Part, test: Part) -> Labels:
            learned = make(**method.settings, seed=seed)
            learned.fit(train.sentences.matrix, train.sentences.starts, train.labels)
            return learned.predict(test.sentences.matrix, test.sentences.starts)

        return _by_stream(method, split, predict)

    return run


def _by_stream(method: Method, split: Split, predict: Callable[[Part, Part], Labels]) -> list[Run]:
    """The run of a method for one stream of labels; of two streams, each is predicted alone."""
    clock = Clock()
    train, test = split.train, split.test
    if not isinstance(train.labels[0][0], tuple):
        found = predict(train, test)
    else:
        streams = [
            predict(
                Part(train.sentences, [[pair[k] for pair in one] for one in train.labels]), test
            )
            for k in (0, 1)
        ]
        found = [list(zip(*both, strict=True)) for both in zip(*streams, strict=True)]
    return [Run(method.name, 0, found, clock.stop(), 0.0, peak_memory())]


def _summaries(make: Callable[..., list[str]]) -> Callable[[Method, Split, int, bool], list[Run]]:
    """Summaries that need no training, one for each collection."""

    def run(method: Method, split: Split, seed: int, every: bool) -> list[Run]:
        watch = Clock()
        found = [make(one, **method.settings) for one in split.test.sentences]
        return [Run(method.name, 0, found, 0.0, watch.stop(), peak_memory())]

    return run


KINDS: dict[str, Callable[[Method, Split, int, bool], Any]] = {
    "searn": _searn,
    "crf": _crf,
    "incremental": _of_sequences(IncrementalPerceptron),
    "structured svm": _of_sequences(StructuredSVM),
    "first": _summaries(first_sentences),
    "oracle": _summaries(oracle_summary),
}
"""Kinds of methods."""
