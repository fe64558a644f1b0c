"""What does not fit is refused with its place and reason: expectations, gradients, decisions."""

import math

import numpy as np
import pytest

import fsmeu
from fsmeu import errors
from fsmeu.models import Bernoulli, Independent, Markov
from tests.support.python_losses import Differs
from tests.support.tables import by_message


def valued(value, kind="utility"):
    """A loss with this value of the counts of a confusion table."""
    counts = "count tp when z == 1 and y == 1 count hyp when z == 1 count ref when y == 1"
    return fsmeu.loads(f"{kind} u labels 0 1 {counts} value {value}")


def odd(**methods):
    """A loss in Python with other methods."""
    return fsmeu.function_loss(type("Odd", (Differs,), methods)())


GREAT = """utility u labels 0 1
count tp when z == 1 and y == 1
count b by (if z == 1 then 1 else 2^53) when n > 0
value if b > 2^53 and b < 2^53 + 4 then tp else 0"""  # whether b is 2^53 or 1 more decides
NAMES = {
    **{name: getattr(one, name) for one in (fsmeu.models, fsmeu) for name in one.__all__},
    "np": np, "nan": math.nan, "inf": math.inf,
    "GREAT": fsmeu.loads(GREAT), "valued": valued, "odd": odd, "Differs": Differs,
    "F1": fsmeu.load("fscore"), "HAMMING": fsmeu.load("hamming"), "P": [0.3] * 4,
    "CHAIN": Markov([0.5, 0.5], [[0.5, 0.5], [0.1, 0.9]], n=2),
    "ONE": Bernoulli([0.9, 0.5]), "AB": Independent([[0.5, 0.5]], ("a", "b")),
    "TAGS": Markov(np.full(3, 1 / 3), np.full((3, 3), 1 / 3), n=3, labels=("O", "B-X", "I-X")),
    "CHUNKS": fsmeu.load("chunk_fscore", types=["X", "Y"]), "OO": ["O", "O"],
    "CHUNKS_40": fsmeu.load("chunk_fscore", types=[f"T{k}" for k in range(40)]),
    "OTHER": Independent(np.full((2, 5), 0.2), ("O", "B-T3", "I-T3", "B-Q", "I-Q")),
}  # fmt: skip
TABLE = """
InputError: same length. Got lengths 2 and 1
    expect(F1, "01", [0.5]) |
InputError: hypothesis z: entry 1 must be one of 0, 1
    expect(F1, "02", [0.5, 0.5]) |
InputError: z must be a label sequence or a model
    expect(F1, None, [0.5]) | expect(F1, 3, [0.5]) |
InputError: must be a probability
    expect(F1, "0", [1.5]) | expect(F1, "0", [nan]) |
InputError: model
    expect(F1, "0", "x") |
InputError: engine must be one of auto, openfst. Got abacus
    expect(F1, "0", [0.5], engine="abacus") |
InputError: utility fscore and model must have the same labels
    expect(F1, ["a"], AB) | expect_many(F1, ["0"], [AB]) |
InputError: must have the same labels ... The file is for 2 labels: take one that says 'labels any'
    decode(F1, Independent([[0.2, 0.3, 0.1, 0.4]], "abcd")) |
InputError: q must lie in 0
    expect(F1, "0", [0.5]).quantile(-0.1) | expect(F1, "0", [0.5]).quantile(1.1) |
    expect(F1, "0", [0.5]).quantile(nan) |
InputError: n must be a whole number
    HAMMING.compile(-1) | HAMMING.compile(2.5) | HAMMING.compile("3") | HAMMING.compile(None) |
    HAMMING.compile(True) |
InputError: states must be hashable
    expect(odd(step=lambda self, state, z, y: [z, y]), "0", [0.5]) |
InputError: must be a finite number
    expect(odd(value=lambda self, state: inf), "0", [0.5]) |
InputError: one without step
    odd(step=None) |
InputError: kind must be
    function_loss(Differs(), kind="cost") |
InputError: must have parameters ... Got NBest
    gradient(F1, "01", NBest(["01", "11"], [0.5, 0.5])) |
InputError: Got Mixture
    gradient(F1, "01", Mixture([CHAIN, CHAIN], [0.3, 0.7]), engine="openfst") |
InputError: must have parameters ... Got Acceptor
    gradient(F1, "01", Acceptor(CHAIN.layered())) |
InputError: gradient, hypothesis z: ... same length. Got lengths 3 and 2
    gradient(F1, "011", CHAIN) |
InputError: gradient: engine must be one of auto, openfst
    gradient(F1, "01", CHAIN, engine="magic") |
InputError: expect_many: there must be one model for each hyp ... Got 3 and 1
    expect_many(F1, ["01"] * 3, [CHAIN]) |
InputError: expect_many, zs[1]: ... same length. Got lengths 3 and 2
    expect_many(F1, ["01", "011"], [CHAIN] * 2) |
InputError: expect_many, zs[1]:
    expect_many(F1, ["01", "21"], [CHAIN] * 2) | expect_many(F1, ["01", [0, 7]], [CHAIN] * 2) |
    expect_many(F1, ["01", 5], [CHAIN] * 2) | expect_many(F1, ["01", None], [CHAIN] * 2) |
    expect_many(F1, ["01", [0.5, 0.5]], [CHAIN] * 2) |
InputError: z comes before the model
    expect(CHUNKS, TAGS, ["B-X", "O", "O"]) |
InputError: loss hamming and model must have the
    expect(load("hamming", labels="bc"), "b", AB) |
InputError: hypothesis and model must have
    expect(HAMMING, AB, [0.5]) |
InputError: one without B-Y, I-Y
    gradient(CHUNKS, ["B-X", "O", "O"], TAGS) |
InputError: in the model alone: ['B-Q', 'I-Q']
    expect(CHUNKS_40, OO, OTHER) | expect_many(CHUNKS_40, [OO], [OTHER]) |
    decode(CHUNKS_40, OTHER) | decode_many(CHUNKS_40, [OTHER]) |
    decode_corpus(CHUNKS_40, [OTHER]) | gradient(CHUNKS_40, OO, OTHER) |
InputError: 'ranking'
    decode(F1, P, method="rankin") |
LossFileError: the declared range 0 .. 1
    decode(valued("3 * tp / (hyp + ref) or 1 when hyp + ref == 0 range 0 .. 1"), [0.8] * 4) |
    decode(valued("2 * sqrt(tp) / sqrt(n) range 0 .. 1"), [0.1, 0.2]) |
    decode(valued("3 * hyp - 2 * ref range 0 .. 1"), [0.8] * 4) |
    decode_many(valued("3 * hyp - 2 * ref range 0 .. 1"), [[0.1, 0.2]] * 2) |
    decode_many(valued("2 * sqrt(tp) / sqrt(n) range 0 .. 1"), [[0.8] * 4] * 2) |
FsmeuError: looks at state
    expect_corpus(load("zero_one"), ["0"], [[0.5]]) | decode_corpus(load("zero_one"), [CHAIN]) |
InputError: linear
    decode_corpus(load("g_mean"), [CHAIN]) |
FsmeuError: expect_corpus
    expect_corpus(F1, ["01"], []) | expect_corpus(F1, ["0"], [ONE]) |
    expect_corpus(F1, [["a"]], [[0.5]]) | expect_corpus(F1, 3, [[0.5]]) |
FsmeuError: models[1]
    expect_corpus(F1, ["0", "0"], [[0.5], "no model"]) |
FsmeuError: decode_corpus
    decode_corpus(F1, 3) | decode_corpus(F1, [3]) | decode_corpus(F1, ["a"]) |
    decode_corpus(F1, [[2.0]]) | decode_corpus(F1, [[0.5]], gap=-1) |
    decode_corpus(F1, [[0.5]], gap="no") | decode_corpus(F1, [[0.5]], progress=3) |
FsmeuError: decode_corpus: seconds must be a number above 0
    decode_corpus(F1, [[0.5]], seconds=0) |
"""
"""The error and what it says, and the calls that are refused so."""


