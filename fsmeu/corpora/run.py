"""A corpus from end to end: read, answered in blocks by several processes, written in order.

Results are JSON lines, each complete, to which a run that was killed can be resumed.
"""

from __future__ import annotations

import fcntl
import json
import math
import pickle
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from fsmeu.corpora.columns import LineError
from fsmeu.corpora.parse import Item, parse, spelled
from fsmeu.corpora.records import Record, Source, blocks, records
from fsmeu.decoding.decode import decode, explain
from fsmeu.decoding.decode_many import decode_many
from fsmeu.decoding.problem import Decision
from fsmeu.errors import EmptyError, FsmeuError, InputError, as_whole, message
from fsmeu.expectation.expect import expect
from fsmeu.expectation.expect_many import expect_many
from fsmeu.losses.loss import SpecLoss
from fsmeu.parallel import Workers

__all__ = [
    "BAD",
    "ModelQuestion",
    "Question",
    "Totals",
    "as_line",
    "open_output",
    "run",
]

Data = dict[str, Any]


class Question(Protocol):
    """What is asked of every record; it can be pickled."""

    @property
    def form(self) -> str:
        """The format of the records, "jsonl" or "conll"."""

    def read(self, record: Record) -> Item:
        """A record as data."""

    def answers(self, items: Sequence[Item]) -> list[Data]:
        """The answers for records together."""

    def answer(self, item: Item) -> Data:
        """The answer for one alone, asked where that for all fails, to see which fails."""


@dataclass(frozen=True, eq=False)
class ModelQuestion:
    """A decision for the model of each record, or the expected value of its hypothesis.

    Attributes:
        kind: "decode" or "expect".
        loss: the loss.
        form: the format of the records.
        column: for "conll", the column of the hypothesis, counted from 1; 0 for none.
        explain: whether decisions are told in words as well.
        options: further arguments of ``decode``.
        given: the constraint on which models are conditioned, or None.
    """

    kind: str
    loss: SpecLoss
    form: str = "jsonl"
    column: int = 0
    explain: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    given: Any = None

    def read(self, record: Record) -> Item:
        """A record as data."""
        return parse(record, self.form, self.column, self.given)

    def answers(self, items: Sequence[Item]) -> list[Data]:
        """The answers for records together."""
        models = [item.model for item in items]
        if self.kind == "decode":
            return [self._told(one) for one in decode_many(self.loss, models, **self.options)]
        values = expect_many(self.loss, [_hypothesis(item) for item in items], models)
        return [{"value": float(value)} for value in values]

    def answer(self, item: Item) -> Data:
        """The answer for one alone."""
        if self.kind == "decode":
            return self._told(decode(self.loss, item.model, **self.options))
        return {"value": float(expect(self.loss, _hypothesis(item), item.model).value)}

    def _told(self, decision: Decision) -> Data:
        data: Data = {
            "labels": decision.labels,
            "value": float(decision.value),
            "method": decision.method,
            "exact": decision.exact,
            "candidates": decision.candidates,
        }
        return {**data, "explanation": explain(decision)} if self.explain else data


def _hypothesis(item: Item) -> list[Any]:
    """The labels of the hypothesis; a text is read as on the command line."""
    if item.z is None:
        must = 'a hypothesis is needed, as in "z": [0, 1] or "z": "01"'
        raise InputError(message("record", must, "none"))
    if not isinstance(item.z, str | list):
        raise InputError(message("key 'z'", "must be a list of labels, or a text", item.z))
    return spelled(item.z, item.model) if isinstance(item.z, str) else item.z


@dataclass(frozen=True)
class Result:
    """What became of one record.

    Attributes:
        number: the number of the record.
        line: the line at which it begins.
        data: the answer; None where the record is bad.
        fault: what is wrong with it.
    """

    number: int
    line: int
    data: Data | None
    fault: str = ""


class _Cached(threading.local):
    """The question of the last block of this thread: what is known of its loss is used again."""

    key: bytes = b""
    question: Any = None


_cached = _Cached()


def answer_block(question: bytes, block: bytes) -> list[Result]:
    """The results for a block of records, in their order; one that is bad spoils no other.

    Args:
        question: a pickled ``Question``.
        block: a pickled list of records.
    """
    if _cached.key != question:
        _cached.question, _cached.key = pickle.loads(question), question
    asked: Question = _cached.question
    found: dict[int, Result] = {}
    items: list[Item] = []
    records: list[Record] = pickle.loads(block)
    for record in records:
        try:
            items.append(asked.read(record))
        except FsmeuError as error:
            found[record.number] = _fault(record, error)
    try:
        answers = asked.answers(items)
        found |= {i.number: _result(i, data) for i, data in zip(items, answers, strict=True)}
    except FsmeuError:
        found |= {item.number: _alone(asked, item) for item in items}
    return [found[record.number] for record in records]


def _alone(asked: Question, item: Item) -> Result:
    try:
        return _result(item, asked.answer(item))
    except FsmeuError as error:
        return _fault(item, error)


def _fault(item: Item | Record, error: FsmeuError) -> Result:
    """What is wrong with a record, and in which line."""
    line = error.line if isinstance(error, LineError) else item.line
    return Result(item.number, line, None, str(error))


def _result(item: Item, data: Data) -> Result:
    names: Data = {"record": item.number}
    if item.id is not None:
        names["id"] = item.id
    return Result(item.number, item.line, {**names, **data})


_BEGIN = b'{"record": '
_PIECE = 1 << 16


def as_line(data: dict[str, Any]) -> str:
    """The result of a record as one line of JSON, without its end."""
    return json.dumps(data, allow_nan=False)


