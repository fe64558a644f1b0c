"""Advice of messages in terms of the command line: options where Python has parameters."""

from __future__ import annotations

import re

__all__ = ["as_typed"]

_PHRASES = {
    'Give types=["NP", ...] or labels=["O", "B-NP", "I-NP", ...]': (
        "Give --types NP,VP or --labels O,B-NP,I-NP"
    ),
    'Load it with types=["NP", ...] or labels=["O", "B-NP", ...]': (
        "Add --types NP,VP or --labels O,B-NP,I-NP"
    ),
    "Give labels=... when loading or building": "Give --labels, in the model's words",
    "Give model=..., or labels for z": "Give --probs or --model, or labels after --z",
    "Give n=3, or sequences z and y": "Add --n N, or --z Z and --y Y",
    'method="auto"': "--method auto",
}
_PARAMETER = re.compile(r"Give (\w+)=VALUE")


def as_typed(message: str) -> str:
    """The message with advice for those who type commands.

    >>> as_typed("loss pk: the parameter 'k' has no default. Give k=VALUE.")
    "loss pk: the parameter 'k' has no default. Give --param k=VALUE."
    """
    for phrase, instead in _PHRASES.items():
        message = message.replace(phrase, instead)
    return _PARAMETER.sub(r"Give --param \1=VALUE", message)
