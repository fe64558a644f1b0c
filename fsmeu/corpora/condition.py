"""Models restricted to the sequences that a command line allows, with its words for what fails."""

from __future__ import annotations

import re
from typing import Any

from fsmeu.errors import FsmeuError
from fsmeu.models import Model

__all__ = ["conditioned"]

_WHERE = re.compile(r"(constraint|given)(?=[ :])")


def conditioned(model: Model, constraint: Any) -> Model:
    """The model of P(y | y is allowed); the model itself where there is no constraint.

    Args:
        model: a label model.
        constraint: what ``model.given`` takes, or None.

    Raises:
        FsmeuError: as ``model.given``; the message names the option --given.
    """
    if constraint is None:
        return model
    try:
        return model.given(constraint)
    except FsmeuError as error:
        raise type(error)(_WHERE.sub("--given", str(error), count=1)) from None
