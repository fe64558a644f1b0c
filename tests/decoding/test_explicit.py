"""The explicit engine at lengths beyond enumeration; tests/matrix asks it about short ones."""

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import SizeLimitError
from tests.label_models import plain_model

LONG = {"fscore": {}, "windowdiff": {"k": 4}, "chunk_fscore": {"types": ["X"]}}


@pytest.mark.parametrize("order", [0, 2])
@pytest.mark.parametrize("name", LONG)
def test_as_the_default_engine_at_length_30(name, order):
    loss = fsmeu.load(name, **LONG[name])
    rng = np.random.default_rng(order)
    kind, more = ("markov", {"order": order}) if order else ("independent", {})
    model = plain_model(rng, kind, tuple(loss.labels), 30, **more).build()
    ours, default = (fsmeu.decode(loss, model, engine=engine) for engine in ("openfst", "auto"))
    assert ours.exact
    assert default.exact
    assert ours.value == pytest.approx(default.value, rel=2e-9, abs=1e-15)
    again = fsmeu.expect(loss, ours.labels, model).value
    assert ours.value == pytest.approx(again, rel=1e-10, abs=1e-15)


def test_ties_are_proven():
    """Every sequence with as many ones is as good: more than are listed, and singles hide it."""
    for p in ([0.3] * 40, [0.5] * 40):
        made = fsmeu.decode("fscore", p, engine="openfst")
        assert made.exact
        assert made.value == pytest.approx(fsmeu.decode("fscore", p).value, rel=1e-12)


def test_nothing_possible_is_allowed():
    """Then any allowed sequence is the most probable one."""
    model = fsmeu.models.NBest([[0, 0, 0]])
    made = fsmeu.decode("zero_one", model, engine="openfst", method="viterbi", constraint="1 . .")
    assert (made.exact, made.labels[0], made.value) == (True, 1, pytest.approx(1.0))


def test_sizes_are_refused_before_they_are_built(monkeypatch):
    loss = fsmeu.load("chunk_fscore", types=["NP", "VP"])
    model = fsmeu.models.Independent(np.full((30, 5), 0.2), loss.labels)
    monkeypatch.setenv("FSMEU_MAX_STATES", "2000")
    with pytest.raises(SizeLimitError, match=r"FSMEU_MAX_STATES.*default engine has no such limit"):
        fsmeu.decode(loss, model, engine="openfst", method="counting")
