"""What is derived from an object is kept on it, forgotten in one way, and not copied."""

import copy
import pickle

import numpy as np
import pytest

import fsmeu


@pytest.mark.parametrize("name", ["fscore", "hamming", "windowdiff"])
def test_copies_have_no_caches_and_answer_the_same(name):
    """So does a loss that forgets."""
    loss = fsmeu.load(name, **({"k": 2} if name == "windowdiff" else {}))
    p, fields = np.random.default_rng(0).random(7), {"spec", "params_given", "labels_given"}

    def answers(loss):
        decision = fsmeu.decode(loss, p)
        return decision.labels, decision.value, fsmeu.expect(loss, "0110010", p).value

    first = answers(loss)
    assert fields < set(vars(loss))
    for again in (copy.copy(loss), copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert set(vars(again)) == fields
        assert answers(again) == first
    loss.forget()
    assert set(vars(loss)) == fields
    assert answers(loss) == first
