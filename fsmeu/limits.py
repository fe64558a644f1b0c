"""Thresholds that decide which algorithm runs, how much is done at once, and what is too large.

None of them changes what is true of an answer: beyond a threshold another algorithm finds the same
up to rounding, or what is asked for is refused, or what is not proven is searched for less widely.
Each has its reason with it. What belongs to a proof (tolerances, units of rounding) stands with the
proof, and what a file or an argument may hold stands where it is read.

A *cell* is one number of an array, eight bytes; a *step* is what a state does on one symbol.
"""

# How large machines may get: everything is counted in states, and FSMEU_MAX_STATES raises it all.

MOST_STATES = 5_000_000
"""States of a machine, by default: with four arcs of 24 bytes each they take half a gigabyte."""
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
INVERSES_PER_STATE = 400
"""Inverse denominators of a block of candidates that count as one state: they take time only."""
CUBE_CELLS_PER_STATE = 16
"""Cells of a model's array (state, label, state) that count as one state: one layer is held."""
STATES_PER_PAIR = 4
"""States that a pair of labels counts as: one state alone makes several arrays over all pairs."""
STATES_PER_LAYER = 50
"""States that a layer counts as where new ones come without end: finding it takes as long."""
WALK_STEPS_PER_STATE = 80
"""Steps of a whole walk for each state allowed: they take time, but no room."""
ELEMENTS_PER_STATE = 20
"""Pairs of a prefix and a state that determinization may list for each state allowed: in a minute.
"""
CONSTRAINT_SHARE = 250
"""The part of the states that a constraint may have: it is composed with the model and the loss."""
CONSTRAINT_WORK_PER_STATE = 60
"""Work on a constraint for each state that it may have, so that a hard one is refused early."""
WORK_OF_TERM = 8
"""Work that making one more term of a regular expression counts as; terms are kept."""
WORK_OF_PART = 4
"""Work that a look at one part of a term counts as: cheaper than making one."""
FEW_CONSTRAINT_STATES = 1000
"""States of a constraint for all lengths; one with more is made for the length asked for alone."""
MAX_ARCS = 20_000_000
"""Arcs of a model, by default (FSMEU_MAX_ARCS): 640 MB, as four numbers of eight bytes each."""
MAX_DOMAIN = 1_000_000
"""Values of a register by its bounds; a count with more is numbered as its values are met."""

# What is read.

MOST_INPUT_BYTES = 1 << 29
"""Memory that an input may take, unpacked, by default (FSMEU_MAX_BYTES): twice that while it is
computed with is what every machine has."""

# What is derived of a loss and kept.

MOST_MEMOS = 64
"""Lengths, or sets of labels, for which findings are kept on a loss: as many as sentences have."""
LENGTHS_TRIED = 12
"""Lengths whose tables a report looks at for a true positive that makes things worse."""
POOL_SIZE = 1 << 20
"""Real values of a count that are told apart: few enough for several counts in one number."""
SMALL_POOL = 1 << 4
"""The least of that, where many counts share the bits of a number."""
DENSE_SPACE = 2048
"""States of a space that arrays span whatever is reached of it: this is always cheap."""
LARGEST_DENSE_SPACE = 1 << 22
"""States of a space that arrays span where most of it is reached: 32 MB a quantity."""
SPARED_SPACE = 4
"""How many times what is reached such a space may be: listing states costs more than skipping."""
LONGEST_WINDOWED = 50_000
"""Length up to which a loss is written as a sum over windows: each is worked out beforehand."""
MOST_WINDOW_GAINS = 10_000
"""Amounts of windows that differ, up to which they are worked out: one by one, in Python."""

# How a machine is found and made smaller.

