"""What is asked of every record of a corpus, computed for a block of them."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeVar

from fsmeu.corpora.columns import LineError
from fsmeu.corpora.condition import conditioned
from fsmeu.corpora.parse import Item, parse, spelled
from fsmeu.corpora.records import Record
from fsmeu.decoding.decode import decode, explain
from fsmeu.decoding.decode_many import decode_many
from fsmeu.decoding.problem import Decision
from fsmeu.errors import FsmeuError, InputError, sentence
from fsmeu.expectation.expect import expect
from fsmeu.expectation.expect_many import expect_many
from fsmeu.losses.loss import SpecLoss
from fsmeu.models import Model

__all__ = ["QUESTIONS", "Question", "Result", "answer", "answer_block", "unpacked"]

Data = dict[str, Any]


class Numbered(Protocol):
    """What every record that was read has: its place in the corpus, and maybe a name and model."""

    @property
    def number(self) -> int: ...
    @property
    def line(self) -> int: ...
    @property
    def id(self) -> str | int | None: ...
    @property
    def model(self) -> Model | None: ...


T = TypeVar("T", bound=Numbered)


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of every record.

    Attributes:
        kind: one of ``QUESTIONS``.
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


class _Kept(threading.local):
    """The question of the last block of this thread: what is known of its loss is used again."""

    key: bytes = b""
    question: Any = None


_kept = _Kept()


def unpacked(question: bytes) -> Any:
    """What was pickled; the same object as before when it was the last that was asked for."""
    if _kept.key != question:
        _kept.question, _kept.key = pickle.loads(question), question
    return _kept.question


def answer(question: bytes, block: bytes) -> list[Result]:
    """The results for a block of records, in their order.

    Args:
        question: a pickled ``Question``.
        block: a pickled list of records.
    """
    asked: Question = unpacked(question)
    together, one = QUESTIONS[asked.kind]
    return answer_block(
        pickle.loads(block),
        partial(_read, asked),
        partial(together, asked),
        partial(one, asked),
    )


def _read(asked: Question, record: Record) -> Item:
    item = parse(record, asked.form, asked.column)
    return replace(item, model=conditioned(item.model, asked.given))


def answer_block(
    records: Sequence[Record],
    read: Callable[[Record], T],
    together: Callable[[Sequence[T]], list[Data]],
    one: Callable[[T], Data],
) -> list[Result]:
    """The results for records, in their order; a record that is bad spoils no other.

    Args:
        records: a block of them.
        read: a record as data.
        together: the answers for all that were read.
        one: the answer for one, asked where that for all fails, to see which fails.
    """
    results: dict[int, Result] = {}
    items: list[T] = []
    for record in records:
        try:
            items.append(read(record))
        except FsmeuError as error:
            results[record.number] = _fault(record, error)
    try:
        found = [_result(item, data) for item, data in zip(items, together(items), strict=True)]
    except FsmeuError:
        found = [_alone(one, item) for item in items]
    results.update((result.number, result) for result in found)
    return [results[record.number] for record in records]


def _alone(one: Callable[[T], Data], item: T) -> Result:
    try:
        return _result(item, one(item))
    except FsmeuError as error:
        return _fault(item, error)


def _fault(item: Numbered | Record, error: FsmeuError) -> Result:
    """What is wrong with a record, and in which line."""
    line = error.line if isinstance(error, LineError) else item.line
    return Result(item.number, line, None, str(error))


def _result(item: Numbered, data: Data) -> Result:
    names: Data = {"record": item.number}
    if item.id is not None:
        names["id"] = item.id
    return Result(item.number, item.line, {**names, **data})


def _decide_all(asked: Question, items: Sequence[Item]) -> list[Data]:
    models = [item.model for item in items]
    return [_told(asked, one) for one in decode_many(asked.loss, models, **asked.options)]


def _decide(asked: Question, item: Item) -> Data:
    return _told(asked, decode(asked.loss, item.model, **asked.options))


def _told(asked: Question, decision: Decision) -> Data:
    data: Data = {
        "labels": decision.labels,
        "value": float(decision.value),
        "method": decision.method,
        "exact": decision.exact,
        "candidates": decision.candidates,
    }
    return {**data, "explanation": explain(decision)} if asked.explain else data


def _expect_all(asked: Question, items: Sequence[Item]) -> list[Data]:
    zs = [_hypothesis(item) for item in items]
    values = expect_many(asked.loss, zs, [item.model for item in items])
    return [{"value": float(value)} for value in values]


def _expect(asked: Question, item: Item) -> Data:
    return {"value": float(expect(asked.loss, _hypothesis(item), item.model).value)}


def _hypothesis(item: Item) -> list[Any]:
    """The labels of the hypothesis; a text is read as on the command line."""
    if item.z is None:
        must = 'a hypothesis is needed, as in "z": [0, 1] or "z": "01"'
        raise InputError(sentence("record", must, "none"))
    if not isinstance(item.z, str | list):
        raise InputError(sentence("key 'z'", "must be a list of labels, or a text", item.z))
    return spelled(item.z, item.model) if isinstance(item.z, str) else item.z


QUESTIONS: dict[
    str,
    tuple[Callable[[Question, Sequence[Item]], list[Data]], Callable[[Question, Item], Data]],
] = {"decode": (_decide_all, _decide), "expect": (_expect_all, _expect)}
"""What can be asked: how it is answered for many records together, and for one."""
