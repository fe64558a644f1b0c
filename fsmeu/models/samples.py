"""Samples of one answer, as people draw them from a model, read as label sequences.

- *sequences*: lists, tuples or arrays of labels, or texts with a label for each character, all of
  one length;
- *sets* of labels, which may be any hashables: a position for each label that occurs, 1 where a
  sample has it and 0 where not;
- *sets of spans* (start, end, type) that do not overlap, where a scheme of chunk tags is given: the
  tags of positions 0, 1, ..., up to the last that is in a span.

``from_samples`` makes a label model of them. ``read_samples`` returns ``Samples``, which also make
an answer of the samples' own type from labels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.errors import EmptyError, InputError, as_whole, one_of, shorten
from fsmeu.fst.alphabet import BINARY, Alphabet, Label, listed, plain_label
from fsmeu.fst.layers import Layer, Layered
from fsmeu.fst.tags import KINDS, SCHEMES, chunk_tags, is_tag, tag_labels, tag_parts, tagged_chunks
from fsmeu.models.base import Model
from fsmeu.models.chains import Independent
from fsmeu.models.checks import check_arcs, real_array
from fsmeu.models.lattices import Mixture, NBest, alphabet_of_distinct, checked_weights

_SETS_OF_SPANS = "For spans that overlap, and for sets of other labels, give a loss over 0 and 1, "
_SETS_OF_SPANS += "such as fscore, which takes any hashables as labels"


class Span(NamedTuple):
    """A typed span of positions."""

    start: int  # its first position
    end: int  # the position after its last
    type: str


@dataclass(frozen=True, eq=False)
class Samples(ABC):
    """Samples as label sequences."""

    rows: Ints  # label indices, (samples, n)
    alphabet: Alphabet
    scheme: str  # of chunk tags that answers are to be written in, "" where they are none

    @abstractmethod
    def answer(self, labels: Sequence[Label]) -> Any:
        """The answer, in the samples' own type, that these n labels stand for."""

    @property
    def _are_few(self) -> bool:
        """Whether a path for each sample, with arcs for all labels, is faster than a trie.

        The lengths and types of open chunks multiply the states of a path.
        """
        arcs = self.rows.size * len(self.alphabet)
        if not self.scheme:
            return arcs <= limits.MOST_SAMPLE_ARCS
        return arcs * len(_types_of(self.alphabet.labels)) <= limits.MOST_SAMPLE_TAG_ARCS

    def model(
        self, weights: ArrayLike | None, smooth: float | None, where: str = "from_samples"
    ) -> Model:
        """The label model of the samples, as ``from_samples`` describes it."""
        numbers = checked_weights(weights, len(self.rows), f"{where}, weights")
        share = _share(smooth, where)
        kind = SampleList if self._are_few else NBest
        drawn = kind.of_indices(self.rows, numbers, self.alphabet)
        if not share:
            return drawn
        independent: Model = Independent(drawn.marginals(), self.alphabet.labels)
        if self.scheme and drawn.n:
            independent = independent.given(SCHEMES[self.scheme]())
        if share == 1.0:
            return independent
        return Mixture([drawn, independent], [1.0 - share, share])


def from_samples(
    samples: Iterable[Any],
    weights: ArrayLike | None = None,
    smooth: float | None = None,
    scheme: str | None = None,
) -> Model:
    """The label model whose sequences are samples of one answer, each as probable as it is drawn.

    ``fsmeu.consensus`` decides under it. The labels of sets are positions in their sorted order
    (by type and ``repr`` where they have none), and a sample has the label 1 at those of its own.

    Args:
        samples: label sequences of one length (a text has a label for each character), or sets.
        weights: one number per sample, at least 0; they need not sum to 1. Equal ones unless given.
        smooth: the share, from 0 to 1, of a model of independent labels with the same marginals,
            which is mixed in: few samples say little about what goes together. None is 0.
        scheme: "bio", "iob1" or "iobes" where samples are sequences of chunk tags, or sets of spans
            (start, end, type), which become tags; ``end`` is the position after the last. The
            independent model is then that of tags which the scheme allows.

    >>> from_samples(["0110", "0100", "0100"]).marginals()[:, 1].round(3).tolist()
    [0.0, 1.0, 0.333, 0.0]
    >>> from_samples([{(0, 2, "NP")}, set()], scheme="bio").most_probable()[0][0]
    ['O', 'O']
    """
    where = "from_samples"
    chosen = "" if scheme is None else one_of(where, "scheme", scheme, SCHEMES)
    return read_samples(samples, where, chosen).model(weights, smooth, where)


