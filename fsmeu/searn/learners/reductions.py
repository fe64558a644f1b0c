"""Reductions of cost-sensitive decisions to classifiers and regressors of scikit-learn.

The paper's experiments use weighted all pairs (Beygelzimer et al. 2005) and costing (Zadrozny,
Langford and Abe 2003): see section 6.1.7. Binary problems have weights of importance.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.validation import has_fit_parameter

from fsmeu.arrays import Floats
from fsmeu.errors import InputError, check_int
from fsmeu.learning.saving import register
from fsmeu.searn.learners.linear import Decisions, column_table, numbered_columns


@register
@dataclass(eq=False, repr=False)
class Constant(BaseEstimator):  # type: ignore[misc]
    """The model of a binary problem without examples of both classes: one margin for all rows."""

    margin: float = 0.0

    def decision_function(self, rows: Any) -> Floats:
        """The margin for each row, (R,)."""
        return np.full(rows.shape[0], float(self.margin))

    predict = decision_function


def fitted(base: Any, rows: Any, labels: Any, weights: Floats, seed: int) -> Any:
    """A copy of a classifier (labels are bool) or regressor, trained on rows of positive weight."""
    positive = np.flatnonzero(weights > 0)
    labels = np.asarray(labels)[positive]
    if not len(positive):
        return Constant(0.0)
    if not is_regressor(base) and (labels == labels[0]).all():
        return Constant(1.0 if labels[0] else -1.0)
    model = clone(base)
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=seed % 2**31)
    mean = float(weights[positive].mean())
    return model.fit(rows[positive], labels, sample_weight=weights[positive] / mean)


def margins(model: Any, rows: Any) -> Floats:
    """The margin of each row, (R,): above 0 on the positive side."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(rows), np.float64)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows)[:, 1] - 0.5, np.float64)
    return np.asarray(model.predict(rows), np.float64) - 0.5


def _over(rows: csr_array, numbers: NDArray[np.int32], count: int) -> csr_array:
    """Rows over the columns that are used alone, (R, count), by the number of each entry's."""
    arrays = (rows.data.astype(np.float64), numbers, rows.indptr.copy())  # changed below
    whole = csr_array(arrays, shape=(rows.shape[0], count + 1))
    whole.sum_duplicates()
    used = csr_array(whole[:, :count])
    if used.nnz < 2**31:  # scikit-learn takes no others
        used.indices = used.indices.astype(np.int32)
        used.indptr = used.indptr.astype(np.int32)
    return used


@register
@dataclass(eq=False, repr=False)
class ReducedModel(BaseEstimator):  # type: ignore[misc]
    """Estimators that decide together over the hashed columns that are used, (U,).

    The kind is "pairs" (an estimator for each pair of actions), "each" (one for each action),
    "cost" (the same, regressors of costs) or "joint" (one for all).
    """

    kind: str = "each"
    columns: Any = None
    models: Any = ()
    actions: int = 0

    @property
    def probabilistic(self) -> bool:
        """Whether softmax of the scores gives probabilities: one estimator that has them."""
        return self.kind == "joint" and hasattr(self.models[0], "predict_log_proba")

    def scores(self, rows: csr_array) -> Floats:
        """The score of each action for each row, (R, A)."""
        table = column_table(self.columns, rows.shape[1])
        used = _over(rows, table[rows.indices], len(self.columns))
        if self.kind == "each":
            return np.stack([margins(model, used) for model in self.models], axis=1)
        if self.kind == "cost":
            return -np.stack([np.asarray(model.predict(used)) for model in self.models], axis=1)
        scores = np.zeros((used.shape[0], self.actions))
        if self.kind == "pairs":  # how often each action wins
            pairs = combinations(range(self.actions), 2)
            for (a, b), model in zip(pairs, self.models, strict=True):
                is_first = margins(model, used) > 0
                scores[:, a] += is_first
                scores[:, b] += ~is_first
            return scores
        (model,) = self.models
        scores[:] = -1e30  # for actions that were never right in training
        if self.probabilistic:
            scores[:, model.classes_] = np.maximum(model.predict_log_proba(used), -1e30)
        elif hasattr(model, "decision_function") and len(model.classes_) > 2:
            scores[:, model.classes_] = model.decision_function(used)
        else:
            scores[np.arange(len(scores)), model.predict(used)] = 0.0
        return scores


@dataclass(eq=False, repr=False)
class _Reduction(BaseEstimator):  # type: ignore[misc]
    """A reduction to ``base``, which takes weights; features have ``min_freq`` entries or more."""

    _flat: ClassVar[bool] = False  # whether all states must have the same actions, in one row
    _kind: ClassVar[str] = "each"  # of the model
    _default: ClassVar[Any] = LogisticRegression(max_iter=200)  # the base where none is given

    base: Any = None
    min_freq: int = 1

    def learn(self, decisions: Decisions, seed: int) -> ReducedModel:
        """The model that was learned; an InputError if the base or the states do not suit."""
        where = type(self).__name__
        if self._flat and len(decisions) != decisions.rows.shape[0]:
            must = "the space must have the same actions in all states"
            remedy = "Use OneAgainstAll, CostRegression, Logistic or AveragedPerceptron"
            raise InputError(where, must, remedy=remedy)
        base = self._default if self.base is None else self.base
        weighted = False
        with suppress(Exception):  # whatever a strange object raises
            weighted = not isinstance(base, type) and has_fit_parameter(base, "sample_weight")
        if not weighted:
            must = "base must be an estimator of scikit-learn whose fit takes sample_weight"
            raise InputError(where, must, given=base)
        columns, numbers = numbered_columns(decisions.rows, self.min_freq)
        rows = _over(decisions.rows, numbers, len(columns))
        problems = list(self._problems(decisions))
        actions = decisions.costs.shape[1]
        models = [fitted(base, rows, *problem, seed) for problem in problems]
        if self._kind == "joint" and isinstance(models[0], Constant):  # one class alone, or none
            ((classes, weights),) = problems
            only = int(classes[np.argmax(weights)]) if weights.any() else 0
            models = [Constant(1.0 if a == only else -1.0) for a in range(actions)]
            return ReducedModel("each", columns, models, actions)
        return ReducedModel(self._kind, columns, models, actions)

    def _problems(self, decisions: Decisions) -> Iterable[tuple[Any, Floats]]:
        """The labels and weights of examples for each estimator of a ``ReducedModel``."""
        raise NotImplementedError


