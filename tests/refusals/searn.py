"""Search-based prediction: cost oracles, spaces, estimators, learners and features."""

import os
from unittest import mock

import fsmeu
from fsmeu.errors import InputError, LossFileError, SizeLimitError
from fsmeu.limits import lowered
from fsmeu.searn import ColumnTagger, CostOracle, CostOracles, Searn
from fsmeu.searn.learners.reductions import Multiclass
from tests.searn import stubs

ONE, A = [[{"w": "1"}]], [["a"]]
# Bounds are those of the reference's own length.
BOUNDED = """loss f labels 0 1
register a in 0..max(n - 2, 2) start 0 next if z == 1 then a + 1 else 0
count c when z != y value c"""
# Whether the difference is 0 is up to rounding.
NOT_LINEAR = """utility f labels 0 1
memory m of y last 1
register odd in 0..1 start 0 next if z == 1 then 1 - odd else odd
count a by 1 + m[0] when z != y
value if odd == 0 then a * a / (4 * n * n) else 0 range 0 .. 1"""
Y = CostOracles("fscore", [[0, 1], [1]])
P = CostOracle("fscore", model=[0.5, 0.2])


def with_states(most, ask):
    """What a question answers where machines may have so many states."""
    with mock.patch.dict(os.environ, FSMEU_MAX_STATES=str(most)):
        return ask()


def with_cells(most, ask):
    """What a question answers where batches may have so many labels."""
    with lowered(MOST_LABEL_CELLS=most):
        return ask()


def trained(y, loss="hamming", iterations=1, **given):
    """An estimator that is trained on one sentence with this output."""
    return Searn(loss, iterations=iterations, folds=1, **given).fit([ONE[0] * len(y)], [list(y)])


def columns(x, **given):
    """Predictions of a tagger of columns for one sentence."""
    made = ColumnTagger(searn=stubs.few("word-at-a-time"), bits=8, **given)
    return made.fit(stubs.ROWS, stubs.TAGS).predict([x])


NAMES = {
    "ONE": ONE,
    "A": A,
    "Y": Y,
    "P": P,
    "OWN": stubs.PlainTagging("ab"),
    "load": fsmeu.loads,
    "BOUNDED": BOUNDED,
    "NOT_LINEAR": NOT_LINEAR,
    **{one.__name__: one for one in (with_states, with_cells, trained, columns)},
    **{one.__name__: one for one in (Searn, CostOracle, CostOracles)},
    "Multiclass": Multiclass,
}
ROWS = [
    # cost oracles: a wrong number, or no end
    ("CostOracle(load(BOUNDED), '000000')", LossFileError, "bounds"),
    ("with_states(999, lambda: CostOracle('fscore', [0, 1] * 400))", SizeLimitError, "MAX_STATES"),
    (
        "with_states(99, lambda: trained('ab' * 9, 'hamming', engine='openfst'))",
        SizeLimitError,
        "FSMEU_MAX_STATES ... leave the engine openfst out",
    ),
    (
        "CostOracle(load(NOT_LINEAR), model=[0.5] * 20, engine='openfst').costs([])",
        SizeLimitError,
        "budget",
    ),
    ("CostOracle('fscore', [0], model=[0.5])", InputError, "exactly one of y"),
    ("CostOracles('fscore', [[0]], fallback_labels=[[1, 0]] * 3)", InputError, "3 rows"),
    ("Y.costs_at([0, 1], Y.start([0, 1]) + 10**12)", InputError, "state"),
    ("Y.step([0, 1], Y.start([0, 1]), [0, 2])", InputError, "from 0 to 1"),
    ("P.value_at((0, 7))", InputError, "state"),
    # spaces
    ("trained('0011', 'zero_one', space='right-to-left')", InputError, "depend on the order"),
    ("trained(['NN'], space='word-at-a-time')", InputError, "chunk tags"),
    ("trained('ab', space='alternating')", InputError, "pair of labels"),
    ("trained('ab', space=OWN, engine='openfst')", InputError, "its own costs"),
    ("with_cells(5, lambda: trained('ab' * 3))", SizeLimitError, "1 x 6"),
    # estimators
    ("Searn().fit(ONE, [['a', 'b']])", InputError, "1 positions and 2 labels"),
    ("Searn(beta='search').fit(ONE, A, ONE, [['z']])", InputError, "among those of training"),
    ("trained('ab', 'pk')", InputError, 'no default ... Give loss_params={"k": VALUE}'),
    ("trained('ab', beta=1.5)", InputError, "beta"),
    ("trained('ab', crossed='pos')", InputError, "crossed"),
    ("trained('ab', learner=Multiclass(object()))", InputError, "sample_weight"),
    ("trained('a' * 25, beta='theory', iterations=None)", SizeLimitError, "iterations"),
    # features
    ("columns([('a',)])", InputError, "2 columns, as in training"),
    ("columns([], templates=['lowr'])", InputError, "Did you mean 'lower'"),
]
