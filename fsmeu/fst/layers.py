"""Layered acceptors: one layer of states before each position, probabilities on the arcs.

Every label model becomes one of these, and so does a hypothesis. Arcs lead from layer i to layer
i + 1 only, so states are in topological order by construction and every path reads exactly n
labels. They go to OpenFst and come from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.errors import EmptyError, FstError, InputError
from fsmeu.fst import image
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.compose import guard_size
from fsmeu.fst.distinct import distinct_rows
from fsmeu.fst.image import ArcTable
from fsmeu.fst.openfst import pynini


@dataclass(frozen=True, eq=False)
class Layer:
    """The arcs of one position, in no particular order: each reads a label between two states."""

    source: Ints  # states of the layer before the position
    label: Ints  # indices of labels
    target: Ints  # states of the layer after it
    weight: Floats  # factors in the real semiring, at least 0
    width: int  # the number of states after the position


@dataclass(frozen=True, eq=False)
class Layered:
    """An acyclic acceptor in layers over the real semiring."""

    alphabet: Alphabet  # what the label indices mean
    start: Floats  # weight of starting in each state of layer 0
    layers: tuple[Layer, ...]  # the arcs of position 1, ..., n
    final: Floats  # weight of ending in each state of layer n

    @property
    def n(self) -> int:
        """The number of labels on every path."""
        return len(self.layers)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The number of states of layers 0, ..., n."""
        return (len(self.start), *(layer.width for layer in self.layers))

    @cached_property
    def unambiguous(self) -> bool:
        """Whether no two paths of positive weight read the same labels.

        Pairs of different states that one prefix reaches are followed from layer to layer; where
        there are more than ``limits.MOST_AMBIGUOUS_PAIRS``, the acceptor counts as ambiguous.
        """
        if np.count_nonzero(self.start > self._zero) <= 1 and _is_deterministic(self):
            return True
        return not _has_twin_paths(self)

    @property
    def _zero(self) -> float:
        """The weight of an arc that is not there."""
        return 0.0


class ArcWeights(NamedTuple):
    """The weights of layered acceptors of length n with the same arcs, a row for each acceptor."""

    n: int
    arcs: Floats  # of all arcs, position by position
    start: Floats
    final: Floats
    is_stochastic: bool = False  # whether weights that leave a state are known to add up to 1

    def rows(self, rows: slice | Ints) -> ArcWeights:
        """The weights of some of the acceptors."""
        return self._replace(arcs=self.arcs[rows], start=self.start[rows], final=self.final[rows])

    def joined(self) -> Floats:
        """Start weights, weights of arcs and final weights, a row for each acceptor."""
        return np.concatenate([self.start, self.arcs, self.final], axis=1)


@dataclass(frozen=True, eq=False)
class LogLayered(Layered):
    """A layered acceptor with the natural logarithm of every weight in its place, -inf for 0."""

    @property
    def _zero(self) -> float:
        return -np.inf


def check_layers(layered: object) -> None:
    """Refuses what is not a layered acceptor, by an InputError."""
    if not isinstance(layered, Layered):
        must = "the layers of a model are needed, as model.layered() gives them"
        raise InputError("layers", must, given=type(layered).__name__)


def in_logs(layered: Layered) -> LogLayered:
    """The same acceptor with logarithms; one that has them stays as it is."""
    return layered if isinstance(layered, LogLayered) else LogLayered(**_mapped(layered, np.log))


def from_logs(logs: LogLayered) -> Layered:
    """The same acceptor with weights; those that a double cannot hold are 0 or inf."""
    return Layered(**_mapped(logs, np.exp))


@np.errstate(divide="ignore", over="ignore", under="ignore")
def _mapped(layered: Layered, change: Callable[[Floats], Floats]) -> dict[str, Any]:
    layers = tuple(replace(layer, weight=change(layer.weight)) for layer in layered.layers)
    start = change(layered.start)
    final = change(layered.final)
    return {
        "alphabet": layered.alphabet,
        "start": start,
        "layers": layers,
        "final": final,
    }


def all_arcs(layered: Layered) -> Layer:
    """The arcs of all positions in one table, its states numbered through from layer to layer."""
    none = np.zeros(0, np.int64)
    ends = np.cumsum(layered.widths)
    layers = layered.layers or (Layer(none, none, none, np.zeros(0), 0),)
    counts = [len(layer.source) for layer in layers]
    source, label, target, weight = (
        np.concatenate([getattr(layer, name) for layer in layers])
        for name in ("source", "label", "target", "weight")
    )
    source = source + np.repeat((ends - layered.widths)[: len(layers)], counts)
    target = target + np.repeat(ends[: len(layers)], counts)
    return Layer(source, label, target, weight, int(ends[-1]))


def arc_weights(layered: Layered) -> ArcWeights:
    """The weights of a layered acceptor, in one row."""
    arcs = np.concatenate([np.zeros(0), *(layer.weight for layer in layered.layers)])
    ends = layered.start[None], layered.final[None]
    return ArcWeights(layered.n, arcs[None], *ends)


