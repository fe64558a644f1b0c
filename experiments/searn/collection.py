"""Collections of documents to summarise: words with their dependency trees, a query, references.

They are read from CoNLL-U files of one's own parsed documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Ints
from fsmeu.errors import InputError, as_number
from fsmeu.files import read_text

__all__ = ["Collection", "checked", "read_collections", "subtree_order"]

Texts = tuple[str, ...]
_COLUMNS = 10
_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_QUOTES = ('"', "“", "”", "„", "«", "»", "``", "''")


@dataclass(frozen=True, eq=False)
class Collection:
    """Documents laid end to end, word by word.

    Attributes:
        words: all words, (N,).
        tags: their parts of speech, (N,).
        relations: the relation of each to its head, (N,).
        heads: the place of each word's head, -1 for the root of a sentence, (N,).
        sentences: the number of the sentence of each word, never falling, (N,).
        documents: the number of the document of each word, never falling, (N,).
        quoted: whether each stands in quotes, (N,).
        query: the words of the query.
        references: the words of each reference summary.
    """

    words: Texts
    tags: Texts
    relations: Texts
    heads: Ints
    sentences: Ints
    documents: Ints
    quoted: NDArray[np.bool_]
    query: Texts
    references: tuple[Texts, ...]

    def __len__(self) -> int:
        return len(self.words)


def checked(given: Collection) -> Collection:
    """The collection itself, checked.

    Raises:
        InputError: lengths do not agree, a head lies outside of its sentence, heads form a cycle,
            or a sentence has no root or several.
    """
    where, n = "collection", len(given)
    parts = (given.tags, given.relations, given.heads, given.sentences, given.documents)
    if any(len(part) != n for part in (*parts, given.quoted)):
        raise InputError(where, "there must be one entry of each kind for each word")
    heads, sentences = np.asarray(given.heads), np.asarray(given.sentences)
    if (heads < -1).any() or (heads >= n).any():
        raise InputError(where, "a head must be the place of a word, or -1")
    inner = heads >= 0
    if (sentences[heads[inner]] != sentences[inner]).any():
        raise InputError(where, "a head must stand in the sentence of its word")
    for number in np.unique(sentences):
        if (heads[sentences == number] < 0).sum() != 1:
            must = f"sentence {number} must have one root"
            raise InputError(where, must)
    if len(subtree_order(heads)) != n:
        raise InputError(where, "heads must form trees, without cycles")
    return given


def subtree_order(heads: Ints) -> list[int]:
    """Words in an order with heads before their children; those in cycles are missing."""
    children: dict[int, list[int]] = {}
    for place, head in enumerate(heads.tolist()):
        children.setdefault(head, []).append(place)
    found: list[int] = []
    waiting = list(reversed(children.get(-1, [])))
    while waiting:
        place = waiting.pop()
        found.append(place)
        waiting.extend(reversed(children.get(place, [])))
    return found


def read_collections(folder: Path) -> dict[str, Collection]:
    """The collections of a folder by name, sorted.

    A collection is a file NAME.conllu with its documents, or a folder NAME of such files; a
    document begins at ``# newdoc``, and with each file. Its summaries are NAME.summary*.txt (or
    .conllu), in a folder summary*.txt; its query, which may be missing, is NAME.query.txt, in a
    folder query.txt. Words are compared in small letters, and punctuation is left out, as ROUGE
    does it.

    Raises:
        InputError: there are none, a file is malformed, or a collection has no summary.
    """
    where = f"folder {folder}"
    if not folder.is_dir():
        raise InputError(where, "the folder of the collections must be there")
    found = {}
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.startswith("."):
            home, prefix = path, ""
            documents = [p for p in _files(path, "", ".conllu") if not p.name.startswith("summary")]
        elif path.suffix == ".conllu" and ".summary" not in path.name:
            home, prefix, documents = folder, f"{path.stem}.", [path]
        else:
            continue
        if not documents:
            raise InputError(f"folder {path}", "it must hold documents, *.conllu")
        summaries = _files(home, f"{prefix}summary", ".txt", ".conllu")
        if not summaries:
            must = f"collection {path.name} must have a summary"
            remedy = f"Write {home / prefix}summary1.txt"
            raise InputError(where, must, remedy=remedy)
        query = home / f"{prefix}query.txt"
        references = tuple(_text_words(one) for one in summaries)
        asked = _text_words(query) if query.is_file() else ()
        found[path.name] = _collection(documents, asked, references)
    if not found:
        must = "it must hold collections: NAME.conllu, or folders of such files"
        raise InputError(where, must)
    return found


def _files(folder: Path, begin: str, *ends: str) -> list[Path]:
    names = (p for p in folder.iterdir() if p.name.startswith(begin) and p.suffix in ends)
    return sorted(path for path in names if path.is_file())


@dataclass(frozen=True)
class _Token:
    """A row of a CoNLL-U file; ``head`` is the place in its sentence, -1 for the root."""

    word: str
    tag: str
    relation: str
    head: int
    quoted: bool


def _collection(
    documents: Sequence[Path], query: Texts, references: tuple[Texts, ...]
) -> Collection:
    """The sentences of files laid end to end."""
    tokens: list[_Token] = []
    heads: list[int] = []
    numbers: list[tuple[int, int]] = []  # of the sentence and of the document
    sentence = document = 0
    for path in documents:
        for is_new, rows in _sentences(path):
            document += is_new
            begin = len(tokens)
            tokens += rows
            heads += [begin + row.head if row.head >= 0 else -1 for row in rows]
            numbers += [(sentence, document)] * len(rows)
            sentence += 1
    places = np.array(numbers, np.int64).reshape(-1, 2)
    return checked(
        Collection(
            tuple(token.word for token in tokens),
            tuple(token.tag for token in tokens),
            tuple(token.relation for token in tokens),
            np.array(heads, np.int64),
            places[:, 0],
            places[:, 1],
            np.array([token.quoted for token in tokens], bool),
            query,
            references,
        )
    )


def _text_words(path: Path) -> Texts:
    """The words of a summary or query, of a text or a CoNLL-U file."""
    if path.suffix == ".conllu":
        return tuple(token.word for _, rows in _sentences(path) for token in rows)
    words = tuple(_WORD.findall(read_text(path, f"file {path}").lower()))
    if not words:
        raise InputError(f"file {path}", "it must hold words")
    return words


def _sentences(path: Path) -> Iterator[tuple[bool, list[_Token]]]:
    """Whether a document begins, and the words of each sentence of a CoNLL-U file.

    Raises:
        InputError: a row is malformed, heads are no tree, or there is no sentence.
    """
    rows: list[tuple[int, list[str]]] = []
    is_new, some = True, False
    lines = read_text(path, f"file {path}").split("\n")
    for number, text in enumerate([*lines, ""], 1):
        if text.startswith("#"):
            is_new |= text[1:].strip().startswith("newdoc")
        elif text.strip():
            cells = text.rstrip("\r").split("\t")
            if len(cells) != _COLUMNS:
                must = f"a row must have {_COLUMNS} columns, separated by tabs"
                raise InputError(f"file {path}, line {number}", must, given=f"{len(cells)}")
            if cells[0].isdigit():  # not a range of words, nor an empty node
                rows.append((number, cells))
        elif rows:
            yield is_new, _tree(path, rows)
            rows, is_new, some = [], False, True
    if not some:
        raise InputError(f"file {path}", "it must hold sentences in CoNLL-U")


def _tree(path: Path, rows: Sequence[tuple[int, list[str]]]) -> list[_Token]:
    """The words of a sentence without punctuation, children of which are given to its heads."""
    heads = []
    for place, (number, cells) in enumerate(rows, 1):
        head = as_number(cells[6])
        if cells[0] != str(place) or head is None or not 0 <= head <= len(rows) or head == place:
            must = f"the first column must be {place}, the seventh its head, from 0 to {len(rows)}"
            remedy = "Documents must be parsed"
            got = f"{cells[0]} and {cells[6]}"
            raise InputError(f"file {path}, line {number}", must, given=got, remedy=remedy)
        heads.append(head - 1)
    if heads.count(-1) != 1 or len(subtree_order(np.array(heads))) != len(heads):
        must = "heads must form a tree with one root"
        raise InputError(f"file {path}, line {rows[0][0]}", must)
    kept = [
        head < 0 or _WORD.search(cells[1]) is not None
        for head, (_, cells) in zip(heads, rows, strict=True)
    ]
    place_of = (np.cumsum(kept) - 1).tolist()
    found, quoted = [], False
    for head, (_, cells), is_kept in zip(heads, rows, kept, strict=True):
        quoted ^= cells[1] in _QUOTES
        while head >= 0 and not kept[head]:
            head = heads[head]
        if is_kept:
            tag = cells[3] if cells[4] == "_" else cells[4]
            above = place_of[head] if head >= 0 else -1
            found.append(_Token(cells[1].lower(), tag, cells[7], above, quoted))
    return found
