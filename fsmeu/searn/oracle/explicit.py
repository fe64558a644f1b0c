"""Machines of cost oracles by the explicit engine: free z, loss and reference composed by pynini.

The reference given, the loss is deterministic in z. The composition has one path for each
hypothesis, and the best value that a state can reach is a maximum over the paths behind it. OpenFst
has no maximum in doubles (its tropical weights are single precision), so that is taken over the
composed arcs, layer by layer (``FrontierTables``).
"""

from __future__ import annotations

import numpy as np

from fsmeu.arrays import Ints
from fsmeu.expectation.composition import advising_default, run_loss
from fsmeu.fst.compose import compose, guard_size
from fsmeu.fst.constraint import Constraint, restricted
from fsmeu.fst.image import by_depth, table_from_fst
from fsmeu.fst.layers import any_layers, fst_from_layered, pair_layers, string_layers
from fsmeu.losses.protocol import Loss
from fsmeu.searn.oracle.tables import Path, ranked_path


def explicit_machine(loss: Loss, y: Ints, fallback: Ints | None) -> Path:
    """The composition with one reference given as label indices, its states layer by layer.

    Hypotheses are those in which each label stands for itself; in a state, another label leads
    where the one leads that it stands for after the last (``fallback``, as in ``Product``).
    """
    labels, n = len(loss.alphabet), len(y)
    with advising_default():
        free, reference = any_layers(loss.alphabet, n), string_layers(loss.alphabet, y)
        if fallback is not None:
            following = np.where(fallback == np.arange(labels), fallback, -1)
            last = np.arange(len(fallback))
            free = restricted(free, Constraint(following, len(fallback) - 1, last), "cost oracle")
        machine = loss.compile(n, pairs=pair_layers(free, reference))
        kinds = 1 if fallback is None else len(fallback)
        guard_size("composition", kinds * machine.states * (n + 1))
        left = compose(fst_from_layered(free), machine.unvalued, ("free z", "loss"))
        table = table_from_fst(compose(left, fst_from_layered(reference), ("loss", "reference")))
    values = machine.values[run_loss(table, machine, table.olabel - 1)]
    after = np.full((table.states, labels), -1, np.int64)
    after[table.source, table.ilabel - 1] = table.target
    if fallback is not None:
        last = np.full(table.states, labels)
        last[table.target] = table.ilabel - 1
        after = np.take_along_axis(after, fallback[last], axis=1)
    begins = np.append(0, np.cumsum(np.bincount(by_depth(table)[0], minlength=n + 1))).tolist()
    layers = [after[begins[t] : begins[t + 1]] - begins[t + 1] for t in range(n)]
    sign = 1.0 if loss.kind == "utility" else -1.0
    return ranked_path(0, layers, sign * values[begins[n] :])
