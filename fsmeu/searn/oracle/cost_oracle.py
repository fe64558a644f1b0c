"""Costs of the next label under optimal completion, by look-up (Daume et al. 2009, section 3.4.1).

For a reference y and a loss, one sweep from the last position to the first finds the best value
that can be reached from every state of the machine over z. The cost of a label after any prefix is
the value that can be reached before it minus that after it: what a mistake costs if all that
follows is done as well as can be. It is one mechanism for every loss, where the paper writes a
policy for each. Where the reference is not known, ``expected`` has costs under a model of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, one_of
from fsmeu.expectation.composition import Composition, advising_default, compose_layers
from fsmeu.expectation.expect import ENGINES
from fsmeu.expectation.query import bind_labels
from fsmeu.fst.alphabet import Label, as_alphabet, listed
from fsmeu.fst.compose import guard_size
from fsmeu.fst.constraint import Constraint, restricted
from fsmeu.fst.layers import any_layers, string_layers
from fsmeu.losses.protocol import Loss, LossLike, as_loss
from fsmeu.models import Model, ModelLike
from fsmeu.searn.oracle.expected import Effort, ExpectedCosts
from fsmeu.searn.oracle.product import Machine, Path, machines_of, ranked_path, unfolded
from fsmeu.searn.oracle.sums import SummedTables
from fsmeu.searn.oracle.tables import (
    NotServedError,
    Tables,
    counted_tables,
    ranked_tables,
    refuse_states,
)

_TOGETHER = "compositions of all references"


class CostOracles:
    """Cost oracles of many references, with queries for many states at once.

    Every completion is considered, so that a loss that is not defined for one of them is refused,
    as ``evaluate`` refuses it.

    Args:
        loss: a loss or utility.
        ys: the references, sequences of labels.
        labels: the labels, in the order of costs; the loss's own unless they are given.
        fallback_labels: where not every label may follow every other in a completion: the index of
            the label that each label stands for after each other, (L + 1, L), the last row for
            those that come first: its own where it may stand, else that of one that may. What is
            said of a label that may not come next is said of the one that it stands for.
        engine: "auto" sweeps what the loss's algebra leaves of the states; "openfst" composes
            free z, loss and each reference with pynini.

    Raises:
        InputError: something is no loss, no sequence or no label.
        LossFileError: the loss is not defined for a completion.
        SizeLimitError: there are too many states.

    Attributes:
        loss: the loss over its labels.
        labels: the labels, in the order of costs.
        lengths: the length of each reference, (references,).
        roundings: for each reference, the cost up to which costs are taken to be 0, (references,).
        nbytes: the bytes that the tables of all references take.
    """

    def __init__(
        self,
        loss: LossLike,
        ys: Sequence[Any],
        labels: Any = None,
        fallback_labels: Any = None,
        engine: str = "auto",
    ) -> None:
        loss = as_loss(loss, "cost oracle")
        if labels is not None:
            loss = bind_labels(loss, as_alphabet(labels), "cost oracle")
        if loss.requirement:
            must = "the loss must be defined for all hypotheses, as any label may be chosen"
            raise InputError("cost oracle", must, given=f"one for which {loss.requirement}")
        self.loss = loss
        self.labels: tuple[Label, ...] = loss.alphabet.labels
        rows = listed(ys, "cost oracle", "the references must be a list of sequences", rows=True)
        for y in rows:
            if isinstance(y, Model):
                must = "a reference must be a sequence of labels"
                raise InputError(
                    "cost oracle", must, given=y, remedy="Use CostOracle(loss, model=...)"
                )
        self.ys = [loss.alphabet.encode(y, f"reference {k}") for k, y in enumerate(rows)]
        self.lengths = np.array([len(y) for y in self.ys], np.int64)
        self._sign = 1.0 if loss.kind == "utility" else -1.0
        count = len(self.labels)
        fallback = None if fallback_labels is None else _checked_fallback(fallback_labels, count)
        chosen = one_of("cost oracle", "engine", engine, ENGINES)
        if chosen == "openfst" or loss.bound is None:  # of Python: nothing to derive
            paths = _explicit_paths(loss, self.ys, fallback, self._sign)
            self._tables: Any = ranked_tables(paths, count)
        else:
            self._tables = tables_of(*machines_of(loss, self.ys, fallback), count, self._sign)
        self.roundings: Floats = self._tables.roundings
        self.nbytes: int = self._tables.nbytes

    def __len__(self) -> int:
        return len(self.ys)

    def start(self, sentences: Any) -> Ints:
        """The states before the first label, (batch, 4), of references by number, (batch,)."""
        return np.asarray(self._tables.start(self._numbers(sentences)))

    def step(self, sentences: Any, states: Ints, labels: Any) -> Ints:
        """The states after one more label each, given by its index, (batch, 4)."""
        must = f"labels must be whole numbers from 0 to {len(self.labels) - 1}, in an array"
        numbers = self._numbers(sentences)
        chosen = _indices(labels, len(self.labels), must)
        if len(numbers) != len(chosen):
            must = "there must be one label for each sentence"
            raise InputError("cost oracle", must, given=f"{len(chosen)} for {len(numbers)}")
        return np.asarray(self._tables.step(numbers, np.asarray(states), chosen))

    def costs_at(self, sentences: Any, states: Ints) -> Floats:
        """The cost of each label, (batch, labels); 0 marks the best."""
        return np.asarray(self._tables.costs(self._numbers(sentences), np.asarray(states)))

    def values_at(self, sentences: Any, states: Ints) -> Floats:
        """The best value that can be reached, (batch,)."""
        scores = self._tables.scores(self._numbers(sentences), np.asarray(states))
        return np.asarray(self._sign * scores + 0.0)

    def oracle(self, number: int) -> CostOracle:
        """The oracle of one reference."""
        oracle = CostOracle.__new__(CostOracle)
        oracle._bind(_ReferenceCosts(self, self._numbers([number])))
        return oracle

    def _numbers(self, sentences: Any) -> Ints:
        """Numbers of references, (batch,), or an InputError."""
        must = f"sentences must be whole numbers from 0 to {len(self.ys) - 1}, in an array"
        return _indices(sentences, len(self.ys), must)


def tables_of(machines: Sequence[Machine], amounts: Floats, labels: int, sign: float) -> Tables:
    """The first tables that suit the value: of counts, of sums, of sums unfolded into states.

    ``amounts`` are what steps add to each sum, by number, (sums, numbers).
    """
    order = machines[0].steps.sum_order if machines else []
    if order and len(order) <= 2 and not any(machine.ends.shape[1] for machine in machines):
        pair = (order[0], order[1] if len(order) > 1 else None)
        for roles in (pair, pair[::-1]):
            with suppress(NotServedError):
                return counted_tables(machines, amounts, labels, roles, sign)
    with suppress(NotServedError):
        return SummedTables(machines, amounts, labels, sign)
    return ranked_tables([unfolded(machine, amounts, sign) for machine in machines], labels)


def _checked_fallback(table: Any, labels: int) -> Ints:
    """The label that each label stands for after each other, (L + 1, L), of what was given."""
    must = (
        f"fallback_labels must be a table of {labels + 1} rows and {labels} columns of label "
        "indices, in which what another stands for stands for itself"
    )
    fallback = _indices(table, labels, must, (labels + 1, labels))
    if (np.take_along_axis(fallback, fallback, axis=1) != fallback).any():
        raise InputError("cost oracle", must, given=table)
    return fallback


def _indices(values: Any, count: int, must: str, shape: tuple[int, ...] | None = None) -> Ints:
    """Values as whole numbers below ``count``, of this shape or (batch,), or an InputError."""
    with suppress(Exception):  # whatever a strange object raises
        array = np.asarray(values)
        if shape is None and array.shape == (0,):
            return np.zeros(0, np.int64)
        fits = array.shape == shape if shape else array.ndim == 1
        if fits and array.dtype.kind in "iu" and 0 <= array.min() <= array.max() < count:
            return array.astype(np.int64, copy=False)
    raise InputError("cost oracle", must, given=values)


def _explicit_paths(
    loss: Loss, ys: Sequence[Ints], fallback: Ints | None, sign: float
) -> list[Path]:
    """The explicit path of each reference; equal references have one.

    Each has a state before every position and one at the end, so that too many positions are
    refused before anything is built, and too many states of all together before the next one is.
    """
    distinct = {y.tobytes(): y for y in ys}
    found: dict[bytes, Path] = {}
    left = sum(len(y) + 1 for y in distinct.values())  # states at least, of those not yet built
    built = 0
    with advising_default():
        for key, y in distinct.items():
            guard_size(_TOGETHER, built + left, least=True)
            composition = _reference_composition(loss, y, fallback)
            built += composition.states
            left -= len(y) + 1
            guard_size(_TOGETHER, built + left, least=True)
            found[key] = _explicit_path(composition, fallback, sign)
    return [found[y.tobytes()] for y in ys]


def _reference_composition(loss: Loss, y: Ints, fallback: Ints | None) -> Composition:
    """The composition of free z, loss and one reference by pynini.

    It has one path for each hypothesis in which each label stands for itself (``fallback``, as in
    ``Product``).
    """
    labels = len(loss.alphabet)
    free = any_layers(loss.alphabet, len(y))
    if fallback is not None:
        following = np.where(fallback == np.arange(labels), fallback, -1)
        last = np.arange(len(fallback))
        free = restricted(free, Constraint(following, len(fallback) - 1, last), "cost oracle")
    return compose_layers(loss, free, string_layers(loss.alphabet, y))


def _explicit_path(composition: Composition, fallback: Ints | None, sign: float) -> Path:
    """The states of a composition layer by layer, with the values at its ends.

    A label that does not stand for itself leads where the one leads that it stands for after the
    last.
    """
    machine = composition.machine
    table = composition.plain
    values = composition.values
    labels = len(machine.alphabet)
    n = machine.n
    after = np.full((table.states, labels), -1, np.int64)
    after[table.source, table.ilabel - 1] = table.target
    if fallback is not None:
        last = np.full(table.states, labels)
        last[table.target] = table.ilabel - 1
        after = np.take_along_axis(after, fallback[last], axis=1)
    begins = np.append(0, np.cumsum(np.bincount(table.depths[0], minlength=n + 1))).tolist()
    layers = [after[begins[t] : begins[t + 1]] - begins[t + 1] for t in range(n)]
    return ranked_path(0, layers, sign * values[begins[n] :])


class _ReferenceCosts:
    """The costs of one reference of many; has what ``ExpectedCosts`` has."""

    def __init__(self, oracles: CostOracles, number: Ints) -> None:
        self._oracles = oracles
        self._number = number
        self._y = oracles.ys[number[0]]
        self.loss = oracles.loss
        self.labels = oracles.labels
        self.nbytes = oracles.nbytes
        self.n = len(self._y)
        self.rounding = float(oracles.roundings[number[0]])
        self.start: tuple[int, ...] = tuple(oracles.start(number)[0].tolist())

    def step(self, state: Any, label: Any) -> tuple[int, ...]:
        """The state after one more label, given by its index."""
        return tuple(self._oracles.step(self._number, _batch(state), [label])[0].tolist())

    def costs_at(self, state: Any) -> Floats:
        """The cost of each label in a state, (labels,)."""
        return np.asarray(self._oracles.costs_at(self._number, _batch(state))[0])

    def value_at(self, state: Any) -> float:
        """The best value that can be reached from a state."""
        return float(self._oracles.values_at(self._number, _batch(state))[0])

    def exact_at(self, state: Any) -> bool:
        """True in every state that has costs: every completion is considered."""
        return bool(len(self.costs_at(state)))

    def bounds_at(self, state: Any) -> Floats:
        """The least and the greatest that the cost of each label can be in truth, (2, labels)."""
        costs = self.costs_at(state)
        lost = np.where(costs > 0.0, self.rounding, 2 * self.rounding)
        return np.array([np.maximum(costs - lost, 0.0), costs + lost])

    def preferred(self, state: Any) -> int | None:
        """The index of the reference's own label."""
        return int(self._y[state[0]])


