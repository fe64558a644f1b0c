"""The pair of sequences that a page shows first: well-formed for its labels."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["pattern"]

_TAG = re.compile(r"O|[BI]-.+")


def pattern(labels: Sequence[str]) -> dict[str, list[int]] | None:
    """Numbers of labels to be repeated for z and for y, and the one to go on with.

    Args:
        labels: the labels.

    Returns:
        None where any sequence of labels is as good as another. Where all labels are chunk tags,
        a chunk of two and one of one, each begun with ``B``.
    """
    if not all(_TAG.fullmatch(label) for label in labels):
        return None
    begin = next((label for label in labels if label.startswith("B-")), None)
    if begin is None:
        return None
    place = {label: k for k, label in enumerate(labels)}
    inside = place.get(f"I-{begin[2:]}", place[begin])
    outside = place.get("O", place[begin])
    return {
        "z": [place[begin], inside, outside],
        "y": [place[begin], outside],
        "rest": [outside],
    }
