"""Features of states: sentences as hashed features, and templates that make these of texts.

There is one sparse row for each position, laid end to end. Hashes are the same on every machine: a
text is hashed by BLAKE2 to 64 bits; two hashes are combined by a multiplication and the finalizer
of the generator splitmix64 (Steele, Lea and Flood 2014), which spreads each bit over all others.

A template is written as in ``pos[-1] pos[0]``: the part of speech before the position together with
the one at it. Each template gives each position exactly one feature of value 1, named by a hash of
columns: of the word, its stem, its part of speech and so on. Templates of chunks are the meta
features of Daumé et al. (2009, section 6.1.3): b before and after the chunk, b at its positions,
pairs of b's in it, and the sequence of all, for a base feature b. Sets are files beside this
module. The paper's lists of names and places are not to be had: ours are closed classes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.arrays import Ints
from fsmeu.errors import InputError, one_of
from fsmeu.files import read_text
from fsmeu.learning.tagger import checked_sentences, feature_items

Hashes = NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def text_hash(text: str) -> int:
    """The hash of a text, a whole number below 2^64."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")


def mixed(first: Hashes | np.uint64, second: Hashes | np.uint64) -> Hashes:
    """The hashes of pairs of hashes, in this order; the shapes are broadcast."""
    with np.errstate(over="ignore"):
        z = np.asarray(first) * _GOLDEN + np.asarray(second) + _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
    return np.asarray(z ^ (z >> np.uint64(31)))


def indices(hashes: Hashes, bits: int) -> NDArray[np.int32]:
    """The first bits of hashes, as columns of a matrix that has 2^bits of them; same shape."""
    return np.asarray(hashes >> np.uint64(64 - bits), np.int32)


def uniform(seed: int, *numbers: Any) -> NDArray[np.float64]:
    """A number from [0, 1) for each item of arrays of whole numbers, 53 bits of its hash."""
    hashes: Hashes = np.asarray(seed, np.uint64)
    for array in numbers:
        hashes = mixed(hashes, np.asarray(array).astype(np.uint64))
    return np.asarray((hashes >> np.uint64(11)) * 2.0**-53, np.float64)


_SEED = np.uint64(text_hash("history"))  # keeps these features apart from those of positions


def history_columns(
    past: Any, crossed: Hashes, bits: int, crossed_depth: int = 1
) -> NDArray[np.int32]:
    """The columns of a constant, of the last 1, 2, ... decisions, and of crossed ones, (B, K).

    ``past`` has the newest first, (B, h), at least -2; each hash of ``crossed`` (B, C) is crossed
    with the last 1, ..., ``crossed_depth`` of them.
    """
    key = np.full(len(past), _SEED)
    hashes = [key]
    for k in range(past.shape[1]):
        key = mixed(key, (past[:, k].astype(np.int64) + 2).astype(np.uint64))
        hashes.append(key)
        if k < crossed_depth:
            hashes += [mixed(key, crossed[:, c]) for c in range(crossed.shape[1])]
    return indices(np.stack(hashes, axis=1), bits)


def rows_of_columns(columns: NDArray[np.int32], count: int) -> csr_array:
    """Rows, (B, count) of float32, that have the value 1 in columns (B, K) but negative ones."""
    valid = columns >= 0
    ends = np.concatenate(([0], np.cumsum(valid.sum(axis=1), dtype=np.int64)))
    arrays = (np.ones(int(ends[-1]), np.float32), columns[valid], ends)
    return csr_array(arrays, shape=(len(columns), count))


def joined_rows(matrix: csr_array, positions: Ints, added: NDArray[np.int32]) -> csr_array:
    """Rows of a matrix, each with ``added`` columns (B, K) as in ``rows_of_columns`` behind it."""
    chosen = matrix[positions]
    extra = rows_of_columns(added, matrix.shape[1])
    begins = chosen.indptr.astype(np.int64)
    shifts = extra.indptr
    ends = begins + shifts
    columns = np.empty(ends[-1], np.int32)
    values = np.empty(ends[-1], matrix.dtype)
    for part, shift in ((chosen, shifts[:-1]), (extra, begins[1:])):
        at = np.arange(len(part.indices)) + np.repeat(shift, np.diff(part.indptr))
        columns[at] = part.indices
        values[at] = part.data
    return csr_array((values, columns, ends), shape=(len(positions), matrix.shape[1]))


