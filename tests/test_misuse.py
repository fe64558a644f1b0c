"""Arguments that are no such thing: one sentence each, of the one family of errors."""

import itertools

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import FsmeuError, InputError, LossFileError, SizeLimitError
from tests.support.python_losses import Constant

F1 = fsmeu.load("fscore")


class Keeper(Constant):
    """A loss in Python that remembers everything."""

    def start(self):
        return ()

    def step(self, state, z, y):
        return (*state, y)

    def value(self, state):
        return 0.0


def test_types_or_labels():
    with pytest.raises(InputError, match="labels"):
        fsmeu.load("chunk_fscore", types=["A"], labels=["O"])


def test_a_name_is_told_how_to_be_loaded():
    with pytest.raises(InputError, match=r"Use fsmeu.load\('fscore'\)"):
        fsmeu.expect("fscore", "1", [0.5])


def test_a_python_loss_that_remembers_everything_is_refused_in_time(monkeypatch):
    """The limit holds while states are met, not only when a layer is complete."""
    monkeypatch.setenv("FSMEU_MAX_STATES", "1000")
    loss = fsmeu.function_loss(Keeper())
    with pytest.raises(SizeLimitError, match="at most 1,000 states"):
        fsmeu.expect(loss, [0] * 40, [0.5] * 40)


@pytest.mark.parametrize("cost", [[[1e308, -1e308], [-1e308, 1e308]], [[1e308, 0], [0, 1e308]]])
def test_what_doubles_cannot_hold_is_no_answer(cost):
    """Values that are finite each, and whose sums are not."""
    loss = fsmeu.load("cost_matrix", cost=cost, mean=0)
    model = fsmeu.models.Markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], n=6)
    z = "000000"
    for ask in (
        lambda: fsmeu.expect(loss, z, model),
        lambda: fsmeu.expect(loss, z, model, engine="openfst"),
        lambda: fsmeu.expect(loss, z, model, keep=2),
        lambda: fsmeu.expect_many(loss, [z], [model]),
        lambda: fsmeu.gradient(loss, z, model),
    ):
        try:
            found = ask()
        except FsmeuError:
            continue
        value = found.value if hasattr(found, "value") else found
        parts = value.values() if isinstance(value, dict) else [value]
        assert all(np.isfinite(part).all() for part in parts)


def test_a_summed_machine_that_doubles_cannot_hold_is_refused():
    loss = fsmeu.load("cost_matrix", cost=[[1e308, -1e308], [-1e308, 1e308]], mean=0)
    with pytest.raises(InputError, match="Scale the loss down"):
        fsmeu.compile_summed(loss, 6)


def test_a_false_range_is_found_where_values_are():
    loss = fsmeu.loads("loss w labels 0 1 count bad when z != y value bad range 0 .. 2")
    with pytest.raises(LossFileError, match="the declared range is 0"):
        loss("111", "000")


def test_impossible_references_disturb_neither_bounds_nor_decisions():
    """tp / ref, where the first label of y is certainly 1."""
    loss = fsmeu.loads(
        "utility f labels 0 1 count tp when z == 1 and y == 1 count ref when y == 1 value tp / ref"
    )
    p = [1.0, 0.5, 0.2]
    chance = {
        y: np.prod([a if b else 1 - a for a, b in zip(p, y, strict=True)])
        for y in itertools.product((0, 1), repeat=3)
    }
    worth = {
        z: sum(q * np.dot(z, y) / sum(y) for y, q in chance.items() if q > 0)
        for z in itertools.product((0, 1), repeat=3)
    }
    part = fsmeu.expect(loss, "110", p, keep=2)
    assert part.lower <= worth[1, 1, 0] <= part.upper
    decided = fsmeu.decode(loss, p)
    assert worth[tuple(decided.labels)] == pytest.approx(max(worth.values()), rel=1e-12)


def test_a_distribution_on_both_tapes_of_a_windowed_loss():
    """Too large as states; both engines let the paths add up."""
    model = fsmeu.models.Markov([0.5, 0.5], [[0.9, 0.1], [0.4, 0.6]], n=30)
    loss = fsmeu.load("windowdiff", k=12)
    values = [fsmeu.expect(loss, model, model, engine=e).value for e in ("lattice", "openfst")]
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_gradients_of_large_machines_are_refused(monkeypatch):
    monkeypatch.setenv("FSMEU_MAX_STATES", "10000")
    with pytest.raises(SizeLimitError, match="gradient"):
        fsmeu.gradient(fsmeu.load("windowdiff", k=12), [0, 1] * 30, [0.5] * 60)


def test_the_limit_on_states_holds_on_both_engines():
    for engine in ("lattice", "openfst"):
        with pytest.raises(SizeLimitError):
            fsmeu.expect(F1, "0101", [0.5] * 4, engine=engine, max_states=1).levels  # noqa: B018
