"""Vector values: every output equals the value of a file of its own, and enumeration."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.models import Bernoulli, Independent, Markov

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
        for engine in ("auto", "openfst"):
            result = fsmeu.expect(file, hypothesis, Bernoulli(probabilities), engine=engine)
            truth = [fsmeu.expect(one, hypothesis, Bernoulli(probabilities)).value for one in alone]
            assert list(result.outputs.values()) == pytest.approx(truth, rel=1e-12, abs=1e-12)
            mean = fsmeu.expect(loss(value), hypothesis, Bernoulli(probabilities)).value
            assert result.value == pytest.approx(mean, rel=1e-12, abs=1e-12)
    pair = fsmeu.evaluate_outputs(file, z, y)
    assert list(pair.values()) == [one(z, y) for one in alone]


@pytest.mark.parametrize("chunks", ["", "chunk_"])
def test_precision_and_recall_beside_f1(chunks):
    """They are those of the files of that name (Jansche 2007, section 5)."""
    labels = ["O", "B-NP", "I-NP"] if chunks else [0, 1]
    model = Independent([[0.2, 0.5, 0.3][: len(labels)] if chunks else [0.55, 0.45]] * 4, labels)
    z = [labels[k] for k in (1, 0, 0, 1)]
    result = fsmeu.expect(fsmeu.load(f"{chunks}fscore", labels=labels), z, model)
    for name in ("precision", "recall"):
        alone = fsmeu.load(f"{chunks}{name}", labels=labels)
        assert result.outputs[name] == pytest.approx(fsmeu.expect(alone, z, model).value, rel=1e-12)


def test_registers_of_outputs_alone_do_not_burden_the_value():
    """What only an output reads is no part of the states of the value."""
    with_output = fsmeu.loads(f"utility f\n{BODY}value tp\noutput last_one = ay")
    without_age = "".join(line for line in BODY.splitlines(True) if not line.startswith("age"))
    plain = fsmeu.loads(f"utility f\n{without_age}value tp")
    assert with_output.compile(3).states == plain.compile(3).states


@pytest.mark.parametrize("beside", ["output o = a", "require a <= n"])
@pytest.mark.parametrize("shared", ["memory m of {} last 1", "age m since {} == 1 up to 2"])
def test_what_an_output_and_a_count_that_nobody_reads_share(beside, shared):
    """The file means what it means without that count."""
    tape = "z" if beside.startswith("require") else "y"
    reads = "old m[0]" if shared.startswith("memory") else "old m"
    unread = f"count b when y == {reads} and z == 1"
    lines = [shared.format(tape), f"count a when z == {reads}", "count c when z != y"]
    files = ["\n".join([*lines[:2], *more, lines[2]]) for more in ([], [unread])]
    short, full = (fsmeu.loads(f"loss f labels 0 1\n{file}\nvalue c\n{beside}") for file in files)
    model = Markov([0.3, 0.7], [[0.8, 0.2], [0.4, 0.6]], n=4)
    for z in ("0110", "1000"):
        found, known = (fsmeu.expect(loss, z, model) for loss in (full, short))
        assert (
            full(z, "0100")
            == short(z, "0100")
            == sum(a != b for a, b in zip(z, "0100", strict=True))
        )
        assert found.value == pytest.approx(known.value, rel=1e-12)
        assert found.outputs == pytest.approx(known.outputs, rel=1e-12)
    assert fsmeu.decode(full, model).value == pytest.approx(fsmeu.decode(short, model).value)


def test_outputs_of_pairs():
    f1, hamming = fsmeu.load("fscore"), fsmeu.load("hamming")
    straight = fsmeu.evaluate_outputs(f1, "0110", "0100")
    assert straight == {"precision": 0.5, "recall": 1.0}
    assert fsmeu.evaluate_outputs(f1.swapped, "0110", "0100") == {"precision": 1.0, "recall": 0.5}
    assert fsmeu.evaluate_outputs(hamming, "01", "11") == {}
    assert fsmeu.expect(hamming, "01", [0.5, 0.5]).outputs == {}
    table = (
        "utility f(w: table) labels 0 1 count c by w[z] count d when z != y value c output o = d"
    )
    assert fsmeu.evaluate_outputs(fsmeu.loads(table, w=[1, 2]), "01", "11") == {"o": 1.0}