def rows():
    """The calls of the table, and those of which each argument is tried by several functions."""
    yield from by_message(TABLE, {"": ""})
    for name in ("keep", "max_states"):
        for count in (math.nan, math.inf, 0, -1, 2.5, 2.0, "3", True, [1]):
            words = f"InputError: {name} must be a whole number of at least 1. Got {count}"
            yield words, f"expect(F1, '0', [0.5], {name}={count!r})"
    for bad in ("[1.5]", "[-0.1]", "[nan]", "'abc'", "['a']", "[[0.5], [0.1, 0.9]]", "None",
                "object()", "[0.5, 'a']", "[0.5, [0.5]]"):  # fmt: skip
        yield "FsmeuError: models[1]", f"decode_many(F1, [[0.5], {bad}])"
        yield "FsmeuError: expect_many, models[1]: ", f"expect_many(F1, ['0'] * 2, [[0.5], {bad}])"
    for certain in ("[0, 1]", "[1.0, 0.0]", "(True, False)", "np.array([1, 1])", "'01'"):
        for call in ("expect(F1, ONE, {})", "compose(F1, ONE, {})", "gradient(F1, ONE, {})",
                     "expect_many(F1, [ONE], [{}])", "expect_corpus(F1, [ONE], [{}])",
                     "draw(F1, z=ONE, model={})"):  # fmt: skip
            words = "InputError: z comes before the model ... Bernoulli("
            yield words, call.format(certain)  # else read as probabilities, with another answer
    for seconds in (0, -1, math.nan, "10", True):
        for call in ("decode(F1, [0.5], seconds={!r})", "decode_many(F1, [[0.5]], seconds={!r})"):
            yield "FsmeuError: seconds must be a number above 0", call.format(seconds)
    for model in ("P", "CHAIN"):
        for call in ("decode(GREAT, {})", "decode(GREAT, {}, engine='openfst')"):
            yield "LossFileError: b passes 2^53", call.format(model)
    for value in ("inf", "tp * inf", "if hyp == 1 then inf else tp", "0 - inf"):
        for method in ("auto", "ranking", "additive", "counting", "exhaustive", "search"):
            for kind in ("utility", "loss"):
                yield "FsmeuError: ", f"decode(valued({value!r}, {kind!r}), P, method={method!r})"


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(("message", "call"), list(rows()))
def test_refusals(message, call):
    error, _, words = message.partition(": ")
    with pytest.raises(getattr(errors, error)) as caught:
        eval(call, NAMES)
    assert all(part in str(caught.value) for part in words.split(" ... ")), caught.value
