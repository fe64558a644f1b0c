"""Strange things in the place of every argument: a sentence or an answer, nothing else."""

import decimal
import warnings

import numpy as np
import pytest
from matplotlib import pyplot as plt

import fsmeu
from fsmeu import models
from fsmeu.errors import FsmeuError
from tests.support.python_losses import Constant
from tests.test_inputs import Tensor


class Refusing:
    """A tensor that cannot be read, as one on another device."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("not on this device")

    def __iter__(self):
        raise RuntimeError("not on this device")


class Breaking:
    """A sequence that fails after its first label."""

    def __iter__(self):
        yield 1
        raise OSError("the line is cut")


class Unspeakable:
    """A thing that cannot be shown, hashed or compared."""

    def __repr__(self):
        raise RuntimeError

    def __hash__(self):
        raise RuntimeError

    def __eq__(self, other):
        raise RuntimeError


class Worth(Constant):
    """A loss whose value may be anything."""

    def __init__(self, worth):
        self.worth = worth

    def value(self, state):
        return self.worth


NO_SEQUENCES = {
    "no axes": np.array(0.5),
    "two axes": np.array([[1, 0]]),
    "cannot be read": Refusing(),
    "list that cannot be read": [Refusing()],
    "failing": Breaking(),
    "masked": np.ma.array([0, 1], mask=[False, True]),
    "nested": [[0.5], [0.5]],
    "set": {0, 1},
    "mapping": {1: 0, 0: 1},
    "number": 5,
    "inf": float("inf"),
    "not a number": [float("nan")] * 2,
    "infinite": [float("inf")] * 2,
    "half": [0.5, 1],
    "list of 5000 digits": [10**5000, 1],
    "unspeakable": [Unspeakable()] * 2,
    "not shown": Unspeakable(),
    "type": int,
}
STRANGE = {
    **NO_SEQUENCES,
    "nan": float("nan"),
    "-inf": float("-inf"),
    "text": "abc",
    "no text": "",
    "None": None,
    "True": True,
    "-1": -1,
    "1.5": 1.5,
    "[]": [],
    "ragged": [[0.5], [0.5, 0.5]],
    "texts": ["0.5", "0.5"],
    "number as text": "3",
    "5000 digits": 10**5000,
    "1e30": 10**30,
    "bytes": b"01",
    "records": np.zeros(2, [("a", "f8")]),
    "dates": np.array(["2020-01-01"], "datetime64[D]"),
    "objects": np.array([object(), 1], object),
    "complex": [1j, 2],
    "tensor": Tensor([[0.5, 0.5], [0.5, 0.5]]),
    "object": object(),
    "half a surrogate pair": "\ud800",
    "with nul": "a\0b",
    "decimal nan": decimal.Decimal("NaN"),
    "ellipsis": ...,
}

ANSWERED = "an answer: fine"
F1 = fsmeu.load("fscore")
B = models.Bernoulli([0.5, 0.5])
EVEN = [[0.5, 0.5], [0.5, 0.5]]
CHAIN = models.Markov([0.5, 0.5], EVEN, n=2)
LAYERS = {"model": "acceptor", "labels": [0, 1], "start": [1.0]}
WORDS = {"thing": F1, "path": None, "registers": None, "short": False}
CALLS = [
    (fsmeu.load, {"name": "hamming", "labels": "01"}),
    (fsmeu.load, {"name": "chunk_fscore", "types": ["A"]}),
    (fsmeu.load, {"name": "pk", "k": 2}),
    (fsmeu.load, {"name": "fscore", "beta": 1}),
    (fsmeu.load, {"name": "cost_matrix", "cost": EVEN}),
    (fsmeu.function_loss, {"function": Constant(), "labels": "01", "kind": "loss", "name": "f"}),
    (fsmeu.evaluate, {"loss": F1, "z": "11", "y": "11"}),
    (fsmeu.expect, {"loss": F1, "z": "11", "model": B, "engine": "lattice"}),
    (fsmeu.expect, {"loss": F1, "z": "11", "model": B, "keep": None, "max_states": None}),
    (fsmeu.expect_many, {"loss": F1, "zs": ["11"], "models": [B]}),
    (fsmeu.compose, {"loss": F1, "z": "11", "model": B, "minimize": False}),
    (F1.compile, {"n": 2, "z": None, "max_states": 1000, "minimize": False}),
    (fsmeu.compile_summed, {"loss": F1, "n": 3, "max_states": 1000}),
    (fsmeu.evaluate_corpus, {"loss": F1, "zs": ["1"], "ys": ["1"]}),
    (fsmeu.expect_corpus, {"loss": F1, "zs": ["1"], "models": [[0.5]]}),
    (fsmeu.decode_corpus, {"loss": F1, "models": [[0.5]]}),
    (fsmeu.gradient, {"loss": F1, "z": "11", "model": B, "engine": "lattice"}),
    (fsmeu.decode, {"loss": F1, "model": B, "method": "auto", "keep": None, "budget": 9}),
    (fsmeu.decode, {"loss": F1, "model": B, "constraint": None}),
    (fsmeu.decode_many, {"loss": F1, "models": [B], "method": "auto", "progress": None}),
    (models.Independent, {"probabilities": EVEN, "labels": "01"}),
    (models.Markov, {"initial": EVEN[0], "transition": EVEN, "n": 2}),
    (models.from_potentials, {"unary": EVEN, "pairwise": EVEN}),
    (
        models.hmm,
        {"initial": EVEN[0], "transition": EVEN, "emission": EVEN, "observations": [0, 0]},
    ),
    (models.NBest, {"sequences": ["11", "00"], "weights": [0.5, 0.5], "log": False}),
    (models.Acceptor, {"fst": B.layered(), "labels": "01", "normalize": True, "log_scale": 0.0}),
    (models.Mixture, {"models": [B, B], "weights": [0.5, 0.5]}),
    (CHAIN.sample, {"size": 1, "seed": 0}),
    (fsmeu.draw, {"n": 2, "depth": None, "limit": 100, **WORDS}),
    (fsmeu.draw, {"thing": F1, "z": "11", "y": "11"}),
    (fsmeu.explore, {"loss": F1, "n": 1, "probs": None}),
    (fsmeu.plot_levels, {"expectations": fsmeu.expect(F1, "11", B), "quantiles": [0.5]}),
    (fsmeu.plot_hypotheses, {"loss": F1, "hypotheses": ["11"], "model": B}),
]
"""Functions with good arguments, each of which is replaced."""
ALONE = [
    fsmeu.loads, fsmeu.explain, fsmeu.expect(F1, "11", B).quantile, models.Bernoulli,
    models.as_model, models.from_json, models.forward, models.backward, models.total,
    models.log_total, models.normalize, models.dense_tables, CHAIN.probability,
    CHAIN.most_probable, fsmeu.draw(F1, 1).render, fsmeu.explore(F1, 1).save, fsmeu.to_networkx,
    fsmeu.from_networkx, fsmeu.to_openfst, fsmeu.from_openfst,
]  # fmt: skip
ARGUMENTS = {
    **{
        f"{call.__name__}, {name}": lambda x, call=call, given=given, name=name: call(
            **{**given, name: x}
        )
        for call, given in CALLS
        for name in given
    },
    **{call.__name__: call for call in ALONE},
    "a value": lambda x: fsmeu.expect(fsmeu.function_loss(Worth(x)), [1], [0.5]),
    "expect_many, z": lambda x: fsmeu.expect_many(F1, [x], [B]),
    "expect_many, model": lambda x: fsmeu.expect_many(F1, ["11"], [x]),
    "decode_many, model": lambda x: fsmeu.decode_many(F1, [x]),
    "NBest, a sequence": lambda x: models.NBest([x], [1.0]),
    "NBest, logarithms": lambda x: models.NBest(["11", "00"], x, log=True),
    "Mixture, a model": lambda x: models.Mixture([x], [1.0]),
    "from_json, kind": lambda x: models.from_json({"model": x}),
    "from_json, probs": lambda x: models.from_json({"probs": x}),
    "from_json, layers": lambda x: models.from_json({**LAYERS, "layers": x, "final": x}),
    "draw, n and sequences": lambda x: fsmeu.draw(F1, x, z="11", y="11"),
    "draw, model": lambda x: fsmeu.draw(F1, z="11", model=x),
    "plot_hypotheses, a hypothesis": lambda x: fsmeu.plot_hypotheses(F1, [x], B),
}


TAKE_SEQUENCES = (
    "evaluate, z", "evaluate, y", "expect, z", "expect_many, z", "gradient, z", "compose, z",
    "compile, z", "draw, z", "draw, y", "probability", "NBest, a sequence", "hmm, observations",
)  # fmt: skip
TAKE_LOSSES = ("evaluate_corpus", "expect_corpus", "decode_corpus", "compile_summed")
NO_ANSWER = {
    **dict.fromkeys(TAKE_SEQUENCES, NO_SEQUENCES),
    **dict.fromkeys([f"{name}, loss" for name in TAKE_LOSSES], STRANGE),
    "a value": ("nan", "None", "text", "5000 digits"),
    "load, beta": ("5000 digits",),
    "compile_summed, max_states": ("number as text",),
}
"""What must be refused, in a sentence."""
assert ARGUMENTS.keys() >= NO_ANSWER.keys()


def outcome(use, thing):
    """The sentence that comes of it, or of another exception the name."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            use(thing)
        except FsmeuError as error:
            return str(error)
        except Exception as error:
            return f"{type(error).__name__} escaped"
    return ANSWERED


@pytest.mark.parametrize("name", ARGUMENTS)
def test_strange_arguments(name, tmp_path, monkeypatch):
    """What is raised is a sentence; numpy's warnings stay inside."""
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    found = {strange: outcome(ARGUMENTS[name], thing) for strange, thing in STRANGE.items()}
    assert {k: text for k, text in found.items() if ": " not in text} == {}
    plt.close("all")
    refused = NO_ANSWER.get(name, ())
    assert [k for k in refused if found[k] == ANSWERED or "\n" in found[k]] == []
