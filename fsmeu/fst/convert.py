"""Layered acceptors to OpenFst and back."""

from __future__ import annotations

import numpy as np

from fsmeu.arrays import Ints
from fsmeu.errors import EmptyError, FstError, InputError, message
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.arcs import ArcTable, by_depth, without_zero_arcs
from fsmeu.fst.engine import pynini
from fsmeu.fst.image import (
    fst_from_table,
    names_of,
    symbol_name,
    symbol_table,
    table_from_fst,
    trimmed,
)
from fsmeu.fst.layers import Layer, Layered, LogLayered, all_arcs


def table_from_layered(layered: Layered) -> ArcTable:
    """The arc table of a layered acceptor; arcs of weight zero are left out.

    One state is added in front when the acceptor can start in several states.
    """
    arcs = all_arcs(layered)
    source, label, target, weight = arcs.source, arcs.label + 1, arcs.target, arcs.weight
    final = np.zeros(arcs.width)
    final[arcs.width - layered.widths[-1] :] = layered.final
    start = 0
    if len(layered.start) != 1 or layered.start[0] != 1.0:
        start = len(final)
        first = np.flatnonzero(source < len(layered.start))
        final = np.append(final, layered.start @ final[: len(layered.start)])
        source = np.concatenate([source, np.full(len(first), start)])
        weight = np.concatenate([weight, weight[first] * layered.start[source[first]]])
        label, target = (np.concatenate([c, c[first]]) for c in (label, target))
    kept = np.flatnonzero(weight > 0)
    kept = kept[np.lexsort((target[kept], label[kept], source[kept]))]
    with np.errstate(divide="ignore"):
        return ArcTable(
            start,
            source[kept],
            label[kept],
            label[kept],
            -np.log(weight[kept]),
            target[kept],
            -np.log(final),
        )


def fst_from_layered(layered: Layered) -> pynini.Fst:
    """The OpenFst acceptor (log64, arcs sorted by label) of a layered one."""
    symbols = symbol_table(layered.alphabet)
    return fst_from_table(table_from_layered(layered), symbols, symbols)


def log_layers_from_fst(fst: pynini.Fst, alphabet: Alphabet, where: str = "acceptor") -> LogLayered:
    """The layered form of an OpenFst acceptor, with the logarithms of the weights.

    Args:
        fst: an acyclic, epsilon-free acceptor all of whose strings have the same length. Its symbol
            table, if it has one, names the labels; else number k + 1 is label k. Arcs of weight
            zero are left out.
        alphabet: the labels.
        where: what the machine is called in an error.

    Raises:
        EmptyError: no string is accepted.
        InputError: the machine breaks one of the conditions.
        FstError: the machine is no machine.
    """
    table = trimmed_acceptor(fst, where)
    label = label_numbers(fst, alphabet, table, where)
    try:
        depth, arcs_at = by_depth(table)
    except FstError as error:
        must = "the machine must be acyclic and all its sequences must have the same length"
        raise InputError(message(where, must)) from error
    ending = depth[np.isfinite(table.final)]
    if len(set(ending.tolist())) != 1:
        must = "all sequences must have the same length"
        got = f"lengths {ending.min()} and {ending.max()}"
        raise InputError(message(where, must, got, "Give one machine per length"))
    return _layers_by_depth(table, alphabet, label, depth, arcs_at)


def trimmed_acceptor(fst: pynini.Fst, where: str) -> ArcTable:
    """The arcs of an acceptor that accepted sequences use; an error if there are none."""
    table = trimmed(without_zero_arcs(table_from_fst(fst, where)))
    if not np.isfinite(table.final).any():
        raise EmptyError(message(where, "it must accept at least one sequence"))
    if (table.ilabel != table.olabel).any():
        raise InputError(message(where, "both tapes must carry the same labels (an acceptor)"))
    return table


def _layers_by_depth(
    table: ArcTable, alphabet: Alphabet, label: Ints, depth: Ints, arcs_at: list[Ints]
) -> LogLayered:
    order = np.argsort(depth, kind="stable")
    widths = np.bincount(depth)
    local = np.empty(table.states, np.int64)
    local[order] = np.arange(table.states) - np.repeat(np.cumsum(widths) - widths, widths)
    layers = tuple(
        Layer(
            local[table.source[arcs]],
            label[arcs],
            local[table.target[arcs]],
            -table.weight[arcs],
            int(widths[k + 1]),
        )
        for k, arcs in enumerate(arcs_at)
    )
    final = -table.final[order[len(order) - widths[-1] :]]
    pairs = np.stack([table.source, label])
    deterministic = np.unique(pairs, axis=1).shape[1] == table.arcs
    return LogLayered(alphabet, np.zeros(1), layers, final, unambiguous=bool(deterministic))


def label_numbers(fst: pynini.Fst, alphabet: Alphabet, table: ArcTable, where: str) -> Ints:
    """Label index of each arc, through the symbol table if the machine has one."""
    symbols = names_of(fst.input_symbols(), where)
    named = {symbol_name(str(label)): k for k, label in enumerate(alphabet.labels)}
    index = np.empty_like(table.ilabel)
    for number in np.unique(table.ilabel):
        name = symbols.get(int(number))
        if number == 0:
            must = "the machine must be free of epsilon arcs"
            raise InputError(message(where, must, None, "Apply pynini.rmepsilon first"))
        if name is None:
            known = 0 < number <= len(alphabet)
            position = int(number) - 1 if known else None
        else:
            position = named.get(name)
        if position is None:
            must = f"each label must be one of {', '.join(map(str, alphabet.labels))}"
            raise InputError(message(where, must, name or int(number)))
        index[table.ilabel == number] = position
    return index
