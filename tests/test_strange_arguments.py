"""Strange things in the place of every argument: a sentence or an answer, nothing else."""

import decimal
import warnings

import numpy as np
import pytest

import fsmeu
from fsmeu import models
from fsmeu.errors import FsmeuError
from tests.support.python_losses import Constant


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


class Frame:
    """What a table of another library looks like to numpy."""

    def __array__(self, dtype=None, copy=None):
        return np.array([[0.5, 0.5], [0.5, 0.5]])

    def __len__(self):
        return 2


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
    "frame": Frame(),
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
ARGUMENTS = {
    "load": fsmeu.load,
    "load, labels": lambda x: fsmeu.load("hamming", labels=x),
    "load, types": lambda x: fsmeu.load("chunk_fscore", types=x),
    "load, a number": lambda x: fsmeu.load("pk", k=x),
    "load, a real": lambda x: fsmeu.load("fscore", beta=x),
    "load, a table": lambda x: fsmeu.load("cost_matrix", cost=x),
    "loads": fsmeu.loads,
    "function_loss": fsmeu.function_loss,
    "function_loss, labels": lambda x: fsmeu.function_loss(Constant(), labels=x),
    "function_loss, kind": lambda x: fsmeu.function_loss(Constant(), kind=x),
    "function_loss, name": lambda x: fsmeu.function_loss(Constant(), name=x),
    "function_loss, a value": lambda x: fsmeu.expect(fsmeu.function_loss(Worth(x)), [1], [0.5]),
    "evaluate, loss": lambda x: fsmeu.evaluate(x, "1", "1"),
    "evaluate, z": lambda x: fsmeu.evaluate(F1, x, "11"),
    "evaluate, y": lambda x: fsmeu.evaluate(F1, "11", x),
    "expect, loss": lambda x: fsmeu.expect(x, "11", B),
    "expect, z": lambda x: fsmeu.expect(F1, x, B),
    "expect, model": lambda x: fsmeu.expect(F1, "11", x),
    "expect, engine": lambda x: fsmeu.expect(F1, "11", B, engine=x),
    "expect, keep": lambda x: fsmeu.expect(F1, "11", B, keep=x),
    "expect, max_states": lambda x: fsmeu.expect(F1, "11", B, max_states=x),
    "expect, quantile": fsmeu.expect(F1, "11", B).quantile,
    "expect_many, zs": lambda x: fsmeu.expect_many(F1, x, [B]),
    "expect_many, z": lambda x: fsmeu.expect_many(F1, [x], [B]),
    "expect_many, models": lambda x: fsmeu.expect_many(F1, ["11"], x),
    "expect_many, model": lambda x: fsmeu.expect_many(F1, ["11"], [x]),
    "compose, z": lambda x: fsmeu.compose(F1, x, B),
    "compose, minimize": lambda x: fsmeu.compose(F1, "11", B, minimize=x),
    "compile, n": lambda x: F1.compile(x, max_states=1000),
    "compile, z": lambda x: F1.compile(2, x),
    "compile, minimize": lambda x: F1.compile(2, minimize=x),
    "compile_summed": lambda x: fsmeu.compile_summed(x, 2),
    "compile_summed, n": lambda x: fsmeu.compile_summed(F1, x, max_states=1000),
    "compile_summed, max_states": lambda x: fsmeu.compile_summed(F1, 3, max_states=x),
    "evaluate_corpus, loss": lambda x: fsmeu.evaluate_corpus(x, ["1"], ["1"]),
    "expect_corpus, loss": lambda x: fsmeu.expect_corpus(x, ["1"], [[0.5]]),
    "decode_corpus, loss": lambda x: fsmeu.decode_corpus(x, [[0.5]]),
    "gradient, z": lambda x: fsmeu.gradient(F1, x, B),
    "gradient, model": lambda x: fsmeu.gradient(F1, "11", x),
    "gradient, engine": lambda x: fsmeu.gradient(F1, "11", B, engine=x),
    "decode, loss": lambda x: fsmeu.decode(x, B),
    "decode, model": lambda x: fsmeu.decode(F1, x),
    "decode, method": lambda x: fsmeu.decode(F1, B, method=x),
    "decode, keep": lambda x: fsmeu.decode(F1, B, keep=x),
    "decode, budget": lambda x: fsmeu.decode(F1, B, budget=x),
    "decode, constraint": lambda x: fsmeu.decode(F1, B, constraint=x),
    "decode_many": lambda x: fsmeu.decode_many(F1, x),
    "decode_many, model": lambda x: fsmeu.decode_many(F1, [x]),
    "decode_many, method": lambda x: fsmeu.decode_many(F1, [B], method=x),
    "decode_many, progress": lambda x: fsmeu.decode_many(F1, [B], progress=x),
    "explain": fsmeu.explain,
    "Bernoulli": models.Bernoulli,
    "Independent": models.Independent,
    "Independent, labels": lambda x: models.Independent([[0.5, 0.5]], x),
    "Markov, initial": lambda x: models.Markov(x, EVEN, n=2),
    "Markov, transition": lambda x: models.Markov([0.5, 0.5], x, n=2),
    "Markov, n": lambda x: models.Markov([0.5, 0.5], EVEN, n=x),
    "potentials, unary": lambda x: models.from_potentials(x, EVEN),
    "potentials, pairwise": lambda x: models.from_potentials(EVEN, x),
    "hmm, emission": lambda x: models.hmm([0.5, 0.5], EVEN, x, [0, 0]),
    "hmm, observations": lambda x: models.hmm([0.5, 0.5], EVEN, EVEN, x),
    "NBest": lambda x: models.NBest(x, [1.0]),
    "NBest, a sequence": lambda x: models.NBest([x], [1.0]),
    "NBest, weights": lambda x: models.NBest(["11", "00"], x),
    "NBest, logarithms": lambda x: models.NBest(["11", "00"], x, log=True),
    "NBest, log": lambda x: models.NBest(["11"], [1.0], log=x),
    "Acceptor": lambda x: models.Acceptor(x, [0, 1]),
    "Acceptor, labels": lambda x: models.Acceptor(B.layered(), x),
    "Acceptor, normalize": lambda x: models.Acceptor(B.layered(), normalize=x),
    "Acceptor, log_scale": lambda x: models.Acceptor(B.layered(), log_scale=x),
    "Mixture": lambda x: models.Mixture(x, [1.0]),
    "Mixture, a model": lambda x: models.Mixture([x], [1.0]),
    "Mixture, weights": lambda x: models.Mixture([B, B], x),
    "as_model": models.as_model,
    "from_json": models.from_json,
    "from_json, kind": lambda x: models.from_json({"model": x}),
    "from_json, probs": lambda x: models.from_json({"probs": x}),
    "from_json, layers": lambda x: models.from_json(
        {"model": "acceptor", "labels": [0, 1], "start": [1.0], "layers": x, "final": x}
    ),
    "probability": CHAIN.probability,
    "sample": CHAIN.sample,
    "sample, seed": lambda x: CHAIN.sample(1, x),
    "most_probable": CHAIN.most_probable,
    "forward": models.forward,
    "backward": models.backward,
    "total": models.total,
    "log_total": models.log_total,
    "normalize": models.normalize,
    "dense_tables": models.dense_tables,
    "draw": fsmeu.draw,
    "draw, n": lambda x: fsmeu.draw(F1, x),
    "draw, n and sequences": lambda x: fsmeu.draw(F1, x, z="11", y="11"),
    "draw, z": lambda x: fsmeu.draw(F1, z=x, y="11"),
    "draw, y": lambda x: fsmeu.draw(F1, z="11", y=x),
    "draw, model": lambda x: fsmeu.draw(F1, z="11", model=x),
    "draw, registers": lambda x: fsmeu.draw(F1, 2, registers=x),
    "draw, depth": lambda x: fsmeu.draw(F1, 2, depth=x),
    "draw, limit": lambda x: fsmeu.draw(F1, 2, limit=x),
    "draw, short": lambda x: fsmeu.draw(F1, 2, short=x),
    "draw, path": lambda x: fsmeu.draw(F1, 1, path=x),
    "render": lambda x: fsmeu.draw(F1, 1).render(x),
    "explore": lambda x: fsmeu.explore(x, 2),
    "explore, n": lambda x: fsmeu.explore(F1, x),
    "explore, probs": lambda x: fsmeu.explore(F1, 1, probs=x),
    "explore, save": lambda x: fsmeu.explore(F1, 1).save(x),
    "to_networkx": fsmeu.to_networkx,
    "from_networkx": fsmeu.from_networkx,
    "to_openfst": fsmeu.to_openfst,
    "from_openfst": fsmeu.from_openfst,
}


