"""The pair of sequences that a page shows first: well-formed for its labels."""

from __future__ import annotations

from collections.abc import Sequence

from fsmeu.fst.tags import KINDS, is_tag, tag_parts

__all__ = ["first_pair", "scheme_of"]

_SPANS = {"z": (2, 3), "y": (1, 2)}  # length of chunks, and from one beginning to the next


def scheme_of(labels: Sequence[str]) -> str:
    """The scheme of which all labels are tags, O among them; empty if there is none."""
    found = (
        name
        for name, kinds in KINDS.items()
        if all(label == "O" or is_tag(label, kinds) for label in labels)
    )
    return next(found, "") if "O" in labels and len(labels) > 1 else ""


def first_pair(labels: Sequence[str], n: int, scheme: str) -> dict[str, list[int]]:
    """The numbers of the labels of z and of y.

    Args:
        labels: the labels.
        n: the length of the sequences.
        scheme: the scheme of the tags that they are, or empty. Then z and y have chunks of one type
            with O between them; else z begins with the last label, and y alternates.
    """
    last = len(labels) - 1
    if not scheme:
        return {
            "z": [last if 2 * i < n else 0 for i in range(n)],
            "y": [last if i % 2 == 0 else 0 for i in range(n)],
        }
    place = {label: k for k, label in enumerate(labels)}
    kind = next(tag_parts(label)[1] for label in labels if label != "O")
    pair = {}
    for tape, (long, apart) in _SPANS.items():
        tags = ["O"] * n
        for start in range(0, n, apart):
            for length in (min(long, n - start), 1):
                chunk = [f"{letter}-{kind}" for letter in _chunk(scheme, length)]
                if all(tag in place for tag in chunk):
                    tags[start : start + length] = chunk
                    break
        pair[tape] = [place[tag] for tag in tags]
    return pair


def _chunk(scheme: str, length: int) -> str:
    """The kinds of the tags of a chunk after which O follows."""
    if scheme == "iobes":
        return "S" if length == 1 else "B" + "I" * (length - 2) + "E"
    return "I" * length if scheme == "iob1" else "B" + "I" * (length - 1)
