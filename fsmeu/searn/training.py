"""The iterations of SEARN (Figure 1 of the paper): roll in, learn, interpolate.

The weight of a new policy in the mixture (line 16) is fixed, by theory, or by search. The state of
training goes to a file after each iteration, so that it goes on after it was interrupted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from fsmeu.arrays import Ints
from fsmeu.errors import InputError, SizeLimitError, as_whole, check_int, message, one_of
from fsmeu.learning.base import number_between
from fsmeu.learning.saving import load, register
from fsmeu.searn.features.sentences import HashedSentences
from fsmeu.searn.features.templates import SegmentFeatures
from fsmeu.searn.learners.linear import Decisions
from fsmeu.searn.search import Mixture, interpolated, roll_in

MOST_ITERATIONS = 10_000  # iterations that nobody asked for: each trains a model

Rule = Callable[[Mixture, Sequence[Any]], float]
LossOf = Callable[[Mixture], float]
Progress = Callable[[float], None]
"""Is called with the number of iterations that are done, and parts of one."""

_GRID = (1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05)


def interpolation_rule(beta: Any, where: str, longest: int, loss_of: LossOf | None) -> Rule:
    """A function of the mixture so far and the new models that returns the new policy's weight.

    It is fixed; by "theory" 1 / T^3 for up to T decisions (``longest``); or by "search" that of
    least loss (``loss_of`` a mixture of learned policies).
    """
    if isinstance(beta, str):
        if one_of(where, "beta", beta, ("theory", "search")) == "theory":
            return lambda policy, models: 1.0 / max(1, longest) ** 3
        assert loss_of is not None
        return lambda policy, models: _searched(policy, models, loss_of)
    number = number_between(where, "beta", beta, 0, 1)
    if number == 0:
        raise InputError(message(where, "beta must be greater than 0", beta))
    return lambda policy, models: number


def _searched(policy: Mixture, models: Sequence[Any], loss_of: LossOf) -> float:
    """The weight of least loss without the optimal policy, the greatest of several.

    It is 0, which ends training, where the new policy does not help.
    """
    if not policy.weights:
        return 1.0  # with no other beside it, all weights are the same
    best, found = loss_of(policy.without_optimal()), 0.0
    for beta in _GRID:
        loss = loss_of(interpolated(policy, beta, models).without_optimal())
        if loss < best:
            best, found = loss, beta
    return found


def iterations_of(iterations: Any, beta: Any, influence: float, longest: int, where: str) -> int:
    """The greatest number of iterations; for None, as many as the optimal policy has influence.

    (1 - beta)^I <= influence for a fixed beta; I = 2 T^3 ln T by Theorem 2, where T is the longest
    search. A SizeLimitError says that more are derived than is reasonable.
    """
    if iterations is not None:
        return check_int(where, "iterations", iterations)
    if beta == "theory":
        needed = max(1, math.ceil(2 * longest**3 * math.log(max(1, longest))))
    elif isinstance(beta, str) or beta == 1:
        needed = MOST_ITERATIONS if isinstance(beta, str) else 1
    elif influence == 0:
        raise InputError(message(where, "influence must be greater than 0 where beta is below 1"))
    else:
        needed = max(1, math.ceil(math.log(influence) / math.log1p(-beta) - 1e-9))
    if needed > MOST_ITERATIONS:
        must = f"at most {MOST_ITERATIONS:,} iterations are made unless their number is given"
        remedy = "Give iterations=, or a larger beta"
        raise SizeLimitError(message(where, must, f"{needed:,}", remedy))
    return needed


@register
@dataclass(repr=False)
class Trained(BaseEstimator):  # type: ignore[misc]
    """The policies so far; what a checkpoint holds.

    A report tells of each iteration beta, the optimal policy's probability, the mean loss of the
    policy that was rolled in, the number of decisions, and seconds.
    """

    policy: Mixture
    seed: int
    fingerprint: str = ""  # of the parameters and the data
    reports: list[dict[str, float]] = field(default_factory=list)

    def check(self, folds: Ints) -> None:
        """Refuses parts that do not belong together by any exception, given each example's fold."""
        shares, models = (self.policy.optimal, *self.policy.weights), self.policy.models
        most = int(folds.max()) + 2 if folds.any() else 1  # one for each fold, and that of all
        fits = (
            len(self.policy.weights) == len(models) == len(self.reports),
            np.array_equal(self.policy.folds, folds),  # type: ignore[arg-type]
            {len(one) for one in models[:-1]} <= {most},
            {len(one) for one in models[-1:]} <= {most, 1},  # the last may have that of all alone
            min(shares) >= 0 and math.isclose(math.fsum(shares), 1.0),
            all(isinstance(one["loss"], float) for one in self.reports),
        )
        if not all(fits):
            raise ValueError(fits)


