"""The best hypotheses for a corpus: those of the greatest expected value of the corpus as a whole.

Counts are summed over sentences, and the value is taken once, as ``evaluate_corpus`` has it. A
ratio of totals is decided by lanes (``decoding/totals.py``); other values, and few labels where
lanes prove nothing, by windows of counts (``decoding/corpus_totals.py``). Where labels
are independent and the value is one of their confusion table, all sentences are one sequence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.decoding.clock import ToldBounds
from fsmeu.decoding.corpus_totals import best_by_windows
from fsmeu.decoding.decision import (
    CorpusDecision,
    ReachedValue,
    bounds_of_best,
    second_look,
)
from fsmeu.decoding.decode import decode
from fsmeu.decoding.documents import LANES
from fsmeu.decoding.explicit_lists import best_corpus_hypotheses
from fsmeu.decoding.problem import Clock
from fsmeu.decoding.split import COUNTING, unmet_condition
from fsmeu.decoding.totals import WHY, Goal, TotalsDecision, best_by_lanes
from fsmeu.errors import InputError, SizeLimitError, one_of
from fsmeu.expectation import corpus as corpora
from fsmeu.expectation.corpus import Corpus, totals_of_corpus
from fsmeu.expectation.expect import ENGINES
from fsmeu.expectation.result import Expectation
from fsmeu.fst.alphabet import Label
from fsmeu.fst.constraint import ConstraintLike
from fsmeu.losses.protocol import LossLike, takes_loss
from fsmeu.models import ModelLike
from fsmeu.parallel import checked_jobs
from fsmeu.progress import Progress, check_progress

_WHY = (
    "the value is linear in what reads both sequences and otherwise looks at one count of each, so "
    "that totals of counts are tried and bounded one by one"
)


@takes_loss
def decode_corpus(
    loss: LossLike,
    models: Iterable[ModelLike],
    *,
    constraint: ConstraintLike | None = None,
    gap: float = 0.0,
    seconds: float | None = None,
    progress: Progress | None = None,
    engine: str = "auto",
    jobs: int = 1,
) -> CorpusDecision:
    """The hypotheses with the best expected value of the corpus, and bounds of the best value.

    Sentences are independent given the model. The loss must be one that ``decode`` decides by
    ``counting`` or ``additive``: the value linear in what reads both sequences, and otherwise
    looking at one count of each. Where labels are independent and of two kinds, it may be any value
    of their confusion table: all sentences are then decided as one sequence.

    Args:
        loss: a loss or utility of a file, or its name or path; its value looks at counts alone.
        models: the label models, one for each sentence; vectors of probabilities stand for
            ``Bernoulli``.
        constraint: a regular expression over labels or an acceptor, which each hypothesis
            satisfies; as for ``decode``, the models stay as they are.
        gap: how far apart the bounds may stay; with 0 they are closed as far as can be. Ratios of
            totals such as F1 are decided by lanes, at once: neither this nor ``seconds`` is looked
            at.
        seconds: after how many seconds no further total is tried; None for as long as it takes.
        progress: called now and then with the share of the first gap between bounds of the best
            value that is closed, and with the bounds as a note (``Progress``).
        engine: "auto" bounds the best value as above; "openfst" composes each sentence with loss
            and model as an explicit machine and values all hypotheses, where there are few, for any
            loss whose value looks at counts alone.
        jobs: how many threads decide by lanes.

    Raises:
        InputError: the loss or the models do not allow such a decision; the message says why.
        SizeLimitError: the corpus is too large.
    """
    if isinstance(gap, bool) or not isinstance(gap, Real) or not 0 <= gap < math.inf:
        raise InputError("decode_corpus", "gap must be a number of at least 0", given=gap)
    told = ToldBounds(check_progress("decode_corpus", progress))
    clock = Clock(seconds, where="decode_corpus")
    threads = checked_jobs("decode_corpus", jobs)
    engine = one_of("decode_corpus", "engine", engine, ENGINES)
    free = corpora.corpus_of(loss, models, "decode_corpus")
    corpus = replace(free, constraint=constraint)
    sign = 1.0 if free.loss.kind == "utility" else -1.0
    if engine == "openfst":
        best = best_corpus_hypotheses(corpus, sign)
        width = corpus.loss.value_range(corpus.n).width
        reached = ReachedValue(best.value, best.reach, 0.0)
        exact = second_look(best.value, reached, width).exact
        reached = reached._replace(exact=exact)
        bounds = bounds_of_best(corpus.loss, corpus.n, reached)
        return CorpusDecision(
            labels=_named(corpus, best.hypotheses),
            value=best.value,
            lower=bounds.lower,
            upper=bounds.upper,
            exact=exact,
            method="exhaustive",
            why="all hypotheses of all sentences were composed and valued",
        )
    clock.over()  # begins here

    def stop(lower: float, upper: float) -> bool:
        told(*sorted((sign * lower, sign * upper)))
        return clock.over()

    decision = _as_one(corpus)
    if decision is None:
        decision = _by_lanes(corpus, threads)
        goal = Goal(free.loss.value_range(free.n).width, float(gap), stop=stop)
        if decision is None:
            return _by_windows(corpus, goal)
        is_short = corpus.n < limits.FEW_COUNTED
        if is_short and not decision.exact and decision.gap > gap:
            with suppress(SizeLimitError):
                other = _by_windows(corpus, goal)
                decision = min(decision, other, key=lambda one: one.gap)
    told(decision.lower, decision.upper, last=True)
    return decision


def _as_one(corpus: Corpus) -> CorpusDecision | None:
    """The decision for all sentences as one sequence; None where they are none.

    An InputError where they are none, and totals do not decide the value either.
    """
    loss = corpus.loss
    unmet = unmet_condition(loss.split)
    model = corpus.as_one() if unmet is not None or corpus.n >= limits.LONG_SEQUENCE else None
    if model is None and unmet is not None:
        remedy = "Decide sentence by sentence with decode_many"
        where = f"decode_corpus, {loss.kind} {loss.name}"
        raise InputError(where, unmet, remedy=remedy)
    if model is None:
        return None
    decision = decode(loss, model)
    ends = np.cumsum([0, *(sentence.n for sentence in corpus.models)]).tolist()
    labels = [decision.labels[begin:end] for begin, end in pairwise(ends)]
    return CorpusDecision(
        labels=labels,
        value=decision.value,
        lower=decision.lower,
        upper=decision.upper,
        exact=decision.exact,
        method=decision.method,
        why=f"all sentences are one sequence of independent labels: {decision.why}",
        candidates=decision.candidates,
    )


def _by_lanes(corpus: Corpus, threads: int) -> CorpusDecision | None:
    """The decision by lanes; None where they do not serve it."""
    width = corpus.loss.value_range(corpus.n).width
    for totals in totals_of_corpus(corpus):
        found = best_by_lanes(totals.problem, width, threads)
        if found is None:
            return None
        order = [row for group in totals.groups for row in group.rows]
        by_row = dict(zip(order, found.labels, strict=True))
        zs = [by_row[row] for row in range(len(by_row))]
        if not totals.reaches_cap(zs):
            again = corpora.expectation_of_totals(corpus, totals, zs)
            assert again is not None
            upper = found.upper + totals.problem.escaped
            found = found._replace(labels=zs, upper=upper)
            return _decision(corpus, found, again, Decider(LANES.name, WHY))
    return None


def _by_windows(corpus: Corpus, goal: Goal) -> CorpusDecision:
    """The decision by windows of counts."""
    sign = 1.0 if corpus.loss.kind == "utility" else -1.0
    found = best_by_windows(corpus, sign, goal)
    again = corpora.linear_expectation(replace(corpus, constraint=None), found.labels)
    return _decision(corpus, found, again, Decider(COUNTING.name, _WHY))


class Decider(NamedTuple):
    """A method, and why what it decides is exact."""

    method: str
    why: str


def _decision(
    corpus: Corpus, found: TotalsDecision, again: Expectation, by: Decider
) -> CorpusDecision:
    """The decision for hypotheses, whose expectation was found ``again``.

    It is exact where others are not better by more than is promised, and the expectation of the
    hypotheses is the value that was found.
    """
    sign = 1.0 if corpus.loss.kind == "utility" else -1.0
    width = corpus.loss.value_range(corpus.n).width
    reach = max(again.upper - again.value, again.value - again.lower)
    gap = found.upper - found.value
    look = second_look(sign * found.value, ReachedValue(again.value, reach, gap), width)
    gap = gap if look.is_same else math.inf
    reached = ReachedValue(again.value, reach, gap, look.exact)
    bounds = bounds_of_best(corpus.loss, corpus.n, reached)
    return CorpusDecision(
        labels=_named(corpus, found.labels),
        value=again.value,
        lower=bounds.lower,
        upper=bounds.upper,
        exact=look.exact,
        method=by.method,
        why=by.why if look.exact else f"{by.why}; but the bounds of the best value are not closed",
        candidates=found.tried,
    )


def _named(corpus: Corpus, hypotheses: Iterable[Any]) -> list[list[Label]]:
    """The labels of the hypotheses of all sentences, from their indices."""
    pairs = zip(corpus.models, hypotheses, strict=True)
    return [model.alphabet.decode(np.asarray(z).tolist()) for model, z in pairs]
