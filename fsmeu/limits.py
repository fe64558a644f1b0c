"""Thresholds that decide which algorithm runs, how much is done at once, and what is too large.

None of them changes what is true of an answer: beyond a threshold another algorithm finds the same
up to rounding, or what is asked for is refused, or what is not proven is searched for less widely.
Each has its reason with it. What belongs to a proof (tolerances, units of rounding) stands with the
proof, and what a file or an argument may hold stands where it is read.

A *cell* is one number of an array, eight bytes; a *step* is what a state does on one symbol.
"""

# How large machines may get: everything is counted in states, and FSMEU_MAX_STATES raises it all.

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
ELEMENTS_PER_STATE = 20
"""Pairs of a prefix and a state that determinization may list for each state allowed: in a minute.
"""
MAX_ARCS = 20_000_000
"""Arcs of a model, by default (FSMEU_MAX_ARCS): 640 MB, as four numbers of eight bytes each."""

# Models.

MAX_DENSE_ENTRIES = 4_000_000
"""Cells of a model as one array over all positions: 32 MB; arcs of one that a beam values."""

# Walks and trellises.

SMALL_SPACE = 4096
"""States of a space that are walked all at once, for many sentences in one call, and not merged."""
KEPT_STEPS = 1 << 22
"""States, for all positions that differ, whose steps a walk keeps before it forgets them."""
MOST_DENSE_STEPS = 1 << 25
"""Steps of all states of a space at positions that differ, or masses of a layer: 256 MB, past which
only reached states are walked."""
MUCH_TO_REMEMBER = 64
"""Contents of a window from which windows are summed; fewer cost no more as states."""
BATCHED_CELLS = 4_000_000
"""Cells that a block of sequences walked in one call holds: 32 MB."""
LEAST_TRELLIS_LENGTH = 128
"""Length of the trellis that the second length asked for makes, or a power of 2: it serves all
shorter ones, as those of sentences; the first length may be the only one."""
MOST_TRELLISES = 4
"""Trellises that are kept on a loss, the last used: each holds the arcs of all its positions."""
AMOUNTS_AT_ONCE = 1 << 20
"""Amounts of pairs of feature values that are evaluated at once: 8 MB."""
ONLINE_WEIGHTS = 1 << 27
"""Weights of an online learner, classifiers times features: 1 GB, and as much for their mean."""
STREAMED_EXAMPLES = 1 << 15
"""Examples given to an online learner at once: enough for compiled loops, a second by numpy."""

# Corpora as a whole.

FEW_COUNTED = 256
"""The greatest count of all references below which moments are not tried: it spreads widely."""
MOST_CORPUS_TABLE = 4_000_000
"""Tuples of totals of a corpus whose distribution is tabled: 32 MB, several times while summed."""
CORPUS_SCORE_CELLS = 1 << 26
"""Scores of the steps of all sentences, times powers of a count: half a gigabyte."""
SCORES_AT_ONCE = 1 << 20
"""Scores of steps that are computed at once, before those that are negligible are left out: 8 MB
for each power of a count."""
CORPUS_WINDOW_CELLS = 1 << 26
"""Cells of the distributions of the count of all sentences but one, for each: half a gigabyte."""
CORPUS_VALUES = 1 << 31
"""Pairs of totals of both sides that are valued, a block at a time: about a minute."""
CORPUS_EXCHANGES = 2_000_000
"""Exchanges between sentences that are tried to meet a total: a second."""
CORPUS_TOTALS = 64
"""Totals of a hypothesis that are decided one by one: near the best they hardly differ."""

# Decisions.

