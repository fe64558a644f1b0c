"""Vine growth and sentence extraction as search spaces for ``Searn`` (Daumé et al. 2009, 6.2).

An example is a ``Collection``, its output a list of words, and its gold output the references. The
search-based policy of section 6.2.3 tells what an action costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from fsmeu.errors import check_int, one_of
from fsmeu.learning.saving import register
from searn.beam_policy import action_costs, best_completion
from searn.collection import Collection
from searn.growth import Growth, State, actions, extraction, step, summary, vine_growth
from searn.matches import Matches, matches_of
from searn.rouge import rouge
from searn.vine_features import UnitFeatures, action_features, unit_features

__all__ = ["GrowingSummary", "SummaryState"]

UNITS = {"word": vine_growth, "sentence": extraction}
References = Sequence[Sequence[str]]


@dataclass(frozen=True)
class SummaryState:
    """A partial summary.

    Attributes:
        added: the units added so far.
        growth: the collection with its units.
        known: features of units.
        tables: the matches against references, once they are asked for.
    """

    added: State
    growth: Growth = field(compare=False, repr=False)
    known: UnitFeatures = field(compare=False, repr=False)
    tables: dict[str, Matches] = field(compare=False, repr=False)

    def matches(self, references: References) -> Matches:
        """The matches against these references, which are the same for all states of a search."""
        if "held" not in self.tables:
            texts = tuple(tuple(one) for one in references)
            self.tables["held"] = matches_of(replace(self.growth.collection, references=texts))
        return self.tables["held"]


@register
class GrowingSummary(BaseEstimator):  # type: ignore[misc]
    """A space in which summaries grow unit by unit; the loss is 1 - ROUGE-2.

    Args:
        limit: the greatest number of words in a summary.
        unit: "word" for vine growth, "sentence" for sentence extraction.
        width: the beam of the search that stands for the optimal policy.
    """

    def __init__(self, limit: int = 15, *, unit: str = "word", width: int = 20) -> None:
        self.limit = limit
        self.unit = unit
        self.width = width

    def start(self, x: Collection) -> SummaryState:
        """The empty summary of a collection."""
        name = one_of(type(self).__name__, "unit", self.unit, UNITS)
        growth = UNITS[name](x, self.limit)
        return SummaryState((), growth, unit_features(growth), {})

    def actions(self, state: SummaryState) -> list[int]:
        """The units that may be added; none where the summary is finished."""
        return actions(state.growth, state.added)

    def step(self, state: SummaryState, action: int) -> SummaryState:
        """The summary with one more unit."""
        return replace(state, added=step(state.added, action))

    def features(self, state: SummaryState, action: int) -> dict[str, float]:
        """The features of adding a unit."""
        return action_features(state.growth, state.known, state.added, [action])[0]

    def output(self, state: SummaryState) -> list[str]:
        """The words of the summary."""
        return summary(state.growth, state.added)

    def costs(self, state: SummaryState, y: References) -> NDArray[np.float64]:
        """What each action costs, (actions,), the least of them 0."""
        width = check_int(type(self).__name__, "width", self.width)
        return action_costs(state.growth, state.matches(y), state.added, width)[1]

    def value(self, state: SummaryState, y: References) -> float:
        """The least loss that a beam search from a state finds; its own where it is finished."""
        width = check_int(type(self).__name__, "width", self.width)
        best = best_completion(state.growth, state.matches(y), state.added, width)
        return self.loss(summary(state.growth, best), y)

    def loss(self, output: Sequence[str], y: References) -> float:
        """The loss of a finished summary, 1 - ROUGE-2."""
        return 1.0 - rouge(list(output), y)
