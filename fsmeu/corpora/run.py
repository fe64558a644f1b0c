"""A corpus from end to end: read, answered in blocks by several processes, written in order."""

from __future__ import annotations

import math
import pickle
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from fsmeu.corpora.records import Record, blocks, records
from fsmeu.corpora.source import Source
from fsmeu.corpora.work import Result, answer
from fsmeu.errors import EmptyError, InputError, sentence
from fsmeu.parallel.engine import Workers

__all__ = ["BAD", "Asked", "Step", "Totals", "run"]


class Asked(Protocol):
    """What is asked of every record: it can be pickled, and knows their format."""

    @property
    def form(self) -> str:
        """The format of the records."""
        ...


BAD = ("stop", "skip")
_SAME = 1e-9
"""How far, relatively, a value may be from the one that was written before."""


@dataclass
class Totals:
    """What a run did.

    Attributes:
        records: records that it answered.
        proven: decisions of these that are proven best.
        bad: records that it passed over.
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
    question: Asked,
    source: Source,
    workers: Workers,
    bad: str = "stop",
    last: dict[str, Any] | None = None,
    work: Callable[[bytes, bytes], list[Result]] = answer,
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
        work: what answers a pickled question for a pickled block of records.

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
    for results in workers.in_order(work, shared, tasks):
        seen = results[-1].number
        if last is not None and results[0].number <= done <= seen:
            _check_last(last, results[done - results[0].number], source.where)
        fresh = [result for result in results if result.number > done]
        faults = [_fault(result, source) for result in fresh if result.data is None]
        if faults and bad == "stop":
            raise InputError(faults[0])
        good = [result.data for result in fresh if result.data is not None]
        yield Step(good, faults, positions.popleft())
    if not seen and not done:
        raise EmptyError(sentence(source.where, "must hold at least one record"))
    if seen < done:
        must = f"the corpus must have the {done:,} records that have results"
        raise InputError(sentence(source.where, must, f"{seen or 'fewer'} records"))


def _tasks(source: Source, form: str, first: int, tell: Callable[[int], None]) -> Iterator[bytes]:
    """The blocks from the one with this record on, pickled; says where in the file each ends."""
    for block in blocks(records(source.lines(), form)):
        if block[-1].number >= first:
            tell(source.position)
            yield _packed(block)


def _packed(block: list[Record]) -> bytes:
    return pickle.dumps(block)


def _fault(result: Result, source: Source) -> str:
    return f"{source.where}, line {result.line}: {result.fault}"


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
        raise InputError(sentence(where, must, got, "Write to another file"))
