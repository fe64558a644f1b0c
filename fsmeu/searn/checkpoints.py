"""The state of training in a file, so that training goes on after it was interrupted."""

from __future__ import annotations

import math
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from fsmeu.errors import InputError, as_whole, sentence
from fsmeu.learning.saving import load, register, save
from fsmeu.searn.features.sentences import HashedSentences
from fsmeu.searn.policies.mixture import Mixture
from fsmeu.searn.training import Trained

__all__ = ["Checkpoint", "fingerprint", "read_checkpoint", "trained_of", "write_checkpoint"]


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
    """A hash of parameters, features and labels."""
    found = blake2b(digest_size=16)
    found.update(repr(sorted(parameters.items(), key=lambda item: item[0])).encode())
    matrix = sentences.matrix
    for part in (matrix.data, matrix.indices, sentences.starts, sentences.crossed):
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