@dataclass(frozen=True)
class Output:
    """A file of results that is open.

    Attributes:
        file: where the next result goes.
        last: the last result that it holds; None when it holds none.
    """

    file: BinaryIO
    last: dict[str, Any] | None = None

    @property
    def done(self) -> int:
        """The number of the last record with a result."""
        return int(self.last["record"]) if self.last else 0

    def write(self, results: Iterable[dict[str, Any]]) -> None:
        """Adds results; the system has them when this returns."""
        self.file.write("".join(as_line(data) + "\n" for data in results).encode())
        self.file.flush()


@contextmanager
def open_output(path: Path, resume: bool) -> Iterator[Output]:
    """The file that results are written to.

    Args:
        path: the file; it must be empty or not be there unless a run is resumed.
        resume: whether to go on after the last complete line; one that is incomplete is cut off.

    Raises:
        InputError: the file holds something else, or another run writes to it.
    """
    where = f"output {path}"
    with path.open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(message(where, "must not be in use by another run")) from None
        size = file.seek(0, 2)
        if size and not resume:
            remedy = "Add --resume to go on with it, or remove it"
            raise InputError(message(where, "must be a new file", "one with results", remedy))
        end = _after_newline(file, size)  # of the last complete line
        last = _last(file, end, size, where) if size else None
        file.truncate(end)
        yield Output(file, last)


def _after_newline(file: BinaryIO, end: int) -> int:
    """The place behind the last line end before ``end``, 0 where there is none."""
    while end > 0:
        begin = max(0, end - _PIECE)
        file.seek(begin)
        found = file.read(end - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def _last(file: BinaryIO, end: int, size: int, where: str) -> dict[str, Any] | None:
    """The last result, once it is seen that the file holds results."""
    must = "must hold results of this command to be resumed"
    file.seek(end)
    rest = file.read(len(_BEGIN))
    if end < size and not _BEGIN.startswith(rest):
        raise InputError(message(where, must, "another text"))
    if not end:
        return None
    begin = _after_newline(file, end - 1)
    file.seek(begin)
    try:
        last = json.loads(file.read(end - begin))
        if as_whole(last["record"], least=1) is not None:
            return dict(last)
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise InputError(message(where, must, "another text"))


BAD = ("stop", "skip")
_SAME = 1e-9
"""How far, relatively, a value may be from the one that was written before."""


@dataclass
class Totals:
    """What a run did.

    Attributes:
        records: records that it answered.
        proven: decisions of these that are proven best.
        bad: records that it skipped.
    """

    records: int = 0
    proven: int = 0
    bad: int = 0


@dataclass(frozen=True)
class Step:
    """What came of one block.

    Attributes:
        results: the answers for its records, those that are good and new.
        faults: messages for those that are bad, each with its line.
        position: bytes of the corpus up to here, as it is stored.
    """

    results: list[dict[str, Any]]
    faults: list[str]
    position: int


def run(
    question: Question,
    source: Source,
    workers: Workers,
    bad: str = "stop",
    last: dict[str, Any] | None = None,
) -> Iterator[Step]:
    """What came of each block of a corpus, in order.

    Memory does not grow with the corpus: a few blocks for each worker are held at a time.

    Args:
        question: what is asked of every record.
        source: the corpus.
        workers: who computes.
        bad: "stop" at a record that cannot be answered, or "skip" it.
        last: the last result of a run that is resumed: the block that it belongs to is computed
            again, and what it lacks is given.

    Raises:
        EmptyError: there is no record.
        InputError: a record is bad, and that is not to be skipped; or the last result is none of
            this corpus and question.
    """
    done = int(last["record"]) if last else 0
    positions: deque[int] = deque()
    tasks = _tasks(source, question.form, max(done, 1), positions.append)
    shared = pickle.dumps(question)
    seen = 0
    for results in workers.in_order(answer_block, shared, tasks):
        seen = results[-1].number
        if last is not None and results[0].number <= done <= seen:
            _check_last(last, results[done - results[0].number], source.where)
        fresh = [result for result in results if result.number > done]
        faults = [
            f"{source.where}, line {result.line}: {result.fault}"
            for result in fresh
            if result.data is None
        ]
        if faults and bad == "stop":
            raise InputError(faults[0])
        good = [result.data for result in fresh if result.data is not None]
        yield Step(good, faults, positions.popleft())
    if not seen and not done:
        raise EmptyError(message(source.where, "must hold at least one record"))
    if seen < done:
        must = f"the corpus must have the {done:,} records that have results"
        raise InputError(message(source.where, must, f"{seen or 'fewer'} records"))


def _tasks(source: Source, form: str, first: int, tell: Callable[[int], None]) -> Iterator[bytes]:
    """The blocks from the one with this record on, pickled; says where in the file each ends."""
    for block in blocks(records(source.lines(), form)):
        if block[-1].number >= first:
            tell(source.position)
            yield pickle.dumps(block)


def _check_last(last: dict[str, Any], again: Result, where: str) -> None:
    """Sees that the last result of a run that is resumed is what this run would have written."""
    data = again.data or {}
    same = data.get("id") == last.get("id") and data.keys() == last.keys()
    if same and data.get("exact", True) and last.get("exact", True):
        told = last["value"]
        same = isinstance(told, int | float) and math.isclose(
            data["value"], told, rel_tol=_SAME, abs_tol=_SAME
        )
    if not same:
        must = "the results so far must be those of this corpus and command"
        got = f"another result for record {again.number:,}"
        raise InputError(message(where, must, got, "Write to another file"))
