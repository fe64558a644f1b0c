"""What may stand for a label sequence or a table; strange things in the place of every argument."""

import itertools
import warnings

import numpy as np
import pytest
from matplotlib import pyplot as plt

import fsmeu
from fsmeu import models
from fsmeu.errors import FsmeuError, InputError
from tests.support.python_losses import Constant

HAMMING, F1 = fsmeu.load("hamming"), fsmeu.load("fscore")


class Tensor:
    """What a tensor of another library is to numpy: it has ``__array__``, its scalars too."""

    def __init__(self, content):
        self.content = np.array(content)

    def __array__(self, dtype=None, copy=None):
        return self.content.astype(dtype) if dtype else self.content

    def __len__(self):
        return len(self.content)

    def __iter__(self):
        return (Tensor(x) for x in self.content)


SEQUENCES = {
    "tensor of doubles": Tensor([1.0, 0.0, 1.0]),
    "array": np.array([1, 0, 1], np.int8),
    "truth values": np.array([True, False, True]),
    "bytes": b"\x01\x00\x01",
    "text": "101",
    "array of texts": np.array(["1", "0", "1"]),
    "masked, but nothing is": np.ma.array([1, 0, 1], mask=[0, 0, 0]),
}


@pytest.mark.parametrize("z", SEQUENCES.values(), ids=SEQUENCES)
def test_what_may_be_a_label_sequence(z):
    third = pytest.approx(1 / 3, rel=1e-15)
    assert HAMMING(z, "100") == third
    assert fsmeu.expect(HAMMING, z, [1.0, 0.0, 0.0]).value == third
    assert fsmeu.expect_many(HAMMING, [z], [[1.0, 0, 0]]).values[0] == third
    assert models.Bernoulli([0.5] * 3).probability(z) == 0.125
    assert models.NBest([z], [1.0]).probability("101") == 1.0 or isinstance(z, bytes)
    assert HAMMING.compile(3, z).states == HAMMING.compile(3, "101").states
    assert fsmeu.draw(HAMMING, z=z, y="100").dot == fsmeu.draw(HAMMING, z="101", y="100").dot


def test_a_sequence_without_an_end(lowered):
    lowered(MOST_ITEMS=1000)
    for endless in (itertools.count(), itertools.repeat(1)):
        with pytest.raises(InputError, match="at most 1,000"):
            fsmeu.expect(HAMMING, endless, [0.5])


def test_tensors_as_models_and_labels():
    loss = fsmeu.load("hamming", labels=Tensor([3, 5]))
    model = models.Independent(Tensor([[0.25, 0.75]]), labels=Tensor([3, 5]))
    assert fsmeu.expect_many(loss, Tensor([[5], [3]]), [model] * 2).values.tolist() == [0.25, 0.75]
    assert fsmeu.decode(HAMMING, Tensor([0.9, 0.1])).labels == [1, 0]


def test_a_byte_order_mark(tmp_path):
    text = "loss f\nlabels 0 1\ncount bad when z != y\nvalue bad\n"
    path = tmp_path / "f.loss"
    path.write_text(text, encoding="utf-8-sig")
    assert fsmeu.load(path)("01", "10") == fsmeu.loads("\ufeff" + text)("01", "10") == 2
    with pytest.raises(FsmeuError, match=":1:6: "):
        fsmeu.loads("\ufeffloss 5")


@pytest.mark.parametrize("cost", [[[1e308, -1e308], [-1e308, 1e308]], [[1e308, 0], [0, 1e308]]])
def test_what_doubles_cannot_hold_is_no_answer(cost):
    """Values that are finite each, and whose sums are not."""
    loss = fsmeu.load("cost_matrix", cost=cost, mean=0)
    model = models.Markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], n=6)
    z = "000000"
    for ask in (
        lambda: fsmeu.expect(loss, z, model).value,
        lambda: fsmeu.expect(loss, z, model, engine="openfst").value,
        lambda: fsmeu.expect_many(loss, [z], [model]),
        lambda: np.concatenate([x.ravel() for x in fsmeu.gradient(loss, z, model).values()]),
    ):
        with pytest.raises(FsmeuError, match=r"overflow doubles|doubles can hold|not a finite"):
            ask()


# -- every argument: a sentence or an answer, nothing else ----------------------------------------


