"""Expected costs of the next label where the reference is not known, but modelled.

The value of a prefix is the best expected value of all hypotheses that begin with it: a decision
of which the prefix is a constraint. The cost of a label is what the best hypothesis after the
prefix has in expectation, less what the best one after prefix and label has. With a model that is
certain it is the cost that a reference has.

Where a decision is not proven, its value is attained, and may not be the best. No hypothesis is
better than a decider who sees the reference up to the last position before deciding on the next,
whose expected value one sweep over the composition finds: choosing for each history apart is no
worse than choosing once for all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.decision import PRECISION, Decision
from fsmeu.decoding.decode import decode
from fsmeu.decoding.problem import Clock
from fsmeu.errors import InputError, SizeLimitError, check_int, one_of
from fsmeu.expectation.composition import compose_layers
from fsmeu.expectation.expect import ENGINES
from fsmeu.expectation.query import allowed_layers, bind_labels, fitted
from fsmeu.fst.alphabet import Label, as_alphabet
from fsmeu.fst.constraint import Constraint
from fsmeu.fst.layers import any_layers, pair_layers
from fsmeu.losses.protocol import Loss, LossLike, as_loss
from fsmeu.losses.semantics.at_length import ValueRange
from fsmeu.models import Model, ModelLike, as_model
from fsmeu.searn.oracle.tables import refuse_states

State = tuple[int, ...]  # the indices of the labels of a prefix
_UNITS = 2  # by how many units of precision the value of a proven decision may be wrong


class Effort(NamedTuple):
    """What decisions that are not proven by algebra may take."""

    budget: int = limits.CANDIDATES
    seconds: float | None = None


def begins_with(prefix: Ints, labels: int) -> Constraint:
    """The acceptor of all sequences that begin with a prefix of label indices."""
    end = len(prefix)
    following = np.full((end + 1, labels), -1, np.int64)
    following[np.arange(end), prefix] = np.arange(1, end + 1)
    following[end] = end
    return Constraint(following, 0, np.array([end], np.int64))


def observed_bound(loss: Loss, model: Model, constraint: Constraint, sign: float) -> float:
    """A bound on sign times the expected value of all allowed hypotheses.

    It is attained by a decider who, before each label, knows the reference up to there: the state
    of the composition of allowed hypotheses, loss and model tells no less than that history does.
    """
    built = compose_layers(loss, allowed_layers(model, constraint), model.layered())
    table = built.plain
    best = sign * built.values * np.exp(-built.plain.final)
    for arcs in reversed(list(table.depths[1])):
        pairs = np.stack([table.source[arcs], table.ilabel[arcs]])
        (source, _), choice = np.unique(pairs, axis=1, return_inverse=True)
        gains = table.factor[arcs] * best[table.target[arcs]]
        sums = np.bincount(np.asarray(choice).ravel(), gains, minlength=len(source))
        best[source] = -np.inf
        np.maximum.at(best, source, sums)
    return float(best[table.start])


def value_range(loss: Loss, model: Model) -> ValueRange:
    """The least and the greatest value: what the file declares, else that of a pair."""
    declared = loss.value_range(model.n)
    if declared.finite:
        return declared
    pairs = pair_layers(any_layers(loss.alphabet, model.n), model.layered())
    try:
        values = loss.compile(model.n, pairs=pairs).values
    except SizeLimitError as error:
        more = "Or declare the range of the values in the loss file: range LOW .. HIGH"
        raise error.advised(more) from None
    values = values[~np.isnan(values)]
    return ValueRange(float(values.min()), float(values.max()))


class ExpectedCosts:
    """The costs of labels after prefixes under a model of the reference; see ``CostOracle``.

    Attributes:
        loss: the loss over ``labels``.
        labels: the labels, in the order of costs.
        n: the length of the sequences.
        rounding: a bound on the error of a cost that is proven, and not 0.
        nbytes: 0, as there are no tables: decisions are made when they are asked for.
        start: the empty prefix.
    """

    def __init__(
        self, loss: LossLike, model: ModelLike, labels: Any, engine: str, effort: Effort
    ) -> None:
        where = "cost oracle"
        given = as_loss(loss, where)
        if labels is not None:
            given = bind_labels(given, as_alphabet(labels), where)
        self._engine = one_of(where, "engine", engine, ENGINES)
        check_int(where, "budget", effort.budget)
        Clock(effort.seconds, where=where)  # refuses what is no number of seconds
        self._effort = effort
        self._bound, self._model = fitted(given, as_model(model), where)
        alphabet = self._bound.alphabet if given.labels_open else given.alphabet
        self.loss: Loss = bind_labels(given, alphabet, where)
        self.labels: tuple[Label, ...] = alphabet.labels
        self._order = np.array([self._bound.alphabet.index[a] for a in self.labels], np.int64)
        self._sign = 1.0 if given.kind == "utility" else -1.0
        self._range = low, high = value_range(self._bound, self._model)
        self._error = _UNITS * PRECISION * max(abs(low), abs(high), high - low)
        self.n = self._model.n
        self.rounding = 2 * self._error
        self.nbytes = 0
        self.start: State = ()
        self._decisions: dict[State, Decision] = {}

    def step(self, state: Any, label: Any) -> State:
        """The prefix that is longer by one label, given by its index."""
        prefix = self._checked(state, self.n - 1)
        number = check_int("cost oracle", "a label", label, least=0)
        if number >= len(self.labels):
            must = f"labels must be whole numbers from 0 to {len(self.labels) - 1}"
            raise InputError("cost oracle", must, given=label)
        return (*prefix, number)

    def costs_at(self, state: Any) -> Floats:
        """The expected cost of each label, (labels,); 0 marks the best."""
        scores = self._scores(self._checked(state, self.n - 1))
        costs: Floats = scores.max() - scores
        costs[costs <= self.rounding] = 0.0
        return costs

    def value_at(self, state: Any) -> float:
        """The best expected value that was found after a prefix."""
        prefix = self._checked(state, self.n)
        if len(prefix) == self.n:
            return self._decision(prefix).value
        return self._sign * float(self._scores(prefix).max()) + 0.0

    def exact_at(self, state: Any) -> bool:
        """Whether the decisions behind all costs are proven."""
        prefix = self._checked(state, self.n - 1)
        return all(self._decision((*prefix, label)).exact for label in range(len(self.labels)))

    def bounds_at(self, state: Any) -> Floats:
        """The least and the greatest that the cost of each label can be in truth, (2, labels)."""
        prefix = self._checked(state, self.n - 1)
        scores = self._scores(prefix)
        least = scores - self._error
        greatest = np.array([self._greatest((*prefix, a)) for a in range(len(scores))])
        costs = np.zeros((2, len(scores)))
        costs[0] = np.maximum(least.max() - greatest, 0.0)
        for label in range(len(scores) if len(scores) > 1 else 0):
            others = np.delete(greatest, label).max()
            costs[1, label] = max(others - least[label], 0.0)
        return costs

    def preferred(self, state: Any) -> int | None:
        """None: no label is known to be the reference's own."""
        return None

    def _checked(self, state: Any, longest: int) -> State:
        """The state, if it is a prefix of no more labels than that."""
        whole = isinstance(state, tuple) and all(type(label) is int for label in state)
        size = len(self.labels)
        fits = whole and len(state) <= longest and all(0 <= label < size for label in state)
        refuse_states(not fits, state)
        return tuple(state)

    def _scores(self, prefix: State) -> Floats:
        """Sign times the best expected value after each label, (labels,)."""
        decisions = (self._decision((*prefix, label)) for label in range(len(self.labels)))
        return np.array([self._sign * decision.value for decision in decisions])

    def _constraint(self, prefix: State) -> Constraint:
        """The constraint that a hypothesis begins with a prefix."""
        return begins_with(self._order[np.array(prefix, np.int64)], len(self.labels))

    def _decision(self, prefix: State) -> Decision:
        """The best hypothesis that begins with a prefix."""
        if prefix not in self._decisions:
            while len(self._decisions) >= limits.KEPT_PREFIXES:
                self._decisions.pop(next(iter(self._decisions)), None)
            self._decisions[prefix] = decode(
                self._bound,
                self._model,
                constraint=self._constraint(prefix),
                engine=self._engine,
                **self._effort._asdict(),
            )
        return self._decisions[prefix]

    def _greatest(self, prefix: State) -> float:
        """A bound on sign times the expected value of all hypotheses that begin with a prefix."""
        decision = self._decision(prefix)
        if decision.exact:
            return self._sign * decision.value + self._error
        bound = max(self._sign * side for side in self._range)
        try:
            observed = observed_bound(
                self._bound, self._model, self._constraint(prefix), self._sign
            )
        except SizeLimitError:
            return bound
        return min(bound, observed + self._error)