@dataclass(frozen=True)
class HashedSentences:
    """The features of each position of sentences, before anything is decided.

    ``segments`` is None, or a function of first positions (B,) and lengths (B,) that returns the
    hashed columns of features of these segments, int32 (B, K); for chunks.
    """

    matrix: csr_array  # the values of hashed features, (positions, 2^bits) of float32
    starts: Ints  # where each sentence begins, and where the last ends, (S + 1,)
    crossed: Hashes  # of what is crossed with labels decided before, (positions, C)
    segments: Any = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Ints:
        """The length of each sentence, (S,)."""
        return np.diff(self.starts)

    @property
    def bits(self) -> int:
        """The logarithm of the number of columns."""
        return int(self.matrix.shape[1]).bit_length() - 1


def hashed_sentences(
    sentences: Sequence[Sequence[Any]], bits: int, crossed: Sequence[str] = ()
) -> HashedSentences:
    """The hashed features of sentences.

    Args:
        sentences: for each position a dictionary of features or a list of their names, read as
            ``fsmeu.learning.tagger`` reads them.
        bits: there are 2^bits columns; features that share one are taken for the same.
        crossed: names of features that are to be crossed with labels decided before. The name of a
            feature ends at the first ":" or "=": that of ``"w0=the"`` is ``"w0"``.
    """
    hashed: dict[str, tuple[int, int]] = {}  # hash, number among crossed names or -1
    group = {name: k for k, name in enumerate(crossed)}
    hashes = list[int]()
    values = list[float]()
    ends = [0]
    lines: list[list[int]] = []
    for position in chain.from_iterable(sentences):
        lines.append([0] * len(group))
        for name, value in feature_items(position):
            if name not in hashed:
                hashed[name] = text_hash(name), group.get(re.split("[:=]", name, maxsplit=1)[0], -1)
            number, place = hashed[name]
            hashes.append(number)
            values.append(value)
            if place >= 0:
                lines[-1][place] ^= number
        ends.append(len(hashes))
    columns = indices(np.array(hashes, np.uint64), bits)
    arrays = (np.array(values, np.float32), columns, np.array(ends, np.int64))
    matrix = csr_array(arrays, shape=(len(lines), 1 << bits))
    starts = np.concatenate(([0], np.cumsum([*map(len, sentences)]))).astype(np.int64)
    crossed_hashes = np.array(lines, np.uint64).reshape(len(lines), len(group))
    return HashedSentences(matrix, starts, crossed_hashes)


# -- functions of words ---------------------------------------------------------------------------

Row = Sequence[str]
_WHERE = "feature templates"
_HOME = Path(__file__).parent
_BEFORE = np.uint64(text_hash("\0before"))
_AFTER = np.uint64(text_hash("\0after"))
_ENDINGS = "ies:y sses:ss ches:ch shes:sh xes:x ing: ied:y ed: ly: s:"  # and what is put for them
_KEEP = ("ss", "us", "is")
_DOUBLED = re.compile(r"([bdfgmnprt])\1$")
_ON: dict[str, tuple[str, ...]] = {}
for _line in (_HOME / "lists.txt").read_text("utf-8").splitlines()[1:]:
    for _word in set(_line.partition(":")[2].split()):
        _ON[_word] = (*_ON.get(_word, ()), _line.partition(":")[0])
_ABBREVIATION = re.compile(r"^(?:[A-Za-zÀ-ÿ]\.)+[A-Za-z]?$|^[A-ZÀ-Ý][a-zà-ÿ]{0,4}\.$")
_NUMERAL = re.compile(r"^[+-]?\d[\d.,:/-]*%?$")
_PLAIN = re.compile(r"^\w+$")


def stem(word: str) -> str:
    """The word in small letters without an English ending of inflection: "rises" is "rise"."""
    low = word.lower()
    for ending, left in (pair.split(":") for pair in _ENDINGS.split()):
        if low.endswith(ending) and len(low) - len(ending) + len(left) >= 3:
            if ending == "s" and low.endswith(_KEEP):
                continue
            base = low[: -len(ending)] + left
            return base if left else _DOUBLED.sub(r"\1", base)
    return low


