"""Chunk tags and their schemes: which kinds of tags there are beside O.

- ``bio`` (IOB2): each chunk begins with B-X and goes on with I-X
- ``iob1``: chunks are made of I-X; only one that follows another of its type begins with B-X
- ``iobes``: a chunk is S-X, or begins with B-X, goes on with I-X and ends with E-X
"""

from __future__ import annotations

from collections.abc import Iterable

from fsmeu.errors import InputError, sentence
from fsmeu.fst.alphabet import Alphabet, Label

__all__ = ["KINDS", "check_tags", "is_tag", "tag_labels", "tag_parts"]

KINDS = {"bio": "BI", "iob1": "BI", "iobes": "BIES"}
"""The kinds of tags beside O, by scheme."""


def tag_parts(name: str) -> tuple[str, str]:
    """Kind and type of a tag: B-NP is of kind B and type NP, O has no type."""
    kind, _, tag_type = name.partition("-")
    return (kind, tag_type) if tag_type else (name, "")


def is_tag(name: str, kinds: str) -> bool:
    """True for a tag of one of these kinds that has a type, such as B-NP."""
    kind, tag_type = tag_parts(name)
    return len(kind) == 1 and kind in kinds and bool(tag_type)


def tag_labels(types: Iterable[str], scheme: str = "bio") -> tuple[Label, ...]:
    """The tags of a scheme for these chunk types: O, B-X, I-X and so on."""
    return ("O", *(f"{kind}-{name}" for name in types for kind in KINDS[scheme]))


def check_tags(alphabet: Alphabet, scheme: str, where: str, remedy: str = "") -> None:
    """Refuses labels that are no tags of a scheme.

    Raises:
        InputError: the message names the first such label.
    """
    kinds = KINDS[scheme]
    for label in alphabet.labels:
        if label != "O" and not is_tag(str(label), kinds):
            must = f"labels must be chunk tags: O, {', '.join(f'{kind}-TYPE' for kind in kinds)}"
            others = [name for name in KINDS if is_tag(str(label), KINDS[name])]
            hint = f"Tags such as {label} are those of {' and '.join(others)}" if others else remedy
            raise InputError(sentence(where, must, label, hint))
