"""``Searn``: search-based structured prediction with the interface of sklearn-crfsuite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fsmeu.errors import InputError, one_of, sentence, whole
from fsmeu.fst.alphabet import Alphabet
from fsmeu.learning.features import checked_sentences
from fsmeu.learning.given_loss import given_loss
from fsmeu.learning.saving import register
from fsmeu.losses.protocol import Loss
from fsmeu.searn.betas import chooser
from fsmeu.searn.features.sentences import HashedSentences, hashed_sentences
from fsmeu.searn.learners.logistic import Logistic, number_between
from fsmeu.searn.learners.perceptron import AveragedPerceptron
from fsmeu.searn.oracle.cost_oracle import CostOracles
from fsmeu.searn.policies.mixture import Mixture
from fsmeu.searn.policies.searches import beam, greedy, sampled
from fsmeu.searn.spaces.chunks import ChunkAtATime
from fsmeu.searn.spaces.gold import gold_of
from fsmeu.searn.spaces.tagging import LeftToRight, RightToLeft, WordAtATime
from fsmeu.searn.training import Progress, Settings, Trained, fold_numbers, train

__all__ = ["Searn"]

SPACES: dict[str, Any] = {
    "left-to-right": LeftToRight,
    "right-to-left": RightToLeft,
    "word-at-a-time": WordAtATime,
    "chunk-at-a-time": ChunkAtATime,
}
LEARNERS: dict[str, Any] = {"logistic": Logistic, "perceptron": AveragedPerceptron}


@register
class Searn(BaseEstimator):  # type: ignore[misc]
    """Search-based structured prediction (Daumé, Langford and Marcu 2009) for any loss.

    An output is decided piece by piece. A policy decides in each state of that search; it starts as
    the optimal one, which knows the gold output and is computed from the loss. Each iteration runs
    the policy over the training sentences, asks in each state what each action would cost, learns
    a classifier from these costs, and mixes it into the policy (Figure 1). At the end the optimal
    policy is left out.

    Args:
        loss: a name on the shelf, the path of a loss file, or a loss over the labels.
        loss_params: parameters of the loss by name.
        space: "left-to-right", "right-to-left", "word-at-a-time", "chunk-at-a-time", or a space.
        learner: "logistic", "perceptron", or a learner.
        beta: the weight of a new policy: a number from (0, 1], where 1 is policy iteration;
            "theory", 1 / T^3 for sentences of up to T decisions (Theorem 2); or "search", the one
            of least loss on development data.
        iterations: the greatest number of iterations; None for as many as it takes until the
            optimal policy has lost its influence.
        influence: the probability of the optimal policy at which it has.
        costs: what happens after an action whose cost is asked: "optimal", the optimal policy goes
            on; "expected", the current policy does, and the expected loss counts; "sampled", the
            same by one sample of the policy for each action.
        ties: which of several optimal actions are learned: "gold", gold's own if it is one of
            them, else the first; or "all".
        folds: the training sentences are split into so many parts, each rolled in with policies
            that were trained on the others; 1 for policies trained on the same sentences. These
            hardly ever err there, so that little is learned from errors.
        beam: how many partial outputs are held at test time; 1 is greedy search.
        combine: how the learned policies decide together at test time: "average", by their mean
            probabilities, or "sample", by one of them drawn anew in each state, as in the paper.
        bits: features are hashed to 2^bits columns.
        crossed: names of features that are crossed with the last labels.
        n_jobs: how many models are learned at once (threads; with compiled loops only).
        checkpoint: a file to which the state of training is written after each iteration. If it
            is there when training begins, with the same parameters and data, training goes on.
        verbose: whether a progress bar is shown.
        random_state: a whole number, or None for another one each time.

    Attributes:
        labels_: the labels.
        task_: the search space with its actions.
        weights_: the probability of each learned policy, (I,).
        models_: the models of the learned policies.
        reports_: what was seen in each iteration.
    """

    labels_: list[Any]
    task_: Any
    weights_: Any
    models_: list[Any]
    reports_: list[dict[str, float]]

    def __init__(
        self,
        loss: Any = "hamming",
        *,
        loss_params: dict[str, Any] | None = None,
        space: Any = "left-to-right",
        learner: Any = "logistic",
        beta: float | str = 0.5,
        iterations: int | None = 3,
        influence: float = 0.01,
        costs: str = "optimal",
        ties: str = "gold",
        folds: int = 4,
        beam: int = 10,
        combine: str = "average",
        bits: int = 21,
        crossed: Sequence[str] = (),
        n_jobs: int = 1,
        checkpoint: str | None = None,
        verbose: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.loss = loss
        self.loss_params = loss_params
        self.space = space
        self.learner = learner
        self.beta = beta
        self.iterations = iterations
        self.influence = influence
        self.costs = costs
        self.ties = ties
        self.folds = folds
        self.beam = beam
        self.combine = combine
        self.bits = bits
        self.crossed = crossed
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    # -- training -----------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        X_dev: Any = None,
        y_dev: Any = None,
        on_iteration: Callable[[int, Searn], None] | None = None,
    ) -> Searn:
        """The estimator itself, after training.

        Args:
            X: sentences, lists of dictionaries of features or of lists of their names; or
                ``HashedSentences``.
            y: the labels of each.
            X_dev: development sentences, for beta = "search".
            y_dev: their labels.
            on_iteration: is called after each iteration with its number (from 1) and this
                estimator, which predicts with the policies learned so far.
        """
        where = type(self).__name__
        sentences, ys = self._sentences(X), labelled(X, y, where)
        space = given_part(self.space, SPACES, where, "space", "task")
        self.labels_ = space.labels(ys)
        loss = self._loss(space)
        self.task_ = space.task(self.labels_, ys)
        search = self.task_.search(sentences, gold_of(loss, self.labels_, ys, CostOracles))
        seed = _seed(self.random_state)
        folds = min(whole(where, "folds", self.folds), len(ys))
        trained = Trained(Mixture(), Mixture(folds=fold_numbers(len(ys), folds, seed)))
        progress = _Watch(self, on_iteration)
        train(search, len(ys), self._settings(folds, seed), trained, progress)
        self._keep(trained)
        return self

    def _settings(self, folds: int, seed: int) -> Settings:
        where = type(self).__name__
        iterations = self.iterations
        return Settings(
            learner=given_part(self.learner, LEARNERS, where, "learner", "learn"),
            iterations=whole(where, "iterations", iterations),
            influence=number_between(where, "influence", self.influence, 0, 1),
            beta=chooser(self.beta, where),
            folds=folds,
            ties=one_of(where, "ties", self.ties, ("gold", "all")),
            seed=seed,
            jobs=whole(where, "n_jobs", self.n_jobs),
        )

    def _keep(self, trained: Trained) -> None:
        final = trained.final.without_optimal()
        self.weights_ = np.array(final.weights)
        self.models_ = [models[0] for models in final.models]
        self.reports_ = trained.reports

    def _loss(self, space: Any) -> Loss:
        names = [
            one if isinstance(one, int | str) and not isinstance(one, bool) else str(one)
            for one in self.labels_
        ]
        loss = given_loss(self.loss, self.loss_params, type(self).__name__, names)
        return loss.with_labels(Alphabet(tuple(names))) if _is_open(loss) else loss

    # -- prediction ---------------------------------------------------------------------------

    def predict(self, X: Any) -> list[list[Any]]:
        """The labels that are decided for each sentence."""
        check_is_fitted(self)
        where = type(self).__name__
        sentences = self._sentences(X)
        search, examples = self.task_.search(sentences), np.arange(len(sentences))
        policy = Mixture(0.0, tuple(self.weights_), tuple([one] for one in self.models_))
        if one_of(where, "combine", self.combine, ("average", "sample")) == "sample":
            return sampled(search, policy, examples, _seed(self.random_state))
        size = whole(where, "beam", self.beam)
        if size == 1:
            return greedy(search, policy, examples)
        return beam(search, policy, examples, size)

    def predict_single(self, x: Any) -> list[Any]:
        """The same for one sentence."""
        return self.predict([x])[0]

    def score(self, X: Any, y: Any) -> float:
        """The share of positions whose label is predicted, as in sklearn-crfsuite."""
        ys = labelled(X, y, f"{type(self).__name__}.score")
        both = zip(chain(*self.predict(X)), chain(*ys), strict=True)
        return float(np.mean([one == other for one, other in both]))

    def _sentences(self, X: Any) -> HashedSentences:
        if isinstance(X, HashedSentences):
            return X
        where = type(self).__name__
        found = checked_sentences(X, where)
        return hashed_sentences(found, whole(where, "bits", self.bits), tuple(self.crossed))


class _Watch(Progress):
    """Keeps what was learned after each iteration, and tells of it."""

    def __init__(self, owner: Searn, on_iteration: Any) -> None:
        self.owner, self.on_iteration = owner, on_iteration

    def iterated(self, trained: Trained) -> None:
        self.owner._keep(trained)
        if self.on_iteration is not None:
            self.on_iteration(trained.iterations, self.owner)


def _seed(random_state: Any) -> int:
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    return whole("Searn", "random_state", random_state, least=0)


def _is_open(loss: Loss) -> bool:
    return bool(getattr(loss, "labels_open", False))


def given_part(value: Any, known: dict[str, Any], where: str, name: str, method: str) -> Any:
    """A part that was given by name or as an object, checked."""
    if isinstance(value, str):
        return known[one_of(where, name, value, known)]()
    if not hasattr(value, method) or isinstance(value, type):
        must = f"{name} must be one of {', '.join(known)}, or an object with {method}"
        raise InputError(sentence(where, must, value))
    return value


def labelled(X: Any, y: Any, where: str) -> list[list[Any]]:
    """The labels of sentences, checked to be as many as these have positions."""
    lengths = X.lengths.tolist() if isinstance(X, HashedSentences) else [len(x) for x in X]
    ys = [
        one.tolist() if isinstance(one, np.ndarray) else list(one)
        for one in checked_sentences(y, where)
    ]
    if [len(one) for one in ys] != lengths:
        must = "there must be one label for each position of each sentence"
        raise InputError(sentence(where, must, f"{len(lengths)} and {len(ys)} sequences"))
    if not any(ys):
        raise InputError(sentence(where, "there must be a sentence that is not empty"))
    return ys
