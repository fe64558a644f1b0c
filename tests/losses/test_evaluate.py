"""Values of one pair, of many, of a corpus; further outputs of a file; a name in a loss's place."""

import random
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import f1_score as chunk_f1
from sklearn.metrics import accuracy_score, fbeta_score, jaccard_score, matthews_corrcoef

import fsmeu
from fsmeu.errors import LossFileError
from fsmeu.models import Markov
from tests.strategies import losses
from tests.support.python_losses import Mistakes


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), case=losses(risky=True))
def test_many_pairs_have_the_values_of_each(seed, case):
    """Many are walked over together, each alone by itself: the same bits, or both refuse."""
    rng, loss = random.Random(seed), case.load()
    zs = [rng.choices(case.labels, k=rng.choice((0, 1, 2, 5))) for _ in range(110)]
    ys = [rng.choices(case.labels, k=len(z)) for z in zs]
    for some in (slice(None), slice(9)):  # many and few
        pairs = zs[some], ys[some]
        try:
            each = [loss(z, y) for z, y in zip(*pairs, strict=True)]
        except LossFileError:
            for one, two in ((loss, pairs), (loss.swapped, pairs[::-1])):
                with pytest.raises(LossFileError):
                    fsmeu.evaluate_many(one, *two)
        else:
            assert fsmeu.evaluate_many(loss, *pairs).tolist() == each
            assert fsmeu.evaluate_many(loss.swapped, *pairs[::-1]).tolist() == each


def test_a_python_loss():
    """The second counts the positions of y that are missed."""
    loss = fsmeu.function_loss(Mistakes(), "ab")
    assert fsmeu.evaluate_many(loss, ["ab", "", "bba"], ["bb", "", "abb"]).tolist() == [1, 0, 2]
    step = {"step": lambda self, state, z, y: state + (z == 0 and y == 1)}
    misses = fsmeu.function_loss(type("Misses", (Mistakes,), step)())
    assert [one([0, 1, 0], [1, 1, 0]) for one in (misses, misses.swapped)] == [1, 0]
    assert fsmeu.expect(misses.swapped, [1, 1], [0.25, 0.5]).value == 1.25


TAGS = ["O", "B-NP", "I-NP", "B-VP", "I-VP"]


def corpus(seed, labels, sentences=12, longest=7):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, longest, sentences)
    return [[[labels[k] for k in rng.integers(0, len(labels), n)] for n in lengths] for _ in "zy"]


def joined(sequences):
    return list(chain.from_iterable(sequences))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_corpora_as_scikit_learn_and_seqeval_count_them(seed):
    """Single positions over the concatenation; chunks end with their sentence.

    The concatenation would join I-NP to the B-NP before.
    """
    zs, ys = corpus(seed, [0, 1])
    z, y = joined(zs), joined(ys)
    for loss, theirs in (
        (fsmeu.load("fscore", beta=2), fbeta_score(y, z, beta=2)),
        ("jaccard", jaccard_score(y, z)),
        ("hamming", 1 - accuracy_score(y, z)),
        ("mcc", matthews_corrcoef(y, z)),
    ):
        assert fsmeu.evaluate_corpus(loss, zs, ys) == pytest.approx(theirs, rel=1e-12)
    zs, ys = corpus(seed, TAGS)
    ours = fsmeu.evaluate_corpus("chunk_fscore", zs, ys)
    assert ours == pytest.approx(chunk_f1(ys, zs), rel=1e-12)
    assert ours == fsmeu.evaluate_corpus(fsmeu.load("chunk_fscore", labels=TAGS), zs, ys)
    assert ours != fsmeu.evaluate("chunk_fscore", joined(zs), joined(ys))


def test_corpora_by_hand():
    """tp = 1 + 0 + 1, hyp = 2 + 1 + 1, ref = 1 + 1 + 2; registers other than counts start anew."""
    f1 = fsmeu.load("fscore")
    assert fsmeu.evaluate_corpus(f1, ["110", "1", "10"], ["100", "0", "11"]) == 2 * 2 / (4 + 3)
    assert fsmeu.evaluate_corpus(f1, [], []) == 1.0
    runs = fsmeu.loads(
        "loss runs\nlabels 0 1\nage a since z == 1 up to 9\ncount c by i + n + (a < 2)\n"
        "value c / n or 7 when n == 0\n"
    )
    # i + n: 1 + 2 and 2 + 2, then 1 + 1; a < 2 at both positions of the first, not in the second.
    assert fsmeu.evaluate_corpus(runs, ["10", "0"], ["00", "0"]) == (3 + 4 + 2 + 2) / 3