def arcs_by_label(layer: Layer) -> Iterator[tuple[int, Ints]]:
    """The labels of a layer, and the arcs of positive weight that read each, by their targets."""
    arcs = np.flatnonzero(layer.weight > 0)
    arcs = arcs[np.lexsort((layer.target[arcs], layer.label[arcs]))]
    labels, begins = np.unique(layer.label[arcs], return_index=True)
    yield from zip(labels.tolist(), np.split(arcs, begins[1:]), strict=True)


def reordered(layered: Layered, alphabet: Alphabet) -> Layered:
    """The same acceptor over an alphabet that has its labels in another order."""
    if layered.alphabet.labels == alphabet.labels:
        return layered
    place = np.array([alphabet.index[label] for label in layered.alphabet.labels], np.int64)
    layers = tuple(replace(layer, label=place[layer.label]) for layer in layered.layers)
    return replace(layered, alphabet=alphabet, layers=layers)


# -- ambiguity -------------------------------------------------------------------------------------


def _is_deterministic(layered: Layered) -> bool:
    """Whether a state and a label lead to one state at most."""
    arcs = all_arcs(layered)
    there = arcs.weight > layered._zero
    keys = (arcs.source * len(layered.alphabet) + arcs.label)[there]
    if (np.diff(keys) > 0).all():
        return True
    return bool((np.diff(np.sort(keys, kind="stable")) > 0).all())


def _has_twin_paths(layered: Layered) -> bool:
    """Whether two paths of positive weight read the same labels, or there are too many pairs.

    Only arcs on some path from a start to an end count, so that two paths that meet go on to the
    end together. Before each position, ``pairs`` are two different states, the lesser one first,
    that paths with the same labels reach.
    """
    zero = layered._zero
    used = list[Ints]()  # the arcs of each layer, from the last, that lead to an end
    ahead = layered.final > zero
    for layer, width in zip(layered.layers[::-1], layered.widths[-2::-1], strict=True):
        used.append(np.flatnonzero((layer.weight > zero) & ahead[layer.target]))
        ahead = np.zeros(width, bool)
        ahead[layer.source[used[-1]]] = True
    reached = np.flatnonzero((layered.start > zero) & ahead)
    if len(reached) ** 2 > limits.MOST_AMBIGUOUS_PAIRS:
        return True
    pairs = reached[np.stack(np.triu_indices(len(reached), 1))]
    for layer, arcs in zip(layered.layers, used[::-1], strict=True):
        keys = layer.source[arcs] * len(layered.alphabet) + layer.label[arcs]
        arcs = arcs[np.argsort(keys, kind="stable")]
        keys.sort(kind="stable")
        both = np.append(pairs, np.stack([reached, reached]), axis=1)
        pair, first = _ranges_of(both[0], layer.source[arcs])
        wanted = both[1, pair] * len(layered.alphabet) + layer.label[arcs[first]]
        at, second = _ranges_of(wanted, keys)
        steps = np.stack([first[at], second])
        low, high = np.sort(layer.target[arcs[steps[:, steps[0] != steps[1]]]], axis=0)
        if (low == high).any() or len(low) > limits.MOST_AMBIGUOUS_PAIRS:
            return True
        pairs = np.stack([low, high])[:, distinct_rows([low, high])[0]]
        reached = np.unique(layer.target[arcs[np.isin(layer.source[arcs], reached)]])
    return pairs.size > 0


def _ranges_of(wanted: Ints, keys: Ints) -> tuple[Ints, Ints]:
    """For each wanted number, its places among sorted keys: the index of the number, the place."""
    begins = np.searchsorted(keys, wanted, "left")
    counts = np.searchsorted(keys, wanted, "right") - begins
    row = np.repeat(np.arange(len(wanted)), counts)
    return row, np.arange(len(row)) + (begins + counts - np.cumsum(counts))[row]


def any_layers(alphabet: Alphabet, n: int) -> Layered:
    """The acceptor of all sequences of length n, each with weight 1."""
    labels = np.arange(len(alphabet))
    layer = Layer(0 * labels, labels, 0 * labels, np.ones(len(labels)), 1)
    return Layered(alphabet, np.ones(1), (layer,) * n, np.ones(1))


def pair_layers(left: Layered, right: Layered) -> Layered:
    """Both acceptors side by side: label a * L + b is read with the product of the two weights."""
    layers = []
    for k, (a, b) in enumerate(zip(left.layers, right.layers, strict=True)):
        guard_size("two acceptors side by side", len(a.source) * len(b.source))
        source = (a.source[:, None] * right.widths[k] + b.source).ravel()
        label = (a.label[:, None] * len(right.alphabet) + b.label).ravel()
        target = (a.target[:, None] * b.width + b.target).ravel()
        weight = (a.weight[:, None] * b.weight).ravel()
        layers.append(Layer(source, label, target, weight, a.width * b.width))
    start = np.outer(left.start, right.start).ravel()
    final = np.outer(left.final, right.final).ravel()
    return Layered(right.alphabet, start, tuple(layers), final)


