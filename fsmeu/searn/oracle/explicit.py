"""Machines of cost oracles by the explicit engine: free z, loss and reference composed by pynini.

The reference given, the loss is deterministic in z. The composition has one path for each
hypothesis, and the best value that a state can reach is a maximum over the paths behind it. OpenFst
has no maximum in doubles (its tropical weights are single precision), so that is taken over the
composed arcs, layer by layer (``FrontierTables``).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fsmeu.arrays import Ints
from fsmeu.expectation.composition import advising_default, run_loss
from fsmeu.fst.compose import compose, guard_size
from fsmeu.fst.constraint import Constraint, restricted
from fsmeu.fst.image import ArcTable, by_depth, fst_from_table, symbol_table, table_from_fst
from fsmeu.fst.layers import Layered, any_layers, fst_from_layered, pair_layers, string_layers
from fsmeu.losses.protocol import Loss
from fsmeu.searn.oracle.tables import Path, ranked_path

__all__ = ["explicit_machine"]


def explicit_machine(loss: Loss, y: Ints, fallback: Ints | None) -> Path:
    """The composition with one reference given as label indices, its states layer by layer.

    Args:
        loss: the loss.
        y: the reference.
        fallback: the label that each label stands for, as in ``TransitionConstraint``.

    Raises:
        LossFileError: the loss is not defined for a completion.
        SizeLimitError: there are too many states.
    """
    with advising_default():
        labels, n = len(loss.alphabet), len(y)
        stands_for = np.arange(labels)[None] if fallback is None else fallback
        reference = string_layers(loss.alphabet, y)
        machine = loss.compile(n, pairs=pair_layers(_allowed(loss, n, fallback), reference))
        guard_size("composition", len(stands_for) * machine.states * (n + 1))
        symbols = symbol_table(loss.alphabet)
        free = fst_from_table(_free(stands_for), symbols, symbols)
        left = compose(free, machine.unvalued, ("free z", "loss"))
        table = table_from_fst(compose(left, fst_from_layered(reference), ("loss", "reference")))
    read = replace(table, ilabel=_meant(table, stands_for) + 1)
    values = machine.values[run_loss(read, machine, table.olabel - 1)]
    depth, _ = by_depth(table)
    after = np.full((table.states, labels), -1, np.int64)
    after[table.source, table.ilabel - 1] = table.target
    begins = np.append(0, np.cumsum(np.bincount(depth, minlength=n + 1))).tolist()
    layers = [after[begins[t] : begins[t + 1]] - begins[t + 1] for t in range(n)]
    sign = 1.0 if loss.kind == "utility" else -1.0
    return ranked_path(0, layers, sign * values[begins[n] :])


def _allowed(loss: Loss, n: int, fallback: Ints | None) -> Layered:
    """The hypotheses that may occur: those in which each label stands for itself."""
    everything = any_layers(loss.alphabet, n)
    if fallback is None:
        return everything
    itself = np.arange(fallback.shape[1])
    following = np.where(fallback == itself, itself, -1)
    last = np.arange(len(fallback))
    return restricted(everything, Constraint(following, len(fallback) - 1, last), "cost oracle")


def _free(stands_for: Ints) -> ArcTable:
    """A transducer from every label to what it stands for, by the last label; the last row begins.

    Args:
        stands_for: the label that each label stands for, (last labels and start, labels); or
            (start, labels) where the last label does not matter.
    """
    states, labels = stands_for.shape
    source, label = np.divmod(np.arange(states * labels), labels)
    meant = stands_for.ravel()
    target = meant if states > 1 else source
    weight = np.zeros(len(source))
    return ArcTable(states - 1, source, label + 1, meant + 1, weight, target, np.zeros(states))


def _meant(table: ArcTable, stands_for: Ints) -> Ints:
    """The label that the label of each composed arc stands for, found along the arcs."""
    meant = table.ilabel - 1
    last = np.full(table.states, len(stands_for) - 1)
    for arcs in by_depth(table)[1] if len(stands_for) > 1 else ():
        meant[arcs] = stands_for[last[table.source[arcs]], meant[arcs]]
        last[table.target[arcs]] = meant[arcs]
    return meant
