"""The value of a loss for many pairs, for a corpus, and the outputs that a file names beside it.

Of a corpus, counts are summed over the sentences; every other register starts anew with each. The
value is taken once, of the sums, ``n`` being the total length: F1 of a corpus is that of all its
items together (micro-averaged), as conlleval, seqeval and scikit-learn report it, not a mean over
sentences. ``bad / (n - k + 1)``, the share of windows of one sequence, is taken by its letter. A
value that looks at a state, a flag, an age or a memory is refused: what these are after several
sentences is not said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, message
from fsmeu.fst.alphabet import listed
from fsmeu.losses.language.syntax import names_read, steps
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss, check_loss, encoded_pair, label_indices
from fsmeu.losses.semantics.evaluator import BoundLoss, constant_at
from fsmeu.losses.semantics.walk import registers_at, registers_of_pairs, value_of_state


def evaluate_many(loss: Loss, zs: Iterable[Any], ys: Iterable[Any]) -> Floats:
    """The value of each pair of sequences, shape (pairs,).

    Labels that the loss leaves open are read from all hypotheses ``zs`` and references ``ys``.

    >>> from fsmeu.losses.loss import load
    >>> evaluate_many(load("fscore"), ["0110", "1"], ["0100", "1"]).tolist()
    [0.6666666666666666, 1.0]
    """
    loss, pairs = _encoded(loss, zs, ys, "evaluate_many")
    return loss.pair_values([z for z, _ in pairs], [y for _, y in pairs])


def evaluate_corpus(loss: Loss, zs: Iterable[Any], ys: Iterable[Any]) -> float:
    """The value of a corpus: counts summed over sentences, the value taken once at the end.

    Labels that the loss leaves open are read from all hypotheses ``zs`` and references ``ys``.

    Raises:
        InputError: the value looks at something that cannot be summed, or lengths differ.
    """
    loss, pairs = _encoded(loss, zs, ys, "evaluate_corpus")
    bound = check_totals(loss, "evaluate_corpus")
    counts = sentence_counts(bound, pairs)
    n = sum(len(z) for z, _ in pairs)
    totals = {name: math.fsum(each.tolist()) for name, each in counts.items()}
    lanes = {name: np.array([total]) for name, total in totals.items()}
    return float(value_of_totals(bound, n, lanes, 1)[0])


def check_totals(loss: Loss, where: str) -> BoundLoss:
    """The loss with labels and parameters; an InputError if a corpus has no value of it."""
    check_loss(loss, where)
    if not isinstance(loss, SpecLoss):
        must = "a corpus needs the loss of a file, whose counts are known"
        raise InputError(message(where, must, f"{loss.kind} {loss.name}, which is a function"))
    added, read = steps(loss.spec), counts_read(loss.bound)
    kept = [name for name in read if added[name][0] is None]
    if kept:
        must = f"the value of {loss.kind} {loss.name} may look at sums over positions alone"
        remedy = "Only counts can be summed over sentences; ask for each sentence by itself"
        raise InputError(message(where, must, f"a value that looks at {', '.join(kept)}", remedy))
    return loss.bound


def sentence_counts(bound: BoundLoss, pairs: Sequence[tuple[Ints, Ints]]) -> dict[str, Floats]:
    """What each pair of label indices adds to counts that the value looks at, (pairs,) by name."""
    lengths = np.array([len(z) for z, _ in pairs], np.int64)
    return added_counts(bound, registers_of_pairs(bound, pairs), lengths)


def added_counts(bound: BoundLoss, ended: Mapping[str, Floats], lengths: Ints) -> dict[str, Floats]:
    """The same, given the registers of each pair at its end, (pairs,) by name, and its length."""
    rows = lengths.tolist()
    starts = {n: registers_at(bound, n)[0] for n in set(rows)}
    return {x: ended[x] - np.array([starts[n][x] for n in rows]) for x in counts_read(bound)}


def value_of_totals(bound: BoundLoss, n: int, added: Mapping[str, Floats], lanes: int) -> Floats:
    """The value of corpora of n positions whose sentences add so much to the counts, (lanes,)."""
    starts = {r.name: constant_at(bound, r.start, n) for r in bound.spec.registers}
    state = {name: np.full(lanes, start) for name, start in starts.items()}
    state |= {name: starts[name] + each for name, each in added.items()}
    return value_of_state(bound, state, (lanes,), n)


def counts_read(bound: BoundLoss) -> list[str]:
    """The registers that the value looks at."""
    read = names_read(bound.spec.value)
    return [r.name for r in bound.spec.registers if r.name in read]


def _encoded(
    loss: Loss, zs: Iterable[Any], ys: Iterable[Any], where: str
) -> tuple[Loss, list[tuple[Ints, Ints]]]:
    """The loss over the labels of these sentences, and pairs of their label indices."""
    check_loss(loss, where)
    sides = []
    for side, name in ((zs, "zs"), (ys, "ys")):
        rows = listed(side, where, f"{name} must be a sequence of label sequences", rows=True)
        sides.append([listed(one, f"{where}, {name}[{row}]") for row, one in enumerate(rows)])
    if len(sides[0]) != len(sides[1]):
        must = "there must be as many hypotheses as references"
        raise InputError(message(where, must, f"{len(sides[0])} and {len(sides[1])}"))
    loss = loss.over(sides[0] + sides[1])
    pairs = []
    for row, (z, y) in enumerate(zip(*sides, strict=True)):
        names = f"{where}, zs[{row}]", f"{where}, ys[{row}]"
        pairs.append(label_indices(loss, z, y, f"{where}, sentence {row}", names))
    return loss, pairs


def evaluate_outputs(loss: Loss, z: Any, y: Any) -> dict[str, float]:
    """The outputs of one pair of sequences, by name.

    >>> from fsmeu.losses.loss import load
    >>> evaluate_outputs(load("fscore"), "0110", "0100")
    {'precision': 0.5, 'recall': 1.0}
    """
    loss, zs, ys = encoded_pair(loss, z, y, "evaluate_outputs")
    each = loss.outputs.items()
    return {name: float(one.pair_values(zs[None, :], ys[None, :])[0]) for name, one in each}