STEPS_AT_ONCE = 1 << 20
"""Steps that are taken at once while states are found: 8 MB an array."""
FEW_FOR_LOOKUP = 4096
"""States up to which a table of all codes costs more than it saves."""
LARGEST_LOOKUP = 1 << 26
"""Codes up to which there is such a table: 256 MB."""
FEW_FOR_CYCLES = 4096
"""States up to which the sets of states that sequences end in are kept, to see them repeat."""
LAYERS_TO_FORESEE = 16
"""Layers whose new states must follow a polynomial before the size of the whole is foreseen."""
STEPS_BEFORE_SAMPLE = 1 << 20
"""Steps after which a sample is asked whether the machine gets too large; small ones need none."""
LAYERS_BEFORE_GUARD = 1000
"""Layers after which new states come from counts, and go on to come until the end."""
DEEPEST_WIDTH = 4096
"""Positions at which the tapes alone are asked how many states there are: growth shows earlier."""
SAMPLE_SYMBOLS = 8
"""Symbols that a sample steps on at each position, one array operation each."""
SAMPLE_DEPTH = 64
"""Positions that a sample goes: memories have at most as many entries, and are full by then."""
SAMPLE_INTERVAL = 8
"""Positions between looks at a sample, each of which sorts it."""
LARGEST_SAMPLE = 200_000
"""States that are drawn; a limit that needs more is not checked by a sample."""
MOST_SORTS = 64
"""Sorts of all states to merge them; where more are needed, OpenFst's partitions are faster."""
FEWEST_SORTS = 8
"""Sorts that are tried on machines of any size before they are handed over."""
MOST_SORTED_CELLS = 1 << 23
"""Cells that are sorted in all between these two: large machines go to OpenFst sooner."""
MOST_MERGED_VALUES = 1 << 16
"""Values of a register up to which those that nothing tells apart are merged."""
LARGEST_MERGED_DOMAIN = 1 << 23
"""Values by the bounds of such a register, one cell each: 64 MB."""
MOST_MERGED_CELLS = 1 << 24
"""Cells of the steps that merging looks at: 128 MB, past which the plain walk is taken."""
SMALL_CORE = 64
"""Values, of what may be merged given z and of what is beside it, below which it is no gain."""
WORTH_MERGING = 2.0
"""The factor by which layers must get smaller to be walked in place of the plain ones."""

# Models.

MAX_PREFIXES = 200_000
"""Prefixes that are extended for the most probable sequences, where a sequence has many paths."""
MAX_DENSE_ENTRIES = 4_000_000
"""Cells of a model as one array over all positions: 32 MB, past which its arcs are walked."""
SHARED_ARCS = 1 << 16
"""Arcs of a transition table up to which all chains of a size share where they lead: 1.5 MB."""
NORMALISED_CELLS = 1 << 18
"""Potentials of a block of models that are normalised together, about: 2 MB."""

# Walks and trellises.

