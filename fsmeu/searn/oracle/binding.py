"""The loss of an oracle over its labels."""

from __future__ import annotations

from typing import Any

from fsmeu.errors import InputError, sentence
from fsmeu.fst.alphabet import as_alphabet
from fsmeu.losses.protocol import Loss, check_loss

__all__ = ["bound_to"]


def bound_to(loss: Loss, labels: Any, where: str) -> Loss:
    """The loss over these labels, or over its own where None are given.

    Raises:
        InputError: it is no loss, or has other labels of its own.
    """
    check_loss(loss, where)
    if labels is None:
        return loss
    alphabet = as_alphabet(labels)
    if getattr(loss, "labels_open", False):
        return loss.with_labels(alphabet)
    if loss.alphabet.labels != alphabet.labels:
        must = f"{loss.kind} {loss.name} has labels of its own"
        raise InputError(sentence(where, must, labels, "Leave labels out"))
    return loss
