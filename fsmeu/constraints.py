"""Sets of label sequences that are often wanted, for ``decode`` and ``model.given``.

- ``bio(types)``: chunk tags of which each I-X follows B-X or I-X
- ``iob1(types)``: chunk tags of which each B-X follows B-X or I-X
- ``iobes(types)``: chunk tags of which each chunk is S-X, or begins with B-X and ends with E-X

Each is made for the labels of a model when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fsmeu.errors import InputError, sentence
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.constraint import Constraint
from fsmeu.fst.sequences import listed
from fsmeu.fst.tags import check_tags, tag_parts

__all__ = ["SCHEMES", "Tags", "bio", "iob1", "iobes"]

_FOLLOWS = {"bio": "I", "iob1": "B", "iobes": "IE"}
"""The kinds of tags that only stand where a chunk of their type is open."""


@dataclass(frozen=True)
class Tags:
    """The sequences of chunk tags that a scheme allows.

    Attributes:
        scheme: "bio", "iob1" or "iobes".
        types: the chunk types, or None for those of the model's labels.
    """

    scheme: str
    types: tuple[str, ...] | None = None

    def over(self, alphabet: Alphabet) -> Constraint:
        """The acceptor over these labels: state 0 outside a chunk, else one for each type."""
        check_tags(alphabet, self.scheme, f"constraint {self.scheme}")
        tags = [tag_parts(str(label)) for label in alphabet.labels]
        found = dict.fromkeys(name for _, name in tags if name)
        allowed = list(found if self.types is None else self.types)
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
        ends = np.zeros(1, np.int64) if unfinished else np.arange(len(following))
        return Constraint(following, 0, ends)


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


def iob1(types: Sequence[str] | None = None) -> Tags:
    """Sequences of O, I-X and B-X in which B-X only follows B-X or I-X.

    Args:
        types: the chunk types X that are allowed; those of the model's labels unless given.
    """
    return _tags("iob1", types)


def iobes(types: Sequence[str] | None = None) -> Tags:
    """Sequences of O, S-X and whole chunks: B-X, any number of I-X, E-X.

    Args:
        types: the chunk types X that are allowed; those of the model's labels unless given.
    """
    return _tags("iobes", types)


SCHEMES: dict[str, Callable[[], Tags]] = {"bio": bio, "iob1": iob1, "iobes": iobes}
"""The constraint of each scheme, by name."""
