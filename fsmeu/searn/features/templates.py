"""Feature templates: conjunctions of base features at offsets from a position.

A template is written as in ``pos[-1] pos[0]``: the part of speech before the position together with
the one at it. Each template gives each position exactly one feature of value 1, named by a hash.
The same template can be crossed with the history of labels, which is the search space's matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence
from fsmeu.searn.features.columns import Columns, columns_of
from fsmeu.searn.features.mixing import Hashes, indices, mixed, text_hash

__all__ = [
    "Template",
    "column_names",
    "parse_template",
    "parse_templates",
    "static_features",
    "template_hashes",
]

Template = tuple[tuple[str, int], ...]
_PART = re.compile(r"([A-Za-z][\w.]*)(?:\[([+-]?\d{1,3})\])?$")


def parse_template(text: str) -> Template:
    """The parts of a template, (column, offset) each; the offset is 0 where none is given.

    Raises:
        InputError: it is not written so.
    """
    found = []
    for part in text.split():
        match = _PART.match(part)
        if match is None:
            must = "a template must be written as columns with offsets, such as word[-1] pos[0]"
            raise InputError(sentence("feature templates", must, text))
        found.append((match[1], int(match[2] or 0)))
    if not found:
        raise InputError(sentence("feature templates", "a template must name a column", text))
    return tuple(found)


def parse_templates(lines: Iterable[str]) -> tuple[Template, ...]:
    """The templates of a text, one on each line; empty lines and what follows a # are passed over.

    Raises:
        InputError: a line is not written so.
    """
    stripped = (line.partition("#")[0].strip() for line in lines)
    return tuple(parse_template(line) for line in stripped if line)


def column_names(templates: Iterable[Template]) -> list[str]:
    """The columns that templates ask for, each once."""
    return list(dict.fromkeys(name for template in templates for name, _ in template))


def template_hashes(columns: Columns, templates: Sequence[Template]) -> Hashes:
    """The hash of each template at each position, (positions, templates)."""
    sentences = columns.sentence_of
    positions = np.arange(len(sentences), dtype=np.int64)
    seen: dict[tuple[str, int], Hashes] = {}
    found = np.empty((len(positions), len(templates)), np.uint64)
    for k, template in enumerate(templates):
        name = " ".join(f"{column}[{offset}]" for column, offset in template)
        total: Hashes = np.full(len(positions), text_hash(name), np.uint64)
        for part in template:
            if part not in seen:
                seen[part] = columns.at(part[0], positions + part[1], sentences)
            total = mixed(total, seen[part])
        found[:, k] = total
    return found


def static_features(
    sentences: Sequence[Sequence[Sequence[str]]], templates: Sequence[Template], bits: int
) -> NDArray[np.int32]:
    """The features of all positions of a corpus laid end to end, (positions, templates).

    Args:
        sentences: lists of rows of texts, of which the first is the word.
        templates: the templates.
        bits: features are numbers below 2^bits; two of them share a number by chance.
    """
    columns = columns_of(sentences, column_names(templates))
    return indices(template_hashes(columns, templates), bits)