class Refusing:
    """A tensor that cannot be read, as one on another device."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("not on this device")

    def __iter__(self):
        raise RuntimeError("not on this device")


class Unspeakable:
    """A thing that cannot be shown, hashed or compared."""

    def __repr__(self):
        raise RuntimeError

    def __hash__(self):
        raise RuntimeError

    def __eq__(self, other):
        raise RuntimeError


NO_SEQUENCES = {
    "no axes": np.array(0.5),
    "two axes": np.array([[1, 0]]),
    "cannot be read": Refusing(),
    "masked": np.ma.array([0, 1], mask=[False, True]),
    "set": {0, 1},
    "mapping": {1: 0, 0: 1},
    "number": 5,
    "not a number": [float("nan")] * 2,
    "half": [0.5, 1],
    "unspeakable": [Unspeakable()] * 2,
    "type": int,
}
STRANGE = {
    **NO_SEQUENCES,
    "nan": float("nan"),
    "no text": "",
    "None": None,
    "True": True,
    "-1": -1,
    "ragged": [[0.5], [0.5, 0.5]],
    "number as text": "3",
    "5000 digits": 10**5000,
    "bytes": b"01",
    "half a surrogate pair": "\ud800",
    "object": object(),
}
B = models.Bernoulli([0.5, 0.5])
EVEN = [[0.5, 0.5], [0.5, 0.5]]
CHAIN = models.Markov([0.5, 0.5], EVEN, n=2)
HMM = {"initial": EVEN[0], "transition": EVEN, "emission": EVEN, "observations": [0, 0]}
WORDS = {"thing": F1, "path": None, "registers": None, "short": False}
CALIBRATION = {"models": [B], "references": ["11"], "hypotheses": ["11"], "bins": 1}
CALLS = [
    (fsmeu.load, {"name": "hamming", "labels": "01"}),
    (fsmeu.load, {"name": "chunk_fscore", "types": ["A"]}),
    (fsmeu.load, {"name": "cost_matrix", "cost": EVEN}),
    (fsmeu.function_loss, {"function": Constant(), "labels": "01", "kind": "loss", "name": "f"}),
    (fsmeu.evaluate, {"loss": F1, "z": "11", "y": "11"}),
    (fsmeu.expect, {"loss": F1, "z": "11", "model": B, "engine": "auto", "keep": None}),
    (fsmeu.expect_many, {"loss": F1, "zs": ["11"], "models": [B]}),
    (fsmeu.compose, {"loss": F1, "z": "11", "model": B, "minimize": False}),
    (F1.compile, {"n": 2, "z": None, "max_states": 1000, "minimize": False}),
    (fsmeu.compile_summed, {"loss": F1, "n": 3, "max_states": 1000}),
    (fsmeu.evaluate_corpus, {"loss": F1, "zs": ["1"], "ys": ["1"]}),
    (fsmeu.expect_corpus, {"loss": F1, "zs": ["1"], "models": [[0.5]]}),
    (fsmeu.decode_corpus, {"loss": F1, "models": [[0.5]]}),
    (fsmeu.gradient, {"loss": F1, "z": "11", "model": B, "engine": "auto"}),
    (fsmeu.decode, {"loss": F1, "model": B, "method": "auto", "constraint": None, "budget": 9}),
    (fsmeu.decode_many, {"loss": F1, "models": [B], "method": "auto", "progress": None}),
    (models.Independent, {"probabilities": EVEN, "labels": "01"}),
    (models.Markov, {"initial": EVEN[0], "transition": EVEN, "n": 2}),
    (models.from_potentials, {"unary": EVEN, "pairwise": EVEN}),
    (models.hmm, HMM),
    (models.NBest, {"sequences": ["11", "00"], "weights": [0.5, 0.5], "log": False}),
    (models.Acceptor, {"fst": B.layered(), "labels": "01", "normalize": True, "log_scale": 0.0}),
    (models.Mixture, {"models": [B, B], "weights": [0.5, 0.5]}),
    (models.tempered, {"model": B, "temperature": 2.0}),
    (fsmeu.calibrate, {"models": [B], "references": ["11"], "skip_impossible": False}),
    (CHAIN.sample, {"size": 1, "seed": 0}),
    (fsmeu.draw, {"n": 2, "depth": None, "limit": 100, **WORDS}),
    (fsmeu.draw, {"thing": F1, "z": "11", "y": "11"}),
    (fsmeu.explore, {"loss": F1, "n": 1, "probs": None}),
    (fsmeu.plot_levels, {"expectations": fsmeu.expect(F1, "11", B), "quantiles": [0.5]}),
    (fsmeu.plot_hypotheses, {"loss": F1, "hypotheses": ["11"], "model": B}),
    (fsmeu.plot_calibration, {"loss": F1, **CALIBRATION}),
]
"""Functions with good arguments, each of which is replaced."""
ALONE = [
    fsmeu.loads, fsmeu.explain, fsmeu.expect(F1, "11", B).quantile, models.Bernoulli,
    models.as_model, models.from_json, CHAIN.probability, CHAIN.most_probable, CHAIN.given,
    fsmeu.draw(F1, 1).render, fsmeu.explore(F1, 1).save, fsmeu.to_networkx,
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
    "expect_many, z": lambda x: fsmeu.expect_many(F1, [x], [B]),
    "decode_many, model": lambda x: fsmeu.decode_many(F1, [x]),
    "NBest, a sequence": lambda x: models.NBest([x], [1.0]),
    "NBest, logarithms": lambda x: models.NBest(["11", "00"], x, log=True),
    "from_json, probs": lambda x: models.from_json({"probs": x}),
    "draw, model": lambda x: fsmeu.draw(F1, z="11", model=x),
}
TAKE_SEQUENCES = (
    "evaluate, z", "evaluate, y", "expect, z", "expect_many, z", "gradient, z", "compose, z",
    "compile, z", "draw, z", "draw, y", "probability", "NBest, a sequence", "hmm, observations",
)  # fmt: skip
TAKE_LOSSES = ("evaluate_corpus", "expect_corpus", "decode_corpus", "compile_summed")
NO_ANSWER = {
    **dict.fromkeys(TAKE_SEQUENCES, NO_SEQUENCES),
    **dict.fromkeys([f"{name}, loss" for name in TAKE_LOSSES], STRANGE),
}
"""What must be refused, in a sentence."""


def outcome(use, thing):
    """The sentence that comes of it, or of another exception the name; "" for an answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            use(thing)
        except FsmeuError as error:
            return str(error)
        except Exception as error:
            return f"{type(error).__name__} escaped"
    return ""


@pytest.mark.parametrize("name", ARGUMENTS)
def test_strange_arguments(name, tmp_path, monkeypatch):
    """What is raised is a sentence; numpy's warnings stay inside."""
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    found = {strange: outcome(ARGUMENTS[name], thing) for strange, thing in STRANGE.items()}
    plt.close("all")
    assert {k: text for k, text in found.items() if text and ": " not in text} == {}
    assert [k for k in NO_ANSWER.get(name, ()) if not found[k] or "\n" in found[k]] == []
