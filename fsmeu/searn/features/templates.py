"""Feature templates: conjunctions of base features at offsets from a position, and sets of them.

A template is written as in ``pos[-1] pos[0]``: the part of speech before the position together with
the one at it. Each template gives each position exactly one feature of value 1, named by a hash of
columns: of the word, its stem, its part of speech and so on. What is asked for beyond the end of a
sentence has a hash of its own.

The sets are files beside this module; they follow Daumé et al. (2009). Conjunctions of neighbours
stand for the paper's n-grams.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, message, one_of
from fsmeu.files import read_text
from fsmeu.searn.features.hashing import Hashes, mixed, text_hash
from fsmeu.searn.features.words import case_pattern, lists, shape, stem

__all__ = [
    "FUNCTIONS",
    "SETS",
    "Columns",
    "Template",
    "TemplateSet",
    "column_names",
    "columns_of",
    "parse_template",
    "parse_templates",
    "template_file",
    "template_hashes",
    "template_set",
]

Row = Sequence[str]
Integers = NDArray[np.int64]
_BEFORE, _AFTER = np.uint64(text_hash("\0before")), np.uint64(text_hash("\0after"))


def _ending(word: str) -> str:
    """What a stem leaves of its word."""
    return word.lower()[len(stem(word)) :]


FUNCTIONS: dict[str, Callable[[str], str]] = {
    "word": str,
    "lower": str.lower,
    "stem": stem,
    "ending": _ending,
    "shape": shape,
    "case": case_pattern,
    "lists": lists,
    **{f"prefix{k}": itemgetter(slice(k)) for k in (1, 2, 3, 4)},
    **{f"suffix{k}": itemgetter(slice(-k, None)) for k in (1, 2, 3, 4)},
    "first": itemgetter(slice(1)),
}
"""Functions of one text that columns may be made with, by name."""


@dataclass(frozen=True)
class Columns:
    """Base features of a corpus.

    Attributes:
        hashes: a hash for each position, (positions,), by the name of the column.
        starts: where each sentence starts, and the end of the last one, (sentences + 1,).
    """

    hashes: Mapping[str, Hashes]
    starts: Integers

    @property
    def sentence_of(self) -> Integers:
        """The number of the sentence of each position, (positions,)."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def at(self, name: str, positions: Integers, sentences: Integers) -> Hashes:
        """Hashes of a column at positions that may lie outside of their sentences, same shape.

        Args:
            name: the column.
            positions: positions of the corpus.
            sentences: the number of the sentence that each is asked for from.
        """
        held = self.hashes[name]
        begins, ends = self.starts[sentences], self.starts[sentences + 1]
        inside = np.clip(positions, 0, max(0, len(held) - 1))
        found: Hashes = held[inside] if len(held) else np.zeros(positions.shape, np.uint64)
        found = np.where(positions < begins, _BEFORE, found)
        return np.where(positions >= ends, _AFTER, found)


def columns_of(sentences: Sequence[Sequence[Row]], asked: Sequence[str]) -> Columns:
    """The columns of a corpus.

    Args:
        sentences: lists of rows of texts, of which the first is the word.
        asked: names of columns: a function of the word, as ``suffix2``; ``col2`` for the second
            text of a row (``pos`` is the same); ``col2.first`` for a function of it; ``bias``.

    Raises:
        InputError: a name is not known, or a row has no such text.
    """
    lengths = np.array([len(one) for one in sentences], np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    made = {}
    for name in dict.fromkeys(asked):
        place, function = _source(name)
        if place < 0:
            made[name] = np.zeros(int(starts[-1]), np.uint64)
            continue
        texts = [_text(row, place, name) for one in sentences for row in one]
        table = {text: text_hash(function(text)) for text in set(texts)}
        made[name] = np.fromiter((table[text] for text in texts), np.uint64, len(texts))
    return Columns(made, starts)


def _source(name: str) -> tuple[int, Callable[[str], str]]:
    """The place in a row and the function that a name stands for; -1 for the bias."""
    where = "feature templates"
    if name == "bias":
        return -1, str
    base, _, function = name.replace("pos", "col2", 1).partition(".")
    if base.startswith("col") and base[3:].isdigit() and 1 <= int(base[3:]) <= 1000:
        if function:
            one_of(where, "a function of a column", function, FUNCTIONS)
        return int(base[3:]) - 1, FUNCTIONS[function or "word"]
    known = [*FUNCTIONS, "pos", "bias", "col1"]
    return 0, FUNCTIONS[one_of(where, "a column", name, known)]


def _text(row: Row, place: int, name: str) -> str:
    if place < len(row):
        return row[place]
    must = f"the template column {name!r} needs {place + 1} texts in each row"
    raise InputError(message("feature templates", must, " ".join(row)))


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
            raise InputError(message("feature templates", must, text))
        found.append((match[1], int(match[2] or 0)))
    if not found:
        raise InputError(message("feature templates", "a template must name a column", text))
    return tuple(found)


def parse_templates(texts: Iterable[str]) -> tuple[Template, ...]:
    """The templates that are written so.

    Raises:
        InputError: one is not.
    """
    return tuple(map(parse_template, texts))


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


@dataclass(frozen=True)
class TemplateSet:
    """Templates of the input, and those that are crossed with labels of the past.

    Attributes:
        static: templates whose features stand at a position whatever was predicted before.
        crossed: templates that are paired with the label before the position.
    """

    static: tuple[Template, ...]
    crossed: tuple[Template, ...] = ()


def template_file(name: str | Path) -> list[tuple[str, str]]:
    """The lines of a file of templates, each as its first word and the rest of it.

    Empty lines and what follows a # are left out.

    Raises:
        InputError: it cannot be read.
    """
    lines = read_text(name, f"templates {name}").splitlines()
    stripped = (line.partition("#")[0].strip() for line in lines)
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in stripped if line]


def _read_set(name: str | Path) -> TemplateSet:
    lines = template_file(name)
    static = [f"{first} {rest}" for first, rest in lines if first != "cross"]
    crossed = [rest for first, rest in lines if first == "cross"]
    found = TemplateSet(parse_templates(static), parse_templates(crossed))
    if not found.static:
        raise InputError(message(f"templates {name}", "there must be a template"))
    return found


HOME = Path(__file__).parent
"""The folder of the files of this package's templates."""
SETS = {name: _read_set(HOME / f"{name}.txt") for name in ("chunking", "names", "words")}
"""Sets by name: "chunking" reads parts of speech in the second column, "words" the word alone."""


def template_set(name: str) -> TemplateSet:
    """A set of this package by its name, or that of a file with one template on each line.

    A line that starts with ``cross`` is crossed with the label before.

    Raises:
        InputError: there is neither, or the file is not written so.
    """
    if name in SETS or not Path(name).is_file():
        return SETS[one_of("templates", "what is no file of templates", name, SETS)]
    return _read_set(name)