class CostOracle:
    """The cost oracle of one reference, or of a model of it.

    Args:
        loss: a loss or utility.
        y: the reference, a sequence of labels.
        labels: the labels, in the order of costs; the loss's own unless they are given (the
            model's, where those of the loss are open).
        engine: as in ``CostOracles``; with a model as in ``decode``.
        model: a label model in the place of y, where y is not known. Costs are then expected ones:
            the best expected value of all hypotheses that begin with the prefix, against that of
            those that begin with the prefix and the label, each a decision by ``decode``.
        budget: with a model, as in ``decode``.
        seconds: with a model, as in ``decode``, for each decision.

    Attributes:
        labels: the labels, in the order of costs.
        rounding: a bound on what rounding does to a cost, as in ``CostOracles``; with a model, to
            a cost that is exact.
        start: the state before the first label.
        nbytes: the bytes that the tables take (of all references, where it is one of many).

    >>> from fsmeu.losses.loss import load
    >>> oracle = CostOracle(load("fscore"), [1, 0, 1])
    >>> oracle.costs([1]).round(4).tolist(), oracle.best([1]), oracle.value([0])
    ([0.0, 0.2], 0, 0.6666666666666666)
    >>> oracle = CostOracle(load("fscore"), model=[0.9, 0.5])
    >>> oracle.costs([1]).round(4).tolist(), oracle.exact([1])
    ([0.0333, 0.0], True)
    """

    def __init__(
        self,
        loss: LossLike,
        y: Iterable[object] | None = None,
        labels: Any = None,
        engine: str = "auto",
        *,
        model: ModelLike | None = None,
        budget: int = limits.CANDIDATES,
        seconds: float | None = None,
    ) -> None:
        if (y is None) == (model is None):
            must = "exactly one of y, the reference, and model, a model of it, must be given"
            raise InputError("cost oracle", must, given="none" if y is None else "both")
        if model is not None:
            self._bind(ExpectedCosts(loss, model, labels, engine, Effort(budget, seconds)))
        else:
            oracles = CostOracles(loss, [y], labels, engine=engine)
            self._bind(_ReferenceCosts(oracles, np.zeros(1, np.int64)))

    def _bind(self, answers: _ReferenceCosts | ExpectedCosts) -> None:
        """Sets what the oracle's answers come from."""
        self._answers = answers
        self.loss = answers.loss
        self.labels = answers.labels
        self.nbytes = answers.nbytes
        self.rounding: float = answers.rounding
        self.start: tuple[int, ...] = answers.start

    def __len__(self) -> int:
        return self._answers.n

    def step(self, state: Any, label: int) -> Any:
        """The state after one more label, given by its index."""
        return self._answers.step(state, label)

    def costs_at(self, state: Any) -> Floats:
        """The cost of each label in a state, (labels,); 0 marks the best."""
        return self._answers.costs_at(state)

    def value_at(self, state: Any) -> float:
        """The best value that can be reached from a state."""
        return self._answers.value_at(state)

    def state(self, prefix: Any) -> Any:
        """The state after a prefix, a sequence of labels."""
        indices = self.loss.alphabet.encode(prefix, "prefix")
        if len(indices) > len(self):
            must = f"a prefix must have at most {len(self)} labels"
            raise InputError("cost oracle", must, given=f"{len(indices)}")
        state = self.start
        for label in indices.tolist():
            state = self.step(state, label)
        return state

    def costs(self, prefix: Any) -> Floats:
        """The cost of each next label after a prefix, (labels,): 0 marks the best.

        It is the least loss that a completion can reach after the label, minus that after the best
        label; for a utility, the greatest utility after the best label minus that after this one.
        With a model, losses and utilities are expected ones.
        """
        return self.costs_at(self.state(prefix))

    def exact(self, prefix: Any) -> bool:
        """Whether the costs after a prefix are proven, up to ``rounding``.

        They always are with a reference; with a model, where ``decode`` proves its decisions.
        """
        return self._answers.exact_at(self.state(prefix))

    def bounds(self, prefix: Any) -> Floats:
        """The least and the greatest that the cost of each label can be in truth, (2, labels).

        Where costs are not proven, the bounds are those of a decider who knows the reference up to
        the last position, or of the range of the loss where that takes too many states.
        """
        return self._answers.bounds_at(self.state(prefix))

    def best_all(self, prefix: Any) -> tuple[Label, ...]:
        """All labels that can come next without a loss."""
        return tuple(self.labels[k] for k in np.flatnonzero(self.costs(prefix) == 0.0))

    def best(self, prefix: Any) -> Label:
        """A best next label: that of the reference if it is one, else the first."""
        state = self.state(prefix)
        costs = self.costs_at(state)
        own = self._answers.preferred(state)
        return self.labels[int(costs.argmin()) if own is None or costs[own] > 0.0 else own]

    def value(self, prefix: Any = ()) -> float:
        """The best value that can be reached after a prefix: least loss, greatest utility.

        With a model it is the best expected value that was found.
        """
        return self.value_at(self.state(prefix))


def _batch(state: Any) -> Ints:
    """A batch of one state."""
    whole = isinstance(state, tuple) and all(isinstance(x, int) for x in state)
    refuse_states(not whole, state)
    return np.array([state], np.int64)
