"""The best hypotheses for a corpus: those of the greatest expected value of the corpus as a whole.

The value is that of ``evaluate_corpus``: counts are summed over sentences, and the value is taken
once. This is the number that is reported; the hypotheses that are best for it differ from those
that are best sentence by sentence, because a doubtful item is worth as much in a sentence of many
items as in one of few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from fsmeu.arrays import Ints
from fsmeu.decoding.decode import decode
from fsmeu.decoding.explicit import best_corpus_hypotheses
from fsmeu.decoding.precision import PRECISION
from fsmeu.decoding.problem import Clock
from fsmeu.decoding.split import unmet_condition
from fsmeu.errors import InputError, message, one_of
from fsmeu.expectation.corpus import Corpus, corpus_of, linear_expectation
from fsmeu.expectation.expect import ENGINES
from fsmeu.fst.alphabet import Label
from fsmeu.limits import LONG_SEQUENCE
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.domains import declared_range
from fsmeu.models import Model
from fsmeu.parallel import checked_jobs

_CHANGES = 8  # changes of a label, about, that are valued where a gap is to be measured by them


@dataclass(frozen=True, eq=False)
class CorpusDecision:
    """The hypotheses that were decided on for a corpus.

    Attributes:
        labels: a label sequence for each sentence.
        value: the expected value of the corpus with these hypotheses.
        lower: the best expected value of all hypotheses is at least this.
        upper: the best expected value of all hypotheses is at most this.
        exact: True when no hypotheses are better beyond rounding.
        totals: the totals of the hypothesis's count that were decided one by one.
    """

    labels: list[list[Label]]
    value: float
    lower: float
    upper: float
    exact: bool
    totals: int

    @property
    def gap(self) -> float:
        """How far apart the bounds of the best expected value are."""
        return self.upper - self.lower

    def __repr__(self) -> str:
        """Names the number of sentences, the value and what is proven of it."""
        proven = "proven best under the model" if self.exact else f"best within {self.gap:.2g}"
        return f"<decision for {len(self.labels):,} sentences: {self.value:.6g}, {proven}>"


def decode_corpus(
    loss: Loss,
    models: Iterable[Any],
    *,
    constraint: Any = None,
    gap: float = 0.0,
    seconds: float | None = None,
    progress: Callable[[float, float], None] | None = None,
    engine: str = "lattice",
    jobs: int = 1,
) -> CorpusDecision:
    """The hypotheses with the best expected value of the corpus, and bounds of the best value.

    Sentences are independent given the model. The loss must be one that ``decode`` decides by
    ``counting`` or ``additive``: the value linear in what reads both sequences, and otherwise
    looking at one count of each. Where labels are independent and of two kinds, it may be any value
    of their confusion table: all sentences are then decided as one sequence.

    Args:
        loss: a loss or utility of a file, whose value looks at counts alone.
        models: the label models, one for each sentence; vectors of probabilities stand for
            ``Bernoulli``.
        constraint: a regular expression over labels or an acceptor, which each sequence satisfies.
        gap: how far apart the bounds may stay; with 0 they are closed as far as can be. Large
            corpora, whose totals are bounded by moments, are decided at once: neither this nor
            ``seconds`` is looked at.
        seconds: after how many seconds no further total is tried; None for as long as it takes.
        progress: called with lower and upper bound of the best value now and then.
        engine: "lattice" bounds the best value as above; "openfst" composes each sentence with loss
            and model as an explicit machine and values all hypotheses, where there are few, for any
            loss whose value looks at counts alone.
        jobs: how many threads decide large corpora.

    Raises:
        InputError: the loss or the models do not allow such a decision; the message says why.
        SizeLimitError: the corpus is too large.
    """
    if isinstance(gap, bool) or not isinstance(gap, Real) or not 0 <= gap < math.inf:
        raise InputError(message("decode_corpus", "gap must be a number of at least 0", gap))
    if progress is not None and not callable(progress):
        must = "progress must be a function of two bounds"
        raise InputError(message("decode_corpus", must, progress))
    tell = progress or (lambda lower, upper: None)
    clock, threads = Clock(seconds, where="decode_corpus"), checked_jobs("decode_corpus", jobs)
    engine = one_of("decode_corpus", "engine", engine, ENGINES)
    free = corpus_of(loss, models, "decode_corpus")
    corpus = replace(free, constraint=constraint)
    sign = 1.0 if loss.kind == "utility" else -1.0
    if engine == "openfst":
        hypotheses, best = best_corpus_hypotheses(corpus, sign)
        sides = (best.value, best.lower, best.upper, best.exact)
        return CorpusDecision(_named(corpus, hypotheses), *sides, 0)
    unmet = unmet_condition(corpus.loss.split)
    one = corpus.as_one() if unmet is not None or corpus.n >= LONG_SEQUENCE else None
    if one is not None:
        decision = _as_one(corpus, one)
        tell(decision.lower, decision.upper)
        return decision
    if unmet is not None:
        remedy = "Decide sentence by sentence with decode_many"
        raise InputError(message(f"decode_corpus, {loss.kind} {loss.name}", unmet, None, remedy))
    # Loaded here: a command over single sequences does without scipy, which takes a while to load.
    from fsmeu.decoding.corpus_moments import best_by_moments
    from fsmeu.decoding.corpus_search import best_of_corpus

    def stop(lower: float, upper: float) -> bool:
        tell(*sorted((sign * lower, sign * upper)))
        return clock.over()

    clock.over()  # begins here
    large = best_by_moments(corpus, sign, threads)
    found = large or (*best_of_corpus(corpus, sign, float(gap), stop), None)
    decision = _decided(free, *found, sign)
    if large is not None:
        tell(decision.lower, decision.upper)
    return decision


def _as_one(corpus: Corpus, model: Model) -> CorpusDecision:
    """The decision for all sentences as one sequence."""
    found = decode(corpus.loss, model)
    ends = np.cumsum([0, *(one.n for one in corpus.models)]).tolist()
    labels = [found.labels[begin:end] for begin, end in pairwise(ends)]
    sides, value = declared_range(corpus.loss.bound, corpus.n), found.value
    low, high = value - PRECISION * abs(value), value + PRECISION * abs(value)
    if not found.exact:
        low, high = (low, sides[1]) if corpus.loss.kind == "utility" else (sides[0], high)
    return CorpusDecision(labels, value, low, high, found.exact, found.candidates)


def _decided(
    corpus: Corpus,
    chosen: list[Ints],
    upper: float,
    totals: int,
    known: tuple[float, float] | None,
    sign: float,
) -> CorpusDecision:
    """The decision for hypotheses, given a bound on sign times all values; theirs may be known."""
    if known is None:
        found = linear_expectation(corpus, chosen)
        value, low, high = found.value, found.lower, found.upper
    else:
        value, low, high = known[0], known[0] - known[1], known[0] + known[1]
    low, high = (low, max(high, upper)) if sign > 0 else (min(low, -upper), high)
    reach = (high - low) / (2 * PRECISION)
    exact = bool(reach <= abs(value) or reach <= _step(corpus, chosen, value))
    return CorpusDecision(_named(corpus, chosen), value, float(low), float(high), exact, totals)


def _named(corpus: Corpus, hypotheses: Iterable[Any]) -> list[list[Label]]:
    """The labels of the hypotheses of all sentences, from their indices."""
    pairs = zip(corpus.models, hypotheses, strict=True)
    return [model.alphabet.decode(np.asarray(z).tolist()) for model, z in pairs]


def _step(corpus: Corpus, zs: list[Ints], value: float) -> float:
    """What changing one label does to the value in the median: a measure of values next to 0."""
    places = [(row, i) for row, z in enumerate(zs) for i in range(len(z))]
    changes = []
    for row, i in places[:: max(1, len(places) // _CHANGES)]:
        changed = [*zs[:row], zs[row].copy(), *zs[row + 1 :]]
        changed[row][i] = (changed[row][i] + 1) % len(corpus.models[row].alphabet)
        changes.append(abs(linear_expectation(corpus, changed).value - value))
    return float(np.median(changes)) if changes else 0.0
