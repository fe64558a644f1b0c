"""What may stand for a model in a function call."""

from __future__ import annotations

from fsmeu.errors import InputError, sentence
from fsmeu.models.base import Model
from fsmeu.models.checks import real_array
from fsmeu.models.independent import Bernoulli, Independent

__all__ = ["as_model"]


def as_model(value: object) -> Model:
    """The model that the value stands for.

    A model stands for itself, a list of probabilities for ``Bernoulli``, a table of probabilities
    whose rows sum to 1 for ``Independent``.
    """
    if isinstance(value, Model):
        return value
    array = real_array(value, "model")  # type: ignore[arg-type]
    if array.ndim == 1:
        return Bernoulli(value)  # type: ignore[arg-type]
    if array.ndim == 2:
        return Independent(value)  # type: ignore[arg-type]
    must = (
        "must be a label model, a list of probabilities, or a table of them, one row per position"
    )
    raise InputError(sentence("model", must, f"an array of shape {array.shape}"))