def read_samples(
    samples: Iterable[Any], where: str, scheme: str = "", alphabet: Alphabet | None = None
) -> Samples:
    """Samples of any kind; an InputError says which of them is at fault.

    Args:
        samples: sequences or sets.
        where: the caller, in messages.
        scheme: of chunk tags, or "" where sets are sets of labels.
        alphabet: the labels that there may be; those that occur where it is None.
    """
    must = "samples must be a list of label sequences, or of sets"
    if isinstance(samples, str):
        remedy = "Samples come first, in a list: [sample, sample, ...]"
        raise InputError(where, must, given=repr(samples), remedy=remedy)
    drawn = listed(samples, where, must, rows=True)
    if not drawn:
        raise EmptyError(where, "there must be at least one sample", given="an empty list")
    kinds = [_kind(sample, _at(where, k)) for k, sample in enumerate(drawn)]
    for k, kind in enumerate(kinds):
        if kind != kinds[0]:
            must = "all samples must be sequences, all texts, or all sets"
            raise InputError(_at(where, k), must, given=f"a {kind} after a {kinds[0]}")
    if kinds[0] != "set":
        return _sequences(drawn, where, scheme, alphabet)
    return _spans(drawn, where, scheme, alphabet) if scheme else _sets(drawn, where)


def _at(where: str, sample: int) -> str:
    """The place of a sample in messages."""
    return f"{where}, samples[{sample}]"


def _kind(sample: Any, where: str) -> str:
    """Whether a sample is a "text", a "set" or a "sequence"; an InputError where it is none."""
    if isinstance(sample, str):
        return "text"
    if isinstance(sample, AbstractSet):
        return "set"
    ordered = isinstance(sample, Iterable) or hasattr(sample, "__array__")
    if not ordered or isinstance(sample, Mapping | bytes | bytearray):
        must = "a sample must be a sequence of labels, a text, or a set"
        raise InputError(where, must, given=repr(sample))
    return "sequence"


def _share(smooth: float | None, where: str) -> float:
    """The share of the independent model; an InputError unless it is from 0 to 1."""
    if smooth is None:
        return 0.0
    number = real_array(smooth, f"{where}, smooth")
    if number.ndim or not 0.0 <= number <= 1.0:
        must = "must be a number from 0 to 1: the share of a model of independent labels"
        raise InputError(f"{where}, smooth", must, given=repr(smooth), remedy="None leaves it out")
    return float(number)


