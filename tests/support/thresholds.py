"""Sizes from which queries are answered in other ways, set so low that short sequences are, too."""

from fsmeu.decoding import chain_ratios, ratios, split
from fsmeu.decoding import corpus as corpus_decisions
from fsmeu.expectation import composition, corpus, long_sequences
from fsmeu.fst import regex
from fsmeu.losses.machine import view
from fsmeu.losses.semantics import walk as registers
from fsmeu.models import potentials
from fsmeu.trellis import independent_search, walk

LOWEST = [
    *((user, "LONG_SEQUENCE", 2) for user in (long_sequences, corpus, corpus_decisions)),
    *((user, "LONG_CHAIN", 2) for user in (long_sequences, chain_ratios)),
    (ratios, "FEWEST_FOR_NODES", 0),  # no tables of all counts
    (ratios, "SHORT", 1),  # bounds on blocks of numbers of ones
    (independent_search, "_FEW", 1),
    (split, "COUNTED_AT_ONCE", 0),  # windows of counts
    (composition, "MUCH_TO_REMEMBER", 0),  # sums over windows that are not remembered
    (view, "_SMALL_CORE", 0),  # merging of what z leaves alike
    (view, "_WORTH_MERGING", 0.0),
    (registers, "_MANY_PAIRS", 1),  # pairs, and hypotheses, that are walked over as arrays
    (walk, "MOST_DENSE_STEPS", 0),  # reached states alone
    (walk, "SMALL_SPACE", 4),  # spaces that are walked state by state
    (potentials, "_NORMALISED_CELLS", 1),  # blocks of chains
    (regex, "_FEW_STATES", 1),
]


def lower_thresholds(monkeypatch):
    """Has queries of every size go the ways of large ones."""
    for user, name, value in LOWEST:
        monkeypatch.setattr(user, name, value)
