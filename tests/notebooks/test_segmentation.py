"""Choi's documents as sequences of gaps, and the table that compares decisions."""

import numpy as np
import pytest

import fsmeu

TEXT = "==========\nA dog barks .\nThe dog sleeps .\n==========\nRain falls .\n==========\n"


@pytest.fixture
def script(load):
    return load("segmentation")


def test_a_document(script):
    words, labels = script.document(TEXT)
    assert labels == ["0", "1"]
    assert words[1] == {"the": 1, "dog": 1, "sleeps": 1}
    assert script.half_mean_segment([(words, labels)] * 2) == 1


def test_cosines(script):
    words, _ = script.document(TEXT)
    same = {word: 1.0 for one in words for word in one}
    assert script.cosine(words[:1], words[:1], same) == pytest.approx(1)
    assert script.cosine(words[:1], words[1:2], same) == pytest.approx(1 / 3)  # one of three words
    assert script.cosine(words[:1], words[2:], same) == 0
    first, second = script.features(words, same)
    assert first["cosine1"] == pytest.approx(10 / 3)
    assert second["depth1,-1"] == pytest.approx(10 / 3)


def test_models_and_table(script, capsys):
    pytest.importorskip("sklearn_crfsuite")
    seen, new = script.models([script.document(TEXT)] * 4, [script.document(TEXT)])
    p = script.boundary_probabilities(new[0])
    assert p[1] > p[0]
    np.testing.assert_array_equal(script.boundary_probabilities(seen[0]), p)
    loss = fsmeu.load("windowdiff", k=1, labels=["0", "1"])
    script.show(loss, {"none": [["0", "0"]], "MEU": [["0", "1"]]}, [["0", "1"]])
    shown = capsys.readouterr().out
    assert "0.5000 (0.5000 to 0.5000)" in shown
    assert "0.0000" in shown
