"""Thresholds that several modules share: which algorithm runs, and what is too large.

None of them changes what is true of an answer: beyond a threshold another algorithm finds the same
up to rounding, or what is asked for is refused, or what is not proven is searched for less widely.
A threshold that one module reads stands in that module, and one that belongs to a proof with it.
A *cell* is one number of an array, eight bytes; a *step* is what a state does on one symbol.
"""

# Sizes of machines are counted in states, so that FSMEU_MAX_STATES raises all of them.
ARCS_PER_STATE = 4
"""Arcs that count as one state: so many pairs of two labels leave a state of a loss."""
CELLS_PER_STATE = 4
"""Cells that count as one state: a cell of an array takes less room than a state that is listed."""
STEPS_PER_STATE = 8
"""Steps of one layer that count as one state: they are gone when the layer is."""
KEPT_CELLS_PER_STATE = 8
"""Cells of arrays over all layers that count as one state: plain numbers, with nothing beside."""
TABLES_PER_STATE = 200
"""Tables of counts that count as one state where all are valued: they take time, no room."""
MAX_ARCS = 20_000_000
"""Arcs of a model, by default (FSMEU_MAX_ARCS): 640 MB, as four numbers of eight bytes each."""
MAX_DENSE_ENTRIES = 4_000_000
"""Cells of a model as one array over all positions: 32 MB; arcs of one that a beam values."""
KEPT_STEPS = 1 << 22
"""States, for all positions that differ, whose steps a walk keeps before it forgets them."""
MOST_TRELLISES = 4
"""Trellises that are kept on a loss, the last used: each holds the arcs of all its positions."""
FEW_COUNTED = 256
"""The greatest count of all references below which moments are not tried: it spreads widely."""
CORPUS_SCORE_CELLS = 1 << 26
"""Scores of the steps of all sentences, times powers of a count: half a gigabyte."""
CANDIDATES = 65_536
"""Candidates that methods which try many may value, by default: all binary sequences of 16."""
SECONDS = 10.0
"""Seconds that a decision which is not proven may take, by default: someone may be waiting."""
LONG_SEQUENCE = 1_000
"""Labels from which moments or windows of counts serve; fewer are counted exactly."""
WINDOW_CELLS = 1 << 20
"""Cells of a table of inverse denominators that is made at once: 8 MB."""
CHEAP_STATES = 2_000_000
"""States that a walk may visit in all layers to value a decision once more, by another way."""
