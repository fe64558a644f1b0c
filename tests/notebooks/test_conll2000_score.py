"""The script that writes label models: what it writes is what `fsmeu score` reads."""

import gzip
import json

import numpy as np
import pytest

import fsmeu

TEST = [[("A", "DT", "B-NP"), ("dog", "NN", "I-NP")], [("Barks", "VB", "B-VP")]]


@pytest.fixture
def script(load):
    return load("conll2000_score")


def test_lines(script, tmp_path):
    pytest.importorskip("sklearn_crfsuite")
    train = [TEST[0], TEST[1], [("It", "PRP", "B-NP"), ("barks", "VB", "B-VP")]] * 3
    assert sorted(script.drawn(train, 0, seed=1)) == sorted(train)
    assert len(script.drawn(train, 2, seed=1)) == 2
    for make in (script.crf_models, script.softmax_models):
        models = list(make(train, TEST))
        file = script.write(tmp_path / "out" / "m.jsonl.gz", models, TEST, quiet=True)
        records = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
        assert [record.pop("y") for record in records] == [["B-NP", "I-NP"], ["B-VP"]]
        for model, record in zip(models, records, strict=True):
            found = fsmeu.models.from_json(record)
            np.testing.assert_allclose(found.marginals(), model.marginals(), atol=1e-5)
