"""Costs of the next label under optimal completion, by look-up (Daume et al. 2009, section 3.4.1).

For a reference y and a loss, one sweep from the last position to the first finds the best value
that can be reached from every state of the machine over z. The cost of a label after any prefix is
the value that can be reached before it minus that after it: what a mistake costs if all that
follows is done as well as can be. It is one mechanism for every loss, where the paper writes a
policy for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, as_whole, message, one_of
from fsmeu.expectation.expect import ENGINES
from fsmeu.expectation.query import bind_labels
from fsmeu.fst.alphabet import Label, as_alphabet, listed
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss, check_loss
from fsmeu.searn.oracle.explicit import explicit_machine
from fsmeu.searn.oracle.product import Machine, machines_of
from fsmeu.searn.oracle.sums import SummedTables
from fsmeu.searn.oracle.tables import (
    FrontierTables,
    NotServedError,
    counted_tables,
    ranked_tables,
    refuse_strange,
    unfolded,
)


class CostOracles:
    """Cost oracles of many references, asked for many states at once.

    Every completion is considered, so that a loss that is not defined for one of them is refused,
    as ``evaluate`` refuses it.

    Args:
        loss: a loss or utility.
        ys: the references, sequences of labels.
        labels: the labels, in the order of costs; the loss's own unless they are given.
        meanings: where not every label may follow every other in a completion: the index of the
            label that each label stands for after each other, (L + 1, L), the last row for those
            that come first: its own where it may stand, else that of one that may. What is said
            of a label that may not come next is said of the one that it stands for.
        engine: "lattice" sweeps what the loss's algebra leaves of the states; "openfst" composes
            free z, loss and each reference with pynini.

    Raises:
        InputError: something is no loss, no sequence or no label.
        LossFileError: the loss is not defined for a completion.
        SizeLimitError: there are too many states.

    Attributes:
        loss: the loss over its labels.
        labels: the labels, in the order of costs.
        lengths: the length of each reference, (references,).
        roundings: for each reference, a bound on the error of a cost that is not 0, (references,).
            What seems to cost no more than that costs 0, and may in truth cost twice as much.
            It is great where great amounts cancel that doubles do not hold, such as 10^16 / 3, and
            tiny otherwise. Values of losses that are no sums over positions are taken as
            ``evaluate`` computes them.
    """

    def __init__(
        self,
        loss: Loss,
        ys: Sequence[Any],
        labels: Any = None,
        meanings: Any = None,
        engine: str = "lattice",
    ) -> None:
        check_loss(loss, "cost oracle")
        if labels is not None:
            loss = bind_labels(loss, as_alphabet(labels), "cost oracle")
        self.loss = loss
        self.labels: tuple[Label, ...] = loss.alphabet.labels
        rows = listed(ys, "cost oracle", "the references must be a list of sequences", rows=True)
        self.ys = [loss.alphabet.encode(y, f"reference {k}") for k, y in enumerate(rows)]
        self.lengths = np.array([len(y) for y in self.ys], np.int64)
        self._sign = 1.0 if loss.kind == "utility" else -1.0
        fallback = None if meanings is None else _checked_meanings(meanings, len(self.labels))
        chosen = one_of("cost oracle", "engine", engine, ENGINES)
        if chosen == "openfst" or not isinstance(loss, SpecLoss):  # of Python: nothing to derive
            made = [explicit_machine(loss, y, fallback) for y in self.ys]
            self._tables: FrontierTables | SummedTables = ranked_tables(made, len(self.labels))
        else:
            machines = machines_of(loss, self.ys, fallback)
            self._tables = _tables(machines, len(self.labels), self._sign)
        self.roundings = self._tables.roundings

    def __len__(self) -> int:
        return len(self.ys)

    @property
    def nbytes(self) -> int:
        """The bytes that the tables of all references take."""
        return self._tables.nbytes

    def start(self, sentences: Any) -> Ints:
        """The states before the first label, (batch, 4), of references by number, (batch,)."""
        return self._tables.start(self._numbers(sentences))

    def step(self, sentences: Any, states: Ints, labels: Any) -> Ints:
        """The states after one more label each, given by its index, (batch, 4)."""
        numbers, chosen = self._numbers(sentences), _indices(labels, "labels", len(self.labels))
        if len(numbers) != len(chosen):
            must = "there must be one label for each sentence"
            raise InputError(message("cost oracle", must, f"{len(chosen)} for {len(numbers)}"))
        return self._tables.step(numbers, np.asarray(states), chosen)

    def costs_at(self, sentences: Any, states: Ints) -> Floats:
        """The cost of each label, (batch, labels); 0 marks the best."""
        return self._tables.costs(self._numbers(sentences), np.asarray(states))

    def values_at(self, sentences: Any, states: Ints) -> Floats:
        """The best value that can be reached, (batch,)."""
        return self._sign * self._tables.scores(self._numbers(sentences), np.asarray(states)) + 0.0

    def oracle(self, number: int) -> CostOracle:
        """The oracle of one reference."""
        made = CostOracle.__new__(CostOracle)
        made._bind(self, int(self._numbers([number])[0]))
        return made

    def _numbers(self, sentences: Any) -> Ints:
        return _indices(sentences, "sentences", len(self.ys))


def _indices(values: Any, what: str, count: int) -> Ints:
    """Whole numbers below a count that were given, (batch,)."""
    try:
        array = np.asarray(values)
    except Exception:  # whatever it raises
        array = np.zeros((1, 1))
    if array.ndim == 1 and not len(array):
        return np.zeros(0, np.int64)
    good = array.ndim == 1 and array.dtype.kind in "iu"
    if not good or not 0 <= array.min() <= array.max() < count:
        must = f"{what} must be whole numbers from 0 to {count - 1}, in an array with one axis"
        raise InputError(message("cost oracle", must, values))
    return array.astype(np.int64, copy=False)


class CostOracle:
    """The cost oracle of one reference.

    Args:
        loss: a loss or utility.
        y: the reference, a sequence of labels.
        labels: the labels, in the order of costs; the loss's own unless they are given.
        engine: as in ``CostOracles``.

    Attributes:
        labels: the labels, in the order of costs.
        rounding: a bound on what rounding does to a cost, as in ``CostOracles``.
        start: the state before the first label.

    >>> from fsmeu.losses.loss import load
    >>> oracle = CostOracle(load("fscore"), [1, 0, 1])
    >>> oracle.costs([1]).round(4).tolist(), oracle.best([1]), oracle.value([0])
    ([0.0, 0.2], 0, 0.6666666666666666)
    """

    def __init__(self, loss: Loss, y: Any, labels: Any = None, engine: str = "lattice") -> None:
        self._bind(CostOracles(loss, [y], labels, engine=engine), 0)

    def _bind(self, oracles: CostOracles, number: int) -> None:
        self._oracles, self._one = oracles, np.array([number], np.int64)
        self.loss, self.labels = oracles.loss, oracles.labels
        self._y = oracles.ys[number]
        self.rounding = float(oracles.roundings[number])
        self.start: tuple[int, ...] = tuple(oracles.start(self._one)[0].tolist())

    def __len__(self) -> int:
        return len(self._y)

    @property
    def nbytes(self) -> int:
        """The bytes that the tables take (of all references, where it is one of many)."""
        return self._oracles.nbytes

    def step(self, state: Any, label: int) -> Any:
        """The state after one more label, given by its index."""
        index = as_whole(label, 0)
        if index is None or index >= len(self.labels):
            must = f"a label must be an index from 0 to {len(self.labels) - 1}"
            raise InputError(message("cost oracle", must, label))
        found = self._oracles._tables.step(self._one, _batch(state), np.array([index]))
        return tuple(found[0].tolist())

    def costs_at(self, state: Any) -> Floats:
        """The cost of each label in a state, (labels,); 0 marks the best."""
        return np.asarray(self._oracles._tables.costs(self._one, _batch(state))[0])

    def value_at(self, state: Any) -> float:
        """The best value that can be reached from a state."""
        return float(self._oracles.values_at(self._one, _batch(state))[0])

    def state(self, prefix: Any) -> Any:
        """The state after a prefix, a sequence of labels."""
        indices = self.loss.alphabet.encode(prefix, "prefix")
        if len(indices) > len(self._y):
            must = f"a prefix must have at most {len(self._y)} labels"
            raise InputError(message("cost oracle", must, f"{len(indices)}"))
        state = self.start
        for label in indices.tolist():
            state = self.step(state, label)
        return state

    def costs(self, prefix: Any) -> Floats:
        """The cost of each next label after a prefix, (labels,): 0 marks the best.

        It is the least loss that a completion can reach after the label, minus that after the best
        label; for a utility, the greatest utility after the best label minus that after this one.
        Labels that rounding cannot tell apart cost 0: costs are 0 up to ``rounding``.
        """
        return self.costs_at(self.state(prefix))

    def best_all(self, prefix: Any) -> tuple[Label, ...]:
        """All labels that can come next without a loss."""
        return tuple(self.labels[k] for k in np.flatnonzero(self.costs(prefix) == 0.0))

    def best(self, prefix: Any) -> Label:
        """A best next label: that of the reference if it is one, else the first."""
        indices = self.loss.alphabet.encode(prefix, "prefix")
        costs = self.costs(prefix)
        own = int(self._y[len(indices)])
        return self.labels[own if costs[own] == 0.0 else int(costs.argmin())]

    def value(self, prefix: Any = ()) -> float:
        """The best value that can be reached after a prefix: least loss, greatest utility."""
        return self.value_at(self.state(prefix))


def _batch(state: Any) -> Ints:
    """A batch of one state."""
    whole = isinstance(state, tuple) and all(isinstance(x, int) for x in state)
    refuse_strange(not whole, state)
    return np.array([state], np.int64)


def _checked_meanings(meanings: object, labels: int) -> Ints:
    """The label that each label stands for after each other, checked, (L + 1, L)."""
    try:
        table = np.asarray(meanings)
    except ValueError:  # rows of different lengths
        table = np.zeros(0)
    good = table.shape == (labels + 1, labels) and table.dtype.kind in "iu" and labels > 0
    if good and 0 <= table.min() <= table.max() < labels:
        held = table.astype(np.int64)
        if (np.take_along_axis(held, held, axis=1) == held).all():
            return held
    must = (
        f"meanings must be a table of {labels + 1} rows and {labels} columns of label indices, "
        "in which what another stands for stands for itself"
    )
    raise InputError(message("cost oracle", must, meanings))


def _tables(machines: Sequence[Machine], labels: int, sign: float) -> FrontierTables | SummedTables:
    """The first tables that suit the value: of counts, of sums, of sums unfolded into states."""
    order = machines[0].steps.sum_order if machines else []
    if order and len(order) <= 2 and not any(one.ends.shape[1] for one in machines):
        pair = (order[0], order[1] if len(order) > 1 else None)
        for roles in (pair, pair[::-1]):
            with suppress(NotServedError):
                return counted_tables(machines, labels, roles, sign)
    with suppress(NotServedError):
        return SummedTables(machines, labels, sign)
    return ranked_tables([unfolded(one, sign) for one in machines], labels)
