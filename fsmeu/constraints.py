"""Sets of label sequences that are often wanted, for ``decode`` and ``model.given``.

- ``bio(types)``: chunk tags of which each I-X follows B-X or I-X
- ``iobes(types)``: chunk tags of which each chunk is S-X, or begins with B-X and ends with E-X

Each is made for the labels of a model when it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.constraint import Constraint
from fsmeu.fst.sequences import listed

__all__ = ["Tags", "bio", "iobes"]

_KINDS = {"bio": "BI", "iobes": "BIES"}


@dataclass(frozen=True)
class Tags:
    """The sequences of chunk tags that a scheme allows.

    Attributes:
        scheme: either "bio" or "iobes".
        types: the chunk types, or None for those of the model's labels.
    """

    scheme: str
    types: tuple[str, ...] | None = None

    def over(self, alphabet: Alphabet) -> Constraint:
        """The acceptor over these labels: state 0 outside a chunk, else one for each type."""
        tags = [_parts(str(label), self.scheme) for label in alphabet.labels]
        found = dict.fromkeys(name for _, name in tags if name)
        allowed = list(found if self.types is None else self.types)
        following = np.full((len(allowed) + 1, len(alphabet)), -1, np.int64)
        for label, (kind, name) in enumerate(tags):
            if kind == "O":
                self._free(following, label, 0)
            elif name in allowed:
                inside = allowed.index(name) + 1
                if kind in "BS":
                    self._free(following, label, inside if kind == "B" else 0)
                else:
                    following[inside, label] = inside if kind == "I" else 0
        ends = np.arange(len(following)) if self.scheme == "bio" else np.zeros(1, np.int64)
        return Constraint(following, 0, ends)

    def _free(self, following: NDArray[np.int64], label: int, target: int) -> None:
        """Lets a label that begins something stand wherever nothing need be finished."""
        following[: None if self.scheme == "bio" else 1, label] = target


def _parts(tag: str, scheme: str) -> tuple[str, str]:
    """Kind and type of a tag."""
    kind, _, name = tag.partition("-")
    if tag == "O" or (name and len(kind) == 1 and kind in _KINDS[scheme]):
        return kind, name
    kinds = ", ".join(f"{kind}-TYPE" for kind in _KINDS[scheme])
    must = f"labels must be chunk tags: O, {kinds}"
    raise InputError(sentence(f"constraint {scheme}", must, tag))


def _tags(scheme: str, types: Sequence[str] | None) -> Tags:
    must = 'types must be a list such as ["NP", "VP"]'
    if types is None:
        return Tags(scheme)
    if isinstance(types, str):
        raise InputError(sentence(scheme, must, types))
    given = listed(types, scheme, must)
    if not all(isinstance(name, str) for name in given):
        raise InputError(sentence(scheme, must, given))
    return Tags(scheme, tuple(given))


def bio(types: Sequence[str] | None = None) -> Tags:
    """Sequences of O, B-X and I-X in which I-X only follows B-X or I-X.

    Args:
        types: the chunk types X that are allowed; those of the model's labels unless given.
    """
    return _tags("bio", types)


def iobes(types: Sequence[str] | None = None) -> Tags:
    """Sequences of O, S-X and whole chunks: B-X, any number of I-X, E-X.

    Args:
        types: the chunk types X that are allowed; those of the model's labels unless given.
    """
    return _tags("iobes", types)