def shape(word: str) -> str:
    """Capitals as X, small letters as x, digits as 0, others as they are; runs of at most two."""
    kinds = "".join(
        "X" if c.isupper() else "x" if c.islower() else "0" if c.isdigit() else c for c in word[:40]
    )
    return re.sub(r"(.)\1{2,}", r"\1\1", kinds)


def case_pattern(word: str) -> str:
    """One of: lower, first (capital), upper, initial (one letter), mixed, number, digits, other."""
    if any(c.isdigit() for c in word):
        return "number" if _NUMERAL.match(word) else "digits"
    if word.islower():
        return "lower"
    if word.isupper():
        return "initial" if sum(c.isalpha() for c in word) == 1 else "upper"
    if word[:1].isupper() and word[1:].islower():
        return "first"
    return "mixed" if any(c.isalpha() for c in word) else "other"


def lists(word: str) -> str:
    """The lists that a word is on: closed classes, abbreviations, signs (of no letter), joined."""
    names = list(_ON.get(word.lower(), ()))
    if _ABBREVIATION.match(word):
        names.append("abbreviation")
    if not any(c.isalnum() for c in word):
        names.append("sign")
    elif not _PLAIN.match(word):
        names.append("joined")
    return " ".join(names)


FUNCTIONS: dict[str, Callable[[str], str]] = {
    "word": str,
    "lower": str.lower,
    "stem": stem,
    "ending": lambda word: word.lower()[len(stem(word)) :],
    "shape": shape,
    "case": case_pattern,
    "lists": lists,
    **{f"prefix{k}": itemgetter(slice(k)) for k in (1, 2, 3, 4)},
    **{f"suffix{k}": itemgetter(slice(-k, None)) for k in (1, 2, 3, 4)},
    "first": itemgetter(slice(1)),
}
"""Functions of one text that columns may be made with, by name."""


# -- templates of positions -----------------------------------------------------------------------


Template = tuple[tuple[str, int], ...]
_PART = re.compile(r"([A-Za-z][\w.]*)(?:\[([+-]?\d{1,3})\])?$")


def parse_template(text: str) -> Template:
    """The parts of a template, (column, offset) each, the offset 0 where none is given."""
    matches = [_PART.match(part) for part in text.split()]
    parts = tuple((match[1], int(match[2] or 0)) for match in matches if match is not None)
    if not parts or None in matches:
        must = "a template must be written as columns with offsets, such as word[-1] pos[0]"
        raise InputError(_WHERE, must, given=text)
    return parts


def parse_templates(texts: Iterable[str]) -> tuple[Template, ...]:
    """The templates of texts, as ``parse_template`` reads them."""
    return tuple(map(parse_template, texts))


Columns = tuple[dict[str, Hashes], Ints]  # hashes by name, (positions,) each; sentences' starts


def columns_of(
    sentences: Sequence[Sequence[Row]], templates: Iterable[Template], more: Sequence[str] = ()
) -> Columns:
    """The columns of a corpus that templates name, and those named in ``more``.

    Rows have texts, of which the first is the word. A column is a function of the word, as
    ``suffix2``; ``col2`` for the second text of a row (``pos`` is the same); ``col2.first`` for a
    function of it; ``bias``. An InputError says that a name is not known, or a row has no such
    text.
    """
    starts = np.concatenate(([0], np.cumsum([*map(len, sentences)]))).astype(np.int64)
    rows = [*chain(*sentences)]
    columns = {"bias": np.zeros(int(starts[-1]), np.uint64)}
    for name in [*(name for template in templates for name, _ in template), *more]:
        if name in columns:
            continue
        base, _, chosen = name.replace("pos", "col2", 1).partition(".")
        if base.startswith("col") and base[3:].isdigit() and 1 <= int(base[3:]) <= 1000:
            index = int(base[3:]) - 1
            one_of(_WHERE, "a function of a column", chosen or "word", FUNCTIONS)
        else:
            index = 0
            chosen = name
            one_of(_WHERE, "a column", name, [*FUNCTIONS, "pos", "bias", "col1"])
        short = [row for row in rows if len(row) <= index]
        if short:
            must = f"the template column {name!r} needs {index + 1} texts in each row"
            raise InputError(_WHERE, must, given=" ".join(short[0]))
        texts = [row[index] for row in rows]
        table = {text: text_hash(FUNCTIONS[chosen or "word"](text)) for text in set(texts)}
        columns[name] = np.fromiter((table[text] for text in texts), np.uint64, len(texts))
    return columns, starts


