"""A loss whose labels and parameters are known: the data that expressions refer to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fsmeu.arrays import Floats
from fsmeu.fst.alphabet import Alphabet
from fsmeu.losses.language.syntax import Spec

NONE = -1.0
"""The code of 'no label': the type of the tag O, the entries of a memory before the start."""


@dataclass(frozen=True, eq=False)
class BoundLoss:
    """A loss whose labels and parameters are known; only the length n is still open.

    Labels enter arithmetic as their own numbers when all of them are ints that doubles tell apart
    (``numeric``), otherwise as codes that can only be compared.

    Attributes:
        spec: the loss file.
        alphabet: the labels of both tapes.
        params: value of each parameter; a table is an array indexed by label index.
        numeric: True when labels are numbers.
        label_values: what ``z`` or ``y`` is for each label index.
        codes: code of each text.
        kinds: code of the kind of each label code (B, I, O ...), and nan at the end.
        types: code of the type of each label code (NP, PER ...), NONE where it has none; the same.
    """

    spec: Spec
    alphabet: Alphabet
    params: Mapping[str, Any]
    numeric: bool
    label_values: Floats
    codes: Mapping[str, float]
    kinds: Floats = field(repr=False)
    types: Floats = field(repr=False)
