"""The script of corpus decisions: what it prints is in the order that the theory demands."""

import pytest


@pytest.fixture
def script(load):
    return load("conll2000_corpus")


@pytest.mark.nightly
def test_three_ways(script, conll2000):
    pytest.importorskip("sklearn_crfsuite", reason="sklearn-crfsuite is part of the extra 'crf'")
    short = [sentence for sentence in script.read("train")[:200] if len(sentence) <= 12]
    viterbi, by_sentence, of_corpus = script.run(short[:12], short[12:16], 1e-4)
    assert 0 <= of_corpus.below <= 1.01e-4
    assert of_corpus.expected >= max(viterbi.expected, by_sentence.expected) - 1e-4
    assert all(0 < row.fscore <= 1 for row in (viterbi, by_sentence, of_corpus))
