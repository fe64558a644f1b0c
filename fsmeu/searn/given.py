"""The space and the learner that are given to ``Searn``, by name or as objects."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin

from fsmeu.errors import InputError, one_of, sentence
from fsmeu.searn.learners.logistic import Logistic
from fsmeu.searn.learners.perceptron import AveragedPerceptron
from fsmeu.searn.learners.reductions import (
    AllPairs,
    CostRegression,
    Multiclass,
    OneAgainstAll,
)
from fsmeu.searn.spaces.chunks import ChunkAtATime
from fsmeu.searn.spaces.joint import Alternating
from fsmeu.searn.spaces.one_by_one import OneByOne, is_own_space
from fsmeu.searn.spaces.tagging import LeftToRight, RightToLeft, WordAtATime

__all__ = ["LEARNERS", "SPACES", "given_learner", "given_space"]

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
    """The space that was asked for.

    Raises:
        InputError: there is no such space.
    """
    if isinstance(value, str):
        return SPACES[one_of(where, "space", value, SPACES)]()
    if not isinstance(value, type) and is_own_space(value):
        return OneByOne(value)
    return _checked(value, SPACES, where, "space", "task")


def given_learner(value: Any, where: str) -> Any:
    """The learner that was asked for; a classifier of scikit-learn learns classes of least cost.

    Raises:
        InputError: there is no such learner.
    """
    if isinstance(value, str):
        return LEARNERS[one_of(where, "learner", value, LEARNERS)]()
    if isinstance(value, ClassifierMixin) and not hasattr(value, "learn"):
        return Multiclass(value)
    return _checked(value, LEARNERS, where, "learner", "learn")


def _checked(value: Any, known: dict[str, Any], where: str, name: str, method: str) -> Any:
    if not isinstance(value, type) and hasattr(value, method):
        return value
    must = f"{name} must be one of {', '.join(known)}, or an object with {method}"
    raise InputError(sentence(where, must, value))
