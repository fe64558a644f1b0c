"""The tables by which a loss is swept over: states, kinds of steps, potentials, amounts.

Of a pair of sequences, y is given and z is random. What a sweep over z must know after a prefix is
a *state*: a class of memories of the loss, the last label of z, and what the last step counted. The
states that are possible after a prefix of y are numbered 0, ..., S - 1; which states these are is
y's own state, one of G. A step is of one of K *kinds*, one for each distinct table of arcs between
states that a state of y and a label have; the last kind is padding, in which every state stays.

Nothing here needs more than numpy, so that tables may be saved, and used where the toolkit is not
installed.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError
from fsmeu.files import read_arrays, write_arrays


@dataclass(frozen=True, eq=False)
class ScoreTables:
    """A loss over L labels with y given: S states, K kinds, G states of y, J joint counts.

    Potentials are numbered l * L + m for the label m after l; L * L is the factor 1, and L * L + 1
    the factor 0. With V = 2 variants of a step, the second is that of the last position.

    Attributes:
        next_state: the state of y after a label, (V, G, L).
        kind: the kind of a step, (V, G, L).
        label: the label of each state after a step, (K, S); L for none.
        counted: what arriving in a state adds to the counter, (K, S).
        potential: the potential of each arc between states, (K, S, S).
        amounts: what each arc adds to each joint count, (J, K, S, S).
        given: what a label adds to each count of y alone, (V, G, L, counts).
        end: the end of each state, a row of what the value looks at beside counts, (G, S).
        pair_counted: what a pair (z, y) counts where there is one class of memories, (L, L).
        pair_amounts: what it adds to joint counts, (J, L, L).
        classes: how many classes of memories there are.
    """

    next_state: Ints
    kind: Ints
    label: Ints
    counted: Ints
    potential: Ints
    amounts: Floats
    given: Floats
    end: Ints
    pair_counted: Ints
    pair_amounts: Floats
    classes: int

    @property
    def labels(self) -> int:
        """The number L of labels."""
        return self.next_state.shape[2]

    @property
    def states(self) -> int:
        """The number S of states."""
        return self.label.shape[1]

    @property
    def kinds(self) -> int:
        """The number K of kinds of steps, with padding."""
        return len(self.label)

    @property
    def joint_counts(self) -> int:
        """The number J of counts in which the value is linear."""
        return len(self.amounts)

    @property
    def ends(self) -> int:
        """The number of ends that the value tells apart."""
        return int(self.end.max(initial=0)) + 1

    @property
    def most_counted(self) -> int:
        """The most that a step adds to the counter."""
        return int(max(self.counted.max(initial=0), self.pair_counted.max(initial=0)))

    @property
    def is_memoryless(self) -> bool:
        """Whether a step depends on its pair of labels alone, and the value on counts alone."""
        return self.classes == 1 and len(self.kind) == 1 and self.ends == 1

    def save(self, path: str | Path) -> None:
        """Writes the tables to an npz file."""
        save_fields(self, path)

    @classmethod
    def load(cls, path: str | Path) -> ScoreTables:
        """The tables of an npz file that ``save`` wrote."""
        columns = saved_fields(cls, path)
        return cls(**{**columns, "classes": int(columns["classes"])})


def save_fields(record: Any, path: str | Path) -> None:
    """Writes the fields of a data class, arrays, tensors and numbers, to an npz file by name."""
    values = {f.name: getattr(record, f.name) for f in fields(record)}
    write_arrays(path, {name: np.asarray(value) for name, value in values.items()})


def saved_fields(of: Any, path: str | Path) -> dict[str, Any]:
    """The arrays of an npz file by the names of the fields of a data class, which wrote it.

    Raises:
        InputError: the file is no such archive, or a field is not in it.
    """
    where = f"{of.__name__}.load {path}"
    must = "the file must be one that save wrote"
    arrays = read_arrays(path, where, must, kinds="biufc")
    names = [f.name for f in fields(of)]
    if set(names) - set(arrays):
        raise InputError(where, must, given=f"one of {', '.join(sorted(arrays))}")
    return {name: arrays[name] for name in names}


@dataclass(frozen=True, eq=False)
class Walk:
    """What sequences y lead to.

    Attributes:
        kinds: the kind of each step, (B, n); padding where the mask is False.
        given: counts of y alone, (B, counts).
        last: y's state at the end, (B,).
    """

    kinds: Ints
    given: Floats
    last: Ints


def walk_tags(tables: ScoreTables, tags: Ints, lengths: Ints) -> Walk:
    """What sequences of label indices, (B, n), of which so many positions count, lead to."""
    batch, n = tags.shape
    kinds = np.full((batch, n), tables.kinds - 1, np.int64)
    given = np.zeros((batch, tables.given.shape[3]))
    state = np.zeros(batch, np.int64)
    variants = len(tables.kind)
    for i in range(n):
        rows = np.flatnonzero(lengths > i)
        label = tags[rows, i]
        here = state[rows]
        variant = (lengths[rows] == i + 1).astype(np.int64) * (variants - 1)
        kinds[rows, i] = tables.kind[variant, here, label]
        given[rows] += tables.given[variant, here, label]
        state[rows] = tables.next_state[variant, here, label]
    return Walk(kinds, given, state)