@dataclass(frozen=True, eq=False, repr=False)
class SampleList(NBest):
    """A list of sequences as paths side by side, where ``NBest`` has a trie.

    A state is a sequence, and reads every label, others than its own with weight 0. So all lists of
    as many sequences over the same labels have the same arcs at every position, and what they are
    composed with is built once for all of them. Sequences that are merged leave a path of weight 0.

    Attributes:
        paths: how many sequences were given.
    """

    paths: int

    @classmethod
    def of_indices(cls, rows: Ints, weights: Floats, alphabet: Alphabet) -> SampleList:
        """The list of sequences that are given as label indices, (paths, n)."""
        model = cls.__new__(cls)
        model._merge(rows, weights, alphabet)
        model._keep(paths=len(rows))
        return model

    @property
    def structure(self) -> Hashable:
        """The number of paths and of labels: the arcs depend on nothing else."""
        return "paths side by side", self.paths, len(self.labels)

    @property
    def repeats(self) -> bool:
        """Every position has the same arcs."""
        return True

    @property
    def _parts(self) -> dict[str, Any]:
        return {"model": "nbest", **{name: getattr(self, name) for name in NBest._arguments}}

    def _build(self) -> Layered:
        size = len(self.labels)
        start = np.zeros(self.paths)
        start[: len(self.indices)] = self.probabilities
        rows = np.zeros((self.paths, self.n), np.int64)
        rows[: len(self.indices)] = self.indices
        weights = np.zeros((self.n, self.paths, size))
        np.put_along_axis(weights, rows.T[:, :, None], 1.0, axis=2)
        source = np.repeat(np.arange(self.paths), size)
        label = np.tile(np.arange(size), self.paths)
        layers = tuple(
            Layer(source, label, source, weight, self.paths)
            for weight in weights.reshape(self.n, self.paths * size)
        )
        return Layered(self.alphabet, start, layers, np.ones(self.paths))


# -- sequences -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Sequences(Samples):
    """Label sequences of one length."""

    own: Mapping[int, Any]  # labels as they were given, by index
    first: Any  # the first sample, of whose type an answer is
    dtype: np.dtype[Any] | None  # of all samples, where they are arrays

    def answer(self, labels: Sequence[Label]) -> Any:
        """The labels as they were given, in a sequence as the first sample is one."""
        indices = [self.alphabet.index[label] for label in labels]
        items = [self.own.get(k, self.alphabet.labels[k]) for k in indices]
        if isinstance(self.first, str):
            return "".join(map(str, items))
        if self.dtype is not None:
            return np.array(items, self.dtype)
        return tuple(items) if isinstance(self.first, tuple) else items


def _sequences(
    drawn: Sequence[Any], where: str, scheme: str, alphabet: Alphabet | None
) -> _Sequences:
    lists = [_labels_of(sample, _at(where, k)) for k, sample in enumerate(drawn)]
    n = len(lists[0])
    for k, one in enumerate(lists):
        if len(one) != n:
            must = f"all samples must have as many labels as the first, {n}"
            remedy = "Answers that are no sequences of one length can be sets: {label, ...}"
            remedy = _cure_of_spans(lists) or remedy
            raise InputError(_at(where, k), must, given=f"a length of {len(one)}", remedy=remedy)
    check_arcs(where, len(lists) * n)
    flat = list(chain.from_iterable(lists))
    try:
        distinct = dict.fromkeys(flat)
    except TypeError:
        _refuse_labels(lists, where)
    if alphabet is None:
        alphabet = _alphabet_of(distinct, lists, where, scheme)
    code: dict[Any, int] = {}
    for label in distinct:
        index = alphabet.index.get(plain_label(label))
        if index is None:
            _refuse_outside(lists, where, alphabet)
        code[label] = index
    rows = np.array([code[label] for label in flat], np.int64).reshape(len(lists), n)
    own = {index: label for label, index in reversed(code.items())}
    if distinct and all(isinstance(label, bool | np.bool_) for label in distinct):
        own = {k: bool(label) for k, label in enumerate(alphabet.labels)}
    return _Sequences(rows, alphabet, scheme, own, drawn[0], _dtype(drawn))


def _labels_of(sample: Any, where: str) -> list[Any]:
    """The labels of a sequence or text."""
    if isinstance(sample, str) and any(letter.isspace() for letter in sample):
        must = "a text has a label for each character, and none of them is a space"
        remedy = "For labels with spaces between them, give a list: text.split()"
        raise InputError(where, must, given=repr(sample), remedy=remedy)
    return listed(sample, where)


def _dtype(drawn: Sequence[Any]) -> np.dtype[Any] | None:
    """The type of the entries of arrays; None where the first sample is none."""
    if not hasattr(drawn[0], "__array__"):
        return None
    arrays: list[NDArray[Any]] = [np.asarray(sample) for sample in drawn]
    try:
        return np.result_type(*arrays)
    except TypeError:  # of numbers and texts
        return np.dtype(object)