# -- further outputs of a file ---------------------------------------------------------------------

CHAIN = Markov([0.3, 0.7], [[0.8, 0.2], [0.4, 0.6]], n=4)
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
    "if m[0] == 1 then 2 else tp",
)


def with_outputs(value, *outputs):
    lines = [f"output o{k} = {output}" for k, output in enumerate(outputs)]
    return fsmeu.loads("\n".join(["utility f", BODY, f"value {value}", *lines]))


@pytest.mark.parametrize("engine", ["auto", "openfst"])
def test_outputs_are_values(engine):
    """For a given z, for a distribution on z's tape, and for single pairs."""
    file, alone = with_outputs("n", *VALUES), [with_outputs(output) for output in VALUES]
    reference = [0.3, 0.8, 0.5, 1.0]
    for hypothesis in ("0110", CHAIN):
        result = fsmeu.expect(file, hypothesis, reference, engine=engine)
        truth = [fsmeu.expect(one, hypothesis, reference).value for one in alone]
        assert list(result.outputs.values()) == pytest.approx(truth, rel=1e-12, abs=1e-12)
    pair = fsmeu.evaluate_outputs(file, "0110", "0101")
    assert list(pair.values()) == [one("0110", "0101") for one in alone]


def test_registers_of_outputs_alone_do_not_burden_the_value():
    """What only an output reads is no part of the states of the value."""
    assert with_outputs("tp", "ay").compile(3).states == with_outputs("tp").compile(3).states


@pytest.mark.parametrize(("beside", "tape"), [("output o = a", "y"), ("require a <= n", "z")])
def test_what_an_output_and_a_count_that_nobody_reads_share(beside, tape):
    """The file means what it means without that count."""
    head = f"loss f labels 0 1 memory m of {tape} last 1 count a when z == old m[0]"
    unread = "count b when y == old m[0] and z == 1"
    short, full = (
        fsmeu.loads(f"{head} {more} count c when z != y value c {beside}") for more in ("", unread)
    )
    for z in ("0110", "1000"):
        found, known = (fsmeu.expect(loss, z, CHAIN) for loss in (full, short))
        assert full(z, "0100") == short(z, "0100") == sum(map(str.__ne__, z, "0100"))
        assert found.value == pytest.approx(known.value, rel=1e-12)
        assert found.outputs == pytest.approx(known.outputs, rel=1e-12)


# -- a name or path in the place of a loss ---------------------------------------------------------

P, Z, Y = [0.9, 0.5, 0.3], [1, 1, 0], [1, 0, 0]
TAKING = {
    "evaluate": lambda loss: fsmeu.evaluate(loss, Z, Y),
    "expect": lambda loss: fsmeu.expect(loss, Z, P).value,
    "decode": lambda loss: fsmeu.decode(loss, P).value,
    "check": lambda loss: str(fsmeu.check(loss, n=2).growth),
    "CostOracle": lambda loss: fsmeu.searn.CostOracle(loss, Y).costs([1]).tolist(),
}


@pytest.mark.parametrize("ask", TAKING.values(), ids=TAKING)
def test_a_name_or_path_is_the_loss_itself(ask, tmp_path):
    file = tmp_path / "fscore.loss"
    file.write_text(fsmeu.load("fscore").spec.source)
    expected = ask(fsmeu.load("fscore"))
    for named in ("fscore", str(file), Path(file)):
        assert ask(named) == expected
    with pytest.raises(fsmeu.InputError, match="Did you mean 'fscore'"):
        ask("fsocre")
    with pytest.raises(fsmeu.FsmeuError):
        ask(3)


def test_a_file_that_has_changed_is_read_anew(tmp_path):
    file = tmp_path / "mine.loss"
    for number in (1, 2):
        file.write_text(f"loss mine labels 0 1 value {number}")
        assert fsmeu.evaluate(file, "0", "1") == number
