"""The methods of an experiment, run on one split with one seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fsmeu.errors import one_of
from fsmeu.searn.searn import Searn
from searn.crf import crf_predictions
from searn.perceptron import best_labels, perceptron
from searn.resources import Clock, peak_memory, reset_peak
from searn.summarisation import first_sentences, oracle_summary
from searn.task import Labels, Method, Split

__all__ = ["KINDS", "Run", "runs_of"]


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
    yield from KINDS[method.kind](method, split, seed, every)


def _searn(method: Method, split: Split, seed: int, every: bool) -> list[Run]:
    clock, runs = Clock(), []
    model = Searn(**{**method.settings, "random_state": seed})
    last = int(model.iterations or 0)

    def look(iteration: int, learned: Searn) -> None:
        """Predicts after an iteration, outside of the time for training."""
        training = clock.stop()
        if every or iteration == last or (iteration == 1 and method.first is not None):
            for size, more in method.beams.items():
                name = method.name if every or iteration == last else str(method.first)
                run = _predicted(learned, size, split)
                runs.append(Run(name + more, iteration - 1, *run[:1], training, *run[1:]))
        clock.start()

    model.fit(split.train.sentences, split.train.labels, on_iteration=look)
    return runs


def _predicted(model: Searn, size: int, split: Split) -> tuple[Labels, float, float]:
    watch = Clock()
    held = model.beam
    found = model.set_params(beam=size).predict(split.test.sentences)
    model.set_params(beam=held)
    return found, watch.stop(), peak_memory()


def _perceptron(method: Method, split: Split, seed: int, every: bool) -> list[Run]:
    train, test = split.train, split.test
    clock = Clock()
    names = sorted({label for one in train.labels for label in one})
    number = {name: k for k, name in enumerate(names)}
    labels = [np.array([number[label] for label in one], np.int64) for one in train.labels]
    held = train.sentences
    model = perceptron(held.matrix, held.starts, labels, len(names), seed=seed, **method.settings)
    training, watch = clock.stop(), Clock()
    found = best_labels(model, test.sentences.matrix, test.sentences.starts)
    shown = [[names[k] for k in one.tolist()] for one in found]
    return [Run(method.name, 0, shown, training, watch.stop(), peak_memory())]


def _crf(method: Method, split: Split, seed: int, every: bool) -> list[Run]:
    train, test = split.train, split.test
    clock = Clock()
    found = crf_predictions(
        (train.sentences.matrix, train.sentences.starts, train.labels),
        (test.sentences.matrix, test.sentences.starts),
        **method.settings,
    )
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
    "perceptron": _perceptron,
    "crf": _crf,
    "first": _summaries(first_sentences),
    "oracle": _summaries(oracle_summary),
}
"""Kinds of methods."""
