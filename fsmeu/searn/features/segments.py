"""Features of chunks: of their ends, of what stands in them, of their whole sequences.

These are the meta features of Daumé et al. (2009, section 6.1.3): for a base feature b, b before
and after the chunk, b at its positions, tuples of two b's in it, and the sequence of all b's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Ints
from fsmeu.searn.features.hashing import Hashes, indices, mixed, text_hash
from fsmeu.searn.features.templates import (
    HOME,
    Columns,
    Template,
    column_names,
    columns_of,
    parse_template,
    parse_templates,
    template_file,
    template_hashes,
)

__all__ = ["CHUNKS", "SegmentSet", "segment_features"]


@dataclass(frozen=True)
class SegmentSet:
    """Templates of chunks.

    Attributes:
        ends: pairs of templates, from the first position and from the last; each may be empty.
        sized: templates from the first position, together with the length of the chunk.
        wholes: columns whose whole sequence is a feature.
        inside: templates at each position, where all of their parts lie within the chunk.
    """

    ends: tuple[tuple[Template, Template], ...]
    sized: tuple[Template, ...]
    wholes: tuple[str, ...]
    inside: tuple[Template, ...]

    @property
    def columns(self) -> list[str]:
        """The columns that are asked for."""
        pairs = [template for pair in self.ends for template in pair]
        return list(
            dict.fromkeys([*column_names([*pairs, *self.sized, *self.inside]), *self.wholes])
        )


def _read_segments(lines: Sequence[tuple[str, str]]) -> SegmentSet:
    """The set of a file of templates whose lines begin with the name of a part of the set."""
    of = {kind: [rest for first, rest in lines if first == kind] for kind in _PARTS}
    ends = [
        tuple(parse_template(side) if side.strip() else () for side in text.split("|"))
        for text in of["ends"]
    ]
    sized, inside = parse_templates(of["sized"]), parse_templates(of["inside"])
    return SegmentSet(tuple((a, b) for a, b in ends), sized, tuple(of["whole"]), inside)


_PARTS = ("ends", "sized", "whole", "inside")
CHUNKS = _read_segments(template_file(HOME / "chunks.txt"))
"""The templates for chunks of words with parts of speech."""


@dataclass(frozen=True)
class SegmentFeatures:
    """A function of chunks of a corpus, which returns the columns of their features.

    Attributes:
        columns: the base features.
        templates: the set.
        firsts: hashes of the templates from the first position, (positions, ends + sized).
        lasts: hashes of those from the last position, (positions, ends).
        within: hashes of the templates inside, (positions, inside).
        bits: columns are numbers below 2^bits.
    """

    columns: Columns
    templates: SegmentSet
    firsts: Hashes
    lasts: Hashes
    within: Hashes
    bits: int

    def __call__(self, begins: Ints, lengths: Ints) -> NDArray[np.int32]:
        """The columns of features of chunks, (B, K); -1 where a chunk has fewer.

        Args:
            begins: the first position of each, (B,).
            lengths: the number of positions of each, at least 1, (B,).
        """
        last = begins + lengths - 1
        ends = len(self.templates.ends)
        sizes = lengths.astype(np.uint64)[:, None]
        found = [
            mixed(self.firsts[begins, :ends], self.lasts[last]),
            mixed(self.firsts[begins, ends:], sizes),
            self._wholes(begins, lengths),
        ]
        shown = indices(np.concatenate(found, axis=1), self.bits)
        return np.concatenate([shown, self._inside(begins, lengths)], axis=1)

    def taken(self, positions: Ints, starts: Ints) -> SegmentFeatures:
        """The function for some sentences alone.

        Args:
            positions: the positions of these sentences.
            starts: where they start once they are laid end to end, and where the last ends.
        """
        hashes = {name: held[positions] for name, held in self.columns.hashes.items()}
        return replace(
            self,
            columns=Columns(hashes, starts),
            firsts=self.firsts[positions],
            lasts=self.lasts[positions],
            within=self.within[positions],
        )

    def _wholes(self, begins: Ints, lengths: Ints) -> Hashes:
        """Hashes of whole sequences, (B, wholes)."""
        found = np.empty((len(begins), len(self.templates.wholes)), np.uint64)
        for k, name in enumerate(self.templates.wholes):
            total: Hashes = np.full(len(begins), text_hash(f"all {name}"), np.uint64)
            for j in range(int(lengths.max(initial=0))):
                longer = np.flatnonzero(lengths > j)
                total[longer] = mixed(total[longer], self.columns.hashes[name][begins[longer] + j])
            found[:, k] = total
        return found

    def _inside(self, begins: Ints, lengths: Ints) -> NDArray[np.int32]:
        """The columns of the templates inside, (B, longest * inside)."""
        longest = int(lengths.max(initial=0))
        reach = np.array([max(o for _, o in t) for t in self.templates.inside], np.int64)
        found = np.full((len(begins), longest, len(reach)), -1, np.int32)
        for j in range(longest):
            rows = np.flatnonzero(lengths > j)
            shown = indices(self.within[begins[rows] + j], self.bits)
            found[rows, j] = np.where(j + reach < lengths[rows, None], shown, -1)
        return found.reshape(len(begins), -1)


def segment_features(
    sentences: Sequence[Sequence[Sequence[str]]], templates: SegmentSet, bits: int
) -> SegmentFeatures:
    """The features of the chunks of a corpus whose sentences are laid end to end."""
    columns = columns_of(sentences, templates.columns)
    firsts = [first for first, _ in templates.ends] + list(templates.sized)
    seed = np.arange(len(firsts), dtype=np.uint64)  # keeps "pos |" and "pos", sized, apart
    return SegmentFeatures(
        columns,
        templates,
        mixed(template_hashes(columns, firsts), seed),
        template_hashes(columns, [last for _, last in templates.ends]),
        mixed(template_hashes(columns, templates.inside), np.uint64(text_hash("inside"))),
        bits,
    )
