"""Models given as automata or lists: n-best lists, acyclic acceptors, mixtures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import EmptyError, InputError, check_bool, message
from fsmeu.fst.alphabet import BINARY, Alphabet, Label, listed, plain_label
from fsmeu.fst.layers import (
    Layer,
    Layered,
    LogLayered,
    from_logs,
    fst_from_layered,
    log_layers_from_fst,
    reordered,
)
from fsmeu.models.base import Model
from fsmeu.models.checks import (
    check_arcs,
    check_entries,
    check_rows,
    check_shape,
    frozen,
    labels_of,
    normalized_rows,
    probability_array,
    real_array,
)
from fsmeu.models.paths import group_sums, log_total, marginals, normalized

_MOST_WEIGHT = 1e300
"""Greatest weight of a sequence, or size of a logarithm, so that no sum of them overflows."""

_PLAIN = 700.0
"""Greatest size of a logarithm whose number is an ordinary double (the last are about 708)."""

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
        n: the length of every sequence.
    """

    indices: Ints
    weights: Floats
    labels: tuple[Label, ...]
    n: int
    _arguments = ("sequences", "weights", "labels")

    def __init__(
        self,
        sequences: Iterable[Iterable[object]],
        weights: ArrayLike,
        labels: Sequence[Label] | None = None,
        log: bool = False,
    ) -> None:
        """Checks and merges the list.

        Args:
            sequences: label sequences of equal length; a str is read character by character.
            weights: one number per sequence, at least 0; they need not sum to 1.
            labels: the alphabet.
            log: whether the weights are logarithms (of any base scale; -inf is weight 0).
        """
        given = _sequences(sequences)
        numbers = _weights(weights, len(given), log)
        flat = list(chain.from_iterable(given))
        alphabet = _seen(flat) if labels is None else labels_of(labels, "NBest labels")
        n = len(given[0])
        rows = alphabet.encode(flat, "NBest sequences, one after the other").reshape(len(given), n)
        distinct, group = rows[:1], np.zeros(len(rows), np.int64)
        if n:
            distinct, group = np.unique(rows, axis=0, return_inverse=True)
        merged = group_sums(group.reshape(-1), numbers, len(distinct))
        distinct.setflags(write=False)
        self._keep(indices=distinct, weights=frozen(merged), labels=alphabet.labels, n=n)
        self._keep(title=f"list of {len(distinct):,} sequences")

    @property
    def probabilities(self) -> Floats:
        """The probability of each sequence, shape (N,)."""
        scaled = self.weights / self.weights.max()
        shares: Floats = scaled / scaled.sum()
        return shares

    def _build(self) -> Layered:
        possible = self.probabilities > 0
        return _trie(self.alphabet, self.indices[possible], self.probabilities[possible])

    @property
    def sequences(self) -> NDArray[Any]:
        """The distinct sequences as labels, shape (N, n)."""
        return np.array(self.labels, dtype=object)[self.indices]


def _sequences(sequences: Iterable[Iterable[object]]) -> list[list[object]]:
    where = "NBest sequences"
    must = "must be a list of label sequences"
    if isinstance(sequences, str):
        raise InputError(message(where, must, sequences))
    result: list[list[object]] = []
    for number, one in enumerate(listed(sequences, where, must, rows=True)):
        result.append(listed(one, where, f"sequence {number + 1} must be a sequence of labels"))
        if len(result[-1]) != len(result[0]):
            got = f"lengths {len(result[0])} (sequence 1) and {len(result[-1])} ({number + 1})"
            raise InputError(message(where, "all sequences must have the same length", got))
    if not result:
        raise EmptyError(message(where, "must list at least one sequence", "an empty list"))
    check_arcs("NBest", len(result) * len(result[0]))
    return result


def _weights(weights: ArrayLike, size: int, log: bool) -> Floats:
    where = "NBest weights"
    if not isinstance(log, bool):
        raise InputError(message("NBest log", "must be True or False", log))
    array = real_array(weights, where)
    if array.shape != (size,):
        must = f"there must be {size} weights, one per sequence"
        raise InputError(message(where, must, f"shape {array.shape}"))
    good = array < np.inf if log else (array >= 0) & (array <= _MOST_WEIGHT)
    allowed = "finite or -inf" if log else f"from 0 to {_MOST_WEIGHT:g}"
    check_entries(array, good, where, f"each weight must be {allowed}")
    top = array.max()
    if top == (-np.inf if log else 0.0):
        raise EmptyError(message(where, "at least one weight must be positive"))
    with np.errstate(over="ignore"):  # a difference that no double holds is a weight of 0
        return np.exp(array - top) if log else array


