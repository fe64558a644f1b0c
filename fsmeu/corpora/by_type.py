"""Chunks by their type: how many agree, were decided and are given, as conlleval counts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.alphabet import Label
from fsmeu.losses.corpus import sentence_counts
from fsmeu.losses.library import load
from fsmeu.losses.loss import SpecLoss

__all__ = ["chunk_counts", "type_scores"]

Floats = NDArray[np.float64]

_NAMES = ("tp", "hyp", "ref")


def chunk_counts(decided: Sequence[Any], golds: Sequence[Any]) -> dict[str, Floats]:
    """Agreeing, decided and given chunks of each sentence by type, (sentences, 3) each.

    They are the counts of ``chunk_fscore`` where tags of other types are O.

    Args:
        decided: a tag sequence for each sentence.
        golds: its reference.
    """
    tags = {str(tag) for part in (decided, golds) for one in part for tag in one}
    found = {}
    for kind in sorted({tag.partition("-")[2] for tag in tags} - {""}):
        loss = _one_type(kind)
        pairs = [
            (loss.alphabet.encode(_only(z, kind)), loss.alphabet.encode(_only(y, kind)))
            for z, y in zip(decided, golds, strict=True)
        ]
        counts = sentence_counts(loss.bound, pairs)
        found[kind] = np.stack([counts[name] for name in _NAMES], axis=1)
    return found


@cache
def _one_type(kind: str) -> SpecLoss:
    return load("chunk_fscore", types=[kind])


def _only(tags: Sequence[Label], kind: str) -> list[Label]:
    return [tag if str(tag).partition("-")[2] == kind else "O" for tag in tags]


def type_scores(totals: Mapping[str, Floats]) -> dict[str, dict[str, Any]]:
    """Precision, recall and F1 by type, and the numbers of given and decided chunks.

    Args:
        totals: agreeing, decided and given chunks by type, (3,) each.
    """
    found = {}
    for kind, counts in sorted(totals.items()):
        both, hyp, ref = (int(count) for count in counts)
        found[kind] = {
            "precision": both / hyp if hyp else 0.0,
            "recall": both / ref if ref else 0.0,
            "F1": 2 * both / (hyp + ref) if hyp + ref else 0.0,
            "given": ref,
            "predicted": hyp,
        }
    return found
