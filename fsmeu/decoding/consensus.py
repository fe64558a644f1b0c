"""``consensus``: the answer with the best expected value against samples of it.

Samples are drawn from what they are to answer, so that their mean score against an answer estimates
its expected score. Majority, union and intersection of samples maximise none but those of single
labels; the best of the samples (minimum Bayes risk among candidates) is one that was drawn. Here
every answer is a candidate (``fsmeu.models.from_samples`` makes the model, ``decode`` decides).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

from numpy.typing import ArrayLike

from fsmeu.decoding.decision import Decision
from fsmeu.decoding.decode import decode
from fsmeu.errors import InputError, shorten
from fsmeu.fst.alphabet import BINARY
from fsmeu.fst.tags import SCHEMES
from fsmeu.losses.protocol import Loss, LossLike, as_loss, takes_loss
from fsmeu.models.samples import Samples, read_samples

Answer = TypeVar("Answer")


class SampleDecision(NamedTuple):
    """A decision for samples."""

    answer: Any  # in their own type
    decision: Decision  # over their labels


@takes_loss
def consensus(
    samples: Iterable[Answer],
    loss: LossLike,
    weights: ArrayLike | None = None,
    smooth: float | None = None,
) -> Answer:
    """The answer with the highest expected utility against samples, of the type of the first.

    It is the best of all answers, not of the samples alone, wherever ``decode`` is exact: for
    F-scores of labels and chunks and for losses of single labels it is. For Jaccard indices of many
    labels it is searched for: the set of the greatest mean Jaccard index is NP-hard to find
    (Chierichetti, Kumar, Pandey and Vassilvitskii 2010). How good it is, and whether that is
    proven, says ``fsmeu.decode(loss, fsmeu.models.from_samples(samples))``.

    Args:
        samples: label sequences of one length (a text has a label for each character), or sets of
            labels, which may be any hashables. With a loss over chunk tags, sequences of tags, or
            sets of spans (start, end, type), where ``end`` is the position after the last; answers
            are then well formed.
        loss: a loss or utility, or its name or path as ``load`` takes it. For sets of labels, one
            over 0 and 1 (such as "fscore"), or one that leaves its labels open.
        weights: one number per sample, at least 0; they need not sum to 1. Equal ones unless given.
        smooth: the share, from 0 to 1, of a model of independent labels with the same marginals,
            which is mixed in: few samples say little about what goes together. None is 0.

    Raises:
        InputError: a sample, a weight or the loss does not fit; the message says which.

    >>> sorted(consensus([{"cat", "dog"}, {"cat"}, {"cat", "mouse"}], "fscore"))
    ['cat']
    >>> consensus(["0110", "0100", "0011"], "fscore")
    '0110'
    """
    answer: Answer = decide_samples(samples, loss, weights, smooth).answer
    return answer


def decide_samples(
    samples: Iterable[Any],
    loss: LossLike,
    weights: ArrayLike | None = None,
    smooth: float | None = None,
    where: str = "consensus",
) -> SampleDecision:
    """The decision behind ``consensus``, whose arguments it takes, and the caller for messages."""
    chosen = as_loss(loss, where)
    alphabet = None if chosen.labels_open else chosen.alphabet
    read = read_samples(samples, where, chosen.scheme, alphabet)
    _check_labels(chosen, read, where)
    limits = SCHEMES[read.scheme]() if read.scheme else None
    decision = decode(chosen, read.model(weights, smooth, where), constraint=limits)
    return SampleDecision(read.answer(decision.labels), decision)


def _check_labels(loss: Loss, samples: Samples, where: str) -> None:
    """Refuses a loss over other labels than 0 and 1 for sets of labels."""
    if loss.labels_open or set(samples.alphabet.labels) == set(loss.alphabet.labels):
        return
    must = "for sets of labels, the loss must be one over 0 and 1"
    got = f"{loss.kind} {loss.name} over {shorten(loss.alphabet.labels)}"
    remedy = "Give fscore or jaccard, for example; or label sequences for this one"
    assert samples.alphabet == BINARY
    raise InputError(where, must, given=got, remedy=remedy)
