"""``Searn``: search-based structured prediction with the interface of sklearn-crfsuite.

``ColumnTagger`` is the same for rows of texts with feature templates; ``fsmeu train`` trains it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from fsmeu.arrays import Ints
from fsmeu.errors import InputError, check_bool, check_int, message, one_of
from fsmeu.learning.base import number_between
from fsmeu.learning.given_loss import given_loss, label_name, over_classes
from fsmeu.learning.saving import first_use, register, save
from fsmeu.losses.protocol import Loss
from fsmeu.searn import training
from fsmeu.searn.features.sentences import HashedSentences
from fsmeu.searn.features.templates import (
    CHUNKS,
    SETS,
    TemplateSet,
    parse_templates,
    templated_sentences,
)
from fsmeu.searn.learners.linear import AveragedPerceptron, Logistic
from fsmeu.searn.learners.reductions import AllPairs, CostRegression, Multiclass, OneAgainstAll
from fsmeu.searn.search import COSTS, Mixture, beam, greedy, sampled
from fsmeu.searn.spaces import CustomSpace, is_own_space
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
}


def given_space(value: Any, where: str) -> Any:
    """The space that was asked for; an InputError if there is none."""
    own = not isinstance(value, type) and is_own_space(value)
    return CustomSpace(value) if own else _given(value, SPACES, where, "space", "over")


def given_learner(value: Any, where: str) -> Any:
    """The learner that was asked for; a classifier of scikit-learn learns classes of least cost."""
    plain = isinstance(value, ClassifierMixin) and not hasattr(value, "learn")
    return Multiclass(value) if plain else _given(value, LEARNERS, where, "learner", "learn")


def _given(value: Any, known: dict[str, Any], where: str, name: str, method: str) -> Any:
    if isinstance(value, str):
        return known[one_of(where, name, value, known)]()
    if not isinstance(value, type) and hasattr(value, method):
        return value
    must = f"{name} must be one of {', '.join(known)}, or an object with {method}"
    raise InputError(message(where, must, value))


INFERENCE_PARAMS = ("beam", "checkpoint", "combine", "n_jobs", "verbose")
"""Parameters that training does not depend on."""
_BEAM = 10
"""Partial outputs that are held by default where scores are logarithms of probabilities."""
_HELD_OUT = 10
"""One of so many sentences is development data where none are given."""


@register
@dataclass(eq=False, repr=False)
class Searn(BaseEstimator):  # type: ignore[misc]
    """Search-based structured prediction (Daumé, Langford and Marcu 2009) for any loss.

    An output is decided piece by piece. A policy decides in each state of that search; it starts as
    the optimal one, which knows the gold output and is computed from the loss. Each iteration runs
    the policy over the training sentences, asks in each state what each action would cost, learns
    a classifier from these costs, and mixes it into the policy (Figure 1). At the end the optimal
    policy is left out.

    Args:
        loss: a built-in name, the path of a loss file, or a loss over the labels; for two
            streams of labels, also a pair of these.
        loss_params: parameters of the loss by name.
        space: "left-to-right", "right-to-left", "word-at-a-time", "chunk-at-a-time",
            "alternating" (two streams of labels), or a space (see ``spaces``).
        learner: "logistic", "perceptron", "all-pairs", "one-against-all", "regression", a learner
            (see ``learners``), or a classifier of scikit-learn.
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
        beam: how many partial outputs are held at test time; 1 is greedy search. They are compared
            by sums of scores, so that None is 10 where the learner's scores are logarithms of
            probabilities ("logistic", classifiers that tell them), else 1.
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

    # -- training -----------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        X_dev: Any = None,
        y_dev: Any = None,
        on_iteration: Callable[[int, Searn], None] | None = None,
        progress: training.Progress | None = None,
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
            progress: is called now and then with the number of iterations that are done, a number
                with parts of one; a bar is shown instead where ``verbose`` is true.
        """
        where = type(self).__name__
        space = given_space(self.space, where)
        inputs = space.read_inputs(X, self._bits(), self.crossed, where)
        ys = space.read_outputs(y, inputs, where)
        self.space_ = space.fitted(ys)
        self.labels_ = self.space_.labels_
        search = self.space_.over(inputs, ys, self._loss)
        examples, loss_of = np.arange(len(ys)), None
        if self.beta == "search":
            examples, loss_of = self._development_loss(search, examples, X_dev, y_dev)
        how = self._settings(int(self.space_.longest_search(inputs)), loss_of)
        mark = "" if self.checkpoint is None else self._mark(inputs, ys)
        trained = training.read_checkpoint(self.checkpoint, mark)
        seed = _seed(self.random_state) if trained is None else trained.seed
        parts = min(check_int(where, "folds", self.folds), len(examples))
        folds = training.fold_numbers(len(ys), parts, seed)
        with first_use(f"checkpoint {self.checkpoint}"):
            trained = trained or training.Trained(Mixture(folds=folds), seed, mark)
            trained.check(folds)
            for model in chain(*trained.policy.models):
                for some in (examples[:2], examples[:3]):  # what broadcasts to one fails
                    greedy(search, Mixture(0.0, (1.0,), ([model],)), some)
        bar: Any = nullcontext(progress or (lambda done: None))
        if check_bool(where, "verbose", self.verbose):
            bar = training.progress_bar(how["iterations"])
        with bar as callback:
            for _ in training.train(search, examples, trained, callback, **how):
                self._keep(trained)
                if self.checkpoint is not None:
                    save(trained, self.checkpoint)
                if on_iteration is not None:
                    on_iteration(len(trained.reports), self)
        self._keep(trained)
        return self

    def _settings(self, longest: int, loss_of: Any) -> dict[str, Any]:
        """What ``train`` is to do, checked."""
        where = type(self).__name__
        influence = number_between(where, "influence", self.influence, 0, 1)
        most = training.iterations_of(self.iterations, self.beta, influence, longest, where)
        return {
            "learner": given_learner(self.learner, where),
            "iterations": most,
            "influence": influence,
            "beta": training.interpolation_rule(self.beta, where, longest, loss_of),
            "ties": one_of(where, "ties", self.ties, ("gold", "all")),
            "jobs": check_int(where, "n_jobs", self.n_jobs),
            "costs": COSTS[one_of(where, "costs", self.costs, COSTS)],
        }

    def _development_loss(
        self, search: Any, examples: Ints, X_dev: Any, y_dev: Any
    ) -> tuple[Ints, Callable[[Mixture], float]]:
        """The examples to train on, and the mean loss of a mixture on development data."""
        where = type(self).__name__
        if (X_dev is None) != (y_dev is None):
            raise InputError(message(where, "X_dev and y_dev must be given together"))
        if X_dev is not None:
            inputs = search.read_inputs(X_dev, self._bits(), self.crossed, where)
            ys = search.read_outputs(y_dev, inputs, where)
            search = search.over(inputs, ys, self._loss, costs=False)
            held = np.arange(len(ys))
        else:
            held = examples[::_HELD_OUT] if len(examples) > 1 else examples[:0]
            examples = np.setdiff1d(examples, held)

        def loss_of(policy: Mixture) -> float:
            losses = search.losses(greedy(search, policy, held))
            return float(np.mean(losses)) if len(held) else 0.0

        return examples, loss_of

    def _mark(self, inputs: Any, ys: Any) -> str:
        held = self.get_params(deep=False)
        read = {name: held[name] for name in held if name not in INFERENCE_PARAMS}
        return training.fingerprint(read, inputs, ys)

    def _keep(self, trained: training.Trained) -> None:
        final = trained.policy.without_optimal()
        self.weights_ = np.array(final.weights)
        self.models_ = [models[-1] for models in final.models]
        self.reports_ = trained.reports

    def _loss(self, labels: Sequence[Any], stream: int | None = None) -> Loss:
        """The loss whose k-th label stands for the k-th of these, of one of two streams."""
        where, names = type(self).__name__, [label_name(one) for one in labels]
        loss = self.loss
        if stream is not None and isinstance(loss, tuple | list) and len(loss) == 2:
            loss = loss[stream]
        return over_classes(given_loss(loss, self.loss_params, where, names), names, where)

    def _bits(self) -> int:
        bits = check_int(type(self).__name__, "bits", self.bits)
        if bits > 30:
            raise InputError(message(type(self).__name__, "bits must be at most 30", bits))
        return bits

    # -- prediction ---------------------------------------------------------------------------

    def predict(self, X: Any) -> list[Any]:
        """The output that is decided for each sentence."""
        check_is_fitted(self)
        where = type(self).__name__
        inputs = self.space_.read_inputs(X, self._bits(), self.crossed, where)
        search, examples = self.space_.over(inputs), np.arange(len(inputs))
        policy = Mixture(0.0, tuple(self.weights_), tuple([one] for one in self.models_))
        if one_of(where, "combine", self.combine, ("average", "sample")) == "sample":
            ends = sampled(search, policy, search.start(examples), _seed(self.random_state))
        elif (size := self._beam()) > 1:
            ends = beam(search, policy, examples, size)
        else:
            ends = greedy(search, policy, examples)
        return list(search.outputs(ends))

    def _beam(self) -> int:
        """The size of the beam; by default above 1 where sums of scores are log-probabilities."""
        if self.beam is None:
            return _BEAM if all(model.probabilistic for model in self.models_) else 1
        return check_int(type(self).__name__, "beam", self.beam)

    def _examples(self) -> list[Any]:
        """Three inputs that suit the space; none where it is one's own."""
        return [[{"": 1.0}] * 2] * 3 if hasattr(self.space_, "streams") else []

    def predict_single(self, x: Any) -> Any:
        """The same for one sentence."""
        return self.predict([x])[0]

    def score(self, X: Any, y: Any) -> float:
        """The share of positions whose label is predicted, as in sklearn-crfsuite."""
        check_is_fitted(self)
        where = f"{type(self).__name__}.score"
        inputs = self.space_.read_inputs(X, self._bits(), self.crossed, where)
        ys = self.space_.read_outputs(y, inputs, where)
        return float(self.space_.score(self.predict(X), ys))