def _alphabet_of(
    distinct: Iterable[Any], lists: Sequence[Sequence[Any]], where: str, scheme: str
) -> Alphabet:
    """The alphabet of these labels; of chunk tags, all tags of the types that occur."""
    plain = [plain_label(label) for label in distinct]
    if not all(isinstance(label, int | str) and label != "" for label in plain):
        _refuse_labels(lists, where)
    by_name = {str(label): label for label in plain}  # 1 and "1" are one label
    if not scheme:
        return alphabet_of_distinct(set(by_name.values()))
    if not all(name == "O" or is_tag(name, KINDS[scheme]) for name in by_name):
        _refuse_tags(lists, where, scheme)
    return Alphabet(tag_labels(_types_of(by_name), scheme))


def _types_of(tags: Iterable[Label]) -> list[str]:
    """The types of chunk tags, sorted."""
    return sorted({tag_parts(str(tag))[1] for tag in tags} - {""})


def _refuse_labels(lists: Sequence[Sequence[Any]], where: str) -> NoReturn:
    """Refuses the first label that is no int or text."""
    must = "each label must be an int or a text that is not empty"
    remedy = _cure_of_spans(lists) or "Labels of other types can be those of sets: {label, ...}"
    for k, one in enumerate(lists):
        for label in map(plain_label, one):
            if not isinstance(label, int | str) or label == "":
                raise InputError(_at(where, k), must, given=repr(label), remedy=remedy)
    raise InputError(where, must, remedy=remedy)


def _cure_of_spans(lists: Sequence[Sequence[Any]]) -> str:
    """What to give in the place of lists of spans, (start, end, type); "" for other lists."""
    entries = chain.from_iterable(lists)
    if not any(isinstance(entry, tuple | list) and len(entry) == 3 for entry in entries):
        return ""
    return "Give sets of spans: [{tuple(span) for span in sample} for sample in samples]"


def _refuse_tags(lists: Sequence[Sequence[Any]], where: str, scheme: str) -> NoReturn:
    """Refuses the first label that is no tag of the scheme."""
    kinds = KINDS[scheme]
    must = f"labels must be chunk tags: O, {', '.join(f'{kind}-TYPE' for kind in kinds)}"
    remedy = "Give lists of tags, or sets of spans: {(start, end, type), ...}"
    for k, one in enumerate(lists):
        for label in one:
            if str(label) != "O" and not is_tag(str(label), kinds):
                raise InputError(_at(where, k), must, given=repr(label), remedy=remedy)
    raise InputError(where, must, remedy=remedy)


def _refuse_outside(lists: Sequence[Sequence[Any]], where: str, alphabet: Alphabet) -> NoReturn:
    """Refuses the first label that is not in the alphabet."""
    if _cure_of_spans(lists):
        _refuse_labels(lists, where)
    for k, one in enumerate(lists):
        alphabet.encode(one, _at(where, k))
    raise InputError(where, f"labels must be some of {shorten(alphabet.labels)}")


# -- sets of labels --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Sets(Samples):
    """Sets of labels, as sequences of 0 and 1."""

    items: tuple[Hashable, ...]  # the label of each position, (n,)
    first: AbstractSet[Any]  # the first sample, of whose type an answer is

    def answer(self, labels: Sequence[Label]) -> Any:
        """The set of the items whose label is 1."""
        chosen = [item for item, label in zip(self.items, labels, strict=True) if label == 1]
        return _as_set(chosen, self.first)


def _as_set(items: Iterable[Hashable], first: AbstractSet[Any]) -> Any:
    """A set of the items, frozen where the first sample is."""
    return frozenset(items) if isinstance(first, frozenset) else set(items)


