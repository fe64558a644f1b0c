"""Thresholds: which algorithm runs, how much is computed at once and kept, what is too large.

None of them changes what is true of an answer: beyond a threshold another algorithm finds the same
up to rounding, or what is asked for is refused, or what is not proven is searched for less widely.
All are read where they are used, as ``limits.NAME``, so that ``with limits.lowered():`` has short
sequences and small machines go the ways of large ones. What belongs to a proof or to rounding
stands with it. A *cell* is one number of an array, eight bytes; a *step* is what a state does on
one symbol.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

# -- sizes of machines, counted in states, so that FSMEU_MAX_STATES raises all of them -------------
MOST_STATES = 5_000_000  # by default: with four arcs of 24 bytes each they take half a gigabyte
ARCS_PER_STATE = 4  # arcs that count as one state: so many pairs of two labels leave a state
STATES_PER_ARC = 4  # states that an arc of a composed machine counts as: time, no room
STATES_PER_PAIR = 4  # that a pair of labels counts as: a state makes several arrays over all pairs
STATES_PER_LAYER = 50  # that a layer counts as where new ones come without end: it takes as long
CELLS_PER_STATE = 4  # cells that count as one state: one takes less room than a state in a list
STEPS_PER_STATE = 8  # steps of one layer that count as one state: they are gone when the layer is
WALK_STEPS_PER_STATE = 80  # of a whole walk for each state allowed: they take time, but no room
KEPT_CELLS_PER_STATE = 8  # cells over all layers that count as one state: with nothing beside
TABLES_PER_STATE = 200  # tables of counts that count as one state, all valued: time, no room
AMOUNTS_PER_STATE = 2  # amounts of pairs of feature values that count as one state: 120 bytes each
STEP_PAIRS_PER_STATE = 64  # pairs of steps, whose amounts are worked out, that count as one state
ELEMENTS_PER_STATE = 20  # pairs (prefix, state) of determinization for each state allowed
ORACLE_BYTES_PER_STATE = 200  # bytes of tables of cost oracles that count as one state

# -- automata --------------------------------------------------------------------------------------
MOST_ITEMS = 20_000_000  # items of a sequence, so that one without an end is refused
MOST_AMBIGUOUS_PAIRS = 1 << 22  # pairs of states of a layer that one prefix reaches
WIDEST_TABLE = 8  # cells of a table for each number in it; where there are more, sorting is faster
SMALL_TABLE = 1024  # cells of a table that is made whatever is in it
FEWEST_SORTS = 8  # by which states of large machines are told apart
MOST_SORTED_CELLS = 1 << 25  # cells that are sorted for that in all, in about ten seconds
CONSTRAINT_SHARE = 250  # the part of a machine's states that a constraint may have; or composed
FEW_CONSTRAINT_STATES = 1000  # of a constraint that is made once for all lengths
MOST_DETERMINIZING_WORK = 50_000_000  # arcs times states of a determinization: a few seconds
STATES_BEFORE_DETERMINIZING = 10  # times the states of a deterministic acceptor before it is one
MOST_CONSTRAINT_PAIRS = 10_000_000  # pairs of states of two acceptors that are intersected: 1 GB
FEW_EPSILONS = 1000  # that are removed without a look: their square is as many as there may be
MOST_JOINED = 2_000_000  # pairs of states that epsilons join: the arcs of one are the other's then

# -- losses ----------------------------------------------------------------------------------------
MOST_REGISTER_VALUES = 1_000_000  # values of a register by its bounds; a count with more has a pool
MOST_ENTRY_VALUES = 4096  # values of an entry of a memory
KEPT_LENGTHS = 256  # lengths of a loss that are kept: a corpus has sentences of a hundred or so
MANY_PAIRS = 100  # pairs from which a walk over arrays is faster than one by one
KEPT_PAIR_STEPS = 1 << 16  # steps between states that are kept for the next pairs: 30 MB
EVALUATED_CELLS = 1 << 20  # labels of pairs that are walked over together: 8 MB an array
POOL_SIZE = 1 << 20  # real values of a count that are told apart: several counts fit in one number
SMALL_POOL = 1 << 4  # the least of that, where many counts share the bits of a number
DENSE_SPACE = 2048  # states that arrays span whatever is reached of them: this is always cheap
LARGEST_DENSE_SPACE = 1 << 22  # states that arrays span where most are reached: 32 MB a quantity
SPARED_SPACE = 4  # times what is reached that such a space may be: lists cost more
STEPS_AT_ONCE = 1 << 20  # steps that are taken at once: 8 MB an array
KEPT_STEPS = 1 << 22  # states, for all positions that differ, whose steps a walk keeps
LAYERS_BEFORE_GUARD = 1000  # layers after which new states come from counts, until the end
STEPS_BEFORE_GUARD = 100_000  # steps of states after which the same holds
MOST_MERGED_CELLS = 1 << 24  # cells of steps that merging looks at: 128 MB
MOST_MERGED_VALUES = 1 << 16  # values of a register up to which they are merged
LARGEST_MERGED_DOMAIN = 1 << 23  # values by the bounds of such a register, one cell each: 64 MB
SMALL_CORE = 64  # values, of what may be merged given z and beside it, below which none is
WORTH_MERGING = 2.0  # the factor by which layers must get smaller to be walked
LONGEST_WINDOWED = 50_000  # length up to which windows are sought: each is worked out before
MOST_WINDOW_GAINS = 10_000  # amounts of windows that differ, each worked out by itself in Python

# -- label models ----------------------------------------------------------------------------------
MOST_ARCS = 20_000_000  # arcs of a model, by default (FSMEU_MAX_ARCS): 640 MB, 32 bytes each
SHARED_ARCS = 1 << 16  # arcs of a transition table whose targets chains of a size share: 1.5 MB
NORMALISED_CELLS = 1 << 18  # potentials of a block of models that are normalised together: 2 MB
FITTED_AT_ONCE = 256  # models that are held at a temperature at once: some 30 MB
MOST_PREFIXES = 200_000  # that are extended where a sequence has many paths
MOST_SAMPLE_ARCS = 1 << 22  # of a list in which each sample is a path of its own
MOST_SAMPLE_TAG_ARCS = 1 << 18  # the same of chunk tags, times the number of types
MOST_LISTED = 1 << 16  # sequences, or paths of a model, that ``fsmeu.testing`` lists

# -- trellises -------------------------------------------------------------------------------------
MOST_TRELLISES = 4  # trellises kept on a loss, the last used: each has the arcs of all positions
SMALL_WORK = 20_000  # products and sums of a query up to which Python is taken: some 25 ms
ALWAYS_PLAIN = -1  # products and sums up to which Python is taken even where loops are loaded
PLAIN_QUERIES = 40  # queries of that size that Python is taken for: what loading the loops costs
AMOUNTS_AT_ONCE = 1 << 20  # amounts of pairs of feature values that are evaluated at once: 8 MB
PLAIN_PAIRS = 1 << 22  # pairs of feature values up to which amounts are kept as they are: 0.5 GB
STEPS_AHEAD = 1 << 20  # steps of a trellis that are computed at once
SMALL_SPACE = 4096  # states of a space that are walked all at once, for many sentences, not merged
MOST_DENSE_STEPS = 1 << 25  # steps, or masses of a layer, past which reached states alone are met
BATCHED_CELLS = 4_000_000  # cells that a block of sequences walked in one call holds: 32 MB

# -- long sequences, documents and corpora ---------------------------------------------------------
LONG_CHAIN = 240  # labels of a chain of two labels from which rules serve, not exact counts
LONG_SEQUENCE = 300  # labels from which rules or windows of counts serve, not exact counts
SHORT_RULE = 4000  # labels up to which all k are valued, by a rule for every row of this length
LONGEST_TABLED = 300  # labels up to which all tables are asked what one more true positive does
LONGEST_RANKED = 2000  # labels up to which distributions of counts of all k are held: 64 MB
FEW_NUMBERS = 2048  # numbers of ones that are valued rather than bounded
COARSE_BLOCKS = 1024  # blocks of numbers of ones that are bounded at once
WINDOW_CELLS = 1 << 20  # cells of a table of inverse denominators that is made at once: 8 MB
MUCH_TO_REMEMBER = 64  # contents of a window from which windows are summed; fewer are states
MOST_LEVEL_CELLS = 20_000_000  # tables of counts whose values are listed: 1 GB while sorted
# Lanes are faster than counts where a sweep by counts takes so many sums; and where the squared
# length times (a power of) the labels but one is so much, whatever the loss.
SWEEP_WORK = 30_000_000  # sums, for an expectation
DOCUMENT_WORK = 400_000  # squared length times labels, for an expectation
SWEEP_DECISION_WORK = 10_000_000  # sums, for a decision
LANE_DECISION_WORK = 68_000  # squared length times a power of labels, for a decision
POWER_OF_LABELS = 0.62  # that power
CAPS = (24, 48, 96, 256, 768)  # where ages of a document stop: the first that is enough
MOST_TOTALS = 1 << 26  # of counts of hypotheses, or of references, that are looked at
WEIGHTS_AT_ONCE = 1 << 22  # weights of models whose sentences are computed together: 32 MB
MOST_CORPUS_TABLE = 4_000_000  # tuples of totals of a corpus whose distribution is tabled: 32 MB
MOST_TABLED_LABELS = 5_000  # labels of a corpus that are walked for it, some 10 seconds
FEW_WALKED = 16  # sentences after which the table is projected to the whole corpus
FEW_COUNTED = 256  # the greatest count below which windows are as exact as lanes, and faster
CAPPED_LENGTH = 128  # labels of the longest sentence from which on ages stop at a cap
DRAWN_CELLS = 1 << 22  # sentences of the corpora that are drawn at once: 64 MB

# -- decisions -------------------------------------------------------------------------------------
CANDIDATES = 65_536  # the budget of a decision by default, in candidates: all binary ones of 16
# What counts as one candidate of a budget, so that by default it is spent in some ten seconds.
STEPS_PER_CANDIDATE = 1 << 11  # steps, for each state of the model, of what is walked by layers
SUMS_PER_CANDIDATE = 1 << 19  # sums and products of compiled loops
EXPLICIT_PER_CANDIDATE = 4  # pairs of positions of a hypothesis that is composed as a machine
ARCS_PER_CANDIDATE = 1 << 8  # arcs of an explicit machine that is searched
SUMS_PER_SECOND = 3e9  # of compiled loops, where the time of a decision is limited
CHEAP_STATES = 2_000_000  # states that may be visited to value a decision once more, another way
SHORT_PAIRS = 300_000  # pairs of sequences whose values are held against the declared range
FEW_SEQUENCES = 4096  # sequences of which "auto" compares all: slower than a search, but proven
COUNTED_AT_ONCE = 128  # positions up to which one table holds all counts; then windows are faster
RANKED_CELLS = 4_000_000  # values of candidates that are computed at once: 32 MB
ZERO_ONE_STATES = 20_000  # states walked to see whether only equality counts: such losses have few
ZERO_ONE_TRIAL = 3  # the length walked first: most losses show another value there already
LARGEST_BLOCK = 1024  # sequences that are valued between two looks at the clock
LIST_LENGTH = 100  # sequences of an n-best list
SEARCH_STARTS = 4  # most probable sequences that a search climbs from, beside other starts
CLIMB_STEPS = 100  # changes of one label in a climb, so that tiny gains come to an end
CACHED_STEPS = 1 << 24  # cells of steps cached between two passes over single changes: 128 MB
DECISIONS_AT_ONCE = 64  # decisions after which progress is told
MOST_SCORES = 1 << 27  # scores of lanes that are kept: 1 GB
SCORES_AT_ONCE = 1 << 20  # scores of steps computed at once: 8 MB for each lane
TRIED_IN_VAIN = 3  # numbers that are tried and not excluded themselves, as bounds are too wide
MOST_TRIES = 64  # numbers that are tried where a bound leaves several; mostly five
MOST_PRICES = 12  # pairs of prices that are tried to find the best of all counts
EXACT_SUMS = 1 << 26  # sums of scores up to which those of all totals are exact: .1 s
CORPUS_SCORE_CELLS = 1 << 26  # scores of all steps, times powers of a count: half a gigabyte
CORPUS_WINDOW_CELLS = 1 << 26  # cells of the counts of all sentences but one, for each: 512 MB
CORPUS_VALUES = 1 << 31  # pairs of totals of both sides that are valued, block by block: a minute

# -- learning and SEARN ----------------------------------------------------------------------------
ONLINE_WEIGHTS = 1 << 27  # classifiers times features: 1 GB, and as much for the mean of weights
FIRST_HORIZON = 1024  # examples of the first stage of learning online
CONFUSION_CELLS = 1 << 26  # confusion tables of a batch trained on as a whole: 512 MB of values
ROWS_AT_ONCE = 4096  # rows that are looked at together
LEAST_TRELLIS_LENGTH = 128  # of the trellis of shorter sequences, or a greater power of 2
KEPT_ORACLE_CELLS = 1 << 24  # cells of layers cached on a loss for its next cost oracles: 128 MB
MOST_ORACLE_AMOUNT = 1 << 20  # whole amounts up to which costs are counted in whole numbers
ORACLE_LENGTH_STEP = 32  # lengths whose steps are computed together: most sentences are shorter
KEPT_PREFIXES = 1 << 14  # prefixes whose decisions are kept
MOST_LABEL_CELLS = 1 << 28  # labels of the sentences of a search, as long as the longest: 1 GB

# -- files, processes, PyTorch ---------------------------------------------------------------------
MOST_BYTES = 1 << 29  # of a file, by default: twice as much, while computed with, is everywhere
RECORDS_AT_ONCE = 256  # records decided together: fast, and what a killed run computes again
RECORD_BYTES = 1 << 26  # bytes of one record: 100,000 positions of 23 labels with all digits
BLOCK_BYTES = 1 << 24  # bytes after which a block of records ends early
MOST_JOBS = 1024  # processes on one machine: each has its own Python, about 150 MB
SCHEDULER_SECONDS: float = 10  # to wait for a scheduler to answer: it is there, or it is not
TORCH_STEPS = 1 << 23  # steps of pairs of memories: 64 MB
TORCH_LAYERS = 512  # steps after which a memory may be met for the first time
TORCH_CELLS = 1 << 25  # cells of the matrices of all kinds of steps: 256 MB
TORCH_SETS = 4000  # states of y
TORCH_COUNTED = 64  # items counted in one step
TORCH_NUMBERS = 1 << 28  # of a table (B, n, Q): 2 GB of doubles; batches are cut in parts of that
TORCH_LANES = 2048  # lanes of roots of unity
TORCH_GAUSS_NODES = 40  # nodes of Gauss's rule: more take long to find for every sentence

# -- what tests lower ------------------------------------------------------------------------------
LONG: dict[str, Any] = {
    "LONG_SEQUENCE": 2,
    "LONG_CHAIN": 2,
    "DOCUMENT_WORK": 4,
    "LANE_DECISION_WORK": 4,
    "CAPPED_LENGTH": 2,
    "CAPS": (1, 2, 3),  # ages that stop
    "FEW_COUNTED": 0,
    "SHORT_RULE": 1,  # bounds on blocks of numbers of ones
    "FEW_NUMBERS": 1,
    "COUNTED_AT_ONCE": 0,  # windows of counts
}
"""Values at which short sequences are answered as long ones: by lanes, rules and windows."""
LARGE: dict[str, Any] = {
    "MUCH_TO_REMEMBER": 0,  # sums over windows that are not remembered
    "SMALL_CORE": 0,  # merging of what z leaves alike
    "WORTH_MERGING": 0.0,
    "MANY_PAIRS": 1,  # pairs, and hypotheses, that are walked over as arrays
    "MOST_DENSE_STEPS": 0,  # reached states alone
    "SMALL_SPACE": 4,  # spaces that are walked state by state
    "NORMALISED_CELLS": 1,  # blocks of chains
    "FEW_CONSTRAINT_STATES": 1,
}
"""Values at which small machines are walked, merged and remembered as large ones."""


@contextmanager
def lowered(*sets: Mapping[str, Any], **values: Any) -> Iterator[None]:
    """A context in which thresholds have the values of these sets; of LONG and LARGE if none is.

    For tests: thresholds are the process's, and other threads see them, too.

    >>> from fsmeu import limits
    >>> with limits.lowered(LONG_CHAIN=2):
    ...     print(limits.LONG_CHAIN)
    2
    """
    here = globals()
    changed = dict[str, Any]()
    for one in sets if sets or values else (LONG, LARGE):
        changed |= one
    changed |= values
    before = {name: here[name] for name in changed}
    here.update(changed)
    try:
        yield
    finally:
        here.update(before)
