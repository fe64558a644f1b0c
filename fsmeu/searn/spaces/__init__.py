"""Search spaces: in which order, and in which pieces, an output is decided.

As an estimator of scikit-learn a space holds parameters; ``fitted`` to training outputs it has
its actions; ``over`` examples it is a search, whose methods take states of many searches at once.
Actions are numbered 0 to C - 1 within a batch of states; arrays of a step have these as columns.
``tagging.LabelSpace`` has all methods that a space must have; ``CustomSpace`` makes one of an
object of one's own that walks one example at a time, with

- ``start(x)``: the state before the first decision, of any kind;
- ``actions(state)``: what can be decided now, a sequence; empty where everything is decided;
- ``step(state, action)``: the state after it;
- ``features(state, action)``: a dictionary of features or a list of names;
- ``output(state)``: the output of a finished state;
- ``value(state, y)``: the least loss that can still be reached, or an estimate of it by a search
  (section 3.4.2 of the paper); of a finished state, its loss.

``preferred(state, y)`` may name the action that is learned among several optimal ones, and
``longest`` the greatest number of decisions. Actions may differ from state to state: each has a
row of features of its own, and one vector of weights serves all.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import InputError
from fsmeu.learning.saving import register
from fsmeu.searn.features import hashed_sentences

Batch = TypeVar("Batch", bound="States")


@dataclass(frozen=True)
class States:
    """A batch of B states; every attribute is an array with B as its first axis, or None."""

    examples: Ints  # the number of each state's example, (B,)
    progress: Ints  # a number that grows with every step, (B,): beams compare equal ones

    def __len__(self) -> int:
        return len(self.examples)

    def take(self: Batch, indices: Any) -> Batch:
        """The states at these indices, or where a mask is true."""
        parts = vars(self).items()
        arrays: dict[str, Any] = {name: None if x is None else x[indices] for name, x in parts}
        return type(self)(**arrays)


def joined(batches: Sequence[Batch]) -> Batch:
    """All states of several batches."""
    columns = zip(*(vars(batch).values() for batch in batches), strict=True)
    arrays: Any = (None if parts[0] is None else np.concatenate(parts) for parts in columns)
    return type(batches[0])(*arrays)


# -- spaces of one's own ---------------------------------------------------------------------------

OWN_METHODS = ("start", "actions", "step", "features", "output", "value")


@dataclass(frozen=True)
class ListStates(States):
    """States of one's own."""

    items: Any  # the states, objects (B,)
    choices: Any  # the sequence of actions of each, objects (B,)
    counts: Ints  # how many these are, (B,)


class CustomInputs(list[Any]):
    """Examples, with the number of bits of hashed features."""

    bits = 0


