"""What oracles refuse: what is no loss over the labels, what is no state, tables too large."""

from __future__ import annotations

from typing import Any

import numpy as np

from fsmeu.errors import InputError, SizeLimitError, sentence
from fsmeu.expectation.query import bind_labels
from fsmeu.fst.alphabet import as_alphabet
from fsmeu.fst.compose import max_states
from fsmeu.limits import ORACLE_BYTES_PER_STATE
from fsmeu.losses.protocol import Loss, check_loss

__all__ = ["bound_to", "guard_bytes", "refuse_ended", "refuse_strange"]


def bound_to(loss: Loss, labels: Any, where: str) -> Loss:
    """The loss over these labels in this order, or over its own where None are given.

    Raises:
        InputError: it is no loss, or has other labels of its own.
    """
    check_loss(loss, where)
    return loss if labels is None else bind_labels(loss, as_alphabet(labels), where)


def refuse_ended(ended: bool | np.bool_) -> None:
    """Refuses a state after the last position, where a next label is asked for.

    Raises:
        InputError: if so.
    """
    if ended:
        must = "there must be a next position"
        raise InputError(sentence("cost oracle", must, "a state after the last one"))


def refuse_strange(strange: bool | np.bool_, states: object) -> None:
    """Refuses what is no state of the sentence.

    Raises:
        InputError: if so.
    """
    if strange:
        must = "a state must be one that start or step returned for this sentence"
        raise InputError(sentence("cost oracle", must, states))


def guard_bytes(size: int) -> None:
    """Refuses tables of so many bytes, where they are more than the limit.

    Raises:
        SizeLimitError: naming the size, the limit, and how to raise it.
    """
    most = ORACLE_BYTES_PER_STATE * max_states()
    if size > most:
        must = f"the tables of all references may take at most {most:,} bytes, these {size:,}"
        remedy = "Give fewer references at a time, or raise the limit with FSMEU_MAX_STATES"
        raise SizeLimitError(sentence("cost oracle", must, None, remedy))
