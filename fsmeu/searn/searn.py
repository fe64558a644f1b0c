"""``Searn``: search-based structured prediction with the interface of sklearn-crfsuite."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from fsmeu.arrays import Ints
from fsmeu.errors import Argument, InputError, as_whole, check_bool, check_int, one_of, wording
from fsmeu.learning.base import given_loss, number_between
from fsmeu.learning.classes import label_name, over_classes, positive_tag
from fsmeu.learning.saving import first_use, load, register, save
from fsmeu.losses.protocol import Loss
from fsmeu.progress import Progress, check_progress, progress_bar
from fsmeu.searn import features
from fsmeu.searn.learners.linear import AveragedPerceptron, Logistic
from fsmeu.searn.learners.reductions import AllPairs, CostRegression, Multiclass, OneAgainstAll
from fsmeu.searn.search import (
    COSTS,
    Costs,
    Mixture,
    Rule,
    beam,
    greedy,
    interpolated,
    interpolation_rule,
    iterations_of,
    new_models,
    roll_in,
    sampled,
)
from fsmeu.searn.spaces import OWN_METHODS, CustomSpace
from fsmeu.searn.spaces.chunks import ChunkAtATime
from fsmeu.searn.spaces.tagging import Alternating, LeftToRight, RightToLeft, WordAtATime

SPACES: dict[str, Any] = {
    "left-to-right": LeftToRight,
    "right-to-left": RightToLeft,
    "word-at-a-time": WordAtATime,
    "chunk-at-a-time": ChunkAtATime,
    "alternating": Alternating,
}
LEARNERS: dict[str, Any] = {
    "logistic": Logistic,
    "perceptron": AveragedPerceptron,
    "all-pairs": AllPairs,
    "one-against-all": OneAgainstAll,
    "regression": CostRegression,
    "logistic-argmin": partial(Logistic, importance="equal"),
    "perceptron-argmin": partial(AveragedPerceptron, importance="equal"),
}
"""Learners by name: what makes them. Those named argmin see which action costs least, no costs."""


@register
@dataclass(repr=False)
class TrainingState(BaseEstimator):  # type: ignore[misc]
    """The policies so far; what a checkpoint holds.

    A report has, of each iteration, beta, the optimal policy's probability, the mean loss of the
    policy that was rolled in, the number of decisions, and seconds.
    """

    policy: Mixture
    seed: int
    fingerprint: str = ""  # of the parameters and the data
    reports: list[dict[str, float]] = field(default_factory=list)

    def check(self, folds: Ints) -> None:
        """Refuses parts that do not belong together by any exception, given each example's fold."""
        shares = (self.policy.optimal, *self.policy.weights)
        models = self.policy.models
        most = int(folds.max()) + 2 if folds.any() else 1  # one for each fold, and that of all
        fits = (
            len(self.policy.weights) == len(models) == len(self.reports),
            np.array_equal(self.policy.folds, folds),
            {*map(len, models[:-1])} <= {most},
            {*map(len, models[-1:])} <= {most, 1},  # the last may have that of all alone
            min(shares) >= 0 and math.isclose(math.fsum(shares), 1.0),
            all(isinstance(report["loss"], float) for report in self.reports),
        )
        if not all(fits):
            raise ValueError(fits)


def fingerprint(parameters: dict[str, Any], sentences: Any, ys: Any) -> str:
    """A hash of parameters, features and labels; an InputError for spaces of one's own.

    A learner counts with all its parameters, also those that are not given: what its name stands
    for can change from version to version.
    """
    if not isinstance(sentences, features.HashedSentences):
        must = "checkpoint is for spaces over labels, whose examples can be compared"
        raise InputError("Searn", must, remedy="Leave checkpoint out")
    matrix = sentences.matrix
    chunks = sentences.segments
    parts = [matrix.data, matrix.indices, sentences.starts, sentences.crossed]
    learner = given_learner(parameters["learner"], "Searn")
    settings: dict[str, Any] = getattr(learner, "get_params", dict)()
    parameters = {**parameters, "learner": (type(learner).__name__, sorted(settings.items()))}
    if isinstance(chunks, features.SegmentFeatures):
        parts += [chunks.firsts, chunks.lasts, chunks.within]
    return str(joblib.hash([repr(sorted(parameters.items())), repr(ys), *parts]))


