"""Summarisation by vine growth and by sentence extraction (section 6.2) on synthetic collections.

The rows are those of Table 2: oracles that know the references and search with a beam of 20, and
SEARN trained against them; beside these, the first sentences of the documents, and SEARN's first
iteration. The score is ROUGE-2, its interval a bootstrap over collections.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from fsmeu.searn.learners.logistic import Logistic
from fsmeu.searn.searn import Searn
from fsmeu.searn.tasks.resources import Clock, peak_memory, reset_peak
from fsmeu.searn.tasks.row import Row, Told
from fsmeu.searn.vine.beam_policy import best_completion
from fsmeu.searn.vine.collection import Collection
from fsmeu.searn.vine.growth import Growth, State, actions, extraction, step, summary, vine_growth
from fsmeu.searn.vine.matches import matches_of
from fsmeu.searn.vine.rouge import rouge
from fsmeu.searn.vine.space import GrowingSummary
from fsmeu.searn.vine.synthetic import synthetic_collections

__all__ = ["first_sentences", "summarisation_rows"]

LIMIT = 15
_UNITS = {"sentence": "extraction", "word": "vine growth"}
_SPACES = {"sentence": extraction, "word": vine_growth}
Scores = NDArray[np.float64]


def summarisation_rows(
    seeds: Sequence[int], quick: bool = False, tell: Told | None = None
) -> list[Row]:
    """The rows of the experiment; 3 collections of one document if it is quick, else 20 of 3."""
    count, documents = (3, 1) if quick else (20, 3)
    train = synthetic_collections(count, 1, documents)
    test = synthetic_collections(count, 2, documents)
    found: dict[tuple[str, int], list[tuple[Scores, float, float, float]]] = defaultdict(list)
    for name, iteration, texts, training, predicting in _runs(train, test, seeds, quick):
        scores = np.array([rouge(t, c.references) for t, c in zip(texts, test, strict=True)])
        found[name, iteration].append((scores, training, predicting, peak_memory()))
        if tell is not None:
            tell(f"summarisation: {name}", float(scores.mean()))
    return [_row(name, iteration, runs) for (name, iteration), runs in found.items()]


_Told = tuple[str, int, list[list[str]], float, float]


def _runs(
    train: list[Collection], test: list[Collection], seeds: Sequence[int], quick: bool
) -> Iterator[_Told]:
    clock = Clock()
    yield "first sentences", 0, [first_sentences(one, LIMIT) for one in test], 0.0, clock.stop()
    for unit, name in _UNITS.items():
        clock = Clock()
        yield f"oracle {name}", 0, [_oracle(one, unit) for one in test], 0.0, clock.stop()
    for unit, name in _UNITS.items():
        for seed in seeds:
            yield from _searn(train, test, unit, name, seed, 2 if quick else 4)


def _searn(
    train: list[Collection], test: list[Collection], unit: str, name: str, seed: int, last: int
) -> Iterator[_Told]:
    """SEARN's summaries after the first iteration and after the last."""
    reset_peak()
    clock, found = Clock(), []
    model = Searn(
        space=GrowingSummary(LIMIT, unit=unit),
        learner=Logistic(epochs=20, rate=0.1, dropout=0.1, importance="cost"),
        iterations=last,
        beta=0.5,
        ties="all",
        folds=2,
        beam=1,
        bits=16,
        random_state=seed,
    )

    def look(iteration: int, learned: Searn) -> None:
        training = clock.stop()
        if iteration in (1, last):
            watch = Clock()
            texts = learned.predict(test)
            more = "" if iteration == last else ", iteration 0"
            found.append((f"SEARN {name}{more}", iteration - 1, texts, training, watch.stop()))
        clock.start()

    model.fit(train, [one.references for one in train], on_iteration=look)
    yield from found


def first_sentences(collection: Collection, limit: int) -> list[str]:
    """The first sentence of each document, then the second of each, as long as there is room."""
    growth = extraction(collection, limit)
    documents = collection.documents[[unit[0] for unit in growth.units]]
    places = np.arange(len(growth.units)) - np.searchsorted(documents, documents)
    state: State = ()
    for unit in np.lexsort((documents, places)).tolist():
        if unit in actions(growth, state):
            state = step(state, unit)
    return summary(growth, state)


def _oracle(collection: Collection, unit: str) -> list[str]:
    growth: Growth = _SPACES[unit](collection, LIMIT)
    return summary(growth, best_completion(growth, matches_of(collection), ()))


def _row(name: str, iteration: int, runs: list[tuple[Scores, float, float, float]]) -> Row:
    table = np.stack([scores for scores, *_ in runs])  # (runs, collections)
    random = np.random.default_rng(0)
    drawn = random.integers(table.shape[1], size=(1000, table.shape[1]))
    low, high = np.quantile(table.mean(axis=0)[drawn].mean(axis=1), [0.025, 0.975])
    value = float(table.mean())
    times = np.array([run[1:] for run in runs])
    return Row(
        "summarisation",
        name,
        iteration,
        "ROUGE-2",
        value,
        float(low),
        float(high),
        {"ROUGE-2": value},
        tuple(table.mean(axis=1).tolist()),
        float(times[:, 0].mean()),
        float(times[:, 1].mean()),
        float(times[:, 2].max()),
    )
