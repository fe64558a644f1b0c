"""Losses: their names, parameters, labels and tables, and sequences that are no labels of theirs.

What is said of faulty loss files stands in ``tests/losses/test_errors.py``.
"""

import fsmeu
from fsmeu.errors import EmptyError, InputError, LossFileError, SizeLimitError

F1 = fsmeu.load("fscore")
HEADER = "loss f(k: int = 2 in 1..9, top, cost: table = 1) value k"
REQUIRE = "loss f(k: int = 2) labels 0 1 count c when z != y require z == 0 or i > k value c"


def loads(inside, used="by w[z]", labels="A B", **given):
    """A loss with these parameters."""
    text = f"loss f({inside}) labels {labels} count c {used} value c"
    return fsmeu.loads(text, **given)


NAMES = {name: getattr(fsmeu, name) for name in fsmeu.__all__} | {
    "F1": F1,
    "HEADER": HEADER,
    "CostOracle": fsmeu.searn.CostOracle,
    "FLAGGED": fsmeu.loads("loss f labels 0 1 flag r when z == y value r"),
    "TAGGED": fsmeu.load("chunk_fscore"),
    "REQUIRED": fsmeu.loads(REQUIRE),
    "NEVER": fsmeu.loads('loss f labels 0 1 require z > 1 "pigs fly" value 1'),
    "given": loads,
}
ROWS = [
    # names
    ('load("fsocre")', InputError, "there is no built-in loss 'fsocre'. Did you mean 'fscore'?"),
    ('evaluate("f2", "0", "0")', InputError, "Did you mean 'fscore' with beta=2?"),
    ('decode("pk", [0.5])', InputError, "'k' has no default. Give fsmeu.load('pk', k=VALUE)"),
    # parameters
    ("loads(HEADER)", InputError, "loss f: the parameter 'top' has no default. Give top="),
    ("loads(HEADER, top=1, tpo=2)", InputError, "parameters are k, ... Got 'tpo' ... mean 'top'"),
    ("loads(HEADER, top=1, k=2.5)", InputError, "parameter k: must be a whole number. Got 2.5"),
    ("loads(HEADER, top=1, k=10)", InputError, "parameter k: must lie in 1..9. Got 10"),
    ("loads(HEADER, top=1, cost=[[[1]]])", InputError, "must have ... shape (1, 1, 1)"),
    # labels and tables by label
    ('load("fscore", labels=(0, 1, 2))', InputError, "2 labels, 0, 1. Got 3 labels"),
    ('load("hamming", labels=(1, "1"))', InputError, "Got '1' twice"),
    ('load("chunk_fscore", labels=["O", "B-X", "E-X"])', InputError, "Got E-X ... of iobes"),
    ("TAGGED.compile(2)", InputError, "the tags must be given"),
    ('given("p: label", "when z == p", p="a")', InputError, "the labels are A, B. Got a instead"),
    ('given("w: table", w={"A": 1})', InputError, "an entry for each label. Got none for B"),
    # entries of tables that are not there
    (
        'given("w: table", "by w[i]", w=[1, 2])("AAA", "AAA")',
        LossFileError,
        "w has entries 1 to 2 on this side, 3 is asked for when ... i=3",
    ),
    # sequences
    ('F1("01", "011")', InputError, "same length. Got lengths 2 and 3"),
    ('evaluate_many(F1, ["01"], [])', InputError, "evaluate_many: ... as many"),
    ('evaluate_corpus(FLAGGED, ["01"], ["01"])', InputError, "looks at r"),
    # hypotheses that a file does not allow
    ('REQUIRED("10", "00")', InputError, "loss f is defined where"),
    ("decode(NEVER, [0.5, 0.5])", EmptyError, "must be allowed in which pigs fly"),
    ("CostOracle(REQUIRED, [1, 0])", InputError, "must be defined for all hypotheses"),
    # machines
    ("F1.compile(50, max_states=100)", SizeLimitError, "compile_summed, where tp is no part of"),
    ("F1.compile(10**300)", SizeLimitError, "at least 1,000,000,000,000,000,000"),
    ("compile_summed(F1, 2.5)", InputError, "whole number"),
    ('compile_summed(load("hamming", labels=range(5000)), 3)', SizeLimitError, "25,000,000"),
]
