"""Models given as automata or lists: n-best lists, acyclic acceptors, mixtures."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import EmptyError, InputError, check_bool
from fsmeu.fst import layers as machines
from fsmeu.fst.alphabet import BINARY, Alphabet, Label, as_alphabet, listed, plain_label
from fsmeu.fst.layers import Layer, Layered, LogLayered, from_logs, reordered
from fsmeu.models import checks
from fsmeu.models.base import Model, forget, layer_parts, prepare_many
from fsmeu.models.checks import check_arcs, normalized_rows, real_array
from fsmeu.models.paths import group_sums, log_total, marginals, normalized

_MOST_WEIGHT = 1e300  # of a sequence, or size of a logarithm, so that no sum of them overflows
_PLAIN = 700.0  # greatest size of a logarithm whose number is an ordinary double (up to 708)

# -- lists of sequences ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class NBest(Model):
    """A list of sequences with weights; other sequences are impossible.

    The probability of a sequence is its weight divided by the sum of all. Sequences that are listed
    more than once are merged and their weights added.

    Attributes:
        indices: the distinct sequences as label indices, in alphabetical order, shape (N, n).
        weights: their weights before normalisation, shape (N,).
        labels: the labels; unless given those that occur, or (0, 1) if no other occurs.
    """

    indices: Ints
    weights: Floats
    labels: tuple[Label, ...]
    n: int
    _arguments = ("sequences", "weights", "labels")

    def __init__(
        self,
        sequences: Iterable[Iterable[object]],
        weights: ArrayLike | None = None,
        labels: Sequence[Label] | None = None,
        log: bool = False,
    ) -> None:
        """Checks and merges the list.

        Args:
            sequences: label sequences of equal length; a str is read character by character.
            weights: one number per sequence, at least 0; they need not sum to 1. Equal weights
                unless given.
            labels: the alphabet.
            log: whether the weights are logarithms (of any base scale; -inf is weight 0).
        """
        lists = _sequences(sequences)
        numbers = checked_weights(weights, len(lists), "NBest weights", log)
        flat = list(chain.from_iterable(lists))
        alphabet = _seen(flat) if labels is None else as_alphabet(labels, "NBest labels")
        n = len(lists[0])
        rows = alphabet.encode(flat, "NBest sequences, one after the other").reshape(len(lists), n)
        self._merge(rows, numbers, alphabet)

    @classmethod
    def of_indices(cls, rows: Ints, weights: Floats, alphabet: Alphabet) -> NBest:
        """The list of sequences that are given as label indices, (N, n), with checked weights."""
        check_arcs("NBest", rows.size)
        model = cls.__new__(cls)
        model._merge(rows, weights, alphabet)
        return model

    def _merge(self, rows: Ints, weights: Floats, alphabet: Alphabet) -> None:
        """Sets the fields; rows that are equal become one."""
        keys = [row.tobytes() for row in rows.astype(">u4")]  # bytes are in alphabetical order
        at = {key: k for k, key in enumerate(keys)}
        ordered = sorted(at)
        place = {key: k for k, key in enumerate(ordered)}
        group = np.array([place[key] for key in keys], np.int64)
        merged = group_sums(group, weights, len(ordered))
        distinct = rows[[at[key] for key in ordered]]
        self._keep(indices=distinct, weights=merged, labels=alphabet.labels, n=rows.shape[1])
        self._keep(title=f"list of {len(distinct):,} sequences")

    @property
    def probabilities(self) -> Floats:
        """The probability of each sequence, shape (N,)."""
        return normalized_rows(self.weights / self.weights.max())

    @property
    def is_unambiguous(self) -> bool:
        """True: a sequence that is listed has one path."""
        return True

    def _build(self) -> Layered:
        positive = self.probabilities > 0
        return _trie(self.alphabet, self.indices[positive], self.probabilities[positive])

    def marginals(self) -> Floats:
        """P(y_i = l) as an array of shape (n, L)."""
        cells = np.arange(self.n) * len(self.labels) + self.indices
        shares = np.broadcast_to(self.probabilities[:, None], cells.shape)
        sums = group_sums(cells.ravel(), shares.ravel(), self.n * len(self.labels))
        return sums.reshape(self.n, len(self.labels))

    @property
    def sequences(self) -> NDArray[Any]:
        """The distinct sequences as labels, shape (N, n)."""
        return np.array(self.labels, dtype=object)[self.indices]


def _sequences(sequences: Iterable[Iterable[object]]) -> list[list[object]]:
    where = "NBest sequences"
    must = "must be a list of label sequences"
    if isinstance(sequences, str):
        raise InputError(where, must, given=sequences)
    result: list[list[object]] = []
    for number, row in enumerate(listed(sequences, where, must, rows=True)):
        result.append(listed(row, where, f"entry {number} must be a sequence of labels"))
        if len(result[-1]) != len(result[0]):
            got = f"lengths {len(result[0])} at entry 0 and {len(result[-1])} at entry {number}"
            raise InputError(where, "all sequences must have the same length", given=got)
    if not result:
        raise EmptyError(where, "must list at least one sequence", given="an empty list")
    check_arcs("NBest", len(result) * len(result[0]))
    return result


def checked_weights(weights: ArrayLike | None, size: int, where: str, log: bool = False) -> Floats:
    """The weights of ``size`` sequences, equal ones unless given, (size,).

    ``log`` says that logarithms were given, of which the greatest becomes the weight 1.
    """
    if not isinstance(log, bool):
        raise InputError("NBest log", "must be True or False", given=log)
    if weights is None:
        return np.ones(size)
    array = real_array(weights, where)
    checks.check_shape(array, (size,), where, f"There must be {size} weights, one per sequence")
    good = array < np.inf if log else (array >= 0) & (array <= _MOST_WEIGHT)
    allowed = "finite or -inf" if log else f"at least 0, up to {_MOST_WEIGHT:g}"
    hint = "" if log else checks.logarithms_hint(array, ", or give log=True")
    checks.check_entries(array, good, where, f"each weight must be {allowed}", hint)
    top = array.max()
    if top == (-np.inf if log else 0.0):
        raise EmptyError(where, "at least one weight must be positive")
    with np.errstate(over="ignore"):  # a difference that no double holds is a weight of 0
        return np.exp(array - top) if log else array


def _seen(flat: list[object]) -> Alphabet:
    """The alphabet of the labels that occur, numbers before texts, each in order."""
    must = "each label must be an int or a string"
    try:
        distinct = {plain_label(x) for x in flat}
    except Exception:  # whatever a strange label raises
        raise InputError("NBest sequences", must) from None
    odd = [x for x in distinct if not isinstance(x, int | str)]
    if odd:
        raise InputError("NBest sequences", must, given=odd[0])
    return alphabet_of_distinct(distinct)


def alphabet_of_distinct(labels: set[Label]) -> Alphabet:
    """The alphabet of these labels: 0 and 1, or numbers before texts, each in order."""
    if labels <= {0, 1, "0", "1"}:
        return BINARY
    return Alphabet(tuple(sorted(labels, key=lambda x: (isinstance(x, str), x))))


def _trie(alphabet: Alphabet, rows: Ints, probabilities: Floats) -> Layered:
    """The trie of distinct rows in alphabetical order; a state is a prefix.

    What leaves a prefix are fractions of its mass, which is their sum.
    """
    new = np.zeros(len(rows), bool)
    new[0] = True
    every = np.arange(len(rows))
    prefix = np.zeros(len(rows), np.int64)
    ends = list[tuple[Ints, Ints, Ints]]()
    for column in rows.T:
        if prefix is every:  # no two rows have this prefix
            ends.append((every, column.copy(), every))
            continue
        new[1:] |= column[1:] != column[:-1]
        longer = every if new.all() else np.cumsum(new) - 1
        ends.append((prefix[new], column[new].copy(), longer[new]))
        prefix = longer
    mass = probabilities
    layers = list[Layer]()
    certain = np.ones(len(rows))
    for source, label, target in reversed(ends):
        if source is every:
            layers.append(Layer(source, label, target, certain, len(rows)))
            continue
        sums = group_sums(source, mass, int(source[-1]) + 1)
        layers.append(Layer(source, label, target, mass / sums[source], len(mass)))
        mass = sums
    last = np.ones(len(rows))
    return Layered(alphabet, np.ones(1), tuple(layers[::-1]), last)


# -- acceptors -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Acceptor(Model):
    """The distribution of an acceptor: P(y) is the weight of its paths that read y, over the total.

    Attributes:
        machine: the layers as given, before normalisation; if a double cannot hold some weight of
            an OpenFst machine, the normalised ones.
        labels: the labels.
        normalized: whether the weights are divided by their total.
        log_total: logarithm of the weight of all paths as given.
        log_scale: logarithm of a factor of all paths that is not part of ``machine``; 0 if a double
            can hold each weight as given.
    """

    machine: Layered
    labels: tuple[Label, ...]
    n: int
    log_total: float
    log_scale: float
    title = "lattice"

    def __init__(
        self,
        fst: object,
        labels: Sequence[Label] | None = None,
        normalize: bool = True,
        log_scale: float = 0.0,
    ) -> None:
        """Reads a machine.

        Args:
            fst: an acyclic, epsilon-free OpenFst acceptor (log64, log or standard arcs, weights
                being negative logarithms) whose strings have one length; or layers.
            labels: the labels; may be left out for layers, which know theirs.
            normalize: whether to divide by the total weight. If not, what is asked of the model
                comes in the given weights.
            log_scale: logarithm of one more factor of all paths.
        """
        number = real_array(log_scale, "Acceptor log_scale")
        if number.ndim or not np.isfinite(number):
            raise InputError("Acceptor log_scale", "must be a finite number", given=log_scale)
        scale = float(number)
        normalize = check_bool("Acceptor", "normalize", normalize)
        if isinstance(fst, Layered):
            machine = from_logs(fst) if isinstance(fst, LogLayered) else fst
        else:
            machine, log_factor = _read(fst, labels)
            scale += log_factor
        if labels is not None and as_alphabet(labels, "Acceptor labels") != machine.alphabet:
            must = f"must be those of the layers, {list(machine.alphabet.labels)}"
            raise InputError("Acceptor labels", must, given=list(labels))
        check_arcs("Acceptor", sum(len(layer.source) for layer in machine.layers))
        weights = machines.arc_weights(machine).joined()
        if not (np.isfinite(weights) & (weights >= 0)).all():
            must = "each weight must be a finite number, at least 0, as a factor (no logarithm)"
            raise InputError("Acceptor fst", must)
        if normalize:
            pushed, log_sum = normalized(machine, "Acceptor fst")
            self._keep(machine=machine, log_total=log_sum + scale, log_scale=scale, _layered=pushed)
        else:
            if abs(scale) > _PLAIN:
                must = "without normalisation a double must hold the weight of all paths"
                remedy = "Leave normalize=False out"
                raise InputError("Acceptor fst", must, given=f"exp({scale:.6g})", remedy=remedy)
            log_sum = log_total(machine) + scale
            machine = replace(machine, start=machine.start * float(np.exp(scale)))
            self._keep(machine=machine, log_total=log_sum, log_scale=0.0, _layered=machine)
        self._keep(labels=machine.alphabet.labels, n=machine.n, normalized=normalize)

    @property
    def total(self) -> float:
        """The weight of all paths as given; inf where a double cannot hold it."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_total))

    @property
    def fst(self) -> object:
        """The model as an OpenFst acceptor with log64 arcs."""
        return machines.fst_from_layered(self.layered())

    def marginals(self) -> Floats:
        """P(y_i = l) as an array of shape (n, L), relative to the weight of all paths."""
        return marginals(normalized(self.machine, "Acceptor fst")[0])

    def _build(self) -> Layered:
        return self._layered

    @property
    def _parts(self) -> dict[str, Any]:
        result = {"model": "acceptor", "labels": self.labels, "normalize": self.normalized}
        result |= layer_parts(self.machine)
        return result | ({"log_scale": self.log_scale} if self.log_scale else {})


