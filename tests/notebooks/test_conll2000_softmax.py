"""The script of the softmax experiment makes models and decides as it says."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from fsmeu.data_folder import data_folder

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"


@pytest.fixture
def script(monkeypatch):
    """The script as a module; it imports the one beside it."""
    monkeypatch.syspath_prepend(str(FOLDER))
    place = FOLDER / "conll2000_softmax.py"
    spec = importlib.util.spec_from_file_location("conll2000_softmax", place)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_ways_to_decide(script):
    if not (data_folder() / "conll2000" / "train.txt.gz").is_file():
        pytest.skip("CoNLL-2000 is not there: set FSMEU_DATA to the folder that holds conll2000")
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
