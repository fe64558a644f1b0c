"""Both tapes of a split loss, with all that has been found of them; kept on the loss.

The structure of a trellis depends on the loss, the labels and the kind of model, not on numbers, so
that one serves every sentence of a corpus. Where no step looks at the length, one serves all
lengths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.fst.layers import Layer, Layered, any_layers
from fsmeu.limits import MOST_AMOUNT_TABLES
from fsmeu.losses.algebra.split import Split
from fsmeu.trellis.best_plan import BestPlan, plan_best
from fsmeu.trellis.plan import Plan, plan_layer
from fsmeu.trellis.product import Pairs, ProductLayer, Repeated, product_layer
from fsmeu.trellis.steps import Steps, steps_after
from fsmeu.trellis.tape import Tape, TapeLayer
from fsmeu.trellis.terms import Amounts, Term, amounts, join_terms, joint_terms, part_of

__all__ = ["Hypotheses", "References", "SplitTrellis"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


P = TypeVar("P")


@dataclass(eq=False)
class _Composed(Generic[P]):
    """A tape composed with an acceptor, as far as it has been asked for.

    Attributes:
        tape: the tape.
        pairs: the pairs of layers 0, 1, ...
        plans: the plans of positions 0, 1, ...
        last: what the last plan was made of; it serves the next position where that repeats.
    """

    tape: Tape
    pairs: list[Pairs]
    plans: list[P] = field(default_factory=list)
    last: Repeated | None = None

    def extend(self, layers: Sequence[Layer]) -> None:
        """Adds plans for the positions of an acceptor of this structure."""
        for i in range(len(self.plans), len(layers)):
            layer, steps, before = layers[i], self.tape.layer(i), self.pairs[i]
            last = self.last
            if last is None or not (self.settled() and last.repeats(before, steps, layer)):
                product = product_layer(before, steps, layer)
                self.last = last = Repeated(before, steps, layer, product.after)
                self.plans.append(self.plan(product, steps))
            else:
                self.plans.append(self.plans[-1])
            self.pairs.append(last.after)

    def settled(self) -> bool:
        """Whether the next plan is the last one, if it is made of the same arcs."""
        return True

    def plan(self, product: ProductLayer, steps: TapeLayer) -> P:
        """The plan of the next position."""
        raise NotImplementedError


class References(_Composed[Plan]):
    """The tape of y composed with a model: plans to sum over its pairs."""

    def plan(self, product: ProductLayer, steps: TapeLayer) -> Plan:
        """The plan of the next position."""
        return plan_layer(product, steps)


class Hypotheses(_Composed[BestPlan]):
    """The tape of z with the sequences that are allowed: plans of best paths."""

    def settled(self) -> bool:
        """Whether the bases of the pairs repeat, too."""
        plans = self.plans
        return len(plans) > 1 and np.array_equal(plans[-1].base, plans[-2].base)

    def plan(self, product: ProductLayer, steps: TapeLayer) -> BestPlan:
        """The plan of the next position."""
        base = self.plans[-1].base if self.plans else np.zeros(1, np.int64)
        return plan_best(product, steps, base)


class _Below(Protocol):
    """What meets features of hypotheses: ``Plan``, or what labels show.

    Attributes:
        features: for each term, the numbers of its rows of feature values that occur.
        met: what all terms add, by those who asked.
    """

    features: tuple[Ints, ...]
    met: dict[int, tuple[tuple[Ints, ...], int, Amounts]]


def _met_before(below: _Below, above: tuple[Ints, ...], clock: int) -> Amounts | None:
    """What a plan keeps for equal features at this position, None for nothing.

    Those of the hypotheses that are allowed are often all that the tape shows.
    """
    for other, at, joined in below.met.values():
        if at == clock and all(map(np.array_equal, other, above)):
            return joined
    return None


class SplitTrellis:
    """The tapes of a split loss for sequences of length n, or of every length up to n.

    Args:
        form: the split loss.
        n: the length.
        swept: how many positions have been swept; shared by the trellises of a loss.

    Attributes:
        memo: what sweeps want to keep, by a key that has the length in it.
    """

    def __init__(self, form: Split, n: int, swept: Counter[str] | None = None) -> None:
        self.form, self.n = form, n
        self.terms: tuple[Term, ...] = joint_terms(form)
        self.z = Tape(form.z, n, [term.z for term in self.terms])
        self.y = Tape(form.y, n, [term.y for term in self.terms])
        self.reads_clock = any(term.reads_clock for term in self.terms)
        self._references: dict[Hashable, References] = {}
        self._tables: dict[tuple[int, int], csr_array] = {}
        self._free: Hypotheses | None = None
        self.memo: dict[Hashable, Any] = {}
        self._served: dict[int, bool] = {}
        self._swept: Counter[str] = Counter() if swept is None else swept

    def serves(self, n: int) -> bool:
        """True when the trellis is that of sequences of length n as well.

        Requires that no step looks at the length, or that n is the trellis's own.
        """
        if n not in self._served:
            kept = n == self.n or (self.z.keeps_bounds(n) and self.y.keeps_bounds(n))
            self._served[n] = kept
        return self._served[n]

    def steps(self, positions: int) -> Steps:
        """What computes a sweep over so many positions."""
        self._swept["positions"] += positions
        return steps_after(self._swept["positions"])

    def references(self, layered: Layered, structure: Hashable) -> References:
        """The tape of y composed with a model; kept for models of one structure."""
        found = self._references.get(structure)
        if found is None:
            starts = len(layered.start)
            found = References(self.y, [Pairs(np.zeros(starts, np.int64), np.arange(starts))])
            if structure is not None:
                self._references[structure] = found
        found.extend(layered.layers)
        return found

    def hypotheses(self, n: int, allowed: Sequence[Layer] | None = None) -> Hypotheses:
        """The tape of z with an acceptor of the allowed sequences; kept where all are.

        Args:
            n: the length.
            allowed: the acceptor's arcs at each position; it starts in state 0.
        """
        first = Pairs(np.zeros(1, np.int64), np.zeros(1, np.int64))
        if allowed is not None:
            found = Hypotheses(self.z, [first])
            found.extend(allowed)
            return found
        if self._free is None:
            self._free = Hypotheses(self.z, [first])
        self._free.extend(any_layers(self.form.bound.alphabet, n).layers)
        return self._free

    def amounts(self, above: tuple[Ints, ...], below: _Below, i: int, n: int) -> Amounts:
        """What all terms add at a position.

        Args:
            above: for each term, the numbers of the rows of feature values that z may show.
            below: the plan of the references; it keeps what was found for these numbers.
            i: the position, from 0.
            n: the length.
        """
        clock = i if self.reads_clock else -1
        known = below.met.get(id(above))
        if known is None or known[0] is not above or known[1] != clock:
            joined = _met_before(below, above, clock) or self._joined(above, below, i, n)
            while len(below.met) >= MOST_AMOUNT_TABLES:
                del below.met[next(iter(below.met))]
            below.met[id(above)] = known = (above, clock, joined)
        return known[2]

    def _joined(self, above: tuple[Ints, ...], below: _Below, i: int, n: int) -> Amounts:
        """The same, where it is not known yet."""
        pairs = zip(above, below.features, strict=True)
        blocks = [part_of(self._table(k, i, n), z, y) for k, (z, y) in enumerate(pairs)]
        return join_terms(self.terms, blocks, len(self.form.joint_counts))

    def _table(self, k: int, i: int, n: int) -> csr_array:
        """What a term adds at a position for all rows of feature values, (of z, of y)."""
        key = (k, i if self.terms[k].reads_clock else -1)
        z_rows, y_rows = self.z.rows(k), self.y.rows(k)
        known = self._tables.get(key)
        if known is None or known.shape != (len(z_rows), len(y_rows)):
            known = amounts(self.form, self.terms[k], z_rows, y_rows, i + 1, n)
            self._tables[key] = known
        return known