def _read(fst: object, labels: Sequence[Label] | None) -> tuple[Layered, float]:
    """The layers of an OpenFst machine, and the logarithm of a factor that is not part of them."""
    if not hasattr(fst, "write_to_string"):
        raise InputError("Acceptor fst", "must be an OpenFst machine of pynini", given=fst)
    if labels is None:
        raise InputError("Acceptor labels", "must be given for an OpenFst machine")
    alphabet = as_alphabet(labels, "Acceptor labels")
    logs = machines.log_layers_from_fst(fst, alphabet, "Acceptor fst")  # type: ignore[arg-type]
    weights = machines.arc_weights(logs).joined()
    size = np.abs(weights[~np.isneginf(weights)]).max()
    if size > _MOST_WEIGHT:
        must = f"each weight must be a number up to {_MOST_WEIGHT:g} in size, or infinity for none"
        raise InputError("Acceptor fst", must, given=f"one of size {size:g}")
    return (from_logs(logs), 0.0) if size <= _PLAIN else normalized(logs, "Acceptor fst")


# -- mixtures --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Mixture(Model):
    """P(y) = sum over k of weights[k] * P_k(y).

    The layers are those of the models side by side, so a sequence has a path in each of them.

    Attributes:
        models: models over the same labels, in any order, and of the same length.
        weights: the probability of each model.
        labels: the labels of all models, in the order of the first.
    """

    models: tuple[Model, ...]
    weights: Floats
    labels: tuple[Label, ...]
    n: int
    _arguments = ("models", "weights")

    def __init__(self, models: Sequence[Model], weights: ArrayLike) -> None:
        parts = tuple(listed(models, "Mixture models", "must be a list of models"))
        if not parts:
            raise EmptyError("Mixture models", "must hold at least one model")
        for part in parts:
            if not isinstance(part, Model):
                raise InputError("Mixture models", "each must be a label model", given=part)
            if set(part.labels) != set(parts[0].labels):
                got = f"{list(parts[0].labels)} and {list(part.labels)}"
                raise InputError("Mixture models", "all must have the same labels", given=got)
            if part.n != parts[0].n:
                got = f"lengths {parts[0].n} and {part.n}"
                raise InputError("Mixture models", "all must have the same length", given=got)
        array = checks.probability_array(weights, "Mixture weights")
        checks.check_shape(array, (len(parts),), "Mixture weights", "Give one weight per model")
        array = checks.check_rows(array, "Mixture weights", original=weights)
        self._keep(models=parts, weights=array, labels=parts[0].labels, n=parts[0].n)
        self._keep(title=f"mixture of {len(parts)} models")

    @property
    def structure(self) -> Hashable:
        """The structures of the models that have weight, side by side."""
        used = [self.models[k] for k in np.flatnonzero(self.weights)]
        return self.labels, tuple((model.labels, model.structure) for model in used)

    def _build(self) -> Layered:
        weights = self.weights
        used = np.flatnonzero(weights > 0)
        fresh = prepare_many(self.models)
        parts = [reordered(self.models[k].layered(), self.alphabet) for k in used]
        check_arcs("Mixture", sum(len(layer.source) for part in parts for layer in part.layers))
        start = np.concatenate([weights[k] * x.start for k, x in zip(used, parts, strict=True)])
        layers = tuple(_side_by_side(parts, i) for i in range(self.n))
        forget(fresh)
        final = np.concatenate([part.final for part in parts])
        return Layered(self.alphabet, start, layers, final)


def _side_by_side(parts: list[Layered], position: int) -> Layer:
    """One layer of all models, their states numbered one model after the other."""
    columns = list[tuple[Any, ...]]()
    before = 0
    after = 0
    for part in parts:
        layer = part.layers[position]
        columns.append((layer.source + before, layer.label, layer.target + after, layer.weight))
        before = before + part.widths[position]
        after = after + layer.width
    source, label, target, weight = map(np.concatenate, zip(*columns, strict=True))
    return Layer(source, label, target, weight, after)
