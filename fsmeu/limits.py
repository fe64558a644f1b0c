"""Thresholds that several modules share: which algorithm runs, and what is too large.

None of them changes what is true of an answer: beyond a threshold another algorithm finds the same
up to rounding, or what is asked for is refused, or what is not proven is searched for less widely.
A threshold that one module reads stands in that module, and one that belongs to a proof with it.
A *cell* is one number of an array, eight bytes; a *step* is what a state does on one symbol.
"""

# Sizes of machines are counted in states, so that FSMEU_MAX_STATES raises all of them.
ARCS_PER_STATE = 4  # arcs that count as one state: so many pairs of two labels leave a state
CELLS_PER_STATE = 4  # cells that count as one state: one takes less room than a state in a list
STEPS_PER_STATE = 8  # steps of one layer that count as one state: they are gone when the layer is
KEPT_CELLS_PER_STATE = 8  # cells over all layers that count as one state: with nothing beside
TABLES_PER_STATE = 200  # tables of counts that count as one state, all valued: time, no room
AMOUNTS_PER_STATE = 2  # amounts of pairs of feature values that count as one state: 120 bytes each
KEPT_STEPS = 1 << 22  # states, for all positions that differ, whose steps a walk keeps
MOST_TRELLISES = 4  # trellises kept on a loss, the last used: each has the arcs of all positions
CORPUS_SCORE_CELLS = 1 << 26  # scores of all steps, times powers of a count: half a gigabyte
CANDIDATES = 65_536  # the budget of a decision by default, in candidates: all binary ones of 16
# What counts as one candidate of a budget, so that by default it is spent in some ten seconds.
STEPS_PER_CANDIDATE = 1 << 11  # steps, for each state of the model, of what is walked by layers
SUMS_PER_CANDIDATE = 1 << 19  # sums and products of compiled loops
EXPLICIT_PER_CANDIDATE = 4  # pairs of positions of a hypothesis that is composed as a machine
ARCS_PER_CANDIDATE = 1 << 8  # arcs of an explicit machine that is searched
LONG_CHAIN = 240  # labels of a chain of two labels from which rules serve, not exact counts
LONG_SEQUENCE = 1_000  # labels from which rules or windows of counts serve, not exact counts
WINDOW_CELLS = 1 << 20  # cells of a table of inverse denominators that is made at once: 8 MB
CHEAP_STATES = 2_000_000  # states that may be visited to value a decision once more, another way
