"""Corpora in files: records as they stand there, blocks of them, and what they say.

A file is plain or compressed. In JSON lines a record is a label model as ``from_json`` reads it,
with "id" and sequences beside its keys. In columns it is a sentence, with a token on each line and
empty lines around it; the last column holds the tags where there are any (CoNLL shared tasks).
Taggers print the probability of each label behind each token, as LABEL:0.25 (``crfsuite tag -l``)
or LABEL/0.25 (``crf_test -v2``): labels are then independent, and probabilities, which have a few
digits, are divided by their sum. Lines with # before the first token of a sentence are comments,
where they do not look like tokens (``_is_token``).
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from fsmeu import limits
from fsmeu.endings import CORPORA, format_by_ending
from fsmeu.errors import Argument, FsmeuError, InputError, as_number, one_of, wording
from fsmeu.files import OBJECTS, STDIN, open_input, read_bytes, readable, unpacked
from fsmeu.fst.alphabet import Label, as_labels
from fsmeu.fst.tags import KINDS, is_tag
from fsmeu.models import Independent, Model, from_json
from fsmeu.models.adapters import parse_json

_MARK = b"\xef\xbb\xbf"
_WHERE = re.compile(r"(constraint|given)(?=[ :])")
_PROBABILITY = re.compile(r"(.+)[/:]([^/:]+)")
_COMMENT = re.compile(r"#\s*([\w:.-]+\s+=(\s|$)|newdoc\b|newpar\b)")  # as in CoNLL-U
_ROUNDED = 1e-3  # how far from 1 probabilities with a few digits may add up


class Source(NamedTuple):
    """A corpus that is open: its name in messages, its bytes as stored, and how many if known."""

    where: str
    raw: BinaryIO
    size: int | None = None


@contextmanager
def open_corpus(name: str | Path) -> Iterator[Source]:
    """The corpus in a file, or standard input for -; an InputError where it cannot be opened."""
    where = "standard input" if str(name) == STDIN else f"corpus {name}"
    with ExitStack() as stack:
        with readable(where):
            raw = stack.enter_context(open_input(name))
            place = Path(name).expanduser()
            is_file = str(name) != STDIN and place.is_file()
        yield Source(where, raw, place.stat().st_size if is_file else None)


def format_of(name: str, chosen: str | None) -> str:
    """The format of a corpus: the one that was chosen, or what the ending of the name says."""
    if chosen is not None:
        return one_of("corpus", "input_format", chosen, CORPORA)
    return format_by_ending(name, CORPORA)


class Record(NamedTuple):
    """One record as it stands in the corpus: its number and first line from 1, its bytes.

    These are None where they are too many.
    """

    number: int
    line: int
    text: bytes | None


def blocks(source: Source, form: str) -> Iterator[list[Record]]:
    """The records, ``limits.RECORDS_AT_ONCE`` in a block, or fewer that are large.

    A record is a line that is not empty, or a sentence, with empty lines around it. What is
    computed together is rounded alike: blocks depend on the corpus alone, so that a run that was
    resumed writes the same digits. An InputError where the file is not what its first bytes say.
    """
    number = line = begin = size = total = 0
    stream = None
    piece = b"\n"
    filled = False
    block = list[Record]()
    pieces = list[bytes]()
    while piece:
        if piece.endswith(b"\n"):  # else it is a piece of a line that is too long
            line = line + 1
            filled = False
        with readable(f"{source.where}, after line {line - 1}", "must be readable to its end"):
            if stream is None:
                stream = unpacked(source.raw)
                stream.read(len(_MARK) * stream.peek(len(_MARK)).startswith(_MARK))
            piece = stream.readline(limits.RECORD_BYTES)
        if piece.strip():
            begin = begin or line
            size = size + len(piece)
            filled = True
            pieces.append(piece)
            if size > limits.RECORD_BYTES:
                pieces.clear()
        ended = piece.endswith(b"\n") and (form == "jsonl" or not filled)
        if begin and (ended or not piece):
            text = b"".join(pieces).rstrip(b"\r\n") if size <= limits.RECORD_BYTES else None
            number = number + 1
            total = total + len(text or b"")
            block.append(Record(number, begin, text))
            begin = 0
            size = 0
            pieces = []
        if block and (
            len(block) >= limits.RECORDS_AT_ONCE or total >= limits.BLOCK_BYTES or not piece
        ):
            yield block
            block = []
            total = 0


# -- what a record says ----------------------------------------------------------------------------


class LineError(InputError):
    """A fault of one line of a corpus; it carries ``line``, from 1, which the caller adds."""

    def __init__(self, where: str, must: str, line: int, given: object = None) -> None:
        super().__init__(where, must, given=given)
        self.line = line


class RecordFields(NamedTuple):
    """The places of the sequences of a record: keys, or columns by number or name.

    The reference is "y", or the last column but one, where it is None: the only decision without
    systems and models is then the last column, as conlleval reads it. Where it is "" there is none,
    and there must be a model. A system is its place, or NAME=PLACE.
    """

    gold: str | None = None
    systems: tuple[str, ...] = ()

    def system_places(self) -> dict[str, str]:
        """The key or column of each system by its name."""
        parts = [text.rpartition("=") for text in self.systems]
        return {name or place: place for name, _, place in parts}


class Item(NamedTuple):
    """A record that was read; labels of its sequences are texts, which are known to any loss."""

    number: int  # of the record, from 1
    line: int  # the one in which it begins
    id: str | int | None  # what the corpus calls it
    model: Any  # its label model, or None
    gold: Sequence[Label] = ()  # its reference, where there must be one
    systems: Mapping[str, Sequence[Label]] = MappingProxyType({})  # decisions by their place
    lines: Sequence[int] = ()  # that of each label, in columns


def record_object(record: Record, example: str = '{"probs": [0.2, 0.9]}') -> dict[str, Any]:
    """The JSON object of a record of JSON lines; messages show an example."""
    text = _text(record)
    if text.lstrip()[:1] != "{":
        must = f"each line must be a JSON object, such as {example}"
        raise InputError("record", must, given=text.strip())
    with readable("record", "must not be nested this deeply"):
        content: Any = parse_json(text, "record")
    return content  # type: ignore[no-any-return]


def record_id(content: Mapping[str, Any]) -> str | int | None:
    """What a record calls itself, if anything."""
    name = content.get("id")
    if name is not None and (isinstance(name, bool) or not isinstance(name, str | int)):
        raise InputError("key 'id'", "must be a text or a whole number", given=name)
    return name


def read_record(record: Record, form: str, places: RecordFields, given: Any = None) -> Item:
    """The record of a "jsonl" or "conll" corpus as data, its model on a condition if given."""
    system_places = places.system_places()
    name = None
    lines = list[int]()
    model: Model | None
    if form == "conll":
        tokens = _tokens(_text(record), record.line)
        lines = [token.line for token in tokens]
        where = places.gold
        has_model = where == "" or any(len(token.probs) > 1 for token in tokens)
        if has_model and where is None:
            must = "the column of the reference must be given where labels have probabilities"
            remedy = wording("For example: ", Argument("gold", "2"))
            raise InputError(wording(Argument("gold")), must, given="none", remedy=remedy)
        model = _independent(tokens) if has_model else None
        system_places = system_places or ({"last column": "-1"} if where is None else {})
        gold = "-2" if where is None else where
        labels = partial(_column_labels, tokens)
    else:
        content = record_object(record)
        name = record_id(content)
        gold = "y" if places.gold is None else places.gold
        reserved = {"id", "z", "y", gold, *system_places.values()}
        model_keys = {key: value for key, value in content.items() if key not in reserved}
        model = from_json(model_keys) if model_keys or not gold else None
        labels = partial(_key_labels, content, model)
    y = labels(gold) if gold else ()
    systems = {system: labels(place) for system, place in system_places.items()}
    sizes = {f"{system} must have as many labels": len(z) for system, z in systems.items()}
    sizes |= {} if model is None else {"the model must be as long": model.n}
    for must, size in sizes.items() if gold else ():
        if size != len(y):
            raise InputError("record", f"{must} as the reference, {len(y)}", given=size)
    model = None if model is None else conditioned(model, given)
    return Item(record.number, record.line, name, model, y, systems, lines)


def _text(record: Record) -> str:
    """The text of a record; an InputError where it is too long, or no UTF-8."""
    if record.text is None:
        raise InputError("record", f"may have at most {limits.RECORD_BYTES:,} bytes")
    with readable("record"):
        return record.text.decode("utf-8")


def conditioned(model: Model, constraint: Any) -> Model:
    """The model given a constraint, or itself where that is None; errors name the argument."""
    try:
        return model if constraint is None else model.given(constraint)
    except FsmeuError as error:
        place = wording(Argument("given"))
        raise error.but(where=place) if error.where == "given" else error.within(place) from None


class _Token(NamedTuple):
    """One line of a sentence: its number in the corpus, columns, and probabilities of labels."""

    line: int
    cells: list[str]
    probs: dict[str, float]


def _lines(text: str, line: int) -> list[tuple[int, list[str]]]:
    """The number and the cells of each token of a sentence; comments before them are left out."""
    contents = text.split("\n")
    plain = (content.split() for content in contents if not content.startswith("#"))
    other = next(plain, None)
    lines: list[tuple[int, list[str]]] = []
    for number, content in enumerate(contents, start=line):
        if lines or not content.startswith("#") or _is_token(content, other):
            lines.append((number, content.split()))
    if not lines:
        raise InputError("sentence", "must have tokens", given="comments alone")
    return lines


def _is_token(content: str, other: Sequence[str] | None) -> bool:
    """Whether a line with # is a token, given the cells of the first line without one, if any.

    It is one if it ends in a probability; or has as many columns as the other line, of which the
    last is a chunk tag if that of the other is, and is not written "# key = value". So "# # B-NP",
    with which a sentence of CoNLL-2000 begins, is a token, and "# sentence 17" before it is none.
    Where there is no other line, it must end in a chunk tag.
    """
    cells = content.split()
    last = _last_kind(cells)
    if last == "probability":
        return True
    if _COMMENT.match(content) or len(cells) < 2:
        return False
    if other is None:
        return last == "tag"
    return len(cells) == len(other) and _last_kind(other) in ("text", last)


def _last_kind(cells: Sequence[str]) -> str:
    """What the last cell holds: a "probability" of a label, a chunk "tag", or "text"."""
    if _probability(cells) is not None:
        return "probability"
    name = cells[-1] if cells else ""
    return "tag" if name == "O" or is_tag(name, KINDS["iobes"]) else "text"


def _probability(cells: Sequence[str]) -> tuple[str, float] | None:
    """The label and its probability in the last cell; None where there are none."""
    pair = _PROBABILITY.fullmatch(cells[-1]) if cells else None
    try:
        return None if pair is None else (pair[1], float(pair[2]))
    except ValueError:
        return None


def _tokens(text: str, line: int) -> list[_Token]:
    """The tokens of a sentence.

    Probabilities are those of the last cells, up to one whose label was there already: ``crf_test``
    prints the label that it chose with its probability before all others.
    """
    tokens: list[_Token] = []
    for number, cells in _lines(text, line):
        probs: dict[str, float] = {}
        while (pair := _probability(cells)) is not None and pair[0] not in probs:
            probs[pair[0]] = pair[1]
            cells.pop()
        tokens.append(_Token(number, cells, dict(reversed(probs.items()))))
    return tokens


def _independent(tokens: Sequence[_Token]) -> Independent:
    """The model of tokens with probabilities; a LineError where labels differ, or have none."""
    labels = list(tokens[0].probs)
    rows = []
    for token in tokens:
        row = [token.probs.get(label, math.nan) for label in labels]
        must = ""
        got = ", ".join(token.probs) or "none"
        if not token.probs:
            must = "each token must have the probability of each label, as in B-NP:0.25 O:0.75"
        elif set(token.probs) != set(labels):
            must = f"its labels must be those of the first token, {', '.join(labels)}"
        elif not (all(0 <= p <= 1 for p in row) and abs(math.fsum(row) - 1) <= _ROUNDED):
            must = "they must be from 0 to 1 and add up to 1"
            got = f"a sum of {sum(row)}"
        if must:
            raise LineError("probabilities", must, token.line, given=got)
        rows.append([p / math.fsum(row) for p in row])
    return Independent(rows, as_labels(labels))


def _column_labels(tokens: Sequence[_Token], place: str) -> list[str]:
    """The texts of a column, by its number from 1 or from -1 backwards."""
    column = as_number(place)
    if not column:
        must = "a column must be a number, from 1 or from -1 backwards"
        raise InputError("column", must, given=place)
    width = len(tokens[0].cells)
    for token in tokens:
        if abs(column) > len(token.cells) or (column < 0 and len(token.cells) != width):
            must = f"column {column} must be there, in lines with as many as its first, {width}"
            got = f"{len(token.cells)}{' before the probabilities' if token.probs else ''}"
            raise LineError("columns", must, token.line, given=got)
    return [token.cells[column - (column > 0)] for token in tokens]


def _key_labels(content: dict[str, Any], model: Model | None, key: str) -> list[str]:
    """The texts of labels: a list, or a text as on the command line, words or letters of one."""
    value = content.get(key)
    if value is None:
        must = f'a record must have the key "{key}", as in "{key}": [0, 1] or "{key}": "01"'
        keys = ", ".join(name for name, entry in content.items() if entry is not None)
        raise InputError("record", must, given=f"the keys {keys}")
    if isinstance(value, str):
        words = value.replace(",", " ").split()
        letters = len(words) == 1 and (model is None or words[0] not in model.alphabet.index)
        return list(words[0]) if letters else words
    if not isinstance(value, list) or not all(
        isinstance(label, int | str) and not isinstance(label, bool) and label != ""
        for label in value
    ):
        raise InputError(f"key '{key}'", "must be a list of labels, or a text", given=value)
    return list(map(str, value))


Sentence: TypeAlias = list[tuple[str, ...]]


def read_sentences(name: str | Path, least: int = 1) -> list[Sentence]:
    """The sentences of a file, lists of rows of texts; "-" is standard input.

    All rows must have as many columns, at least ``least``. What is a comment to ``read_record`` is
    one here.
    """
    where = "standard input" if str(name) == STDIN else f"file {name}"
    content = io.BytesIO(read_bytes(name, where, OBJECTS))
    sentences: list[Sentence] = []
    width = 0
    for record in chain.from_iterable(blocks(Source(where, content), "conll")):
        try:
            lines = _lines(_text(record), record.line)
        except InputError as error:
            raise error.within(f"{where}, line {record.line}") from None
        width = width or len(lines[0][1])
        for number, cells in lines:
            if len(cells) != width or width < least:
                must = f"each row must have {max(width, least)} columns"
                raise InputError(f"{where}, line {number}", must, given=" ".join(cells))
        sentences.append([tuple(cells) for _, cells in lines])
    if not sentences:
        raise InputError(where, "there must be a sentence in it")
    return sentences


def inputs_and_tags(sentences: Sequence[Sentence]) -> tuple[list[Sentence], list[list[str]]]:
    """The sentences without their last column, and that column."""
    inputs = [[row[:-1] for row in sentence] for sentence in sentences]
    return inputs, [[row[-1] for row in sentence] for sentence in sentences]


def written(sentences: Sequence[Sequence[Sequence[str]]], tags: Sequence[Sequence[str]]) -> str:
    """The text of a file: the rows of each sentence with one more column."""
    pairs = (zip(*columns, strict=True) for columns in zip(sentences, tags, strict=True))
    return "\n".join("".join(f"{' '.join(row)} {tag}\n" for row, tag in rows) for rows in pairs)
