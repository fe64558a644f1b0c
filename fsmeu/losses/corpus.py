"""The value of a loss for a corpus: what it would be if it were asked once, at the end.

Counts are summed over the sentences; every other register starts anew with each of them. The value
is taken once, of the sums. So F1 of a corpus is that of all its items together (micro-averaged), as
conlleval, seqeval and scikit-learn report it, not the mean of the F1 of sentences.

In a step, ``i`` and ``n`` are position and length within the sentence; in the value (and in a
declared range) ``n`` is the total length of the corpus. A share of positions, such as ``bad / n``,
is thus that of all positions. ``bad / (n - k + 1)``, the share of windows of one sequence, is taken
by its letter: as many windows as one sequence of the total length has.

This makes sense where the value looks at counts alone. It is refused where it looks at a state, a
flag, an age or a memory: what these are after several sentences is not said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence
from fsmeu.fst.sequences import listed
from fsmeu.limits import EVALUATED_CELLS
from fsmeu.losses.evaluate import trace_pairs, value_of_state
from fsmeu.losses.language.dependencies import increment, names_read
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss, check_loss
from fsmeu.losses.semantics.bound import BoundLoss
from fsmeu.losses.semantics.evaluator import constant_at

__all__ = ["check_totals", "counts_read", "evaluate_corpus", "sentence_counts", "value_of_totals"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def evaluate_corpus(loss: Loss, zs: Iterable[Any], ys: Iterable[Any]) -> float:
    """The value of a corpus: counts summed over sentences, the value taken once at the end.

    Args:
        loss: a loss or utility of a file, whose value looks at counts alone.
        zs: the hypotheses, a label sequence for each sentence.
        ys: the references, of the same lengths.

    Labels that the loss leaves open are read from both.

    Raises:
        InputError: the value looks at something that cannot be summed, or lengths differ.
    """
    check_loss(loss, "evaluate_corpus")
    given, right = _sentences(zs, "zs"), _sentences(ys, "ys")
    bound = check_totals(loss.over(given + right), "evaluate_corpus")
    pairs = _encoded(bound, given, right)
    counts = sentence_counts(bound, pairs)
    n = sum(len(z) for z, _ in pairs)
    totals = {name: math.fsum(each.tolist()) for name, each in counts.items()}
    lanes = {name: np.array([total]) for name, total in totals.items()}
    return float(value_of_totals(bound, n, lanes, 1)[0])


def check_totals(loss: Loss, where: str) -> BoundLoss:
    """The loss with labels and parameters, if its value can be taken of a corpus.

    Raises:
        InputError: the loss is not that of a file, or its value looks at more than counts.
    """
    check_loss(loss, where)
    if not isinstance(loss, SpecLoss):
        must = "a corpus needs the loss of a file, whose counts are known"
        raise InputError(sentence(where, must, f"{loss.kind} {loss.name}, which is a function"))
    kept = [name for name in counts_read(loss.bound) if not _is_sum(loss.bound, name)]
    if kept:
        must = f"the value of {loss.kind} {loss.name} may look at sums over positions alone"
        remedy = "Only counts can be summed over sentences; ask for each sentence by itself"
        raise InputError(sentence(where, must, f"a value that looks at {', '.join(kept)}", remedy))
    return loss.bound


def sentence_counts(bound: BoundLoss, pairs: Sequence[tuple[Ints, Ints]]) -> dict[str, Floats]:
    """What each pair adds to each count that the value looks at, (pairs,) by name.

    Args:
        bound: a loss whose value looks at counts alone.
        pairs: hypothesis and reference of each sentence, as label indices.
    """
    names = counts_read(bound)
    found = {name: np.zeros(len(pairs)) for name in names}
    by_length: dict[int, list[int]] = {}
    for row, (z, _) in enumerate(pairs):
        by_length.setdefault(len(z), []).append(row)
    for n, rows in by_length.items():
        size = max(1, EVALUATED_CELLS // ((n + 1) * max(1, len(bound.spec.registers))))
        for begin in range(0, len(rows), size):
            part = rows[begin : begin + size]
            z, y = (np.stack([pairs[row][side] for row in part]) for side in (0, 1))
            trace = trace_pairs(bound, z, y)
            for name in names:
                found[name][part] = trace[-1][name] - trace[0][name]
    return found


def value_of_totals(bound: BoundLoss, n: int, added: Mapping[str, Floats], lanes: int) -> Floats:
    """The value of corpora of n positions whose sentences add so much to the counts, (lanes,).

    Args:
        bound: a loss whose value looks at counts alone.
        n: the total length.
        added: what is added to the start of each count, (lanes,) by name.
        lanes: how many corpora there are.
    """
    starts = {r.name: constant_at(bound, r.start, n) for r in bound.spec.registers}
    state = {name: np.full(lanes, start) for name, start in starts.items()}
    state |= {name: starts[name] + each for name, each in added.items()}
    return value_of_state(bound, state, lanes, n)


def counts_read(bound: BoundLoss) -> list[str]:
    """The registers that the value looks at."""
    read = names_read(bound.spec.value)
    return [r.name for r in bound.spec.registers if r.name in read]


def _is_sum(bound: BoundLoss, name: str) -> bool:
    """True for a register that only adds, whatever its steps look at."""
    register = next(r for r in bound.spec.registers if r.name == name)
    return increment(register) is not None


def _sentences(side: Iterable[Any], name: str) -> list[list[Any]]:
    """The labels of each sentence."""
    where, must = "evaluate_corpus", f"{name} must be a sequence of label sequences"
    rows = enumerate(listed(side, where, must, rows=True))
    return [listed(one, f"{where}, {name}[{row}]") for row, one in rows]


def _encoded(bound: BoundLoss, zs: list[Any], ys: list[Any]) -> list[tuple[Ints, Ints]]:
    """Label indices of the sentences, checked against each other."""
    where = "evaluate_corpus"
    if len(zs) != len(ys):
        must = "there must be as many hypotheses as references"
        raise InputError(sentence(where, must, f"{len(zs)} and {len(ys)}"))
    found = []
    for row, (z, y) in enumerate(zip(zs, ys, strict=True)):
        a = bound.alphabet.encode(z, f"{where}, zs[{row}]")
        b = bound.alphabet.encode(y, f"{where}, ys[{row}]")
        if len(a) != len(b):
            must = "hypothesis and reference must have the same length"
            raise InputError(sentence(f"{where}, sentence {row}", must, f"{len(a)} and {len(b)}"))
        found.append((a, b))
    return found
