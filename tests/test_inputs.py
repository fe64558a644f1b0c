"""What may stand for a label sequence or a table; strange things in the place of every argument."""

import decimal
import gzip
import itertools
import re
import warnings

import networkx as nx
import numpy as np
import pytest
from matplotlib import pyplot as plt

import fsmeu
from fsmeu import models
from fsmeu.checking.report import report
from fsmeu.errors import FsmeuError, InputError, LossFileError, SizeLimitError
from fsmeu.files import read_bytes
from fsmeu.fst.alphabet import listed
from fsmeu.models import paths
from tests import brute_force
from tests.support.python_losses import Constant, Keeper

HAMMING, F1 = fsmeu.load("hamming"), fsmeu.load("fscore")
WINDOWS = fsmeu.load("windowdiff", k=12)
WEIGHTED = "utility u(w: table)\nlabels A B C\ncount c by w[z] when z == y\nvalue c"


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
    "tensor": Tensor([1, 0, 1]),
    "tensor of doubles": Tensor([1.0, 0.0, 1.0]),
    "list of tensors": list(Tensor([1, 0, 1])),
    "array": np.array([1, 0, 1], np.int8),
    "truth values": np.array([True, False, True]),
    "list of numpy numbers": [np.int32(1), np.uint8(0), np.float32(1)],
    "tuple": (1, 0, 1),
    "bytes": b"\x01\x00\x01",
    "text": "101",
    "array of texts": np.array(["1", "0", "1"]),
    "array of objects": np.array([1, "0", True], dtype=object),
    "masked, but nothing is": np.ma.array([1, 0, 1], mask=[0, 0, 0]),
}


@pytest.mark.parametrize("z", SEQUENCES.values(), ids=SEQUENCES)
def test_what_may_be_a_label_sequence(z):
    assert HAMMING(z, "100") == pytest.approx(1 / 3, rel=1e-15)
    assert fsmeu.expect(HAMMING, z, [1.0, 0.0, 0.0]).value == pytest.approx(1 / 3, rel=1e-15)
    assert fsmeu.expect_many(HAMMING, [z], [[1.0, 0, 0]]).values[0] == pytest.approx(
        1 / 3, rel=1e-15
    )
    assert fsmeu.models.Bernoulli([0.5] * 3).probability(z) == 0.125
    assert fsmeu.models.NBest([z], [1.0]).probability("101") == 1.0 or isinstance(z, bytes)
    assert HAMMING.compile(3, z).states == HAMMING.compile(3, "101").states
    assert fsmeu.draw(HAMMING, z=z, y="100").dot == fsmeu.draw(HAMMING, z="101", y="100").dot


def test_a_sequence_without_an_end(lowered):
    lowered(MOST_ITEMS=1000)
    for endless in (itertools.count(), itertools.repeat(1)):
        with pytest.raises(InputError, match="at most 1,000"):
            fsmeu.expect(HAMMING, endless, [0.5])
        with pytest.raises(InputError, match="at most 1,000"):
            listed(endless, "z")


def test_tensors_as_models_and_labels():
    loss = fsmeu.load("hamming", labels=Tensor([3, 5]))
    assert loss.labels == (3, 5)
    model = fsmeu.models.Independent(Tensor([[0.25, 0.75]]), labels=Tensor([3, 5]))
    assert fsmeu.expect(loss, Tensor([5]), model).value == 0.25
    assert fsmeu.expect_many(loss, Tensor([[5], [3]]), [model, model]).values.tolist() == [
        0.25,
        0.75,
    ]
    assert fsmeu.decode(HAMMING, Tensor([0.9, 0.1])).labels == [1, 0]


def test_a_table_with_one_side():
    """By hand: w = (1, 10, 100) for A, B, C; z and y agree at the first and the last label."""
    loss = fsmeu.loads(WEIGHTED, w=[1, 10, 100])
    assert loss("ABC", "AAC") == 101
    assert fsmeu.loads(WEIGHTED, w=2)("ABC", "AAC") == 4
    model = fsmeu.models.Independent([[0.5, 0.5, 0], [0, 0.25, 0.75]], labels="ABC")
    assert fsmeu.expect(loss, "AC", model).value == pytest.approx(0.5 + 75, rel=1e-15)
    found = report(fsmeu.loads(WEIGHTED, w=1).spec, params={})
    assert found.holds
    assert found.assumed == {"w": [1.0, 1.0, 1.0]}
    assert found.properties.additive


