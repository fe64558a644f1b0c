"""All that follows from the given tags: made once, kept with the data, moved with it.

This module needs PyTorch and numpy alone, so that plans may be saved, and used where the toolkit is
not installed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError
from fsmeu.torch.lanes import Lanes
from fsmeu.torch.tables import ScoreTables, save_fields, saved_fields, walk_tags

_COMPLEX = {torch.float64: torch.complex128, torch.float32: torch.complex64}


@dataclass(frozen=True, eq=False)
class Plan:
    """What B tag sequences of up to n positions determine; Q lanes, C channels, E ends.

    Attributes:
        kinds: the kind of each step, (n, B).
        tags: the label indices, (B, n); L at padding.
        lengths: the number of positions of each sequence, (B,).
        nodes: the lanes t, (B, Q), real or complex; the first is 1.
        weights: what E[t^k] and E[T t^k] weigh, (B, Q, C, E); (1, Q, C, 1) for a corpus.
        ends: which states have which end, (B, S, E) of 0 and 1; (0,) where there is one end.
        is_corpus: whether the weights are those of totals over all sequences.
    """

    kinds: Tensor
    tags: Tensor
    lengths: Tensor
    nodes: Tensor
    weights: Tensor
    ends: Tensor
    is_corpus: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """The number B of sequences and the greatest length n."""
        return self.tags.shape[0], self.tags.shape[1]

    @property
    def lanes(self) -> int:
        """The number Q of lanes."""
        return self.nodes.shape[1]

    def rows(self, chosen: Tensor) -> Plan:
        """The plan of some of the sequences, as a batch has them.

        Args:
            chosen: their numbers, on the device of the plan, or a mask of all, (B,).

        Raises:
            InputError: the plan is that of a corpus, whose weights are those of all sequences.
        """
        if self.is_corpus:
            must = "a plan of a corpus belongs to all of its sequences"
            raise InputError("Plan.rows", must, remedy="Make a plan of the tags of the batch")
        return replace(
            self,
            kinds=self.kinds[:, chosen].contiguous(),
            tags=self.tags[chosen],
            lengths=self.lengths[chosen],
            nodes=self.nodes[chosen],
            weights=self.weights[chosen],
            ends=self.ends[chosen] if self.ends.numel() else self.ends,
        )

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Plan:
        """The plan on a device, nodes and weights in a precision; itself where it is there."""
        place = torch.device(device)
        real = dtype or self.ends.dtype
        same = place == self.tags.device and real == self.ends.dtype
        if same:
            return self
        lanes = _COMPLEX[real] if self.nodes.is_complex() else real
        return replace(
            self,
            kinds=self.kinds.to(place),
            tags=self.tags.to(place),
            lengths=self.lengths.to(place),
            nodes=self.nodes.to(place, lanes),
            weights=self.weights.to(place, lanes),
            ends=self.ends.to(place, real),
        )

    def save(self, path: str | Path) -> None:
        """Writes the plan to an npz file."""
        save_fields(self.to("cpu"), path)

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """The plan of an npz file that ``save`` wrote."""
        arrays = saved_fields(cls, path)
        is_corpus = bool(arrays.pop("is_corpus"))
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        return cls(**tensors, is_corpus=is_corpus)


def plan_of(tables: ScoreTables, tags: Ints, lengths: Ints, lanes: Lanes, places: Ints) -> Plan:
    """The plan of label indices (B, n), on the CPU.

    Args:
        tables: the tables of the loss.
        tags: the label indices; what stands at padding does not matter.
        lengths: the number of positions of each sequence, (B,).
        lanes: nodes and weights of cases.
        places: the case of each sequence, (B,).
    """
    walked = walk_tags(tables, tags, lengths)
    padded = np.where(np.arange(tags.shape[1]) < lengths[:, None], tags, tables.labels)
    return Plan(
        kinds=_tensor(walked.kinds.T),
        tags=_tensor(padded),
        lengths=_tensor(lengths),
        nodes=_tensor(lanes.nodes[places]),
        weights=_tensor(lanes.weights[places]),
        ends=_tensor(_ends(tables, walked.last)),
    )


def _ends(tables: ScoreTables, last: Ints) -> Floats:
    """Which states have which end, (B, S, E); (0,) where there is one end."""
    if tables.ends == 1:
        return np.zeros(0)
    return (tables.end[last][:, :, None] == np.arange(tables.ends)).astype(np.float64)


def _tensor(array: Ints | Floats) -> Tensor:
    """An array as a tensor that owns its numbers."""
    return torch.from_numpy(np.array(array, order="C"))
