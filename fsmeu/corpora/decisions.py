"""What label models decide, in several ways, for many of them at once."""

from __future__ import annotations

from collections.abc import Sequence

from fsmeu.decoding.decode_many import decode_many
from fsmeu.errors import InputError, sentence
from fsmeu.fst.alphabet import Label
from fsmeu.losses.loss import SpecLoss
from fsmeu.models import Model
from fsmeu.models.base import marginals_many, prepare_many

__all__ = ["CORPUS", "WAYS", "decisions_of", "named"]

CORPUS = "corpus"
WAYS = ("viterbi", "marginal", "meu", CORPUS)
"""The most probable sequence; the most probable label of each position; the best expected value of
each sentence; that of the corpus, for which all models must be known."""

Decided = list[list[Label]]


def decisions_of(
    models: Sequence[Model], ways: Sequence[str], losses: Sequence[tuple[str, SpecLoss]]
) -> dict[str, Decided]:
    """The decisions for each model, by the name of how they are made.

    Args:
        models: label models.
        ways: some of ``WAYS``; what is decided for the corpus is left out.
        losses: names and losses; there is a decision "meu" for each of them.
    """
    found: dict[str, Decided] = {}
    prepare_many(models)
    for way in ways:
        if way == "viterbi":
            found[way] = [_most_probable(model) for model in models]
        elif way == "marginal":
            found[way] = _marginal(models)
        elif way == "meu":
            for name, loss in losses:
                decided = decode_many(loss, models)
                found[named("meu", name, len(losses))] = [one.labels for one in decided]
    return found


def named(way: str, loss: str, losses: int) -> str:
    """What the decision for a loss is called: one of several is named after its loss."""
    return way if losses == 1 else f"{way} {loss}"


def _most_probable(model: Model) -> list[Label]:
    best = model.most_probable(1)
    if not best:
        raise InputError(sentence("model", "some sequence must have positive probability"))
    return best[0][0]


def _marginal(models: Sequence[Model]) -> Decided:
    """The most probable label of each position; the first of several."""
    groups: dict[tuple[int, int], list[int]] = {}
    for row, model in enumerate(models):
        groups.setdefault((model.n, len(model.labels)), []).append(row)
    found: Decided = [[] for _ in models]
    for rows in groups.values():
        chances = marginals_many([models[row] for row in rows])
        for row, best in zip(rows, chances.argmax(axis=2), strict=True):
            found[row] = [models[row].labels[k] for k in best]
    return found
