"""What is derived from an object is kept on it, forgotten in one way, and not copied."""

import copy
import pickle

import numpy as np
import pytest

import fsmeu
from fsmeu.cache import Cache
from tests.support.python_losses import Differs


def test_the_results_used_last_are_kept():
    """A result is computed again only after as many others were asked for."""
    cache, computed = Cache(most=2), []

    def result(key):
        return cache.get(key, lambda: computed.append(key) or key.upper())

    assert [result(key) for key in "abacab"] == list("ABACAB")
    assert computed == ["a", "b", "c", "b"]
    assert len(cache) == 2


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_have_no_caches(copied):
    """A copy has the fields alone, and the same values."""
    loss = fsmeu.load("fscore", beta=2)
    value = loss("0110", "0100")
    again = copied(loss)
    assert set(vars(again)) == {"spec", "params_given", "labels_given"} < set(vars(loss))
    assert again("0110", "0100") == value


@pytest.mark.parametrize("name", ["fscore", "hamming", "windowdiff"])
def test_a_loss_that_forgets_answers_the_same(name):
    """Derived again, everything has the same bits."""
    loss = fsmeu.load(name, **({"k": 2} if name == "windowdiff" else {}))
    p = np.random.default_rng(0).random(7)

    def answers():
        decision = fsmeu.decode(loss, p)
        return decision.labels, decision.value, fsmeu.expect(loss, "0110010", p).value

    first = answers()
    loss.forget()
    assert set(vars(loss)) == {"spec", "params_given", "labels_given"}
    assert answers() == first


def test_a_python_loss_has_no_derived_properties():
    """What is read off a file is None for a function, and its values may be any."""
    loss = fsmeu.function_loss(Differs())
    assert (loss.bound, loss.split, loss.confusion) == (None, None, None)
    assert tuple(loss.value_range(3)) == (-np.inf, np.inf)
    assert not loss.value_range(3).finite
