"""Whether a loss depends on the order of positions, derived from its text."""

from __future__ import annotations

from fsmeu.losses.language.dependencies import steps
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss

__all__ = ["is_order_free"]


def is_order_free(loss: Loss) -> bool:
    """Whether every register only adds up amounts that z and y at the position alone decide.

    Then the value depends on how often each pair of labels stands in the sequences, and is the
    same for both sequences reversed. The condition is sufficient, not necessary: False says
    nothing. Losses written in Python have no text, and False for it.
    """
    if not isinstance(loss, SpecLoss):
        return False
    names = {register.name for register in loss.spec.registers}
    return all(
        amount is not None and not (read - {own}) & (names | {"i"})
        for own, (amount, read) in steps(loss.spec).items()
    )