def test_a_byte_order_mark(tmp_path):
    text = "loss f\nlabels 0 1\ncount bad when z != y\nvalue bad\n"
    path = tmp_path / "f.loss"
    path.write_text(text, encoding="utf-8-sig")
    assert fsmeu.load(path)("01", "10") == 2
    assert fsmeu.loads("\ufeff" + text)("01", "10") == 2
    with pytest.raises(FsmeuError, match=":1:6: "):
        fsmeu.loads("\ufeffloss 5")
    model = tmp_path / "m.json"
    model.write_text('{"probs": [0.5]}', encoding="utf-8-sig")
    assert fsmeu.models.from_json(model).n == 1
    assert fsmeu.models.from_json("\ufeff" + model.read_text(encoding="utf-8-sig")).n == 1
    model.write_bytes(gzip.compress(model.read_bytes()))
    assert fsmeu.models.from_json(model).n == 1


DIGITS = "9" * 5000
TABLE = "utility u(w: table) labels A B count c by {} value c"
HUGE = fsmeu.load("cost_matrix", cost=[[1e308, -1e308], [-1e308, 1e308]], mean=0)
COINS, KEEPER = [0.5] * 40, fsmeu.function_loss(Keeper())


def value(text):
    return fsmeu.loads(f"loss f{text}")("111", "000")


def decide(constraint):
    return fsmeu.decode(HAMMING, [0.5], constraint=constraint)


def levels(engine):
    return fsmeu.expect(F1, "0101", [0.5] * 4, engine=engine, max_states=1).levels


@pytest.mark.parametrize(
    ("error", "message", "ask", "given"),
    [
        (FsmeuError, "not inf", value, f" labels 0 1 memory m of z last {DIGITS} value 1"),
        (FsmeuError, "not 0..inf", value, f" memory m of z in 0..{DIGITS} last 2 value 1"),
        (FsmeuError, "not 0..inf", value, f" labels 0 1 age a since z == 1 up to {DIGITS} value a"),
        (FsmeuError, "not 0..inf", value, f" register r in 0..{DIGITS} start 0 next 0 value r"),
        (FsmeuError, "not a finite", value, f" labels 0 1 count c when z != y value c + {DIGITS}"),
        (FsmeuError, "Got inf", value, f"(k: int = {DIGITS}) labels 0 1 value k"),
        (
            LossFileError,
            "declared range 0",
            value,
            " labels 0 1 count c when z != y value c range 0..2",
        ),
        (FsmeuError, "one side or two", fsmeu.loads, TABLE.format("w[z, y, z]")),
        (FsmeuError, "by 2 labels and by one label", fsmeu.loads, TABLE.format("w[z, y] + w[z]")),
        (InputError, "per label, shape (3,)", lambda w: fsmeu.loads(WEIGHTED, w=w), np.eye(3)),
        (InputError, "(2, 2)", lambda cost: fsmeu.load("cost_matrix", cost=cost), [1, 2]),
        (InputError, "labels", lambda x: fsmeu.load("chunk_fscore", types=x, labels=x), ["O"]),
        (InputError, "constraint", decide, f"0{{{DIGITS}}}"),
        (InputError, "constraint", decide, f"0{{1,{DIGITS}}}"),
        (InputError, "Scale the loss down", lambda n: fsmeu.compile_summed(HUGE, n), 6),
        # while states are met, not only when a layer is complete
        (SizeLimitError, "1,000 states", lambda p: fsmeu.expect(KEEPER, [0] * 40, p), COINS),
        (SizeLimitError, "gradient", lambda p: fsmeu.gradient(WINDOWS, [0, 1] * 20, p), COINS),
        (SizeLimitError, "at most 1 states", levels, "auto"),
        (SizeLimitError, "at most 1 states", levels, "openfst"),
    ],
)
def test_refusals(monkeypatch, error, message, ask, given):
    monkeypatch.setenv("FSMEU_MAX_STATES", "1000")
    with pytest.raises(error, match=re.escape(message)):
        ask(given)


def test_labels_of_many_digits_are_texts():
    loss = fsmeu.loads(f"loss f labels {DIGITS} 1 count c when z != y value c")
    assert loss.labels == (DIGITS, "1")
    assert loss([DIGITS, "1"], ["1", "1"]) == 1
    assert fsmeu.loads("loss f labels -5 1 count c by z value c").labels == (-5, 1)


@pytest.mark.parametrize("limit", ["many", "-5", "0", "²", DIGITS, "1e6"])
def test_a_limit_that_is_none(limit, monkeypatch, tmp_path):
    for name, ask in (
        ("FSMEU_MAX_STATES", lambda: HAMMING.compile(2)),
        ("FSMEU_MAX_BYTES", lambda: read_bytes(tmp_path, "file")),
    ):
        monkeypatch.setenv(name, limit)
        with pytest.raises(InputError, match=f"environment variable {name}"):
            ask()