@register
class AllPairs(_Reduction):
    """Weighted all pairs: a binary problem for each two actions, and the action that wins most.

    With v_a = integral from 0 to c_a of 1 / |{b: c_b <= t}| dt, the pair (a, b) says which of both
    is less, with importance |v_a - v_b|. The regret of the decision is then at most twice the
    binary regret (Beygelzimer et al. 2005). An action that is not allowed costs as much as the
    worst that is: all actions meet when wins are counted, so that pairs with it must be learned.
    """

    _flat = True
    _kind = "pairs"

    def _problems(self, decisions: Decisions) -> Iterable[tuple[Any, Floats]]:
        allowed = np.isfinite(decisions.costs)
        worst = np.where(allowed, decisions.costs, -np.inf).max(axis=1, keepdims=True)
        gaps = pair_gaps(np.where(allowed, decisions.costs, worst)).T
        return ((a < b, np.abs(b - a)) for a, b in combinations(gaps, 2))


def pair_gaps(costs: Floats) -> Floats:
    """The numbers v_a of weighted all pairs, (N, A), from costs less the least of each row."""
    order = np.argsort(costs, axis=1, kind="stable")
    ranked = np.take_along_axis(costs, order, axis=1)
    steps = np.diff(ranked, axis=1, prepend=ranked[:, :1])
    # Before the k-th cost in order (from 0), k costs lie at or below.
    counts = np.maximum(1, np.arange(costs.shape[1]))
    gaps = np.empty_like(costs)
    np.put_along_axis(gaps, order, np.cumsum(steps / counts, axis=1), axis=1)
    return gaps


@register
class OneAgainstAll(_Reduction):
    """A binary problem for each action: whether it is one to be learned.

    Other actions have their cost less the least as importance; those to be learned the mean of
    these, so that a state in which nothing can go wrong has none.
    """

    def _problems(self, decisions: Decisions) -> Iterable[tuple[Any, Floats]]:
        counts = np.diff(decisions.begins)
        firsts = decisions.begins[:-1]
        allowed = np.isfinite(decisions.costs)
        targets = decisions.targets
        others = allowed & ~targets
        least = np.repeat(decisions.least, counts)[:, None]
        regret = np.where(others, decisions.costs - least, 0.0)
        mean = np.add.reduceat(regret.sum(axis=1), firsts)
        mean /= np.maximum(1, np.add.reduceat(others.sum(axis=1), firsts))
        weights = np.where(targets & allowed, np.repeat(mean, counts)[:, None], regret)
        return zip(targets.T, weights.T, strict=True)


@register
class CostRegression(_Reduction):
    """A regressor of the cost of each action; the action of least predicted cost is decided for.

    ``base`` is a regressor; ridge regression unless another is given.
    """

    _kind = "cost"
    _default = Ridge(solver="sparse_cg")

    def _problems(self, decisions: Decisions) -> Iterable[tuple[Any, Floats]]:
        allowed = np.isfinite(decisions.costs)
        return zip(np.where(allowed, decisions.costs, 0.0).T, allowed.T.astype(float), strict=True)


@register
@dataclass(eq=False, repr=False)
class Multiclass(_Reduction):
    """Any classifier of scikit-learn: one target of each state is its class.

    The importance of a state is the greatest cost of its actions less the least, since a classifier
    takes one weight for each row; or 1 with ``weighted=False`` (learned by argmin).
    """

    _flat = True
    _kind = "joint"
    weighted: bool = True

    def _problems(self, decisions: Decisions) -> Iterable[tuple[Any, Floats]]:
        weights = decisions.greatest if self.weighted else np.ones(len(decisions))
        return [(decisions.targets.argmax(axis=1), weights)]


@register
@dataclass(eq=False, repr=False)
class Costing(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A binary classifier with weights of examples, made of one without (Zadrozny et al. 2003).

    Each of ``rounds`` classifiers is trained on a sample into which an example comes with
    probability proportional to its weight; the mean of their decisions, 1 or -1, decides. It goes
    into a reduction as ``base``: ``AllPairs(Costing(LinearSVC()))``.

    Args:
        base: the classifier.
        rounds: how many samples are drawn.
        random_state: a whole number.
    """

    base: Any = None
    rounds: int = 10
    random_state: int | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Costing:
        """The classifier itself, after training."""
        self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
        weights = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight)
        source = np.random.default_rng(self.random_state)
        base = LogisticRegression(max_iter=200) if self.base is None else self.base
        self.models_ = []
        for _ in range(check_int(type(self).__name__, "rounds", self.rounds)):
            sample = np.flatnonzero(source.random(len(labels)) * weights.max() < weights)
            positive = labels[sample] == len(self.classes_) - 1
            mixed = positive.any() and not positive.all()
            constant = Constant(1.0 if positive.all() else -1.0)
            self.models_.append(clone(base).fit(X[sample], positive) if mixed else constant)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The mean decision of each row, (R,), from -1 to 1."""
        return np.asarray(np.mean([np.sign(margins(model, X)) for model in self.models_], axis=0))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row, (R,)."""
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(np.int64)])
