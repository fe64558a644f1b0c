"""The script of corpus decisions: what it prints is in the order that the theory demands."""

import importlib.util
import sys
from pathlib import Path

import pytest

from fsmeu.data_folder import data_folder

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"


@pytest.fixture
def script(monkeypatch):
    """The script as a module; it imports the one beside it."""
    monkeypatch.syspath_prepend(str(FOLDER))
    place = FOLDER / "conll2000_corpus.py"
    spec = importlib.util.spec_from_file_location("conll2000_corpus", place)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_three_ways(script):
    pytest.importorskip("sklearn_crfsuite", reason="sklearn-crfsuite is part of the extra 'crf'")
    if not (data_folder() / "conll2000" / "train.txt.gz").is_file():
        pytest.skip("CoNLL-2000 is not there: set FSMEU_DATA to the folder that holds conll2000")
    short = [sentence for sentence in script.read("train")[:200] if len(sentence) <= 12]
    viterbi, by_sentence, of_corpus = script.run(short[:12], short[12:16], 1e-4)
    assert 0 <= of_corpus.below <= 1.01e-4
    assert of_corpus.expected >= max(viterbi.expected, by_sentence.expected) - 1e-4
    assert all(0 < row.fscore <= 1 for row in (viterbi, by_sentence, of_corpus))
