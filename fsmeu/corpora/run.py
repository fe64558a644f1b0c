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
from typing import Any, TypeAlias

from fsmeu.corpora.records import Item, LineError, Record, RecordFields, Source, blocks, read_record
from fsmeu.corpora.score import ScoreQuestion
from fsmeu.decoding.decision import explain
from fsmeu.decoding.decode import decode, decode_many
from fsmeu.errors import Argument, EmptyError, FsmeuError, InputError, as_whole, wording
from fsmeu.expectation.expect import expect, expect_many
from fsmeu.losses.loss import SpecLoss
from fsmeu.parallel import Workers

Data = dict[str, Any]
Sink = Callable[[list[Data]], None]


@dataclass(eq=False)
class ModelQuestion:
    """A decision for the model of each record ("decode"), or its hypothesis's value ("expect").

    The hypothesis is the system of the places. Decisions are told in words as well if ``explain``
    is set; ``options`` are further arguments of ``decode``.
    """

    kind: str
    loss: SpecLoss
    form: str
    places: RecordFields
    explain: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    given: Any = None

    def answers(self, items: Sequence[Item]) -> list[Data]:
        """The answers for records together; of one alone, faults are told as of one query."""
        models = [item.model for item in items]
        alone = len(items) == 1
        if self.kind == "expect":
            zs = [next(iter(item.systems.values())) for item in items]
            if alone:
                return [{"value": float(expect(self.loss, zs[0], models[0]).value)}]
            values = expect_many(self.loss, zs, models).values.tolist()
            return [{"value": value} for value in values]
        if alone:
            decided = [decode(self.loss, models[0], **self.options)]
        else:
            decided = decode_many(self.loss, models, **self.options)
        names = ("labels", "value", "method", "exact", "candidates")
        return [
            {name: getattr(decision, name) for name in names}
            | ({"explanation": explain(decision)} if self.explain else {})
            for decision in decided
        ]


Task: TypeAlias = ModelQuestion | ScoreQuestion
"""The query for every record; it can be pickled."""
_cached = threading.local()  # as a pair the last question of a thread, pickled, and with caches


def answer_block(question: bytes, block: bytes) -> dict[int, Data | FsmeuError]:
    """The answers for pickled records by their numbers; of a bad one, an error with its line."""
    last = getattr(_cached, "last", None)
    if last is None or last[0] != question:
        last = _cached.last = question, pickle.loads(question)
    return _answers(last[1], pickle.loads(block))


def _answers(question: Task, records: list[Record]) -> dict[int, Data | FsmeuError]:
    """The answers for records by their numbers; where one is bad, halves are answered apart."""
    try:
        items = [read_record(r, question.form, question.places, question.given) for r in records]
        answers = question.answers(items)
    except FsmeuError as error:
        if half := len(records) // 2:
            return _answers(question, records[:half]) | _answers(question, records[half:])
        line = error.line if isinstance(error, LineError) else records[0].line
        return {records[0].number: error.within(f"line {line}")}
    ids: list[Data] = [{} if item.id is None else {"id": item.id} for item in items]
    parts = zip(items, ids, answers, strict=True)
    return {item.number: {"record": item.number, **name, **data} for item, name, data in parts}


as_line = partial(json.dumps, allow_nan=False)
"""The result of a record as one line of JSON, without its end."""

_BEGIN = b'{"record": '


@contextmanager
def open_output(path: Path, resume: bool) -> Iterator[tuple[Sink, Data | None]]:
    """A function that appends results to a file, and the last one in it where a run is resumed.

    The file must be new or empty, unless a run is resumed: it goes on after the last complete line.
    An InputError where the file holds something else, or another run writes to it.
    """
    where = f"output {path}"
    with path.open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(where, "must not be in use by another run") from None
        size = file.seek(0, 2)
        last = None
        if size and not resume:
            remedy = wording("Add ", Argument("resume", "True"), " to go on with it, or remove it")
            raise InputError(where, "must be a new file", given="one with results", remedy=remedy)
        if size:
            with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                end = content.rfind(b"\n") + 1  # of the last complete line
                line = content[content.rfind(b"\n", 0, max(0, end - 1)) + 1 : end]
                good = _BEGIN.startswith(content[end : end + len(_BEGIN)])
            try:
                last = json.loads(line) if line else None
                good = good and (last is None or as_whole(last["record"], 1) is not None)
            except (ValueError, TypeError, KeyError, RecursionError):
                good = False
            if not good:
                must = "must hold results of this command to be resumed"
                raise InputError(where, must, given="another text")
            file.truncate(end)

        def write(results: list[Data]) -> None:
            file.write("".join(as_line(data) + "\n" for data in results).encode())
            file.flush()  # the system has them when this returns

        yield write, last


_SAME = 1e-9  # how far, relatively, a value may be from the one that was written before


def run(
    question: Task,
    source: Source,
    workers: Workers,
    bad: str = "stop",
    last: Data | None = None,
) -> Iterator[tuple[list[Data], list[FsmeuError], int]]:
    """Answers for each block, errors of bad records, and bytes read so far, in order of the corpus.

    An EmptyError where there is no record. Memory does not grow with the corpus: a few blocks for
    each worker are held at a time. A run that is resumed has a last result: the block that it
    belongs to is computed again, and what it lacks is given; an InputError where it is none of this
    corpus and question. A record that cannot be answered is such an error with ``bad="stop"``, else
    is skipped.
    """
    done = int(last["record"]) if last else 0
    reached = 0
    positions: deque[int] = deque()

    def tasks() -> Iterator[bytes]:
        for block in blocks(source, question.form):
            if block[-1].number >= done:
                positions.append(0 if source.size is None else source.raw.tell())
                yield pickle.dumps(block)

    for results in workers.in_order(answer_block, pickle.dumps(question), tasks()):
        reached = max(results)
        if last is not None and done in results:
            _check_last(last, results[done], source.where)
        new = [result for number, result in results.items() if number > done]
        bad_ones = (result for result in new if isinstance(result, FsmeuError))
        faults = [error.within(source.where, ", ") for error in bad_ones]
        if faults and bad == "stop":
            raise faults[0]
        yield [data for data in new if isinstance(data, dict)], faults, positions.popleft()
    if not reached and not done:
        raise EmptyError(source.where, "must hold at least one record")
    if reached < done:
        must = f"the corpus must have the {done:,} records that have results"
        raise InputError(source.where, must, given=f"{reached or 'fewer'} records")


def _check_last(last: Data, again: Data | FsmeuError, where: str) -> None:
    """Refuses to resume a run whose last result is not what this run would have written."""
    data = again if isinstance(again, dict) else {}
    same = data.get("id") == last.get("id") and data.keys() == last.keys()
    if same and data.get("exact", True) and last.get("exact", True):
        value = last["value"]
        same = isinstance(value, int | float)
        same = same and math.isclose(data["value"], value, rel_tol=_SAME, abs_tol=_SAME)
    if not same:
        must = "the results so far must be those of this corpus and command"
        got = f"another result for record {last['record']:,}"
        raise InputError(where, must, given=got, remedy="Write to another file")