def _seen(flat: list[object]) -> Alphabet:
    """The alphabet of the labels that occur, numbers before texts, each in order."""
    must = "each label must be an int or a string"
    try:
        distinct = {plain_label(x) for x in flat}
    except Exception:  # whatever a strange label raises
        raise InputError(message("NBest sequences", must)) from None
    odd = [x for x in distinct if not isinstance(x, int | str)]
    if odd:
        raise InputError(message("NBest sequences", must, odd[0]))
    if distinct <= {0, 1, "0", "1"}:
        return BINARY
    return Alphabet(tuple(sorted(distinct, key=lambda x: (isinstance(x, str), x))))


def _trie(alphabet: Alphabet, rows: Ints, probabilities: Floats) -> Layered:
    """The trie of distinct rows in alphabetical order; a state is a prefix."""
    new = np.zeros(len(rows), bool)
    new[0] = True
    prefix, mass = np.zeros(len(rows), np.int64), np.ones(1)
    layers = []
    for column in rows.T:
        new[1:] |= column[1:] != column[:-1]
        longer = np.cumsum(new) - 1
        longer_mass = group_sums(longer, probabilities, int(longer[-1]) + 1)
        source = prefix[new]
        shares = longer_mass / mass[source]
        shares /= group_sums(source, shares, len(mass))[source]
        layers.append(Layer(source, column[new], longer[new], shares, len(longer_mass)))
        prefix, mass = longer, longer_mass
    ends = np.ones(len(mass))
    return Layered(alphabet, np.ones(1), tuple(layers), ends, unambiguous=True)


