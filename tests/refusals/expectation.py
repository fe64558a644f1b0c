"""Expectations and gradients."""

import fsmeu
from fsmeu.errors import InputError, LossFileError, SizeLimitError
from fsmeu.losses.semantics.at_length import RangeError

NAMES = {name: getattr(fsmeu, name) for name in fsmeu.__all__} | {
    "F1": fsmeu.load("fscore"),
    "MANY": fsmeu.load("chunk_fscore", types=["A"]),
    "GREAT": fsmeu.loads("loss f labels 0 1 count c by 1e308 when y == 1 value c"),
    "PAST": fsmeu.loads(
        "loss f labels 0 1 count c by if i == 1 then 2^53 else y value (c - 2^53)^2"
    ),
    "WRONG": fsmeu.loads("loss f labels 0 1 count c when y == 1 value 5 * c range 0 .. 1"),
    "NONE": fsmeu.loads("loss f count c when z != y value 1 / (n - 3)"),
    "RATIO": fsmeu.loads("utility f labels 0 1 count c when y == 1 value 1 / c"),
    "list_of": lambda *ys: fsmeu.models.NBest(ys, [1.0] * len(ys), [0, 1]),
}
RANGE = "the declared range 0 .. 1"
PAST = "c passes 2^53, where whole numbers are not told apart"
ROWS = [
    ('expect(F1, "01", [0.5])', InputError, "same length. Got lengths 2 and 1"),
    ('expect(F1, "02", [0.5, 0.5])', InputError, "hypothesis z ... must be one of 0, 1"),
    ('expect(F1, "01", [0.5, 0.5], engine="none")', InputError, "engine"),
    ('expect(F1, "01", [0.5, 0.5], keep=0)', InputError, "keep"),
    ('expect(F1, "0", [0.5]).quantile(1.5)', InputError, "q must lie in 0..1"),
    ('expect(F1, "10" * 5, [0.5] * 10, engine="openfst", max_states=50)', SizeLimitError,
     "at most 50 states ... The default engine has no such limit"),
    ('compose(F1, "10" * 5, [0.5] * 10, max_states=50)', SizeLimitError, "at most 50 states"),
    ('expect(GREAT, "111", [1.0] * 3)', InputError, "must not overflow doubles"),
    ('expect(PAST, "11", [0.5] * 2)', LossFileError, PAST),
    ('expect(PAST, "11", [0.5] * 2, engine="openfst")', LossFileError, PAST),
    ('decode(PAST, [0.5] * 2)', LossFileError, PAST),
    ('expect(WRONG, "11", [0.5] * 2)', RangeError, RANGE),
    ('expect(WRONG, [1, 1], [0.5] * 2, keep=9)', RangeError, RANGE),
    ('expect_many(WRONG, ["11"], [[0.5] * 2])', RangeError, RANGE),
    ('expect(NONE, "011", [0.5] * 3)', LossFileError, "division by zero"),
    ('expect_many(NONE, ["011"] * 2, [[0.5] * 3] * 2)', LossFileError, "division by zero"),
    ('gradient(RATIO, "11", [1.0, 0.5])', LossFileError, "division by zero"),
    ('gradient(RATIO, "11", [1.0, 0.5], engine="openfst")', LossFileError, "division by zero"),
    ('gradient(F1, "01", list_of([0, 1], [1, 1]))', InputError, "the model must have parameters"),
    ('gradient(MANY, "O", models.Independent([[0.5, 0.5]], ["O", "B-A"]))', InputError, "I-A"),
    ('expect_many(F1, ["0"], [[0.5], [0.5]])', InputError, "1 and 2"),
    ('expect_many(F1, ["0", "2"], [[0.5], [0.5]])', InputError, "zs[1]"),
    ('decode_many(F1, [[0.5], [1.5]], jobs=2)', InputError, "models[1]"),
    ('expect_many(F1, ["0"], [[0.5]], jobs=0)', InputError, "jobs"),
    ('expect_many(F1, ["0"], [[0.5]], jobs=10**6)', InputError, "jobs ... at most 1,024"),
]  # fmt: skip
