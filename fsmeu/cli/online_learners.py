"""Online learners as they are named on the command line: NAME, or NAME:P=V,... ."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

from fsmeu.cli.classifiers import classifiers, made_classifier, parameters
from fsmeu.errors import InputError, one_of, sentence
from fsmeu.learning.online.base import OnlineClassifier

__all__ = ["online_learners"]


def online_learners(
    named: Sequence[str], texts: Iterable[str] | None
) -> dict[str, OnlineClassifier]:
    """The learners, by what was written for each.

    Args:
        named: NAME or NAME:P=V,... of each.
        texts: parameters P=V for every learner that has them.

    Raises:
        InputError: there is no such learner, or no learner has such a parameter.
    """
    known = {n: kind for n, kind in classifiers().items() if issubclass(kind, OnlineClassifier)}
    shared = parameters(texts)
    found: dict[str, OnlineClassifier] = {}
    wanted: set[str] = set()
    for text in named:
        name, _, rest = text.partition(":")
        name = name.strip() or "nothing"
        kind = known[one_of("--classifier", "an online learner", name, known)]
        if text in found:
            raise InputError(sentence("--classifier", "a learner may be given once", text))
        takes = list(inspect.signature(kind).parameters)
        wanted.update(takes)
        common: dict[str, Any] = {key: v for key, v in shared.items() if key in takes}
        own = parameters(rest.split(",") if rest else ())
        found[text] = made_classifier(name, known, common | own)
    for key in shared:
        one_of("--param", "a parameter", key, sorted(wanted))
    return found
