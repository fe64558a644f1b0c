"""Chunk tags: the kinds of tags of each scheme, and the sequences that it allows.

- ``bio`` (IOB2): each chunk begins with B-X and goes on with I-X
- ``iob1``: chunks are made of I-X; only one that follows another of its type begins with B-X
- ``iobes``: a chunk is S-X, or begins with B-X, goes on with I-X and ends with E-X

``bio()``, ``iob1()`` and ``iobes()`` are constraints (``fsmeu.constraints``), each made for the
labels of a model when it is used; chunk types are those of the labels unless given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fsmeu.errors import Argument, InputError, wording
from fsmeu.fst.alphabet import Alphabet, Label, listed
from fsmeu.fst.constraint import Constraint

KINDS = {"bio": "BI", "iob1": "BI", "iobes": "BIES"}  # of tags beside O, by scheme
_AS_BIO = {"E": "I", "S": "B"}  # kinds of tags by those of bio that say the same of a chunk
_FOLLOWS = {"bio": "I", "iob1": "B", "iobes": "IE"}  # that need an open chunk of their type


def tag_parts(name: str) -> tuple[str, str]:
    """Kind and type of a tag: B-NP is of kind B and type NP, O has no type."""
    kind, _, tag_type = name.partition("-")
    return (kind, tag_type) if tag_type else (name, "")


def is_tag(name: str, kinds: str) -> bool:
    """True for a tag of one of these kinds that has a type, such as B-NP."""
    kind, tag_type = tag_parts(name)
    return len(kind) == 1 and kind in kinds and bool(tag_type)


def chunks_of(tags: Sequence[Any]) -> list[tuple[int, int, str]]:
    """The chunks of O, B-X and I-X: first position, the one after the last, type.

    As in conlleval, I-X opens a chunk where none of type X goes on. Other tags are refused.
    """
    chunks = list[tuple[int, int, str]]()
    begin = 0
    open_type = ""
    for i, tag in enumerate([*map(str, tags), "O"]):
        kind, name = tag_parts(tag)
        if kind not in "BIO" or (kind == "O") == bool(name):
            must = "labels must be chunk tags: O, B-TYPE, I-TYPE"
            raise InputError("chunks", must, given=tag)
        if open_type and (kind != "I" or name != open_type):
            chunks.append((begin, i, open_type))
            open_type = ""
        if name and not open_type:
            begin = i
            open_type = name
    return chunks


def tagged_chunks(tags: Sequence[Any]) -> list[tuple[int, int, str]]:
    """The chunks of well-formed tags of any scheme, as ``chunks_of`` lists them."""
    names = map(str, tags)
    return chunks_of([_AS_BIO.get(name[0], name[0]) + name[1:] for name in names])


def chunk_tags(chunks: Iterable[tuple[int, int, str]], n: int, scheme: str) -> list[str]:
    """The n tags of a scheme that write chunks, which are in order and do not overlap."""
    tags = ["O"] * n
    for begin, end, name in chunks:
        tags[begin:end] = [f"I-{name}"] * (end - begin)
        touches = begin > 0 and tags[begin - 1] in (f"B-{name}", f"I-{name}")
        if scheme != "iob1" or touches:
            tags[begin] = f"B-{name}"
        if scheme == "iobes":
            tags[end - 1] = f"S-{name}" if end - begin == 1 else f"E-{name}"
    return tags


GIVE_TAGS = wording(
    "Give ", Argument("types", '["NP", ...]'), " or ", Argument("labels", '["O", "B-NP", ...]')
)

OTHER_TAGS = "Give sequences of tags, or a model of tags; for samples that are sets of spans, "
OTHER_TAGS += 'from_samples(samples, scheme="bio")'


def tag_labels(types: Iterable[str], scheme: str = "bio") -> tuple[Label, ...]:
    """The tags of a scheme for these chunk types: O, B-X, I-X and so on."""
    return ("O", *(f"{kind}-{name}" for name in types for kind in KINDS[scheme]))


def check_tags(alphabet: Alphabet, scheme: str, where: str, remedy: str = "") -> None:
    """Refuses labels that are no tags of a scheme, by an InputError that names the first."""
    kinds = KINDS[scheme]
    for label in alphabet.labels:
        if label != "O" and not is_tag(str(label), kinds):
            must = f"labels must be chunk tags: O, {', '.join(f'{kind}-TYPE' for kind in kinds)}"
            others = [name for name in KINDS if is_tag(str(label), KINDS[name])]
            hint = f"Tags such as {label} are those of {' and '.join(others)}" if others else remedy
            raise InputError(where, must, given=label, remedy=hint)


@dataclass(frozen=True)
class Tags:
    """The sequences of chunk tags that a scheme allows."""

    scheme: str  # "bio", "iob1" or "iobes"
    types: Sequence[str] | None = None  # the chunk types, or None for those of the model's labels

    def __post_init__(self) -> None:
        if self.types is not None:
            object.__setattr__(self, "types", chunk_types(self.types, self.scheme))

    def over(self, alphabet: Alphabet) -> Constraint:
        """The acceptor over these labels: state 0 outside a chunk, else one for each type."""
        check_tags(alphabet, self.scheme, f"constraint {self.scheme}")
        tags = [tag_parts(str(label)) for label in alphabet.labels]
        present = dict.fromkeys(name for _, name in tags if name)
        allowed = list(present if self.types is None else self.types)
        following = np.full((len(allowed) + 1, len(alphabet)), -1, np.int64)
        unfinished = self.scheme == "iobes"  # a chunk that is open there has to be ended by E-X
        for label, (kind, name) in enumerate(tags):
            if name and name not in allowed:
                continue
            inside = allowed.index(name) + 1 if name else 0
            target = 0 if kind in "OES" else inside
            if kind in _FOLLOWS[self.scheme]:
                following[inside, label] = target
            else:
                following[: 1 if unfinished else None, label] = target
        return Constraint(following, 0, np.arange(1 if unfinished else len(following)))


def chunk_types(types: Sequence[str], where: str) -> tuple[str, ...]:
    """Chunk types that were given; an InputError if they are no list of texts."""
    must = 'types must be a list such as ["NP", "VP"], not of tags'
    names = listed(types, where, must)
    texts = not isinstance(types, str) and all(isinstance(name, str) for name in names)
    if not texts or ("O" in names and any(is_tag(name, "BIES") for name in names)):
        raise InputError(where, must, given=types if isinstance(types, str) else names)
    return tuple(names)


def bio(types: Sequence[str] | None = None) -> Tags:
    """Sequences of O, B-X and I-X in which I-X only follows B-X or I-X, X of these types."""
    return Tags("bio", types)


def iob1(types: Sequence[str] | None = None) -> Tags:
    """Sequences of O, I-X and B-X in which B-X only follows B-X or I-X, X of these types."""
    return Tags("iob1", types)


def iobes(types: Sequence[str] | None = None) -> Tags:
    """Sequences of O, S-X and whole chunks (B-X, any number of I-X, E-X), X of these types."""
    return Tags("iobes", types)


SCHEMES: dict[str, Callable[[], Tags]] = {"bio": bio, "iob1": iob1, "iobes": iobes}  # by name