# -- acceptors -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Acceptor(Model):
    """The distribution of an acceptor: P(y) is the weight of its paths that read y, over the total.

    Attributes:
        machine: the layers as given, before normalisation; if a double cannot hold some weight of
            an OpenFst machine, the normalised ones.
        labels: the labels.
        n: the length of every sequence.
        normalized: whether the weights are divided by their total.
        log_total: logarithm of the weight of all paths as given.
        log_scale: logarithm of a factor of all paths that is not part of ``machine``; 0 if a double
            can hold each weight as given.
    """

    machine: Layered
    labels: tuple[Label, ...]
    n: int
    normalized: bool
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
        scale = _checked_scale(log_scale)
        normalize = check_bool("Acceptor", "normalize", normalize)
        if isinstance(fst, Layered):
            machine = from_logs(fst) if isinstance(fst, LogLayered) else fst
        else:
            machine, beside = _read(fst, labels)
            scale += beside
        if labels is not None and labels_of(labels, "Acceptor labels") != machine.alphabet:
            must = f"must be those of the layers, {list(machine.alphabet.labels)}"
            raise InputError(message("Acceptor labels", must, list(labels)))
        _check_weights(machine)
        if normalize:
            pushed, whole = normalized(machine, "Acceptor fst")
            self._keep(machine=machine, log_total=whole + scale, log_scale=scale, _layered=pushed)
        else:
            whole, machine = log_total(machine) + scale, _scaled(machine, scale)
            self._keep(machine=machine, log_total=whole, log_scale=0.0)
        self._keep(labels=machine.alphabet.labels, n=machine.n, normalized=normalize)

    @property
    def total(self) -> float:
        """The weight of all paths as given; inf where a double cannot hold it."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_total))

    @property
    def fst(self) -> object:
        """The model as an OpenFst acceptor with log64 arcs."""
        return fst_from_layered(self.layered())

    def marginals(self) -> Floats:
        """P(y_i = l) as an array of shape (n, L), relative to the weight of all paths."""
        return marginals(normalized(self.machine, "Acceptor fst")[0])

    def _build(self) -> Layered:
        return normalized(self.machine, "Acceptor fst")[0] if self.normalized else self.machine

    @property
    def _parts(self) -> dict[str, Any]:
        layers = [vars(layer) for layer in self.machine.layers]
        result = {"model": "acceptor", "labels": self.labels, "normalize": self.normalized}
        result |= {"start": self.machine.start, "layers": layers, "final": self.machine.final}
        return result | ({"log_scale": self.log_scale} if self.log_scale else {})


def _read(fst: object, labels: Sequence[Label] | None) -> tuple[Layered, float]:
    """The layers of an OpenFst machine, and the logarithm of a factor that is not part of them."""
    if not hasattr(fst, "write_to_string"):
        raise InputError(message("Acceptor fst", "must be an OpenFst machine of pynini", fst))
    if labels is None:
        raise InputError(message("Acceptor labels", "must be given for an OpenFst machine"))
    alphabet = labels_of(labels, "Acceptor labels")
    logs = log_layers_from_fst(fst, alphabet, "Acceptor fst")  # type: ignore[arg-type]
    weights = np.concatenate([logs.final, *(layer.weight for layer in logs.layers)])
    size = np.abs(weights[~np.isneginf(weights)]).max()
    if size > _MOST_WEIGHT:
        must = f"each weight must be a number up to {_MOST_WEIGHT:g} in size, or infinity for none"
        raise InputError(message("Acceptor fst", must, f"one of size {size:g}"))
    if size <= _PLAIN:
        return from_logs(logs), 0.0
    return normalized(logs, "Acceptor fst")


def _checked_scale(log_scale: object) -> float:
    array = real_array(log_scale, "Acceptor log_scale")  # type: ignore[arg-type]
    if array.ndim or not np.isfinite(array):
        raise InputError(message("Acceptor log_scale", "must be a finite number", log_scale))
    return float(array)


def _scaled(machine: Layered, scale: float) -> Layered:
    """The layers with a factor for all paths, given by its logarithm, in their first weights."""
    if abs(scale) > _PLAIN:
        must = "without normalisation a double must hold the weight of all paths"
        remedy = "Leave normalize=False out"
        raise InputError(message("Acceptor fst", must, f"exp({scale:.6g})", remedy))
    factor = float(np.exp(scale))
    return replace(machine, start=machine.start * factor) if factor != 1.0 else machine


def _check_weights(machine: Layered) -> None:
    check_arcs("Acceptor", sum(len(layer.source) for layer in machine.layers))
    weights = [machine.start, machine.final, *(layer.weight for layer in machine.layers)]
    if not all((np.isfinite(part) & (part >= 0)).all() for part in weights):
        must = "each weight must be a finite number, at least 0, as a factor (not as a logarithm)"
        raise InputError(message("Acceptor fst", must))


# -- mixtures --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Mixture(Model):
    """P(y) = sum over k of weights[k] * P_k(y).

    The layers are those of the models side by side, so a sequence has a path in each of them.

    Attributes:
        models: models over the same labels, in any order, and of the same length.
        weights: the probability of each model.
        labels: the labels of all models, in the order of the first.
        n: the length of every sequence.
    """

    models: tuple[Model, ...]
    weights: Floats
    labels: tuple[Label, ...]
    n: int
    _arguments = ("models", "weights")

    def __init__(self, models: Sequence[Model], weights: ArrayLike) -> None:
        parts = tuple(listed(models, "Mixture models", "must be a list of models"))
        if not parts:
            raise EmptyError(message("Mixture models", "must hold at least one model"))
        for part in parts:
            _check_part(part, parts[0])
        array = probability_array(weights, "Mixture weights")
        check_shape(array, (len(parts),), "Mixture weights", "Give one weight per model")
        array = check_rows(array, "Mixture weights", given=weights)
        self._keep(models=parts, weights=frozen(array), labels=parts[0].labels, n=parts[0].n)
        self._keep(title=f"mixture of {len(parts)} models")

    def _build(self) -> Layered:
        weights = normalized_rows(self.weights)
        used = np.flatnonzero(weights > 0)
        parts = [reordered(self.models[k].layered(), self.alphabet) for k in used]
        check_arcs("Mixture", sum(len(layer.source) for part in parts for layer in part.layers))
        start = np.concatenate([weights[k] * x.start for k, x in zip(used, parts, strict=True)])
        layers = tuple(_side_by_side(parts, i) for i in range(self.n))
        final = np.concatenate([part.final for part in parts])
        unambiguous = len(parts) == 1 and parts[0].unambiguous
        return Layered(self.alphabet, start, layers, final, unambiguous)


def _check_part(part: object, first: Model) -> None:
    if not isinstance(part, Model):
        raise InputError(message("Mixture models", "each must be a label model", part))
    if set(part.labels) != set(first.labels):
        got = f"{list(first.labels)} and {list(part.labels)}"
        raise InputError(message("Mixture models", "all must have the same labels", got))
    if part.n != first.n:
        got = f"lengths {first.n} and {part.n}"
        raise InputError(message("Mixture models", "all must have the same length", got))


def _side_by_side(parts: list[Layered], position: int) -> Layer:
    """One layer of all models, their states numbered one model after the other."""
    layers = [part.layers[position] for part in parts]
    before = np.cumsum([0] + [part.widths[position] for part in parts])
    after = np.cumsum([0] + [layer.width for layer in layers])
    return Layer(
        np.concatenate([x.source + k for x, k in zip(layers, before, strict=False)]),
        np.concatenate([x.label for x in layers]),
        np.concatenate([x.target + k for x, k in zip(layers, after, strict=False)]),
        np.concatenate([x.weight for x in layers]),
        int(after[-1]),
    )
