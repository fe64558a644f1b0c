"""`fsmeu consensus`: a line for each record, the same as by the function; faults by line."""

import pytest

from fsmeu import consensus, decode, load, models


def test_answers_are_those_of_the_function(fsmeu, keep):
    sets = [["cat", "dog"], ["cat", [1, 2]], ["cat", "mouse", [1, 2]]]
    records = [
        {"id": "a", "sets": sets, "weights": [1, 2, 1]},
        {"sequences": ["0110", "0100", "0011"]},
        {"sequences": [[0, 1], [1, 1]]},
    ]
    file = keep("samples.jsonl", records)
    first, second, third = fsmeu("consensus", "fscore", file, "-p", "beta=2").records
    f2 = load("fscore", beta=2)
    given = [{tuple(x) if isinstance(x, list) else x for x in one} for one in sets]
    found = {tuple(x) if isinstance(x, list) else x for x in first["answer"]}
    assert found == consensus(given, f2, [1, 2, 1])
    assert first["id"] == "a"
    assert [one["record"] for one in (first, second, third)] == [1, 2, 3]
    assert second["answer"] == consensus(["0110", "0100", "0011"], f2)
    assert third["answer"] == consensus([[0, 1], [1, 1]], f2)
    decision = decode(f2, models.from_samples(["0110", "0100", "0011"]))
    assert second["value"] == decision.value
    assert second["exact"]


def test_spans_and_smoothing(fsmeu, keep):
    records = [{"spans": [[[0, 2, "NP"], [2, 3, "VP"]], [[0, 2, "NP"]], []]}]
    file = keep("samples.jsonl", records)
    given = [{(0, 2, "NP"), (2, 3, "VP")}, {(0, 2, "NP")}, set()]
    for smooth in (0, 0.5):
        (told,) = fsmeu("consensus", "chunk_fscore", file, "--smooth", smooth).records
        found = consensus(given, "chunk_fscore", smooth=smooth)
        assert set(map(tuple, told["answer"])) == found


@pytest.mark.parametrize(
    ("record", "parts"),
    [
        ({"sets": [["a"]], "spans": []}, ("one of the keys",)),
        ({"probs": [0.5]}, ("one of the keys", "the keys probs")),
        ({"sets": [["a"]], "weight": [1]}, ('beside "sets"', "weight")),
        ({"sets": "ab"}, ("must be a list of samples",)),
        ({"sets": ["ab"]}, ("sets[0]", "must be a list of labels")),
        ({"sets": [[{"a": 1}]]}, ("sets[0]", "a label must be")),
        ({"sequences": [7]}, ("sequences[0]",)),
        ({"sequences": ["01", "0"]}, ("samples[1]", "as many labels as the first")),
        ({"sets": [["a"]], "id": [1]}, ("key 'id'",)),
        ({"sets": [["a"], ["b"]], "weights": [1]}, ("weights",)),
        ([], ("must be a JSON object",)),
    ],
)
def test_faults_are_told_with_their_line(fsmeu, keep, record, parts):
    ran = fsmeu("consensus", "fscore", keep("samples.jsonl", [record]))
    ran.is_refused("line 1", *parts)


def test_file_without_records(fsmeu, keep):
    fsmeu("consensus", "fscore", keep("none.jsonl", "\n")).is_refused("at least one record")
