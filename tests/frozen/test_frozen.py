"""Frozen answers: some of the file are found again, and answers that were tampered with are not."""

import pytest

import fsmeu
from tests.frozen import run
from tests.frozen.ask import Asked
from tests.frozen.compare import compare
from tests.frozen.draw import FrozenConstraint, draw
from tests.frozen.losses import restored
from tests.frozen.store import read_answers, write_answers

FEW = 100
QUICK = 0.05
"""Seconds of processor time that an answer took that is found again here."""


@pytest.fixture(scope="module")
def lines():
    return list(read_answers().values())


def line_of(lines, question, labels=2, **known):
    """A line of a question whose first answer is as it says, of so many labels at least."""
    return next(
        line
        for line in lines
        if line["question"] == question and "answers" in line and len(line["answers"]) == 1
        if known.items() <= line["answers"][0].items()
        if len(line["answers"][0].get("labels", "aa")) >= labels
    )


def changed(line, **answer):
    """The line with another first answer."""
    return {**line, "answers": [{**line["answers"][0], **answer}, *line["answers"][1:]]}


def kinds(line, tampered, lowered=False):
    """The failures when the package's answer is compared with a line that was tampered with."""
    asked = Asked(draw(line["number"], line["attempt"], restored(line["loss"])))
    found = compare(asked, tampered, {**line, **asked.answer()}, lowered)
    return [finding.kind for finding in found]


def test_a_spread_of_the_file_is_found_again(lines):
    quick = [line for line in lines if line["seconds"] <= QUICK]
    report = run.compare_all(quick[:: max(1, len(quick) // FEW)])
    assert [(line["number"], one) for line, one in report.findings if one.is_failure] == []
    assert report.count >= FEW
    assert len(report.asked) > 8, "all questions are asked"


def test_problems_are_what_they_were(lines):
    """Whatever the order, and with the loss as it is drawn, or as it was stored."""
    for line in reversed(lines[::9]):
        for loss in (None, restored(line["loss"])):
            assert draw(line["number"], line["attempt"], loss).fingerprint == line["fingerprint"]


def test_another_problem_is_told(lines):
    line = next(line for line in lines if line["loss"]["source"] in ("hamming", "fscore"))
    other = {**line, "loss": {**line["loss"], "source": "zero_one", "given": {}, "asks": True}}
    _, findings = run.compared_line(other)
    assert [finding.kind for finding in findings] == ["problem changed"]


@pytest.mark.parametrize("question", ["expect", "expect_corpus"])
def test_expectations_that_are_off_fail(lines, question):
    line = line_of(lines, question)
    answer = line["answers"][0]
    value, scale = answer["value"], max(1.0, abs(answer["value"]))
    off, near = (dict.fromkeys(answer, value + part * scale) for part in (3e-9, 1e-10))
    assert kinds(line, line) == []
    assert kinds(line, changed(line, **near)) == []
    assert kinds(line, changed(line, **off)) == ["other values"]


@pytest.mark.parametrize("question", ["value_and_gradient", "CostOracle"])
def test_numbers_that_are_off_fail(lines, question):
    line = next(one for one in lines if one["question"] == question and "numbers" in one)
    most = max(1.0, *(abs(x) for x in line["numbers"]))
    assert kinds(line, line) == []
    for k in {0, len(line["numbers"]) - 1}:
        off = [x + 1e-8 * most * (j == k) for j, x in enumerate(line["numbers"])]
        assert kinds(line, {**line, "numbers": off}) == ["other values"]
    assert kinds(line, {**line, "numbers": line["numbers"][1:]}) == ["other number"]


def test_decisions_that_were_better_or_worse_are_told_apart(lines):
    """By which side is called best; bounds that do not hold what was proven come with it."""
    line = line_of(lines, "decode", exact=True)
    utility = Asked(draw(line["number"], line["attempt"], restored(line["loss"]))).wants_more
    answer = line["answers"][0]
    better = answer["value"] + (0.1 if utility else -0.1) * max(1.0, abs(answer["value"]))
    worse = 2 * answer["value"] - better
    labels = answer["labels"][::-1].replace("a", "?").replace("b", "a").replace("?", "b")
    for value, proven, kind in (
        (better, True, "wrong proof, now"),
        (better, False, "wrong proof, now"),
        (worse, True, "wrong proof, then"),
        (worse, False, "frozen worse"),
    ):
        bounds = {"lower": value, "upper": value} if proven else {}
        tampered = changed(line, value=value, exact=proven, labels=labels, **bounds)
        found = kinds(line, tampered)
        assert kind in found
        assert "wrong value" in found, "the frozen labels are not worth what the file says"
        assert ("wrong bounds" in found) == (proven or value == better)


def test_labels_may_differ_where_their_values_do_not(lines):
    loss, model = fsmeu.load("hamming", labels=(0, 1)), fsmeu.models.Bernoulli([0.5, 0.9])

    class Tied:
        wants_more = False

        def is_allowed(self, labels):
            return FrozenConstraint("", "", ".b").allows([ord(x) - 97 for x in labels])

        def worth(self, labels, place):
            return fsmeu.expect(loss, [ord(x) - 97 for x in labels], model).value

    bounds = {"lower": 0.3, "upper": 0.3, "exact": True, "method": "additive"}
    answers = ({"value": 0.3, "labels": labels, **bounds} for labels in ("ab", "bb", "ba"))
    one, other, third = ({"answers": [answer]} for answer in answers)
    assert [x.kind for x in compare(Tied(), one, one)] == []
    assert [x.kind for x in compare(Tied(), one, other)] == ["tie"]
    assert [x.kind for x in compare(Tied(), one, third)] == ["not allowed", "wrong value", "tie"]


def test_lowered_limits_may_refuse_and_prove_less(lines):
    line = line_of(lines, "decode", exact=True)
    refused = {"refused": "SizeLimitError", "says": "too large", "seconds": 0.0}
    assert [x.kind for x in compare(None, line, refused)] == ["no answer"]
    assert [x.kind for x in compare(None, line, refused, lowered=True)] == ["not compared"]
    unproven = changed(line, exact=False)
    asked = Asked(draw(line["number"], line["attempt"], restored(line["loss"])))
    assert [x.kind for x in compare(asked, line, unproven)] == ["proof lost"]
    assert compare(asked, line, unproven, lowered=True) == []
    crashed = {"crashed": "IndexError", "says": "", "seconds": 0.0}
    assert [x.kind for x in compare(None, line, crashed, lowered=True)] == ["crashed"]


def test_the_command_writes_and_compares(tmp_path, capsys):
    path = tmp_path / "few.xz"
    words = ["--file", str(path), "--only", "30..33"]
    assert run.main([*words, "--write"]) == 0
    assert run.main([*words, "--seed-order", "1"]) == 0
    assert "4 problems, 0 failures" in capsys.readouterr().out
    kept = read_answers(path)
    name = "answers" if "answers" in kept[31] else "numbers"
    kept[31][name] = kept[31][name] * 2
    write_answers(kept, path)
    assert run.main(words) == 1
    assert "other number: 1" in capsys.readouterr().out
