"""Wherever a loss is taken, its name or the path of its file will do."""

import inspect
import re
from itertools import product
from pathlib import Path

import pytest

import fsmeu
from fsmeu.drawing.plots import plot_threshold
from fsmeu.errors import InputError
from fsmeu.searn import CostOracle

P, Z, Y = [0.9, 0.5, 0.3], [1, 1, 0], [1, 0, 0]
CHUNKS = fsmeu.models.Independent([[0.5, 0.3, 0.2]] * 2, ["O", "B-NP", "I-NP"])


def points(axes):
    """What a plot shows, in numbers."""
    return [line.get_xydata().tolist() for line in axes.lines]


TAKING = {
    "evaluate": lambda loss: fsmeu.evaluate(loss, Z, Y),
    "evaluate_many": lambda loss: fsmeu.evaluate_many(loss, [Z, Y], [Y, Y]).tolist(),
    "evaluate_corpus": lambda loss: fsmeu.evaluate_corpus(loss, [Z, Y], [Y, Y]),
    "evaluate_outputs": lambda loss: fsmeu.evaluate_outputs(loss, Z, Y),
    "expect": lambda loss: fsmeu.expect(loss, Z, P).value,
    "expect_many": lambda loss: fsmeu.expect_many(loss, [Z, Y], [P, P]).values.tolist(),
    "expect_corpus": lambda loss: fsmeu.expect_corpus(loss, [Z, Y], [P, P]).value,
    "gradient": lambda loss: fsmeu.gradient(loss, Z, P).tolist(),
    "value_and_gradient": lambda loss: fsmeu.value_and_gradient(loss, Z, P)[0],
    "value_and_gradient_many": lambda loss: fsmeu.value_and_gradient_many(loss, [Z], [P])[0][0],
    "compose": lambda loss: fsmeu.compose(loss, Z, P).total,
    "compile_summed": lambda loss: fsmeu.compile_summed(loss, 3).states,
    "decode": lambda loss: (fsmeu.decode(loss, P).labels, fsmeu.decode(loss, P).value),
    "decode_many": lambda loss: [x.value for x in fsmeu.decode_many(loss, [P, P[:2]])],
    "decode_corpus": lambda loss: fsmeu.decode_corpus(loss, [P, P[:2]]).value,
    "regret": lambda loss: fsmeu.regret(loss, Z, P).value,
    "check": lambda loss: str(fsmeu.check(loss).growth),
    "draw": lambda loss: fsmeu.draw(loss, n=2).text,
    "explore": lambda loss: fsmeu.explore(loss, 2).html,
    "plot_calibration": lambda loss: points(
        fsmeu.plot_calibration(loss, [P, P], [Y, Z], hypotheses=[Z, Y], bins=1)
    ),
    "plot_hypotheses": lambda loss: points(fsmeu.plot_hypotheses(loss, [Z, Y], P)),
    "plot_threshold": lambda loss: points(plot_threshold(loss, P, Y, Z)),
    "CostOracle": lambda loss: CostOracle(loss, Y).costs([1]).tolist(),
}


def test_every_public_function_of_a_loss_is_asked():
    """Those whose first parameter is a loss."""
    taking = set()
    for name in fsmeu.__all__:
        function = getattr(fsmeu, name)
        if inspect.isfunction(function) and [*inspect.signature(function).parameters][:1] == [
            "loss"
        ]:
            taking.add(name)
    assert "decode" in taking
    assert taking <= TAKING.keys()


@pytest.mark.parametrize("ask", TAKING.values(), ids=TAKING)
@pytest.mark.thirds
def test_a_name_or_path_is_the_loss_itself(ask, tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "fscore.loss"
    file.write_text(fsmeu.load("fscore").spec.source)
    expected = ask(fsmeu.load("fscore"))
    assert ask("fscore") == expected
    assert ask(str(file)) == expected
    assert ask(Path(file)) == expected


NO_LOSSES = {
    "fsocre": "there is no built-in loss 'fsocre'. Did you mean 'fscore'?",
    "f1": "Did you mean 'fscore'?",
    "nowhere/fscore.loss": "must be there. Got nowhere/fscore.loss instead",
    "pk": "loss pk: the parameter 'k' has no default. Give fsmeu.load('pk', k=VALUE)",
}
MEASURED = {("check", "pk")}  # with a value that is assumed, and told


@pytest.mark.parametrize(("asked", "name"), sorted({*product(TAKING, NO_LOSSES)} - MEASURED))
def test_what_is_no_loss_is_said(asked, name):
    with pytest.raises(InputError, match=re.escape(NO_LOSSES[name])) as caught:
        TAKING[asked](name)
    assert name == "pk" or "load:" not in str(caught.value)  # the function that was called


TAKING_NO_PARAMS = {
    *("check", "draw", "explore", "CostOracle"),
    *("plot_calibration", "plot_hypotheses", "plot_threshold"),
}


@pytest.mark.parametrize("name", sorted(TAKING.keys() - TAKING_NO_PARAMS))
def test_parameters_of_a_loss_are_those_of_load(name):
    function = getattr(fsmeu, name)
    words = f"{name}: parameters of a loss must be given to load. Got beta=2 instead. "
    words += "Give fsmeu.load('fscore', beta=2) in the place of the loss"
    for loss in ("fscore", fsmeu.load("fscore")):
        with pytest.raises(InputError, match=re.escape(words)):
            function(loss, [Z], [P], beta=2)
    own = fsmeu.loads(fsmeu.load("fscore").spec.source)
    with pytest.raises(InputError, match=r"Give fsmeu\.loads\(text, beta=2\)"):
        function(own, [Z], [P], beta=2)
    with pytest.raises(TypeError, match="gamma"):
        function("fscore", [Z], [P], gamma=2)


@pytest.mark.parametrize("ask", [ask for name, ask in TAKING.items() if name != "draw"])
@pytest.mark.parametrize("thing", [None, 3, ["fscore"], b"fscore"])
def test_other_things_are_refused(ask, thing):
    with pytest.raises(InputError, match="a loss is needed"):
        ask(thing)


def test_labels_that_are_open_come_from_the_model():
    loss = fsmeu.load("chunk_fscore")
    assert fsmeu.decode("chunk_fscore", CHUNKS).value == fsmeu.decode(loss, CHUNKS).value
    tags = ["B-NP", "I-NP"], ["B-NP", "O"]
    assert fsmeu.evaluate("chunk_fscore", *tags) == fsmeu.evaluate(loss, *tags)


def test_a_file_that_has_changed_is_read_anew(tmp_path):
    file = tmp_path / "mine.loss"
    for number in (1, 2):
        file.write_text(f"loss mine labels 0 1 value {number}")
        assert fsmeu.evaluate(file, "0", "1") == number
