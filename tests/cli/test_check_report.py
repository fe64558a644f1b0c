"""`fsmeu check`: what is measured and derived, for people and for programs."""

import json
import math

import pytest

from fsmeu.losses.loss import library
from tests.support.nightly import every_third

CLUMSY = """
loss clumsy "mistakes, with more remembered than is asked for"
labels 0 1
count bad when z != y
count ones when z == 1
memory last_y of y last 2
value bad / n or 0 when n == 0
example 0110 0100 = 1/4
"""
BACKWARDS = """
utility backwards
labels 0 1
count tp when z == 1 and y == 1
count hyp when z == 1
value hyp - tp^2
"""
GAP = """
loss gap
labels 0 1
state a b
arc a -> b when z == 1
arc b -> b
value at b
"""


def facts_of(ran):
    """The lines under 'Derived with ...', joined where they are wrapped."""
    lines = ran.out.splitlines()
    begin = next(k for k, text in enumerate(lines) if text.startswith("Derived with"))
    found, heading = {}, ""
    for text in lines[begin + 1 :]:
        if not text.startswith("  "):
            if found:
                break
            continue
        head, rest = text[2:18].strip(), text[18:].strip()
        heading = head or heading
        found[heading] = f"{found.get(heading, '')} {rest}".strip()
    return found


@pytest.mark.parametrize("name", every_third(library()))
def test_reports_fit_into_80_columns(fsmeu, name, monkeypatch):
    """Every file of the shelf is measured, and nothing sticks out but what the file itself says."""
    monkeypatch.setenv("COLUMNS", "80")
    ran = fsmeu("check", name, "-n", 3)
    assert ran.code == 0, ran.out
    begin = ran.out.index("Derived with")
    assert max(map(len, ran.out[begin:].splitlines())) <= 80
    assert set(facts_of(ran)) >= {"steps", "value", "additive", "confusion table"}


def test_the_f_score_as_it_is_known(fsmeu):
    """Jansche 2007: states (tp, hyp, ref); Natarajan 2016, table 1: F1 is TP-monotonic."""
    data = fsmeu("check", "fscore", "--json", "-n", 10).json
    sizes = data["growth"]["sizes"]
    assert [row["states"] for row in sizes] == [math.comb(n + 3, 3) for n in range(1, 11)]
    assert data["growth"]["order"]["states"] == {"text": "n^3", "about": False}
    known = data["properties"]
    assert known["linear"] == ["tp"]
    assert known["confusion"]
    assert known["tp_monotonic"]
    assert not known["additive"]
    top, bottom = known["fractional"]["numerator"], known["fractional"]["denominator"]
    scale = 2 / top[1]
    assert [c * scale for c in top] == [0, 2, 0, 0]
    assert [d * scale for d in bottom] == [0, 0, 1, 1]
    assert data["determinism"]["up_to"] == 10
    assert {d["method"]: d["any_model"] for d in data["decoders"]} == {
        "ranking_fast": False,
        "counting": True,
        "ranking": False,
    }


def test_what_follows_for_the_f_score_in_words(fsmeu):
    told = facts_of(fsmeu("check", "fscore"))
    assert told["value"] == "linear in tp"
    assert told["additive"].startswith("no: the value also looks at hyp, ref")
    assert told["TP-monotonic"].startswith("yes, for n up to 12")
    assert told["exact decisions"] == (
        "at n = 12: counting (any model); ranking_fast, ranking (independent labels)"
    )


def test_windows_are_additive_but_no_confusion_table(fsmeu):
    told = facts_of(fsmeu("check", "pk", "-p", "k=2"))
    assert told["additive"].startswith("yes")
    assert told["confusion table"].startswith("no: z=")
    assert "TP-monotonic" not in told


def test_redundant_registers_are_named_and_merged(fsmeu):
    """Only mistakes matter: n + 1 states remain of those that the file makes."""
    ran = fsmeu("check", "-", "-n", 6, stdin=CLUMSY)
    assert ran.code == 0
    told = facts_of(ran)
    assert told["redundant"].startswith("ones, last_y: the others decide the value")
    data = fsmeu("check", "-", "-n", 6, "--json", stdin=CLUMSY).json
    assert [row["merged"] for row in data["growth"]["sizes"]] == [n + 1 for n in range(1, 7)]
    assert data["redundant"]["together"] == ["ones", "last_y"]
    assert {row["name"]: row["redundant"] for row in data["registers"]} == {
        "bad": False,
        "ones": True,
        "last_y": True,
    }


def test_a_counterexample_is_shown_with_both_tables(fsmeu):
    """hyp - tp^2 falls with tp: the smallest case is one position."""
    told = facts_of(fsmeu("check", "-", stdin=BACKWARDS))
    case = fsmeu("check", "-", "--json", stdin=BACKWARDS).json["properties"]["counterexample"]
    n, hyp, tp, ref = (case[name] for name in ("n", "hyp", "tp", "ref"))
    assert case["value"] == hyp - tp**2
    assert case["value_with_one_more"] == hyp - (tp + 1) ** 2
    assert f"tp={tp} fp={hyp - tp} fn={ref - tp} tn={n - hyp - ref + tp}" in told["TP-monotonic"]
    assert "ranking" not in told["exact decisions"].split()


def test_states_without_an_arc_end_in_exit_code_1(fsmeu):
    """No example is there to fail, but pairs have no value."""
    ran = fsmeu("check", "-", stdin=GAP)
    assert ran.code == 1
    assert "no arc applies" in facts_of(ran)["steps"]
    data = fsmeu("check", "-", "--json", stdin=GAP).json
    assert not data["holds"]
    assert data["determinism"]["arcs"]
    assert data["growth"]["sizes"] == []


def test_parameters_that_nothing_gives_are_asked_for(fsmeu):
    text = "loss f(w: real) labels 0 1 count bad when z != y value w * bad"
    ran = fsmeu("check", "-", stdin=text)
    assert ran.code == 0
    assert "Not measured: loss f: the parameter 'w' has no default" in ran.out
    data = fsmeu("check", "-", "--json", stdin=text).json
    assert data["growth"] is data["measured"] is data["decoders"] is None
    assert "'w'" in data["missing"]
    assert fsmeu("check", "-", "-p", "w=2", "--json", stdin=text).json["growth"]


def test_what_was_assumed_is_marked(fsmeu):
    data = fsmeu("check", "pk", "--json", "-n", 4).json
    assert data["measured"]["assumed"] == ["k"]
    assert "k = 3 (assumed)" in fsmeu("check", "pk", "-n", 4).out
    given = fsmeu("check", "pk", "--json", "-n", 4, "-p", "k=2").json["measured"]
    assert given == {"labels": [0, 1], "parameters": {"k": 2}, "assumed": []}


def test_tables_and_tags_can_be_given(fsmeu):
    costs = json.dumps([[0, 2, 1], [1, 0, 1], [3, 1, 0]])
    options = ("--labels", "A,B,C", "-p", f"cost={costs}", "-n", 3, "--json")
    data = fsmeu("check", "cost_matrix", *options).json
    assert data["measured"]["labels"] == ["A", "B", "C"]
    assert data["measured"]["parameters"]["cost"] == json.loads(costs)
    data = fsmeu("check", "chunk_fscore", "--types", "NP", "-n", 3, "--json").json
    assert data["measured"]["labels"] == ["O", "B-NP", "I-NP"]


def test_a_length_of_zero_is_refused(fsmeu):
    assert fsmeu("check", "fscore", "-n", 0).code == 2
