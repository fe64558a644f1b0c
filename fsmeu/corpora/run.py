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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from fsmeu.corpora.parse import Item, LineError, Places, read_record
from fsmeu.corpora.records import Record, Source, blocks, records
from fsmeu.decoding.decode import decode, decode_many, explain
from fsmeu.errors import EmptyError, FsmeuError, InputError, as_whole, message
from fsmeu.expectation.expect import expect, expect_many
from fsmeu.losses.loss import SpecLoss
from fsmeu.parallel import Workers

Data = dict[str, Any]
Write = Callable[[list[Data]], None]


class Question(Protocol):
    """What is asked of every record; it can be pickled."""

    form: str  # "jsonl" or "conll"
    places: Places  # where sequences stand
    given: Any  # the constraint on which models are conditioned, or None

    def answers(self, items: Sequence[Item]) -> list[Data]:
        """The answers for records together; for each alone where that fails, to see which fails."""


@dataclass(eq=False)
class ModelQuestion:
    """A decision for the model of each record ("decode"), or its hypothesis's value ("expect").

    The hypothesis is the system of the places. Decisions are told in words as well if ``explain``
    is set; ``options`` are further arguments of ``decode``.
    """

    kind: str
    loss: SpecLoss
    form: str
    places: Places
    explain: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    given: Any = None

    def answers(self, items: Sequence[Item]) -> list[Data]:
        """The answers for records together."""
        models, alone = [item.model for item in items], len(items) == 1
        if self.kind == "expect":
            zs = [next(iter(item.systems.values())) for item in items]
            if alone:
                return [{"value": float(expect(self.loss, zs[0], models[0]).value)}]
            return [{"value": float(value)} for value in expect_many(self.loss, zs, models)]
        if alone:
            decided = [decode(self.loss, models[0], **self.options)]
        else:
            decided = decode_many(self.loss, models, **self.options)
        return [
            {
                "labels": one.labels,
                "value": float(one.value),
                "method": one.method,
                "exact": one.exact,
                "candidates": one.candidates,
                **({"explanation": explain(one)} if self.explain else {}),
            }
            for one in decided
        ]


class Result(NamedTuple):
    """What became of a record: its number, first line and answer, or None and what is wrong."""

    number: int
    line: int
    data: Data | None
    fault: str = ""


_cached = threading.local()  # the last question of a thread: what is known of its loss


def answer_block(question: bytes, block: bytes) -> list[Result]:
    """The results for pickled records, in their order; a record that is bad spoils no other."""
    if getattr(_cached, "key", None) != question:
        _cached.question, _cached.key = pickle.loads(question), question
    query: Question = _cached.question
    results: dict[int, Result] = {}
    held: list[Record] = pickle.loads(block)

    def take(record: Item | Record, ask: Callable[[Any], Any]) -> Any:
        """What is asked for; where that fails, the fault becomes the record's result."""
        try:
            return ask(record)
        except FsmeuError as error:
            line = error.line if isinstance(error, LineError) else record.line
            results[record.number] = Result(record.number, line, None, str(error))
            return None

    read = partial(read_record, form=query.form, places=query.places, given=query.given)
    items = [item for record in held if (item := take(record, read)) is not None]
    try:
        answers = query.answers(items)
    except FsmeuError:
        answers = [take(item, lambda one: query.answers([one])[0]) for item in items]
    for item, data in zip(items, answers, strict=True):
        if data is not None:
            names = {"record": item.number} | ({} if item.id is None else {"id": item.id})
            results[item.number] = Result(item.number, item.line, {**names, **data})
    return [results[record.number] for record in held]


def as_line(data: Data) -> str:
    """The result of a record as one line of JSON, without its end."""
    return json.dumps(data, allow_nan=False)


_BEGIN = b'{"record": '


@contextmanager
def open_output(path: Path, resume: bool) -> Iterator[tuple[Write, Data | None]]:
    """What adds results to a file, new or empty unless a run is resumed, and the last one in it.

    That goes on after the last complete line; one that is incomplete is cut off. An InputError
    where the file holds something else, or another run writes to it.
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
        last: Data = {}
        if size:
            with mmap(file.fileno(), 0, access=ACCESS_READ) as held:
                end = held.rfind(b"\n") + 1  # of the last complete line
                line = held[held.rfind(b"\n", 0, max(0, end - 1)) + 1 : end]
                good = _BEGIN.startswith(held[end : end + len(_BEGIN)])
            try:
                last = json.loads(line) if line else {}
                good = good and (not line or as_whole(last["record"], 1) is not None)
            except (ValueError, TypeError, KeyError, RecursionError):
                good = False
            if not good:
                must = "must hold results of this command to be resumed"
                raise InputError(message(where, must, "another text"))
            file.truncate(end)

        def write(results: list[Data]) -> None:
            file.write("".join(as_line(data) + "\n" for data in results).encode())
            file.flush()  # the system has them when this returns

        yield write, last or None


BAD = ("stop", "skip")
_SAME = 1e-9
"""How far, relatively, a value may be from the one that was written before."""


@dataclass
class Totals:
    """What a run did: records answered, decisions of these that are proven, records skipped."""

    records: int = 0
    proven: int = 0
    bad: int = 0


class Step(NamedTuple):
    """Answers for new records of a block, messages of faults, and bytes of the corpus so far."""

    results: list[Data]
    faults: list[str]
    position: int


def run(
    question: Question,
    source: Source,
    workers: Workers,
    bad: str = "stop",
    last: Data | None = None,
) -> Iterator[Step]:
    """What came of each block of a corpus, in order; an EmptyError where there is no record.

    Memory does not grow with the corpus: a few blocks for each worker are held at a time. A run
    that is resumed has a last result: the block that it belongs to is computed again, and what it
    lacks is given; an InputError where it is none of this corpus and question. A record that cannot
    be answered is such an error with ``bad="stop"``, else is skipped.
    """
    done, seen = int(last["record"]) if last else 0, 0
    positions: deque[int] = deque()

    def tasks() -> Iterator[bytes]:
        for block in blocks(records(source.lines(), question.form)):
            if block[-1].number >= done:
                positions.append(source.position)
                yield pickle.dumps(block)

    for results in workers.in_order(answer_block, pickle.dumps(question), tasks()):
        seen = results[-1].number
        if last is not None and results[0].number <= done <= seen:
            _check_last(last, results[done - results[0].number], source.where)
        new = [result for result in results if result.number > done]
        faults = [f"{source.where}, line {r.line}: {r.fault}" for r in new if r.data is None]
        if faults and bad == "stop":
            raise InputError(faults[0])
        yield Step([r.data for r in new if r.data is not None], faults, positions.popleft())
    if not seen and not done:
        raise EmptyError(message(source.where, "must hold at least one record"))
    if seen < done:
        must = f"the corpus must have the {done:,} records that have results"
        raise InputError(message(source.where, must, f"{seen or 'fewer'} records"))


def _check_last(last: Data, again: Result, where: str) -> None:
    """Sees that the last result of a run that is resumed is what this run would have written."""
    data = again.data or {}
    same = data.get("id") == last.get("id") and data.keys() == last.keys()
    if same and data.get("exact", True) and last.get("exact", True):
        value = last["value"]
        same = isinstance(value, int | float)
        same = same and math.isclose(data["value"], value, rel_tol=_SAME, abs_tol=_SAME)
    if not same:
        must = "the results so far must be those of this corpus and command"
        got = f"another result for record {again.number:,}"
        raise InputError(message(where, must, got, "Write to another file"))