@pytest.mark.parametrize("names", [{10**30: "a"}, {-1: "a"}, {1: "\ud800"}, {1: 5}, {2**40: "a"}])
def test_names_that_no_symbol_table_holds(names):
    graph = nx.MultiDiGraph([(0, 1, {"label": "a"})], inputs=names, outputs=names)
    with pytest.raises(FsmeuError):
        fsmeu.from_networkx(graph).fst  # noqa: B018


@pytest.mark.parametrize("cost", [[[1e308, -1e308], [-1e308, 1e308]], [[1e308, 0], [0, 1e308]]])
def test_what_doubles_cannot_hold_is_no_answer(cost):
    """Values that are finite each, and whose sums are not."""
    loss = fsmeu.load("cost_matrix", cost=cost, mean=0)
    model = fsmeu.models.Markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], n=6)
    z = "000000"
    for ask in (
        lambda: fsmeu.expect(loss, z, model).value,
        lambda: fsmeu.expect(loss, z, model, engine="openfst").value,
        lambda: fsmeu.expect(loss, z, model, keep=2).value,
        lambda: fsmeu.expect_many(loss, [z], [model]),
        lambda: np.concatenate([x.ravel() for x in fsmeu.gradient(loss, z, model).values()]),
    ):
        with pytest.raises(
            FsmeuError,
            match=r"must not overflow doubles|that doubles can hold|is not a finite number",
        ):
            ask()


def test_impossible_references_disturb_neither_bounds_nor_decisions():
    """tp / ref, where the first label of y is certainly 1."""
    loss = fsmeu.loads(
        "utility f labels 0 1 count tp when z == 1 and y == 1 count ref when y == 1 value tp / ref"
    )
    p = [1.0, 0.5, 0.2]
    of_y = {y: q for y, q in brute_force.bernoulli(p).items() if q > 0}
    values = {
        z: sum(q * np.dot(z, y) / sum(y) for y, q in of_y.items())
        for z in itertools.product((0, 1), repeat=3)
    }
    part = fsmeu.expect(loss, "110", p, keep=2)
    assert part.lower <= values[1, 1, 0] <= part.upper
    decided = fsmeu.decode(loss, p)
    assert values[tuple(decided.labels)] == pytest.approx(max(values.values()), rel=1e-12)


def test_a_distribution_on_both_tapes_of_a_windowed_loss():
    """Too large as states; both engines let the paths add up."""
    model = fsmeu.models.Markov([0.5, 0.5], [[0.9, 0.1], [0.4, 0.6]], n=30)
    values = [fsmeu.expect(WINDOWS, model, model, engine=e).value for e in ("auto", "openfst")]
    assert values[0] == pytest.approx(values[1], rel=1e-12)


# -- every argument: a sentence or an answer, nothing else ----------------------------------------


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
    (fsmeu.expect, {"loss": F1, "z": "11", "model": B, "engine": "auto"}),
    (fsmeu.expect, {"loss": F1, "z": "11", "model": B, "keep": None, "max_states": None}),
    (fsmeu.expect_many, {"loss": F1, "zs": ["11"], "models": [B]}),
    (fsmeu.compose, {"loss": F1, "z": "11", "model": B, "minimize": False}),
    (F1.compile, {"n": 2, "z": None, "max_states": 1000, "minimize": False}),
    (fsmeu.compile_summed, {"loss": F1, "n": 3, "max_states": 1000}),
    (fsmeu.evaluate_corpus, {"loss": F1, "zs": ["1"], "ys": ["1"]}),
    (fsmeu.expect_corpus, {"loss": F1, "zs": ["1"], "models": [[0.5]]}),
    (fsmeu.decode_corpus, {"loss": F1, "models": [[0.5]]}),
    (fsmeu.gradient, {"loss": F1, "z": "11", "model": B, "engine": "auto"}),
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
    (
        fsmeu.plot_calibration,
        {"loss": F1, "models": [B], "references": ["11"], "hypotheses": ["11"], "bins": 1},
    ),
]
"""Functions with good arguments, each of which is replaced."""
ALONE = [
    fsmeu.loads, fsmeu.explain, fsmeu.expect(F1, "11", B).quantile, models.Bernoulli,
    models.as_model, models.from_json, paths.forward, paths.backward, paths.total,
    paths.log_total, paths.normalize, CHAIN.probability,
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
