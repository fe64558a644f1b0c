"""The iterations of SEARN (Figure 1 of the paper): roll in, learn, interpolate."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.searn.betas import Chooser
from fsmeu.searn.learners.protocol import CostSensitiveLearner, CostSensitiveModel, Decisions
from fsmeu.searn.policies.mixture import Mixture, interpolated
from fsmeu.searn.roll_in import roll_in
from fsmeu.searn.spaces.protocol import Search

__all__ = ["Progress", "Settings", "Trained", "fold_numbers", "train"]

Ints = NDArray[np.int64]


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
        costs: how costs are found, see ``roll_out``; None with the optimal policy from there on.
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