def string_layers(alphabet: Alphabet, indices: Ints) -> Layered:
    """The acceptor of exactly one sequence, with weight 1."""
    zero = np.zeros(1, np.int64)
    one = np.ones(1)
    layers = tuple(Layer(zero, indices[k : k + 1], zero, one, 1) for k in range(len(indices)))
    return Layered(alphabet, one, layers, one)


# -- to OpenFst and back ---------------------------------------------------------------------------


def table_from_layered(layered: Layered) -> ArcTable:
    """The arc table of a layered acceptor; arcs of weight zero are left out."""
    arcs = all_arcs(layered)
    source = arcs.source
    label = arcs.label + 1
    target = arcs.target
    weight = arcs.weight
    final = np.zeros(arcs.width)
    final[arcs.width - layered.widths[-1] :] = layered.final
    start = 0
    if len(layered.start) != 1 or layered.start[0] != 1.0:
        start = len(final)  # one more state, in front of several that it can start in
        first = np.flatnonzero(source < len(layered.start))
        final = np.append(final, layered.start @ final[: len(layered.start)])
        source = np.concatenate([source, np.full(len(first), start)])
        weight = np.concatenate([weight, weight[first] * layered.start[source[first]]])
        label, target = (np.concatenate([c, c[first]]) for c in (label, target))
    order = np.flatnonzero(weight > 0)
    order = order[np.lexsort((target[order], label[order], source[order]))]
    source = source[order]
    label = label[order]
    target = target[order]
    weights = image.minus_log(weight[order]), image.minus_log(final)
    return ArcTable(start, source, label, label, weights[0], target, weights[1])


def fst_from_layered(layered: Layered) -> pynini.Fst:
    """The OpenFst acceptor (log64, arcs sorted by label) of a layered one."""
    symbols = image.symbol_table(layered.alphabet)
    return image.fst_from_table(table_from_layered(layered), symbols, symbols)


def log_layers_from_fst(fst: pynini.Fst, alphabet: Alphabet, where: str = "acceptor") -> LogLayered:
    """The layered form of an OpenFst acceptor, with the logarithms of the weights.

    It must be acyclic and without epsilons, its sequences of one length, at least one. Its symbol
    table, if it has one, names the labels; else number k + 1 is label k.
    """
    table = trimmed_acceptor(fst, where)
    label = label_numbers(fst, alphabet, table, where)
    try:
        depth, arcs_at = table.depths
    except FstError as error:
        must = "the machine must be acyclic and all its sequences must have the same length"
        raise InputError(where, must) from error
    ending = depth[np.isfinite(table.final)]
    if ending.min() != ending.max():
        must = "all sequences must have the same length"
        got = f"lengths {ending.min()} and {ending.max()}"
        raise InputError(where, must, given=got, remedy="Give one machine per length")
    order = np.argsort(depth, kind="stable")
    widths = np.bincount(depth)
    local = np.empty(table.states, np.int64)  # the number of a state in its layer
    local[order] = np.arange(table.states) - np.repeat(np.cumsum(widths) - widths, widths)
    source = local[table.source]
    target = local[table.target]
    logs = -table.weight
    layers = tuple(
        Layer(source[arcs], label[arcs], target[arcs], logs[arcs], int(width))
        for arcs, width in zip(arcs_at, widths[1:], strict=True)
    )
    final = -table.final[order[len(order) - widths[-1] :]]
    return LogLayered(alphabet, np.zeros(1), layers, final)


def trimmed_acceptor(fst: pynini.Fst, where: str) -> ArcTable:
    """The arcs of an acceptor that accepted sequences use; an error if there are none."""
    table = image.trimmed(image.without_zero_arcs(image.table_from_fst(fst, where)))
    if not np.isfinite(table.final).any():
        raise EmptyError(where, "it must accept at least one sequence")
    if (table.ilabel != table.olabel).any():
        raise InputError(where, "both tapes must carry the same labels (an acceptor)")
    return table


def label_numbers(fst: pynini.Fst, alphabet: Alphabet, table: ArcTable, where: str) -> Ints:
    """Label index of each arc, through the symbol table if the machine has one."""
    symbols = image.names_of(fst.input_symbols(), where)
    named = {name: number - 1 for number, name in image.label_names(alphabet).items()}
    numbers, arc = np.unique(table.ilabel, return_inverse=True)
    if 0 in numbers:
        must = "the machine must be free of epsilon arcs"
        raise InputError(where, must, remedy="Apply pynini.rmepsilon first")
    places = [named.get(symbols[k], -1) if k in symbols else k - 1 for k in numbers.tolist()]
    for number, place in zip(numbers.tolist(), places, strict=True):
        if not 0 <= place < len(alphabet):
            must = f"each label must be one of {', '.join(map(str, alphabet.labels))}"
            raise InputError(where, must, given=symbols.get(number) or number)
    return np.array(places, np.int64)[arc]