def _seed(random_state: Any) -> int:
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    return check_int("Searn", "random_state", random_state, least=0)


Rows = Sequence[Sequence[Sequence[str]]]
_MOST_COLUMNS = 1000


@register
@dataclass(eq=False, repr=False)
class ColumnTagger(BaseEstimator):  # type: ignore[misc]
    """Tags for rows of texts (a word and its columns), by templates and search.

    Args:
        templates: a name of ``fsmeu.searn.features.templates.SETS``, or a list of templates.
        crossed: templates that are crossed with the label before, where a list is given.
        searn: a ``Searn`` that is copied and trained; None for its defaults.
        bits: features are hashed to 2^bits columns.

    Attributes:
        width_: how many columns rows must have.
        searn_: the trained ``Searn``.
    """

    templates: Any = "chunking"
    _: KW_ONLY
    crossed: Sequence[str] = ()
    searn: Searn | None = None
    bits: int = 23

    def fit(
        self, X: Rows, y: Any, on_iteration: Callable[[int, Searn], None] | None = None
    ) -> ColumnTagger:
        """The tagger itself, after training on sentences, lists of rows of texts, and tags."""
        widths = {len(row) for one in X for row in one}
        if len(widths) != 1:
            must = "all rows must have the same number of columns, and there must be one"
            raise InputError(message("ColumnTagger", must, f"{sorted(widths)}"))
        self.width_ = widths.pop()
        model = Searn() if self.searn is None else clone(self.searn)
        self.searn_ = model.fit(self._sentences(X), y, on_iteration=on_iteration)
        return self

    def predict(self, X: Rows) -> list[list[str]]:
        """The tags that are decided for each sentence, of rows as wide as those of training."""
        check_is_fitted(self)
        for row in (row for one in X for row in one):
            if len(row) != self.width_:
                must = f"rows must have {self.width_} columns, as in training"
                raise InputError(message("ColumnTagger", must, " ".join(row)))
        return self.searn_.predict(self._sentences(X))

    def _examples(self) -> list[Any]:
        """Three inputs that suit any such tagger."""
        width = check_int("ColumnTagger", "width_", self.width_)
        return [[("",) * min(width, _MOST_COLUMNS)] * 2] * 3

    def _sentences(self, X: Rows) -> HashedSentences:
        """The features of sentences; of their chunks, too, where these are decided at once."""
        bits = check_int("ColumnTagger", "bits", self.bits)
        space = given_space((Searn() if self.searn is None else self.searn).space, "ColumnTagger")
        segments = CHUNKS if isinstance(space, ChunkAtATime) and self.width_ > 1 else None
        if isinstance(self.templates, str):
            chosen = SETS[one_of("ColumnTagger", "templates", self.templates, SETS)]
        else:
            texts = (map(str, part) for part in (self.templates, self.crossed))
            chosen = TemplateSet(*map(parse_templates, texts))
        return templated_sentences(X, chosen, bits, segments)
