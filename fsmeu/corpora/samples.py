"""Samples in JSON lines: a record has those of one answer, and its key says what they are.

``{"sets": [["a", "b"], ["b"]]}`` are sets of labels, ``{"spans": [[[0, 2, "NP"]], []]}`` sets of
spans, ``{"sequences": ["0110", [0, 1, 0, 0]]}`` label sequences; "weights" and "id" may stand
beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from fsmeu.corpora.records import Source, blocks, record_id, record_object
from fsmeu.decoding.consensus import SampleDecision, decide_samples
from fsmeu.errors import EmptyError, FsmeuError, InputError
from fsmeu.losses.protocol import Loss
from fsmeu.models.samples import in_order

Data = dict[str, Any]
_EXAMPLE = '{"sets": [["a", "b"], ["b"]]}'


class _SampleRecord(NamedTuple):
    """The samples of one record."""

    id: str | int | None
    samples: list[Any]  # of the types that ``consensus`` takes
    weights: Any


def decided_records(source: Source, loss: Loss, smooth: float | None) -> Iterator[Data]:
    """The decision for each record of JSON lines: "answer", "value", "method" and "exact".

    An InputError names the line of a record that cannot be read or decided; an EmptyError where
    there is none.
    """
    number = 0
    for block in blocks(source, "jsonl"):
        for record in block:
            number = record.number
            try:
                content = _sample_record(record_object(record, _EXAMPLE))
                found = decide_samples(content.samples, loss, content.weights, smooth)
            except FsmeuError as error:
                raise error.within(f"{source.where}, line {record.line}") from None
            name: Data = {} if content.id is None else {"id": content.id}
            yield {"record": record.number, **name, **_data(found)}
    if not number:
        raise EmptyError(source.where, "must hold at least one record")


def _sample_record(content: Data) -> _SampleRecord:
    """The samples of a record, each of the type that its key says."""
    keys = [key for key in _KINDS if key in content]
    if len(keys) != 1:
        must = 'a record must have one of the keys "sequences", "sets" and "spans"'
        got = f"the keys {', '.join(content) or 'of an empty object'}"
        raise InputError("record", must, given=got)
    more = sorted(content.keys() - {*_KINDS, "weights", "id"})
    if more:
        must = f'beside "{keys[0]}", the keys may be "weights" and "id"'
        raise InputError("record", must, given=more[0])
    drawn = content[keys[0]]
    if not isinstance(drawn, list):
        raise InputError(f"key '{keys[0]}'", "must be a list of samples", given=drawn)
    samples = [_KINDS[keys[0]](sample, f"{keys[0]}[{k}]") for k, sample in enumerate(drawn)]
    return _SampleRecord(record_id(content), samples, content.get("weights"))


def _sequence(sample: Any, where: str) -> Any:
    if not isinstance(sample, list | str):
        must = "must be a list of labels, or a text with a label for each character"
        raise InputError(where, must, given=repr(sample))
    return sample


def _set(sample: Any, where: str) -> frozenset[Any]:
    if not isinstance(sample, list):
        raise InputError(where, "must be a list of labels", given=repr(sample))
    return frozenset(_hashable(label, where) for label in sample)


_KINDS: dict[str, Callable[[Any, str], Any]] = {
    "sequences": _sequence,
    "sets": _set,
    "spans": _set,  # of lists [start, end, type]
}


def _hashable(label: Any, where: str) -> Any:
    """A label of a set: lists, which JSON writes for tuples, as such."""
    if isinstance(label, list):
        return tuple(_hashable(part, where) for part in label)
    if isinstance(label, dict):
        must = "a label must be a text, a number or a list of these"
        raise InputError(where, must, given=repr(label))
    return label


def _data(found: SampleDecision) -> Data:
    """The decision as JSON writes it; sets are sorted lists."""
    answer = found.answer
    if isinstance(answer, frozenset):
        answer = list(in_order(answer))
    decision = found.decision
    return {
        "answer": answer,
        "value": decision.value,
        "method": decision.method,
        "exact": decision.exact,
    }