FEW_SEQUENCES = 4096
"""Sequences up to which "auto" compares all: a few times as long as a search, but proven."""
CANDIDATES = 65_536
"""Candidates that methods which try many may value, by default: all binary sequences of 16."""
SECONDS = 10.0
"""Seconds that a decision which is not proven may take, by default: someone may be waiting."""
LARGEST_DENOMINATOR = 200
"""Sum of a ratio's whole weights: the array of the recurrence is as many times as long as z."""
LONG_SEQUENCE = 1_000
"""Labels from which moments or windows of counts serve; fewer are counted exactly."""
TILTED_CELLS = 1 << 26
"""Numbers of expectations E[y_i exp(-t ref)] that are kept, one for each t and label: 512 MB."""
MOMENT_TRIES = 64
"""Numbers of ones that are tried where a bound leaves several: four or five mostly."""
MOST_LEVEL_CELLS = 20_000_000
"""Tables of counts whose values are listed as a distribution: about 1 GB while they are sorted."""
RANKED_AT_ONCE = 1_000
"""Positions up to which one table holds the counts of all candidates; then windows are faster."""
COUNTED_AT_ONCE = 128
"""The same where positions are counted for values that are linear in true positives."""
WINDOW_CELLS = 1 << 20
"""Cells of a table of inverse denominators that is made at once: 8 MB."""
RANKED_CELLS = 8_000_000
"""Cells of the distributions of counts of sequences that are ranked at once: 64 MB."""
ZERO_ONE_STATES = 20_000
"""States of a machine that is walked to see whether only equality counts: such losses have few."""
ZERO_ONE_TRIAL = 3
"""The length that is walked first: most losses show another value there already."""
DECISIONS_AT_ONCE = 64
"""Decisions after which progress is told."""
CHEAP_STATES = 2_000_000
"""States that a walk may visit in all layers to value a decision once more, by another way."""
BOUNDED_STATES = 200_000
"""States of a layer up to which the greatest value of all pairs is looked for, to bound errors."""
MOST_WALKS = 4096
"""Sequences that are valued once more with all counts as states, where that bound is too wide."""
LARGEST_BLOCK = 1024
"""Sequences that are valued between two looks at the clock."""
LIST_LENGTH = 100
"""Sequences of an n-best list."""
SEARCH_STARTS = 4
"""The most probable sequences that a search climbs from, beside those of the beam and others."""
CLIMB_STEPS = 100
"""Changes of one label in a climb, so that one of many tiny gains comes to an end."""
BEAM_WIDTH = 4
"""Prefixes that a beam keeps: it only has to find starts."""
BEAM_STATES = 1024
"""States of a loss up to which there is a beam: many candidates are then valued at once."""
BEAM_BLOCK = 256
"""Candidates of a beam that are valued between two looks at the clock."""
HELD_STEPS = 1 << 24
"""Cells of steps that are held between the two passes over single changes: 128 MB."""
CONFUSION_CELLS = 1 << 26
"""Confusion tables of a batch that a classifier is trained on as a whole: 512 MB of values."""

# Corpora of search-based prediction.

MOST_LABEL_CELLS = 1 << 28
"""Labels of the sentences of a search, each as long as the longest: a gigabyte."""
MOST_ITERATIONS = 10_000
"""Iterations that are made without having been asked for: each trains a model."""
ORACLE_BYTES_PER_STATE = 200
"""Bytes of the tables of cost oracles that count as one state: a gigabyte by default."""
ORACLE_LENGTH_STEP = 32
"""Lengths of sequences whose steps are found together, rounded up: most sentences are shorter."""
KEPT_ORACLE_CELLS = 1 << 24
"""Cells of the layers that are kept on a loss for its next cost oracles: 128 MB."""

# Corpora and several processes.

MOST_JOBS = 1024
"""Processes on one machine: each has its own Python, about 150 MB."""
TASKS_PER_JOB = 4
"""Tasks for each process that are read ahead: none waits for another that takes a little longer."""
SCHEDULER_SECONDS = 10
"""Seconds to wait for a scheduler to answer: it is there, or it is not."""
RECORDS_AT_ONCE = 256
"""Records of a corpus that are decided together: fast, and what a killed run computes again."""
RECORD_BYTES = 1 << 26
"""Bytes of one record: a hundred thousand positions of 23 labels with all digits take as much."""
BLOCK_BYTES = 1 << 24
"""Bytes after which a block of records ends early, so that a few large ones are not held at once.
"""
MOST_DRAWS = 1_000_000
"""Bootstrap draws: the ends of an interval are then known to a thousandth of its length."""
TRACED_LABELS = 10_000
"""Labels of a pair that is shown step by step: more lines than anyone reads, in two seconds."""
