"""What is refused of a state."""

from __future__ import annotations

import numpy as np

from fsmeu.errors import InputError, sentence

__all__ = ["refuse_ended", "refuse_strange"]


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
