"""The iterations of SEARN (Figure 1 of the paper): roll in, learn, interpolate.

The weight of a new policy in the mixture (line 16) is fixed, by theory, or by search. The state of
training goes to a file after each iteration, so that it goes on after it was interrupted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from sklearn.base import BaseEstimator

from fsmeu.arrays import Ints
from fsmeu.errors import InputError, SizeLimitError, as_whole, one_of, sentence, whole
from fsmeu.learning.base import number_between
from fsmeu.learning.saving import load, register, save
from fsmeu.limits import MOST_ITERATIONS
from fsmeu.searn.features.segments import SegmentFeatures
from fsmeu.searn.features.sentences import HashedSentences
from fsmeu.searn.learners.protocol import CostSensitiveLearner, CostSensitiveModel, Decisions
from fsmeu.searn.policies import Mixture, interpolated
from fsmeu.searn.search import roll_in
from fsmeu.searn.spaces.protocol import Search

__all__ = [
    "BarProgress",
    "Progress",
    "Settings",
    "Trained",
    "chooser",
    "fingerprint",
    "fold_numbers",
    "iterations_of",
    "read_checkpoint",
    "train",
    "trained_of",
    "write_checkpoint",
]

Chooser = Callable[[Mixture, Sequence[CostSensitiveModel]], float]
Judge = Callable[[Mixture], float]

_GRID = (1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05)


def chooser(beta: Any, where: str, longest: int, judge: Judge | None) -> Chooser:
    """A function of the mixture so far and the new models that returns the new policy's weight.

    Args:
        beta: a number from (0, 1], "theory" or "search".
        where: the estimator, for messages.
        longest: the greatest number of decisions for one example, T.
        judge: for "search", the loss of a mixture of learned policies on development data.

    Raises:
        InputError: beta is none of these.
    """
    if isinstance(beta, str):
        if one_of(where, "beta", beta, ("theory", "search")) == "theory":
            return lambda policy, models: 1.0 / max(1, longest) ** 3
        assert judge is not None
        return lambda policy, models: _searched(policy, models, judge)
    number = number_between(where, "beta", beta, 0, 1)
    if number == 0:
        raise InputError(sentence(where, "beta must be greater than 0", beta))
    return lambda policy, models: number


def iterations_of(iterations: Any, beta: Any, influence: float, longest: int, where: str) -> int:
    """The greatest number of iterations.

    Without one, it is the number after which the optimal policy has lost its influence:
    (1 - beta)^I <= influence for a fixed beta, and 2 T^3 ln T by Theorem 2.

    Raises:
        InputError: it is no whole number of at least 1.
        SizeLimitError: it is derived, and larger than is reasonable.
    """
    if iterations is not None:
        return whole(where, "iterations", iterations)
    if beta == "theory":
        needed = max(1, math.ceil(2 * longest**3 * math.log(max(1, longest))))
    elif isinstance(beta, str) or beta == 1:
        needed = MOST_ITERATIONS if isinstance(beta, str) else 1
    elif influence == 0:
        raise InputError(sentence(where, "influence must be greater than 0 where beta is below 1"))
    else:
        needed = max(1, math.ceil(math.log(influence) / math.log1p(-beta) - 1e-9))
    if needed > MOST_ITERATIONS:
        must = f"at most {MOST_ITERATIONS:,} iterations are made unless their number is given"
        remedy = "Give iterations=, or a larger beta"
        raise SizeLimitError(sentence(where, must, f"{needed:,}", remedy))
    return needed


def _searched(policy: Mixture, models: Sequence[CostSensitiveModel], judge: Judge) -> float:
    """The weight of least loss without the optimal policy, the greatest of several; 0 for none.

    With 0 the new policy does not help, and training ends. The first policy has no other beside it,
    so that all weights are the same to it, and it gets 1.
    """
    if not policy.weights:
        return 1.0
    best, found = judge(policy.without_optimal()), 0.0
    for beta in _GRID:
        loss = judge(interpolated(policy, beta, models).without_optimal())
        if loss < best:
            best, found = loss, beta
    return found


@dataclass(frozen=True)
class Settings:
    """How to train.

    Attributes:
        learner: what learns decisions.
        iterations: the greatest number of iterations.
        influence: training ends once the optimal policy's probability is this or less, unless it
            was dropped at once (beta = 1, policy iteration).
        beta: the weight of a new policy, given the mixture so far (of models trained on all
            examples) and the new model.
        folds: in how many parts the examples are rolled in with policies of the others; 1 rolls
            in with the policies trained on them.
        ties: see ``targets_of``.
        seed: of everything that is drawn.
        jobs: how many folds are learned at once.
        costs: how costs are found, one of ``search.COSTS``.
    """

    learner: CostSensitiveLearner
    iterations: int
    influence: float
    beta: Chooser
    folds: int
    ties: str
    seed: int
    jobs: int = 1
    costs: Any = None


@dataclass
class Trained:
    """The policies so far.

    Attributes:
        final: the mixture with models trained on all examples.
        held_out: the same with one model for each fold, for rolling in.
        reports: for each iteration what was seen: beta, the optimal policy's probability, the mean
            loss of the policy that was rolled in, the number of decisions, seconds.
    """

    final: Mixture
    held_out: Mixture
    reports: list[dict[str, float]] = field(default_factory=list)

    @property
    def iterations(self) -> int:
        """How many iterations are done."""
        return len(self.reports)


class Progress:
    """Is told what happens; this one does nothing."""

    def rolled(self, states: int) -> None:
        """So many more states were rolled in."""

    def learned(self, iteration: int, fold: int) -> None:
        """The model of a fold was learned, or (fold -1) that of all examples."""

    def iterated(self, trained: Trained) -> None:
        """An iteration is done."""


def fold_numbers(count: int, folds: int, seed: int) -> Ints:
    """The fold of each example, (count,), folds of equal sizes up to one, drawn at random."""
    order = np.random.default_rng((seed, 0xF01D)).permutation(count)
    found = np.empty(count, np.int64)
    found[order] = np.arange(count) % max(1, folds)
    return found


def train(
    search: Search, examples: Ints, how: Settings, trained: Trained, progress: Progress
) -> None:
    """Goes on with the iterations until they are done; changes ``trained``.

    Args:
        search: the space, with gold outputs.
        examples: the examples to train on.
        how: the settings.
        trained: the policies so far.
        progress: is told what happens.
    """
    while trained.iterations < how.iterations and not _is_over(trained, how):
        began, number = time.perf_counter(), trained.iterations
        seed = int(np.random.SeedSequence((how.seed, number)).generate_state(1, np.uint64)[0])
        policy = trained.held_out
        seen = roll_in(search, policy, examples, seed, how.ties, how.costs, progress.rolled)
        last = number + 1 == how.iterations
        models = _learned(seen.decisions, seen.owners, how, policy, seed, number, last, progress)
        beta = how.beta(trained.final, models[-1:])
        if beta == 0:
            break
        trained.final = interpolated(trained.final, beta, models[-1:])
        trained.held_out = interpolated(policy, beta, models[:-1] or models)
        report = {
            "beta": beta,
            "optimal": trained.final.optimal,
            "loss": float(seen.losses.mean()),
            "decisions": float(len(seen.decisions)),
            "seconds": time.perf_counter() - began,
        }
        trained.reports.append(report)
        progress.iterated(trained)


def _is_over(trained: Trained, how: Settings) -> bool:
    """Whether the optimal policy has lost its influence, little by little."""
    left = trained.final.optimal
    return trained.iterations > 0 and 0 < left <= how.influence


def _learned(
    given: Decisions,
    owners: Ints,
    how: Settings,
    policy: Mixture,
    seed: int,
    number: int,
    last: bool,
    progress: Progress,
) -> list[CostSensitiveModel]:
    """The model of each fold, learned from the other folds, and that of all examples at the end.

    After the last iteration nothing is rolled in any more, and models of folds are not needed.
    """

    def one(fold: int) -> CostSensitiveModel:
        part = given
        if fold >= 0:
            assert policy.folds is not None
            part = given.taken(np.flatnonzero(policy.folds[owners] != fold))
        found = how.learner.learn(part, (seed + fold + 2) % 2**63)
        progress.learned(number, fold)
        return found

    folds = [*range(how.folds if how.folds > 1 and not last else 0), -1]
    if how.jobs == 1:
        return [one(fold) for fold in folds]
    with ThreadPoolExecutor(how.jobs) as pool:
        return list(pool.map(one, folds))


@register
class Checkpoint(BaseEstimator):  # type: ignore[misc]
    """What training has found so far.

    Args:
        fingerprint: of the parameters and the data.
        seed: of everything that is drawn.
        optimal: the probability of the optimal policy.
        weights: that of each learned policy.
        models: the models of learned policies.
        held_out: the models of folds, a list for each learned policy.
        reports: what was seen in each iteration.
    """

    def __init__(
        self,
        fingerprint: str = "",
        seed: int = 0,
        optimal: float = 1.0,
        weights: Any = (),
        models: Any = (),
        held_out: Any = (),
        reports: Any = (),
    ) -> None:
        self.fingerprint = fingerprint
        self.seed = seed
        self.optimal = optimal
        self.weights = weights
        self.models = models
        self.held_out = held_out
        self.reports = reports


def fingerprint(parameters: dict[str, Any], sentences: HashedSentences, ys: Any) -> str:
    """A hash of parameters, features and labels.

    Raises:
        InputError: the space is one's own, whose examples are of any kind.
    """
    if not isinstance(sentences, HashedSentences):
        must = "checkpoint is for spaces over labels, whose examples can be compared"
        raise InputError(sentence("Searn", must, None, "Leave checkpoint out"))
    found = blake2b(digest_size=16)
    found.update(repr(sorted(parameters.items(), key=lambda item: item[0])).encode())
    matrix, chunks = sentences.matrix, sentences.segments
    parts = [matrix.data, matrix.indices, sentences.starts, sentences.crossed]
    if isinstance(chunks, SegmentFeatures):
        parts += [chunks.firsts, chunks.lasts, chunks.within]
    for part in parts:
        found.update(np.ascontiguousarray(part).tobytes())
    found.update(repr(ys).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def write_checkpoint(path: str, mark: str, seed: int, trained: Trained) -> None:
    """Writes the state of training; a file that was there before is whole until then."""
    final, held_out = trained.final, trained.held_out
    made = Checkpoint(
        mark,
        seed,
        final.optimal,
        list(final.weights),
        [models[0] for models in final.models],
        [list(models) for models in held_out.models],
        trained.reports,
    )
    save(made, path)


def read_checkpoint(path: str | None, mark: str) -> Checkpoint | None:
    """What is in a file; None where there is none.

    Raises:
        InputError: the file is of other parameters or data.
    """
    if path is None or not Path(path).exists():
        return None
    found = load(path)
    if not isinstance(found, Checkpoint) or found.fingerprint != mark or not _is_seed(found.seed):
        must = f"the checkpoint {path} must be of the same parameters and data"
        raise InputError(sentence("Searn", must, None, "Remove it to train anew"))
    return found


def _is_seed(seed: object) -> bool:
    return as_whole(seed, 0) is not None


def trained_of(found: Checkpoint | None, folds: NDArray[np.int64]) -> Trained:
    """The state of training in a checkpoint, or before the first iteration.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: it does not hold what belongs together.
    """
    if found is None:
        return Trained(Mixture(), Mixture(folds=folds))
    weights = tuple(float(weight) for weight in found.weights)
    counts = {len(held) for held in (weights, found.models, found.held_out, found.reports)}
    members = {len(held) for held in found.held_out}
    total = math.fsum((found.optimal, *weights))
    if len(counts) > 1 or members != {int(folds.max()) + 1}:
        raise ValueError(counts)
    if min(found.optimal, *weights) < 0 or not math.isclose(total, 1.0):
        raise ValueError(total)
    if not all(isinstance(one["loss"], float) for one in found.reports):
        raise ValueError(found.reports)
    final = Mixture(found.optimal, weights, tuple([model] for model in found.models))
    held_out = Mixture(found.optimal, weights, tuple(found.held_out), folds)
    return Trained(final, held_out, list(found.reports))


class BarProgress(Progress):
    """Shows a bar on the terminal; nothing where there is none.

    Args:
        states: about how many states are rolled in by one iteration.
        fits: how many models are learned by one iteration.
        iterations: the greatest number of iterations.
        done: how many are done.
    """

    def __init__(self, states: int, fits: int, iterations: int, done: int) -> None:
        screen = Console(stderr=True)
        look = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self._bar = Bar(*look, console=screen, transient=True, disable=not screen.is_terminal)
        self._states, self._fits, self._iterations = max(1, states), max(1, fits), iterations
        self._task = self._bar.add_task(self._text(done), total=2 * iterations, completed=2 * done)

    def __enter__(self) -> BarProgress:
        self._bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._bar.stop()

    def _text(self, done: int, loss: float | None = None) -> str:
        text = f"iteration {min(done + 1, self._iterations)} of {self._iterations}"
        return text if loss is None else f"{text}, mean loss of the last policy {loss:.4f}"

    def rolled(self, states: int) -> None:
        """So many more states were rolled in."""
        self._bar.advance(self._task, states / self._states)

    def learned(self, iteration: int, fold: int) -> None:
        """A model was learned."""
        self._bar.advance(self._task, 1 / self._fits)

    def iterated(self, trained: Trained) -> None:
        """An iteration is done."""
        done, loss = trained.iterations, trained.reports[-1]["loss"]
        self._bar.update(self._task, completed=2 * done, description=self._text(done, loss))