TAKE_SEQUENCES = (
    "evaluate, z", "evaluate, y", "expect, z", "expect_many, z", "gradient, z", "compose, z",
    "compile, z", "draw, z", "draw, y", "probability", "NBest, a sequence", "hmm, observations",
)  # fmt: skip
TAKE_LOSSES = ("evaluate_corpus, loss", "expect_corpus, loss", "decode_corpus, loss")
NO_ANSWER = {
    **dict.fromkeys(TAKE_SEQUENCES, NO_SEQUENCES),
    **dict.fromkeys([*TAKE_LOSSES, "compile_summed"], STRANGE),
    "function_loss, a value": ("nan", "None", "text", "5000 digits"),
    "load, a real": ("5000 digits",),
    "compile_summed, max_states": ("number as text",),
}
"""What must be refused, in a sentence."""


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
    found = {strange: outcome(ARGUMENTS[name], thing) for strange, thing in STRANGE.items()}
    assert {k: text for k, text in found.items() if ": " not in text} == {}
    refused = NO_ANSWER.get(name, ())
    assert [k for k in refused if found[k] == ANSWERED or "\n" in found[k]] == []


PLOTS = {
    "plot_levels": fsmeu.plot_levels,
    "plot_levels, quantiles": lambda x: fsmeu.plot_levels(fsmeu.expect(F1, "11", B), quantiles=x),
    "plot_hypotheses, loss": lambda x: fsmeu.plot_hypotheses(x, ["11"], B),
    "plot_hypotheses, a hypothesis": lambda x: fsmeu.plot_hypotheses(F1, [x], B),
}


@pytest.mark.parametrize("name", PLOTS)
def test_strange_plots(name):
    pytest.importorskip("matplotlib").use("agg")
    found = {strange: outcome(PLOTS[name], thing) for strange, thing in STRANGE.items()}
    pytest.importorskip("matplotlib.pyplot").close("all")
    assert {k: text for k, text in found.items() if ": " not in text} == {}