def template_hashes(columns: Columns, templates: Sequence[Template]) -> Hashes:
    """The hash of each template at each position, (positions, templates)."""
    hashes, starts = columns
    begins, ends = (np.repeat(bounds, np.diff(starts)) for bounds in (starts[:-1], starts[1:]))
    shifted: dict[tuple[str, int], Hashes] = {}
    table = np.empty((len(begins), len(templates)), np.uint64)
    for k, template in enumerate(templates):
        name = " ".join(f"{column}[{offset}]" for column, offset in template)
        total: Hashes = np.full(len(begins), text_hash(name), np.uint64)
        for column, offset in template:
            if (column, offset) not in shifted:
                at = np.arange(len(begins)) + offset
                inside = hashes[column][np.clip(at, 0, len(begins) - 1)]
                before = np.where(at < begins, _BEFORE, inside)
                shifted[column, offset] = np.where(at >= ends, _AFTER, before)
            total = mixed(total, shifted[column, offset])
        table[:, k] = total
    return table


# -- templates of chunks --------------------------------------------------------------------------


class SegmentSet(NamedTuple):
    """Templates of chunks."""

    ends: tuple[tuple[Template, Template], ...]  # from the first position and from the last
    sized: tuple[Template, ...]  # from the first position, together with the length of the chunk
    wholes: tuple[str, ...]  # columns whose whole sequence is a feature
    inside: tuple[Template, ...]  # at each position, where all parts lie within the chunk


@dataclass(frozen=True)
class SegmentFeatures:
    """A function of chunks of a corpus, which returns the columns of their features."""

    firsts: Hashes  # of the templates from the first position, (positions, ends + sized)
    lasts: Hashes  # of those from the last position, (positions, ends)
    within: Hashes  # of the templates inside, (positions, inside)
    wholes: Hashes  # of the columns whose sequence is a feature, (positions, wholes)
    seeds: Hashes  # what these sequences begin with, (wholes,)
    reach: Ints  # the greatest offset of each template inside, (inside,)
    bits: int  # columns are numbers below 2^bits

    def __call__(self, begins: Ints, lengths: Ints) -> NDArray[np.int32]:
        """The columns of features of chunks, (B, K); -1 where a chunk has fewer.

        ``begins`` are their first positions, (B,), and lengths at least 1, (B,).
        """
        ends = self.lasts.shape[1]
        longest = int(lengths.max(initial=0))
        inside = np.full((len(begins), longest, len(self.reach)), -1, np.int32)
        wholes = np.tile(self.seeds, (len(begins), 1))
        for j in range(longest):
            rows = np.flatnonzero(lengths > j)
            at = begins[rows] + j
            wholes[rows] = mixed(wholes[rows], self.wholes[at])
            within = indices(self.within[at], self.bits)
            inside[rows, j] = np.where(j + self.reach < lengths[rows, None], within, -1)
        both = mixed(self.firsts[begins, :ends], self.lasts[begins + lengths - 1])
        sized = mixed(self.firsts[begins, ends:], lengths.astype(np.uint64)[:, None])
        hashes = np.concatenate((both, sized, wholes), axis=1)
        flat = inside.reshape(len(begins), longest * len(self.reach))
        return np.concatenate((indices(hashes, self.bits), flat), axis=1)


def segment_features(
    sentences: Sequence[Sequence[Row]], templates: SegmentSet, bits: int
) -> SegmentFeatures:
    """The features of the chunks of a corpus whose sentences are laid end to end."""
    firsts = [first for first, _ in templates.ends] + list(templates.sized)
    lasts = [last for _, last in templates.ends]
    inside = templates.inside
    columns = columns_of(sentences, [*firsts, *lasts, *inside], templates.wholes)
    first, last, within = (template_hashes(columns, part) for part in (firsts, lasts, inside))
    first = mixed(first, np.arange(len(firsts), dtype=np.uint64))  # "pos |" and "pos", sized, apart
    within = mixed(within, np.uint64(text_hash("inside")))
    names = templates.wholes
    hashes, starts = columns
    wholes = np.array([hashes[name] for name in names]).reshape(len(names), starts[-1]).T
    seeds = np.array([text_hash(f"all {name}") for name in names], np.uint64)
    reach = np.array([max(offset for _, offset in template) for template in inside], np.int64)
    return SegmentFeatures(first, last, within, wholes, seeds, reach, bits)


