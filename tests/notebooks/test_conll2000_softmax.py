"""The script of the softmax experiment makes models and decides as it says."""

import numpy as np
import pytest


@pytest.fixture
def script(load):
    return load("conll2000_softmax")


def test_ways_to_decide(script, conll2000):
    sentences = script.read("train")[:22]
    models = script.softmax_models(sentences[:20], sentences[20:])
    assert [model.n for model in models] == [len(one) for one in sentences[20:]]
    for model, tagged in zip(models, script.argmax(models), strict=True):
        assert tagged == [str(model.labels[k]) for k in np.argmax(model.marginals(), axis=1)]
    formed = [model.given(script.fsmeu.constraints.bio()) for model in models]
    for model, tagged in zip(formed, script.most_probable(formed), strict=True):
        before = ["O", *tagged]
        inside = [(a, b) for a, b in zip(before, tagged, strict=False) if b.startswith("I-")]
        assert all(a[1:] == b[1:] for a, b in inside)
        assert model.probability(tagged) > 0
    decided = script.decided(formed)
    assert [len(one) for one in decided] == [len(one) for one in sentences[20:]]
