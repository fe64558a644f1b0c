"""Sizes from which queries are answered in other ways, set so low that short sequences are, too."""

from contextlib import contextmanager

from fsmeu.decoding import chain_ratios, lanes, ratios, split
from fsmeu.decoding import corpus as corpus_decisions
from fsmeu.decoding import documents as document_decisions
from fsmeu.expectation import composition, corpus, documents, long_sequences, totals
from fsmeu.fst import regex
from fsmeu.losses.machine import view
from fsmeu.losses.semantics import walk as registers
from fsmeu.models import potentials
from fsmeu.trellis import independent_search, walk

LENGTHS = [
    *((user, "LONG_SEQUENCE", 2) for user in (long_sequences, corpus, corpus_decisions)),
    *((user, "LONG_CHAIN", 2) for user in (long_sequences, chain_ratios)),
    (documents, "DOCUMENT_WORK", 4),
    (corpus, "CAPPED_LENGTH", 2),
    (document_decisions, "LEAST_WORK", 4),
    (lanes, "FEWEST_BESIDE", 0),  # totals whose sums are found at first
    (totals, "CAPS", (1, 2, 3)),  # ages that stop
    (corpus, "FEW_COUNTED", 0),
    (ratios, "FEWEST_FOR_NODES", 0),  # no tables of all counts
    (ratios, "SHORT", 1),  # bounds on blocks of numbers of ones
    (independent_search, "_FEW", 1),
    (split, "COUNTED_AT_ONCE", 0),  # windows of counts
]
"""What long sequences are answered by: generating functions and windows of counts."""
SIZES = [
    (composition, "MUCH_TO_REMEMBER", 0),  # sums over windows that are not remembered
    (view, "_SMALL_CORE", 0),  # merging of what z leaves alike
    (view, "_WORTH_MERGING", 0.0),
    (registers, "_MANY_PAIRS", 1),  # pairs, and hypotheses, that are walked over as arrays
    (walk, "MOST_DENSE_STEPS", 0),  # reached states alone
    (walk, "SMALL_SPACE", 4),  # spaces that are walked state by state
    (potentials, "_NORMALISED_CELLS", 1),  # blocks of chains
    (regex, "_FEW_STATES", 1),
]
"""How much is remembered, merged, and walked over at once."""


@contextmanager
def lowered_thresholds(thresholds):
    """A context in which short sequences, or small machines, go the ways of large ones."""
    before = [(user, name, getattr(user, name)) for user, name, _ in thresholds]
    _set(thresholds)
    try:
        yield
    finally:
        _set(before)


def _set(values):
    for user, name, value in values:
        setattr(user, name, value)