def fold_numbers(count: int, folds: int, seed: int) -> Ints:
    """The fold of each example, (count,), folds of equal sizes up to one, drawn at random."""
    order = np.random.default_rng((seed, 0xF01D)).permutation(count)
    found = np.empty(count, np.int64)
    found[order] = np.arange(count) % max(1, folds)
    return found


def train(
    space: Any,
    examples: Ints,
    trained: Trained,
    progress: Progress,
    *,
    learner: Any,
    iterations: int,
    influence: float,
    beta: Rule,
    ties: str,
    jobs: int,
    costs: Any,
) -> Iterator[Trained]:
    """The policies after each further iteration, until they are done; changes ``trained``.

    The settings are those of ``Searn``, checked. Training ends after so many iterations, or once
    the optimal policy's probability is at most ``influence``, unless it was dropped at once
    (beta = 1, policy iteration).
    """
    while len(trained.reports) < iterations:
        if trained.reports and 0 < trained.policy.optimal <= influence:
            break  # the optimal policy has lost its influence, little by little
        began, number = time.perf_counter(), len(trained.reports)
        seed = int(np.random.SeedSequence((trained.seed, number)).generate_state(1, np.uint64)[0])
        policy = trained.policy
        seen = roll_in(space, policy, examples, seed, ties, costs)
        progress(number + 0.5)
        assert policy.folds is not None
        last = number + 1 == iterations  # nothing more is rolled in then
        folds = int(policy.folds.max()) + 1 if policy.folds.any() and not last else 0
        models = _learned(learner, seen.decisions, policy.folds[seen.owners], folds, jobs, seed)
        weight = beta(policy, models)
        if weight == 0:
            break
        trained.policy = interpolated(policy, weight, models)
        report = {
            "beta": weight,
            "optimal": trained.policy.optimal,
            "loss": float(seen.losses.mean()),
            "decisions": float(len(seen.decisions)),
            "seconds": time.perf_counter() - began,
        }
        trained.reports.append(report)
        progress(number + 1)
        yield trained


def _learned(
    learner: Any, given: Decisions, own: Ints, folds: int, jobs: int, seed: int
) -> list[Any]:
    """The model of each fold, learned from the other folds, and that of all examples at the end."""

    def one(fold: int) -> Any:
        part = given.taken(np.flatnonzero(own != fold)) if fold >= 0 else given
        return learner.learn(part, (seed + fold + 2) % 2**63)

    with ThreadPoolExecutor(jobs) as pool:
        return list((map if jobs == 1 else pool.map)(one, (*range(folds), -1)))


def fingerprint(parameters: dict[str, Any], sentences: Any, ys: Any) -> str:
    """A hash of parameters, features and labels; an InputError for spaces of one's own."""
    if not isinstance(sentences, HashedSentences):
        must = "checkpoint is for spaces over labels, whose examples can be compared"
        raise InputError(message("Searn", must, None, "Leave checkpoint out"))
    matrix, chunks = sentences.matrix, sentences.segments
    parts = [matrix.data, matrix.indices, sentences.starts, sentences.crossed]
    if isinstance(chunks, SegmentFeatures):
        parts += [chunks.firsts, chunks.lasts, chunks.within]
    found = blake2b(repr(sorted(parameters.items())).encode(), digest_size=16)
    for part in parts:
        found.update(np.ascontiguousarray(part).tobytes())
    found.update(repr(ys).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def read_checkpoint(path: str | None, mark: str) -> Trained | None:
    """What is in a file, which must be of the same parameters and data; None for no file."""
    if path is None or not Path(path).exists():
        return None
    found = load(path)
    same = isinstance(found, Trained) and found.fingerprint == mark
    if not same or as_whole(found.seed, 0) is None:
        must = f"the checkpoint {path} must be of the same parameters and data"
        raise InputError(message("Searn", must, None, "Remove it to train anew"))
    return found  # type: ignore[no-any-return]


@contextmanager
def progress_bar(iterations: int) -> Iterator[Progress]:
    """What moves a bar on the terminal; nothing is shown where there is none."""
    from rich.console import Console
    from rich.progress import Progress

    screen = Console(stderr=True)
    with Progress(console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("iterations", total=iterations)
        yield lambda done: bar.update(task, completed=done)