@register
@dataclass(eq=False, repr=False)
class CustomSpace(BaseEstimator):  # type: ignore[misc]
    """A space of one's own, as the trainer takes it; see ``LabelSpace``."""

    space: Any = None

    def read_inputs(self, X: Any, bits: int, crossed: Any, where: str) -> CustomInputs:
        """The examples, as a list."""
        if not isinstance(X, Iterable):
            raise InputError(where, "X must be a list of examples", given=X)
        inputs = CustomInputs(X)
        inputs.bits = bits
        return inputs

    def read_outputs(self, y: Any, inputs: CustomInputs, where: str) -> list[Any]:
        """The gold outputs, a list, one for each example."""
        if not isinstance(y, Iterable):
            raise InputError(where, "y must be a list of outputs", given=y)
        outputs = list(y)
        if len(outputs) != len(inputs) or not outputs:
            must = "there must be one output for each example, and an example"
            raise InputError(where, must, given=f"{len(outputs)} for {len(inputs)}")
        return outputs

    def fitted(self, ys: Any) -> CustomSpace:
        """A copy without labels."""
        space = CustomSpace(self.space)
        space.labels_ = []
        return space

    def score(self, zs: Any, ys: Any) -> float:
        """The share of outputs ``zs`` that are equal to gold outputs ``ys``."""
        return float(np.mean([z == y for z, y in zip(zs, ys, strict=True)]))

    def longest_search(self, inputs: CustomInputs) -> int:
        """The greatest number of decisions, where the space has ``longest``; else 0."""
        return int(getattr(self.space, "longest", 0))

    def over(
        self,
        inputs: CustomInputs,
        ys: Any = None,
        bind: Any = None,
        costs: bool = True,
        engine: str = "auto",
    ) -> CustomSpace:
        """A copy that searches these examples; the space itself computes losses of outputs."""
        if engine != "auto":
            must = "the engine must be auto with a space of one's own, which has its own costs"
            raise InputError("Searn", must, given=engine, remedy="Leave engine out")
        search = copy.copy(self)
        search.inputs = inputs
        search.gold = ys
        return search

    def start(self, examples: Ints) -> ListStates:
        """The states before the first decision."""
        items = [self.space.start(self.inputs[k]) for k in examples.tolist()]
        return self._states(examples, np.zeros(len(items), np.int64), items)

    def _states(self, examples: Ints, progress: Ints, items: list[Any]) -> ListStates:
        """A batch of states with their actions."""
        choices = [self.space.actions(item) for item in items]
        states, actions = (np.fromiter(part, object, len(items)) for part in (items, choices))
        counts = np.array([*map(len, choices)], np.int64)
        return ListStates(examples, progress, states, actions, counts)

    def is_done(self, states: ListStates) -> Bools:
        """Whether there is nothing to decide any more, (B,)."""
        return np.asarray(states.counts == 0)

    def rows(self, states: ListStates) -> tuple[csr_array, Ints]:
        """One row of features for each action of each state, and where those of a state begin."""
        lines = [
            [self.space.features(state, action)]
            for state, choices in zip(states.items, states.choices, strict=True)
            for action in choices
        ]
        begins = np.concatenate(([0], np.cumsum(states.counts)))
        return hashed_sentences(lines, self.inputs.bits).matrix, begins

    def allowed(self, states: ListStates) -> Bools:
        """Which actions there are, (B, most)."""
        return np.arange(int(states.counts.max(initial=1))) < states.counts[:, None]

    def costs(self, states: ListStates) -> tuple[Floats, Ints]:
        """The cost of each action, (B, most), and the preferred one, (B,)."""
        costs = np.full(self.allowed(states).shape, np.inf)
        gold_actions = np.full(len(states), -1, np.int64)
        prefers = getattr(self.space, "preferred", None)
        golds = (self.gold[k] for k in states.examples.tolist())
        lines = zip(states.items, states.choices, golds, strict=True)
        for k, (state, choices, y) in enumerate(lines):
            after = [self.space.value(self.space.step(state, action), y) for action in choices]
            costs[k, : len(after)] = after
            if prefers is not None and (chosen := prefers(state, y)) in choices:
                gold_actions[k] = list(choices).index(chosen)
        if np.isnan(costs).any():
            raise InputError("Searn", "the value of a state must be a number")
        return costs - costs.min(axis=1, keepdims=True), gold_actions

    def step(self, states: ListStates, actions: Ints) -> ListStates:
        """The states after one action of each."""
        lines = zip(states.items, states.choices, actions.tolist(), strict=True)
        items = [self.space.step(state, choices[k]) for state, choices, k in lines]
        return self._states(states.examples, states.progress + 1, items)

    def losses(self, states: ListStates) -> Floats:
        """The losses of finished states, (B,)."""
        pairs = zip(states.items, states.examples.tolist(), strict=True)
        return np.array([self.space.value(state, self.gold[k]) for state, k in pairs], np.float64)

    def outputs(self, states: ListStates) -> list[Any]:
        """The outputs of finished states."""
        return [self.space.output(state) for state in states.items]