MANY_LABELS = 5
"""Labels from which sums over arcs cost less than over arrays that are mostly zeros."""
LARGE_CUBE = 1 << 18
"""Cells of a model's layer up to which an array is fast, however few arcs there are: 2 MB."""
SPARSE_CUBE = 32
"""How many times the arcs the cells of a larger one must be for mass to be moved arc by arc."""
FEW_SOURCES = 8
"""Steps into one state up to which they are gathered in rows; more are summed in runs."""
SENT_AT_ONCE = 1 << 22
"""Cells of mass that are moved arc by arc at once: 32 MB."""
SMALL_SPACE = 4096
"""States of a space that are walked all at once, their steps kept; more are ordered by layers."""
KEPT_STEPS = 1 << 22
"""States, for all positions that differ, whose steps a walk keeps before it forgets them."""
MOST_DENSE_STEPS = 1 << 25
"""Steps of all states of a space at once: 256 MB, past which only reached states are walked."""
MOST_PAIRED_SYMBOLS = 4
"""Pairs of symbols up to which two positions are taken in one step: the matrices are small."""
MUCH_TO_REMEMBER = 64
"""Contents of a window from which windows are summed; fewer cost no more as states."""
WINDOW_CELLS_AT_ONCE = 1 << 22
"""Cells of a model in the windows that are valued at once: 32 MB."""
MOST_BATCHED_STATES = 4096
"""States of a loss over which many sequences are walked together, each with all of them."""
BATCHED_CELLS = 4_000_000
"""Cells that a block of such sequences holds: 32 MB."""
LEAST_TRELLIS_LENGTH = 128
"""Length of the trellis that the second length asked for makes, or a power of 2: it serves all
shorter ones, as those of sentences; the first length may be the only one."""
MOST_TRELLISES = 4
"""Trellises that are kept on a loss, the last used: each holds the arcs of all its positions."""
MOST_AMOUNT_TABLES = 2
"""Tables of amounts that a plan keeps: for all hypotheses, and for those under a constraint."""
MOST_BLOCK_MATRICES = 8
"""Sizes of a batch for which a plan keeps its matrix: blocks of a corpus have few."""
AMOUNTS_AT_ONCE = 1 << 20
"""Amounts of pairs of feature values that are evaluated at once: 8 MB."""
DENSE_AMOUNTS = 0.2
"""The part of amounts that is not 0 above which looking them up one by one costs more."""
COUNTER_ROOM = 16
"""Values of a counter by which arrays grow: few sizes, so that matrices are used again."""
COMPILED_AFTER = 1000
"""Positions of a trellis that numpy computes first: about what loading the loops costs."""
ONLINE_WEIGHTS = 1 << 27
"""Weights of an online learner, classifiers times features: 1 GB, and as much for their mean."""
STREAMED_EXAMPLES = 1 << 15
"""Examples given to an online learner at once: enough for compiled loops, a second by numpy."""
CACHED_CELLS = 1 << 18
"""Cells of one layer for all sequences of a block, by numpy: 2 MB; fewer are mostly calls."""
COMPILED_CACHED_CELLS = 1 << 16
"""The same by compiled loops, whose calls cost little: half a megabyte, in the nearer cache."""
KEPT_FREE = 31 << 20
"""Bytes of an array that is freed once so that memory is kept: glibc looks at up to 32 MB."""

# Corpora as a whole.

EVALUATED_CELLS = 1 << 22
"""Cells of the registers of sentences of one length that are evaluated at once: 32 MB."""
MOST_CORPUS_TABLE = 4_000_000
"""Tuples of totals of a corpus whose distribution is tabled: 32 MB, several times while summed."""
CORPUS_SCORE_CELLS = 1 << 26
"""Cells of what the steps of all sentences are worth for functions of a count: half a gigabyte."""
CORPUS_WINDOW_CELLS = 1 << 26
"""Cells of the distributions of the count of all sentences but one, for each: half a gigabyte."""
CORPUS_LAYER_CELLS = 1 << 21
"""Cells of the best paths of a block of sentences, by their counts: 16 MB."""
CORPUS_POSITIONS_EXACT = 1_000
"""Positions up to which counts are held as coefficients: slower, with errors that are relative."""
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
LONG_SEQUENCE = 2_000
"""Labels from which expectations of counts are summed over windows: from here on that is faster."""
LONG_CHAIN = 3_000
"""The same under chains."""
LONG_CHAIN_STATES = 4
"""States of a chain up to which that is worth it: their number enters with its third power."""
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
SWEPT_CELLS = 1 << 21
"""Cells that the sweeps of a block of problems hold, by numpy: 16 MB."""
COMPILED_SWEPT_CELLS = 1 << 19
"""The same by compiled loops: 4 MB."""
LABEL_TABLE_CELLS = 1 << 20
"""Cells of a table of what labels of both tapes add: 8 MB; larger ones are summed sparsely."""
RUN_CELLS = 1 << 17
"""Cells of the flows of positions that one call of compiled loops computes: 1 MB, in the cache."""
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
GRADIENT_CELLS = 1 << 23
"""Cells of all layers that the gradients of a block of sequences hold: 64 MB."""
COLDEST = 0.01
"""The least temperature that a calibration looks at: below, a model is sure of one sequence."""
HOTTEST = 100.0
"""The greatest: above, a model is nearly indifferent between all sequences that it allows."""

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
DRAWN_CELLS = 1 << 22
"""Sentences of the corpora that are drawn at once for a bootstrap interval: 64 MB."""
TRACED_LABELS = 10_000
"""Labels of a pair that is shown step by step: more lines than anyone reads, in two seconds."""
