"""Vector values: every output equals the value of a file of its own, and enumeration."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.models import Bernoulli, Independent, Markov
from tests import brute_force

BODY = """labels 0 1
count tp when z == 1 and y == 1
count hyp when z == 1
count ref when y == 1
age ay since y == 1 up to 2
flag missed when z == 0 and y == 1
memory m of y last 2
"""
VALUES = (
    "tp / (hyp + ref) or 1 when hyp + ref == 0",
    "tp - 2 * ref + hyp * tp",
    "if missed then tp else -ay",
    "3 * tp + ref",
    "if m[0] == 1 then 2 else tp",
    "n",
)


def loss(value, *outputs):
    lines = [f"output o{k} = {output}" for k, output in enumerate(outputs)]
    return fsmeu.loads("\n".join(["utility f", BODY, f"value {value}", *lines]))


@settings(max_examples=25)
@given(
    st.sampled_from(VALUES),
    st.lists(st.sampled_from(VALUES), min_size=1, max_size=3),
    st.lists(st.floats(0, 1), min_size=1, max_size=5),
    st.data(),
)
def test_outputs_are_values(value, outputs, probabilities, data):
    """For a given z, for a distribution on z's tape, in both engines, and for single pairs."""
    n = len(probabilities)
    labels = st.lists(st.integers(0, 1), min_size=n, max_size=n)
    z, y = data.draw(labels), data.draw(labels)
    file, alone = loss(value, *outputs), [loss(output) for output in outputs]
    chain = Markov([0.3, 0.7], [[0.8, 0.2], [0.4, 0.6]], n=n)
    for hypothesis in (z, chain):
        for engine in ("lattice", "openfst"):
            result = fsmeu.expect(file, hypothesis, Bernoulli(probabilities), engine=engine)
            truth = [fsmeu.expect(one, hypothesis, Bernoulli(probabilities)).value for one in alone]
            assert list(result.outputs.values()) == pytest.approx(truth, rel=1e-12, abs=1e-12)
            mean = fsmeu.expect(loss(value), hypothesis, Bernoulli(probabilities)).value
            assert result.value == pytest.approx(mean, rel=1e-12, abs=1e-12)
    pair = fsmeu.evaluate_outputs(file, z, y)
    assert list(pair.values()) == [one(z, y) for one in alone]


def test_precision_and_recall_beside_f1():
    """By listing every reference (Jansche 2007, section 5)."""
    p, z = [0.45, 0.1, 0.35, 0.6], [1, 0, 0, 1]
    result = fsmeu.expect(fsmeu.load("fscore"), z, p)
    table = brute_force.independent([[1 - q, q] for q in p], [0, 1])
    for name in ("precision", "recall"):
        of = getattr(brute_force, name)
        truth = sum(weight * of(z, y) for y, weight in table.items())
        assert result.outputs[name] == pytest.approx(truth, rel=1e-12)


def test_outputs_of_chunks():
    labels = ["O", "B-NP", "I-NP"]
    model = Independent([[0.2, 0.5, 0.3]] * 3, labels)
    z = ["B-NP", "I-NP", "O"]
    result = fsmeu.expect(fsmeu.load("chunk_fscore", labels=labels), z, model)
    for name in ("precision", "recall"):
        alone = fsmeu.load(f"chunk_{name}", labels=labels)
        assert result.outputs[name] == pytest.approx(fsmeu.expect(alone, z, model).value, rel=1e-12)


def test_registers_of_outputs_alone_do_not_burden_the_value():
    """What only an output reads is no part of the states of the value."""
    with_output = fsmeu.loads(f"utility f\n{BODY}value tp\noutput last_one = ay")
    without_age = "".join(line for line in BODY.splitlines(True) if not line.startswith("age"))
    plain = fsmeu.loads(f"utility f\n{without_age}value tp")
    assert with_output.compile(3).states == plain.compile(3).states


def test_swapped_outputs():
    f1 = fsmeu.load("fscore")
    straight = fsmeu.evaluate_outputs(f1, "0110", "0100")
    assert straight == {"precision": 0.5, "recall": 1.0}
    assert fsmeu.evaluate_outputs(f1.swapped, "0110", "0100") == {"precision": 1.0, "recall": 0.5}


def test_without_outputs():
    assert fsmeu.expect(fsmeu.load("hamming"), "01", [0.5, 0.5]).outputs == {}
    assert fsmeu.evaluate_outputs(fsmeu.load("hamming"), "01", "11") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("loss f value 1 output a = z", "after the last position"),
        ("loss f value 1 output a = 1 output a = 2", "the name 'a' is taken: it is an output"),
        ("loss f count a value a output a = 1", "the name 'a' is taken: it is a count"),
        ("loss f value 1 output a 1", "'output' is written"),
        ("loss f memory m of z last 1 value 1 output a = m", "the value must be a number"),
    ],
)
def test_faults_are_told(text, message):
    with pytest.raises(fsmeu.FsmeuError, match=message):
        fsmeu.loads(text)