def given_space(value: Any, where: str) -> Any:
    """The space of that name, or the space itself; an InputError if there is none."""
    methods = (getattr(value, name, None) for name in OWN_METHODS)
    if not isinstance(value, type) and all(map(callable, methods)):
        return CustomSpace(value)
    return _given(value, SPACES, where, "space", "over")


def given_learner(value: Any, where: str) -> Any:
    """The learner of that name, or itself; ``Multiclass`` around a classifier of scikit-learn."""
    plain = isinstance(value, ClassifierMixin) and not hasattr(value, "learn")
    return Multiclass(value) if plain else _given(value, LEARNERS, where, "learner", "learn")


def _given(value: Any, choices: dict[str, Any], where: str, name: str, method: str) -> Any:
    """The choice of that name, or an object that has the method; an InputError otherwise."""
    if isinstance(value, str):
        return choices[one_of(where, name, value, choices)]()
    if not isinstance(value, type) and hasattr(value, method):
        return value
    must = f"{name} must be one of {', '.join(choices)}, or an object with {method}"
    raise InputError(where, must, given=value)


INFERENCE_PARAMS = ("beam", "checkpoint", "combine", "n_jobs", "verbose")  # not read in training
_BEAM = 10  # partial outputs that are held where scores are logarithms of probabilities
_HELD_OUT = 10  # one of so many sentences is development data where none are given


class _Plan(NamedTuple):
    """What all iterations of a training share."""

    search: Any  # the space over the training sentences, with gold outputs
    examples: Ints  # the numbers of the sentences that are trained on
    jobs: int  # models that are learned at once
    influence: float  # the probability of the optimal policy at which training ends
    iterations: int  # the greatest number of them
    learner: Any
    beta: Rule  # the weight of a new policy
    ties: str  # which of several optimal actions are learned
    costs: Costs | None  # of actions; None for those of the optimal policy


def _iterate(plan: _Plan, trained: TrainingState, callback: Progress) -> bool:
    """Whether an iteration adds a policy to those of ``trained``: its weight is above 0."""
    began = time.perf_counter()
    policy = trained.policy
    number = len(trained.reports)
    note = f"iteration {number + 1} of {plan.iterations}"
    sequence = np.random.SeedSequence((trained.seed, number))
    seed = int(sequence.generate_state(1, np.uint64)[0])
    seen = roll_in(plan.search, policy, plan.examples, seed, plan.ties, plan.costs)
    callback((number + 0.5) / plan.iterations, note)
    with_folds = number + 1 < plan.iterations and policy.folds.any()  # else no more is rolled in
    folds = int(policy.folds.max()) + 1 if with_folds else 0
    fold_of = policy.folds[seen.examples]
    models = new_models(plan.learner, seen.decisions, fold_of, folds, plan.jobs, seed)
    weight = plan.beta(policy, models)
    if weight == 0:
        return False
    trained.policy = interpolated(policy, weight, models)
    report = {
        "beta": weight,
        "optimal": trained.policy.optimal,
        "loss": float(seen.losses.mean()),
        "decisions": float(len(seen.decisions)),
        "seconds": time.perf_counter() - began,
    }
    trained.reports.append(report)
    callback((number + 1) / plan.iterations, note)
    return True


