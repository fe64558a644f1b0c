"""Decisions for a corpus as a whole, beside those for its sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.corpora.decisions import CORPUS, named
from fsmeu.corpora.score import over_labels, scores_of
from fsmeu.corpora.tally import Tally
from fsmeu.decoding.corpus import CorpusDecision, decode_corpus
from fsmeu.errors import FsmeuError
from fsmeu.losses.loss import SpecLoss

__all__ = ["Decided", "decide_whole"]

Floats = NDArray[np.float64]

_GAP = 1e-5
"""How far below the best expected value that of a decision may be: less than scores are shown."""


@dataclass(frozen=True)
class Decided:
    """What became of the decision for a corpus.

    Attributes:
        name: what it is called.
        decision: the decision, or None.
        refused: why there is none; empty where there is one.
    """

    name: str
    decision: CorpusDecision | None = None
    refused: str = ""


def decide_whole(
    tally: Tally,
    losses: Sequence[tuple[str, SpecLoss]],
    tell: Callable[[float, float], None] | None = None,
) -> list[Decided]:
    """Adds to a tally the hypotheses that are best for the corpus, by each loss that allows it.

    Args:
        tally: what was found for each sentence; it has kept the records.
        losses: names and losses.
        tell: called with bounds of the best expected value now and then.

    Returns:
        What became of the decision for each loss.
    """
    models = [item.model for item in tally.items]
    if not models or None in models:
        return []
    found = []
    for name, loss in losses:
        way = named(f"meu {CORPUS}", name, len(losses))
        try:
            decision = decode_corpus(loss, models, gap=_GAP, progress=tell)
        except FsmeuError as error:
            found.append(Decided(way, None, str(error)))
            continue
        _add(tally, way, decision, losses)
        found.append(Decided(way, decision))
    return found


def _add(
    tally: Tally, way: str, decision: CorpusDecision, losses: Sequence[tuple[str, SpecLoss]]
) -> None:
    """Scores a decision and puts it behind the others; the blocks become one."""
    tally.decisions = (*tally.decisions, way)
    values: list[Floats] = []
    counts: list[Floats | None] = []
    for k, (name, loss) in enumerate(losses):
        bound = over_labels(loss, tuple(tally.labels.values()))
        worth, added = scores_of(bound, decision.labels, tally.items, name)
        before = np.concatenate([block[k] for block in tally.values])
        values.append(np.column_stack([before, worth]))
        parts = [part for block in tally.counts if (part := block[k]) is not None]
        if added is None:
            counts.append(None)
        else:
            sums = np.concatenate(parts) if parts else np.zeros((len(worth), 0, added.shape[1]))
            counts.append(np.concatenate([sums, added[:, None]], axis=1))
    tally.values, tally.counts = [values], [counts]
