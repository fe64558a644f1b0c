"""What may stand for a label sequence or a table, and what may not."""

import itertools

import networkx as nx
import numpy as np
import pytest

import fsmeu
from fsmeu.checking.report import report
from fsmeu.errors import FsmeuError, InputError
from fsmeu.fst.alphabet import listed
from tests.test_strange_arguments import Refusing, Unspeakable

HAMMING = fsmeu.load("hamming")
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
    "generator": (k for k in (1, 0, 1)),
    "bytes": b"\x01\x00\x01",
    "text": "101",
    "array of texts": np.array(["1", "0", "1"]),
    "array of objects": np.array([1, "0", True], dtype=object),
    "masked, but nothing is": np.ma.array([1, 0, 1], mask=[0, 0, 0]),
    "range": range(1, -2, -1),
}


@pytest.mark.parametrize("name", [name for name in SEQUENCES if name != "range"])
def test_what_may_be_a_label_sequence(name):
    z = SEQUENCES[name]
    z = list(z) if name == "generator" else z
    assert HAMMING(z, "100") == pytest.approx(1 / 3, rel=1e-15)
    assert fsmeu.expect(HAMMING, z, [1.0, 0.0, 0.0]).value == pytest.approx(1 / 3, rel=1e-15)
    assert fsmeu.expect_many(HAMMING, [z], [[1.0, 0, 0]])[0] == pytest.approx(1 / 3, rel=1e-15)
    assert fsmeu.models.Bernoulli([0.5] * 3).probability(z) == 0.125
    assert fsmeu.models.NBest([z], [1.0]).probability("101") == 1.0 or isinstance(z, bytes)
    assert HAMMING.compile(3, z).states == HAMMING.compile(3, "101").states
    assert fsmeu.draw(HAMMING, z=z, y="100").dot == fsmeu.draw(HAMMING, z="101", y="100").dot


def test_a_sequence_without_an_end(monkeypatch):
    monkeypatch.setattr("fsmeu.fst.alphabet.MAX_ITEMS", 1000)
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
    assert fsmeu.expect_many(loss, Tensor([[5], [3]]), [model, model]).tolist() == [0.25, 0.75]
    assert fsmeu.decode(HAMMING, Tensor([0.9, 0.1])).labels == [1, 0]
    for bad in (Refusing(), [Refusing()], [Unspeakable()]):
        for use in (
            lambda bad=bad: fsmeu.models.Bernoulli(bad),
            lambda bad=bad: fsmeu.decode(HAMMING, bad),
            lambda bad=bad: fsmeu.decode_many(HAMMING, [bad]),
            lambda bad=bad: fsmeu.expect_many(HAMMING, ["1"], [bad]),
            lambda bad=bad: fsmeu.load("hamming", labels=bad),
            lambda bad=bad: fsmeu.load("cost_matrix", cost=bad),
            lambda bad=bad: fsmeu.load("fscore", beta=bad),
        ):
            with pytest.raises(FsmeuError):
                use()


def test_a_table_with_one_side():
    """By hand: w = (1, 10, 100) for A, B, C; z and y agree at the first and the last label."""
    loss = fsmeu.loads(WEIGHTED, w=[1, 10, 100])
    assert loss("ABC", "AAC") == 101
    assert fsmeu.loads(WEIGHTED, w=2)("ABC", "AAC") == 4
    model = fsmeu.models.Independent([[0.5, 0.5, 0], [0, 0.25, 0.75]], labels="ABC")
    assert fsmeu.expect(loss, "AC", model).value == pytest.approx(0.5 + 75, rel=1e-15)
    with pytest.raises(InputError, match=r"one number per label, shape \(3,\)"):
        fsmeu.loads(WEIGHTED, w=np.eye(3))
    with pytest.raises(InputError, match=r"one row and one column per label, shape \(2, 2\)"):
        fsmeu.load("cost_matrix", cost=[1, 2])


def test_a_table_with_one_side_is_measured():
    found = report(fsmeu.loads(WEIGHTED, w=1).spec, params={})
    assert found.holds
    assert found.assumed == {"w": [1.0, 1.0, 1.0]}
    assert found.properties.additive


@pytest.mark.parametrize(
    ("entry", "message"),
    [("w[z, y, z]", "one side or two"), ("w[z, y] + w[z]", "by 2 and by 1 labels")],
)
def test_tables_of_other_shapes(entry, message):
    with pytest.raises(FsmeuError, match=message):
        fsmeu.loads(f"utility u(w: table) labels A B count c by {entry} value c", w=1)


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


DIGITS = "9" * 5000
LONG_NUMBERS = {
    "a memory": f"loss f labels 0 1 memory m of z last {DIGITS} value 1",
    "entries": f"loss f labels 0 1 memory m of z in 0 .. {DIGITS} last 2 value 1",
    "an age": f"loss f labels 0 1 age a since z == 1 up to {DIGITS} value a",
    "a register": f"loss f labels 0 1 register r in 0..{DIGITS} start 0 next 0 value r",
    "a default": f"loss f(k: int = {DIGITS}) labels 0 1 value k",
    "a value": f"loss f labels 0 1 count c when z != y value c + {DIGITS}",
}


@pytest.mark.parametrize("name", LONG_NUMBERS)
def test_numbers_too_long_for_python(name):
    with pytest.raises(FsmeuError):
        fsmeu.loads(LONG_NUMBERS[name])("01", "10")


def test_labels_of_many_digits_are_texts():
    loss = fsmeu.loads(f"loss f labels {DIGITS} 1 count c when z != y value c")
    assert loss.labels == (DIGITS, "1")
    assert loss([DIGITS, "1"], ["1", "1"]) == 1
    assert fsmeu.loads("loss f labels -5 1 count c by z value c").labels == (-5, 1)


@pytest.mark.parametrize("constraint", ["0{%s}", "0{1,%s}"])
def test_repetitions_of_many_digits(constraint):
    with pytest.raises(InputError, match="constraint"):
        fsmeu.decode(HAMMING, [0.5], constraint=constraint % DIGITS)


@pytest.mark.parametrize("limit", ["many", "-5", "0", "²", DIGITS, "1e6"])
def test_a_limit_that_is_none(limit, monkeypatch):
    monkeypatch.setenv("FSMEU_MAX_STATES", limit)
    with pytest.raises(InputError, match="environment variable FSMEU_MAX_STATES"):
        HAMMING.compile(2)


@pytest.mark.parametrize("names", [{10**30: "a"}, {-1: "a"}, {1: "\ud800"}, {1: 5}, {2**40: "a"}])
def test_names_that_no_symbol_table_holds(names):
    graph = nx.MultiDiGraph([(0, 1, {"label": "a"})], inputs=names, outputs=names)
    with pytest.raises(FsmeuError):
        fsmeu.from_networkx(graph).fst  # noqa: B018