# -- sets -----------------------------------------------------------------------------------------


class TemplateSet(NamedTuple):
    """Templates of the input, and those that are crossed with labels of the past."""

    static: tuple[Template, ...]
    crossed: tuple[Template, ...] = ()


def _read_lines(name: str | Path, *kinds: str) -> list[list[str]]:
    """The lines of a file without a first word of these kinds, then those of each, without #."""
    lines: dict[str, list[str]] = {kind: [] for kind in ("", *kinds)}
    for line in read_text(name, f"templates {name}").splitlines():
        text = line.partition("#")[0].strip()
        first, _, value = text.partition(" ")
        if text:
            lines[first if first in kinds else ""].append(value if first in kinds else text)
    return list(lines.values())


def _read_set(name: str | Path) -> TemplateSet:
    """The templates of positions in a file, of which there must be one."""
    templates = TemplateSet(*map(parse_templates, _read_lines(name, "cross")))
    if not templates.static:
        raise InputError(f"templates {name}", "there must be a template")
    return templates


def _read_segments(name: Path) -> SegmentSet:
    """The templates of chunks in a file."""
    _, ends, sized, whole, inside = _read_lines(name, "ends", "sized", "whole", "inside")
    pairs = [[parse_template(x) if x.strip() else () for x in line.split("|")] for line in ends]
    templates = parse_templates(sized), tuple(whole), parse_templates(inside)
    return SegmentSet(tuple((a, b) for a, b in pairs), *templates)


SETS = {name: _read_set(_HOME / f"{name}.txt") for name in ("chunking", "names", "words")}
"""Sets by name: "chunking" reads parts of speech in the second column, "words" the word alone."""
CHUNKS = _read_segments(_HOME / "chunks.txt")
"""The templates for chunks of words with parts of speech."""


def template_set(name: str) -> TemplateSet:
    """A set of this package by its name, or that of a file with one template on each line.

    A line that starts with ``cross`` is crossed with the label before.
    """
    if name in SETS or not Path(name).is_file():
        return SETS[one_of("templates", "what is no file of templates", name, SETS)]
    return _read_set(name)


def templated_sentences(
    sentences: Sequence[Sequence[Row]],
    templates: TemplateSet,
    bits: int = 21,
    chunks: SegmentSet | None = None,
) -> HashedSentences:
    """The features of sentences, lists of rows of texts, of which the first is the word.

    There are 2^bits columns; ``chunks`` is for spaces that decide chunk by chunk.
    """
    columns = columns_of(sentences, [*templates.static, *templates.crossed])
    matrix = rows_of_columns(indices(template_hashes(columns, templates.static), bits), 1 << bits)
    crossed = template_hashes(columns, templates.crossed)
    segments = None if chunks is None else segment_features(sentences, chunks, bits)
    return HashedSentences(matrix, columns[1], crossed, segments)


def checked_rows(X: Any) -> list[Sequence[Sequence[str]]]:
    """The sentences, lists of rows of texts; an InputError where they are not."""
    sentences = checked_sentences(X, "ColumnTagger")
    for row in chain.from_iterable(sentences):
        is_row = isinstance(row, list | tuple | np.ndarray)
        if not is_row or not all(isinstance(cell, str) for cell in row):
            must = "a row must be a list or a tuple of texts, a word and its columns"
            raise InputError("ColumnTagger", must, given=row)
    return sentences


def checked_templates(texts: Any, name: str) -> list[str]:
    """The templates as a list of texts; an InputError where they are not."""
    if isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts):
        return list(texts)
    must = f"{name} must be a list of templates, or templates one of {', '.join(SETS)}"
    raise InputError("ColumnTagger", must, given=texts)