def _sets(drawn: Sequence[AbstractSet[Any]], where: str) -> _Sets:
    for k, sample in enumerate(drawn):
        if any(isinstance(label, float) and label != label for label in sample):
            must = "a label must be equal to itself, as NaN is not"
            remedy = "Write a text or None in its place"
            raise InputError(_at(where, k), must, given="NaN", remedy=remedy)
    items = in_order(dict.fromkeys(chain.from_iterable(drawn)))
    check_arcs(where, len(drawn) * len(items))
    place = {item: k for k, item in enumerate(items)}
    rows = np.zeros((len(drawn), len(items)), np.int64)
    for k, sample in enumerate(drawn):
        rows[k, [place[item] for item in sample]] = 1
    return _Sets(rows, BINARY, "", items, drawn[0])


def in_order(items: Iterable[Any]) -> tuple[Any, ...]:
    """The items sorted; by type and ``repr`` where they cannot be compared."""
    whole = list(items)
    try:
        return tuple(sorted(whole))
    except TypeError:
        return tuple(sorted(whole, key=lambda item: (type(item).__name__, repr(item))))


# -- sets of spans ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Spans(Samples):
    """Sets of spans, as chunk tags."""

    own: Mapping[Span, Any]  # spans as they were given
    first: AbstractSet[Any]  # the first sample, of whose type an answer is

    def answer(self, labels: Sequence[Label]) -> Any:
        """The set of the spans that the tags write."""
        chunks = tagged_chunks(labels)
        return _as_set((self.own.get(Span(*chunk), chunk) for chunk in chunks), self.first)


def _spans(
    drawn: Sequence[AbstractSet[Any]], where: str, scheme: str, alphabet: Alphabet | None
) -> _Spans:
    own: dict[Span, Any] = {}
    sets = list[list[Span]]()
    for k, sample in enumerate(drawn):
        read = {_span(item, _at(where, k)): item for item in sample}
        own = read | own
        sets.append(sorted(read))
        for one, other in pairwise(sets[-1]):
            if other.start < one.end:
                got = f"{tuple(one)} and {tuple(other)}"
                must = "spans must not overlap, as chunk tags cannot write those"
                raise InputError(_at(where, k), must, given=got, remedy=_SETS_OF_SPANS)
    n = max((span.end for span in own), default=0)
    check_arcs(where, len(sets) * n)
    types = sorted({span.type for span in own})
    if alphabet is None:
        alphabet = Alphabet(tag_labels(types, scheme))
    elif not set(types) <= set(_types_of(alphabet.labels)):
        _refuse_types(sets, where, _types_of(alphabet.labels))
    rows = np.zeros((len(sets), n), np.int64)
    for k, spans in enumerate(sets):
        rows[k] = alphabet.encode(chunk_tags(spans, n, scheme), f"{_at(where, k)}, its tags")
    return _Spans(rows, alphabet, scheme, own, drawn[0])


def _refuse_types(sets: Sequence[Sequence[Span]], where: str, types: Sequence[str]) -> NoReturn:
    """Refuses the first span of a type that is none of these."""
    for k, spans in enumerate(sets):
        for span in spans:
            one_of(_at(where, k), f"the type of {tuple(span)}", span.type, types)
    raise InputError(where, f"types must be some of {shorten(types)}")


def _span(item: Any, where: str) -> Span:
    """The span that an item of a set is; an InputError where it is none."""
    parts = item if isinstance(item, tuple) and len(item) == 3 else (None, None, None)
    start = as_whole(parts[0], 0)
    end = as_whole(parts[1], 0)
    if start is None or end is None or not isinstance(parts[2], str) or not parts[2]:
        must = "each span must be (start, end, type): two whole numbers from 0 on, and a text"
        raise InputError(where, must, given=repr(item), remedy=_SETS_OF_SPANS)
    if end <= start:
        must = "a span must end behind its start: its end is the position after its last"
        remedy = "Where the end is the last position itself, add 1"
        raise InputError(where, must, given=repr(item), remedy=remedy)
    return Span(start, end, parts[2])
