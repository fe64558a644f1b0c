"""The loss that an estimator is told to learn for: a name, the path of a file, or a loss."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from fsmeu.errors import InputError, sentence
from fsmeu.losses.library import load
from fsmeu.losses.protocol import Loss, check_loss

__all__ = ["given_loss"]


def given_loss(loss: Any, params: Any, where: str, labels: Any = None) -> Loss:
    """The loss that was asked for.

    Args:
        loss: a name on the shelf, the path of a loss file, or a loss.
        params: parameters of the loss by name, or None; for names and paths.
        where: the estimator, for messages.
        labels: the labels of both tapes, where the file leaves them open.

    Raises:
        InputError: there is no such loss, or a parameter does not suit it.
    """
    if params is not None and not (
        isinstance(params, Mapping) and all(isinstance(name, str) for name in params)
    ):
        must = "loss_params must be a dictionary of the parameters of the loss"
        raise InputError(sentence(where, must, params))
    if isinstance(loss, str | PathLike):
        return load(str(loss), labels=labels, **(params or {}))
    check_loss(loss, where)
    if params:
        must = "loss_params may be given with the name or the path of a loss only"
        raise InputError(sentence(where, must, dict(params)))
    return loss  # type: ignore[no-any-return]