@register
@dataclass(eq=False, repr=False)
class Searn(BaseEstimator):  # type: ignore[misc]
    """Search-based structured prediction (Daumé, Langford and Marcu 2009) for any loss.

    An output is decided piece by piece. A policy decides in each state of that search; it starts as
    the optimal one, which knows the gold output and is computed from the loss. Each iteration runs
    the policy over the training sentences, computes in each state the cost of each action, learns
    a classifier from these costs, and mixes it into the policy (Figure 1). At the end the optimal
    policy is left out.

    Args:
        loss: a built-in name, the path of a loss file, or a loss over the labels; for two
            streams of labels, also a pair of these.
        loss_params: parameters of the loss by name.
        space: "left-to-right", "right-to-left", "word-at-a-time", "chunk-at-a-time",
            "alternating" (two streams of labels), or a space (see ``spaces``).
        learner: "logistic", "perceptron", "all-pairs", "one-against-all" or "regression", which
            weigh mistakes by what they cost; "logistic-argmin" or "perceptron-argmin", which learn
            the action of least cost and take all mistakes for alike; a learner (see ``learners``),
            or a classifier of scikit-learn (see ``Multiclass``).
        beta: the weight of a new policy: a number from (0, 1], where 1 is policy iteration;
            "theory", 1 / T^3 for sentences of up to T decisions (Theorem 2); or "search", the one
            of least loss on development data.
        iterations: the greatest number of iterations; None for as many as ``influence`` needs.
        influence: training ends when the probability of the optimal policy is this or less, and
            not 0.
        costs: which policy decides after an action, for its cost: "optimal", the optimal one goes
            on; "expected", the current policy does, and the expected loss counts; "sampled", the
            same by one sample of the policy for each action.
        engine: what computes the costs of the optimal policy, as in ``CostOracles``: "auto", or
            "openfst" for small training sets. They are the same.
        ties: which of several optimal actions are learned: "gold", gold's own if it is one of
            them, else the first; or "all".
        folds: the training sentences are split into so many parts, each rolled in with policies
            that were trained on the others; 1 for policies trained on the same sentences. These
            hardly ever err there, so that little is learned from errors.
        beam: how many partial outputs are held at test time; 1 is greedy search. They are compared
            by sums of scores, so that None is 10 where the learner's scores are logarithms of
            probabilities ("logistic", classifiers that give them), else 1.
        combine: how the learned policies decide together at test time: "average", by their mean
            probabilities, or "sample", by one of them drawn anew in each state, as in the paper.
        bits: features are hashed to 2^bits columns.
        crossed: names of features that are crossed with the last labels.
        n_jobs: how many models are learned at once (threads; with compiled loops only).
        checkpoint: a file to which the state of training is written after each iteration. If it
            is there when training begins, with the same parameters and data, training goes on.
        verbose: whether a progress bar is shown.
        random_state: a whole number, or None for another one each time.
        pos_label: of two labels, the one that a loss over 0 and 1 takes for 1; None as in
            ``fsmeu.learning.DTAClassifier``.

    Attributes:
        labels_: the labels.
        space_: the search space with its actions.
        weights_: the probability of each learned policy, (I,).
        models_: the models of the learned policies.
        reports_: what was seen in each iteration.
    """

    loss: Any = "hamming"
    _: KW_ONLY
    loss_params: dict[str, Any] | None = None
    space: Any = "left-to-right"
    learner: Any = "logistic"
    beta: float | str = 0.5
    iterations: int | None = 3
    influence: float = 0.01
    costs: str = "optimal"
    engine: str = "auto"
    ties: str = "gold"
    folds: int = 4
    beam: int | None = None
    combine: str = "average"
    bits: int = 21
    crossed: Sequence[str] = ()
    n_jobs: int = 1
    checkpoint: str | None = None
    verbose: bool = False
    random_state: int | None = None
    pos_label: Any = None

    # -- training -----------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        X_dev: Any = None,
        y_dev: Any = None,
        on_iteration: Callable[[int, Searn], None] | None = None,
        progress: Progress | None = None,
    ) -> Searn:
        """The estimator itself, after training.

        Args:
            X: sentences, lists of dictionaries of features or of lists of their names; or
                ``HashedSentences``; or what a space of one's own takes.
            y: the outputs: the labels of each sentence.
            X_dev: development sentences, for beta = "search"; every tenth sentence of X, which is
                not trained on then, unless they are given.
            y_dev: their outputs.
            on_iteration: is called after each iteration with its number (from 1) and this
                estimator, which predicts with the policies learned so far.
            progress: is called now and then with the share of the work that is done, and a note
                (``fsmeu.Progress``); a bar is shown instead where ``verbose`` is true.
        """
        where = type(self).__name__
        space = given_space(self.space, where)
        if not isinstance(self.checkpoint, str | PathLike | None):
            raise InputError(where, "checkpoint must be the name of a file", given=self.checkpoint)
        inputs, ys = self._read(space, X, y)
        self.space_ = space.fitted(ys)
        self.labels_ = self.space_.labels_
        plan = self._plan(inputs, ys, X_dev, y_dev)
        trained = self._begun(plan, inputs, ys)
        bar: Any = nullcontext(check_progress(where, progress))
        if check_bool(where, "verbose", self.verbose):
            bar = progress_bar("training")
        with bar as callback:
            for number in range(len(trained.reports), plan.iterations):
                if number and 0 < trained.policy.optimal <= plan.influence:
                    break
                if not _iterate(plan, trained, callback):
                    break
                self._keep(trained)
                if self.checkpoint is not None:
                    save(trained, self.checkpoint)
                if on_iteration is not None:
                    on_iteration(len(trained.reports), self)
        self._keep(trained)
        return self

    def _plan(self, inputs: Any, ys: Any, X_dev: Any, y_dev: Any) -> _Plan:
        """What all iterations share, after a check of the parameters."""
        where = type(self).__name__
        bind = partial(self._loss, ys)
        search = self.space_.over(inputs, ys, bind, engine=self.engine)
        examples = np.arange(len(ys))
        loss_of = None
        if self.beta == "search":
            examples, loss_of = self._development_loss(search, bind, examples, X_dev, y_dev)
        longest = int(self.space_.longest_search(inputs))
        jobs = check_int(where, "n_jobs", self.n_jobs)
        influence = number_between(where, "influence", self.influence, 0, 1)
        return _Plan(
            search=search,
            examples=examples,
            jobs=jobs,
            influence=influence,
            iterations=iterations_of(self.iterations, self.beta, influence, longest, where),
            learner=given_learner(self.learner, where),
            beta=interpolation_rule(self.beta, where, longest, loss_of),
            ties=one_of(where, "ties", self.ties, ("gold", "all")),
            costs=COSTS[one_of(where, "costs", self.costs, COSTS)],
        )

    def _begun(self, plan: _Plan, inputs: Any, ys: Any) -> TrainingState:
        """The state of training of the checkpoint, if there is one, else of no iteration yet."""
        read = {k: v for k, v in self.get_params(deep=False).items() if k not in INFERENCE_PARAMS}
        mark = "" if self.checkpoint is None else fingerprint(read, inputs, ys)
        trained = None
        if self.checkpoint is not None and Path(self.checkpoint).exists():
            trained = load(self.checkpoint)
            same = isinstance(trained, TrainingState) and trained.fingerprint == mark
            if not same or as_whole(trained.seed, 0) is None:
                must = f"the checkpoint {self.checkpoint} must be of the same parameters and data"
                raise InputError("Searn", must, remedy="Remove it to train anew")
        seed = _seed(self.random_state) if trained is None else trained.seed
        parts = min(check_int(type(self).__name__, "folds", self.folds), len(plan.examples))
        folds = np.empty(len(ys), np.int64)  # of equal sizes up to one, drawn at random
        order = np.random.default_rng((seed, 0xF01D)).permutation(len(ys))
        folds[order] = np.arange(len(ys)) % max(1, parts)
        with first_use(f"checkpoint {self.checkpoint}"):
            trained = trained or TrainingState(Mixture(folds=folds), seed, mark)
            trained.check(folds)
            for model in chain(*trained.policy.models):
                for batch in (plan.examples[:2], plan.examples[:3]):  # what broadcasts to one fails
                    greedy(plan.search, Mixture(0.0, (1.0,), ([model],)), batch)
        return trained

    def _development_loss(
        self, search: Any, bind: Any, examples: Ints, X_dev: Any, y_dev: Any
    ) -> tuple[Ints, Callable[[Mixture], float]]:
        """The examples to train on, and the mean loss of a mixture on development data."""
        where = type(self).__name__
        if (X_dev is None) != (y_dev is None):
            raise InputError(where, "X_dev and y_dev must be given together")
        if X_dev is not None:
            inputs, ys = self._read(search, X_dev, y_dev)
            search = search.over(inputs, ys, bind, costs=False)
            development = np.arange(len(ys))
        else:
            development = examples[::_HELD_OUT] if len(examples) > 1 else examples[:0]
            examples = np.setdiff1d(examples, development)

        def loss_of(policy: Mixture) -> float:
            losses = search.losses(greedy(search, policy, development))
            return float(np.mean(losses)) if len(development) else 0.0

        return examples, loss_of

    def _keep(self, trained: TrainingState) -> None:
        """Sets the attributes of the policies learned so far, without the optimal one."""
        final = trained.policy.without_optimal()
        self.weights_ = np.array(final.weights)
        self.models_ = [models[-1] for models in final.models]
        self.reports_ = trained.reports

    def _loss(self, ys: Any, labels: Sequence[Any], stream: int | None = None) -> Loss:
        """The loss whose k-th label stands for the k-th of these, of one of two streams of ys."""
        where = type(self).__name__
        names = [label_name(label) for label in labels]
        loss = self.loss
        given: Iterator[Any] = chain(*ys)
        if stream is not None:
            if self.pos_label is not None:
                must = wording(Argument("pos_label"), " is for one stream of labels")
                raise InputError(where, must, given=self.pos_label, remedy="Leave it out")
            given = (pair[stream] for pair in given)
            loss = loss[stream] if isinstance(loss, tuple | list) and len(loss) == 2 else loss
        over = given_loss(loss, self.loss_params, where, names)
        positive = positive_tag(where, labels, given, self.pos_label, over)
        return over_classes(over, names, where, positive)

    def _read(self, space: Any, X: Any, *y: Any) -> tuple[Any, ...]:
        """The inputs, and the outputs if there are any, as the space takes them."""
        where = type(self).__name__
        if (bits := check_int(where, "bits", self.bits)) > 30:
            raise InputError(where, "bits must be at most 30", given=bits)
        inputs = space.read_inputs(X, bits, self.crossed, where)
        return inputs, *(space.read_outputs(outputs, inputs, where) for outputs in y)

    # -- prediction ---------------------------------------------------------------------------

    def predict(self, X: Any) -> list[Any]:
        """The output that is decided for each sentence."""
        check_is_fitted(self)
        where = type(self).__name__
        (inputs,) = self._read(self.space_, X)
        search = self.space_.over(inputs)
        examples = np.arange(len(inputs))
        policy = Mixture(0.0, tuple(self.weights_), tuple([model] for model in self.models_))
        size = _BEAM if all(model.probabilistic for model in self.models_) else 1
        size = size if self.beam is None else check_int(where, "beam", self.beam)
        if one_of(where, "combine", self.combine, ("average", "sample")) == "sample":
            ends = sampled(search, policy, search.start(examples), _seed(self.random_state))
        elif size > 1:
            ends = beam(search, policy, examples, size)
        else:
            ends = greedy(search, policy, examples)
        return list(search.outputs(ends))

    def _examples(self) -> list[Any]:
        """Three inputs that suit the space; none where it is one's own."""
        return [[{"": 1.0}] * 2] * 3 if hasattr(self.space_, "streams") else []

    def check_parts(self) -> None:
        """Raises an InputError unless the learned space is one that can be searched."""
        if hasattr(self, "space_"):
            own = isinstance(self.space_, CustomSpace)
            names = OWN_METHODS if own else ("read_inputs", "over")
            space = self.space_.space if own else self.space_
            if not all(callable(getattr(space, name, None)) for name in names):
                must = "space_ must be a space of searches"
                raise InputError(type(self).__name__, must, given=self.space_)

    def predict_single(self, x: Any) -> Any:
        """The output that is decided for one sentence."""
        return self.predict([x])[0]

    def score(self, X: Any, y: Any) -> float:
        """The share of positions whose label is predicted, as in sklearn-crfsuite."""
        check_is_fitted(self)
        _, ys = self._read(self.space_, X, y)
        return float(self.space_.score(self.predict(X), ys))


def _seed(random_state: Any) -> int:
    """The seed of ``random_state``; another one each time for None."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    return check_int("Searn", "random_state", random_state, least=0)
