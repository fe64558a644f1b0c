"""`fsmeu check`: examples are run, what follows from a definition is said, sizes are counted."""

import re
from itertools import product
from math import comb

import pytest

import fsmeu as package
from fsmeu.losses.loss import library
from tests.brute_force import fscore
from tests.support.nightly import every_third

TAGS = (
    "utility f labels bio count bad by -1/2 when type(z) != type(y) value bad / n or 1 when n == 0 "
    'example "O B-NP" "O B-VP" = -1/4 example O B-NP = -0.5 example OOO OOO = 0'
)
COSTS = """
loss costs(cost: table, w = 1)
labels any
count total by w * cost[z, y]
value total
example ABA AAB = 3
example ABA AAB = 6 with w = 2
"""
WRONG = """
loss wrong(k: int = 2)
labels 0 1
count bad when z != y
value bad / (bad + k - 1)
example 01 00 = 1/2
example 01 00 = 1 with k = 3
example 01 00 = 1/3 with k = 3
example 01 002 = 1
example 01 0 = 1
example 01 01 = 0 with k = 1
"""
BACKWARDS = (
    "utility f labels 0 1 count tp when z == 1 and y == 1 count hyp when z == 1 value hyp - tp^2"
)
GAP = "loss gap labels 0 1 state a b arc a -> b when z == 1 arc b -> b value at b"


@pytest.fixture
def check(fsmeu):
    return lambda text, *options: fsmeu("check", "-", *options, stdin=text)


def facts_of(ran):
    """The lines under 'Derived with ...', joined where they are wrapped."""
    found, heading = {}, ""
    derived = ran.out.partition("\nDerived with")[2].partition("\n\n")[0]
    for head, rest in re.findall(r"^  (.{16})(.*)$", derived, re.MULTILINE):
        heading = head.strip() or heading
        found[heading] = f"{found.get(heading, '')} {rest.strip()}".strip()
    return found


def test_failing_examples_are_told_one_by_one(check):
    ran = check(WRONG)
    assert (ran.code, ran.err) == (1, "")
    for part in (
        "ok    line 6: 01 00 = 0.5",
        f"FAILS line 7: 01 00 = {1 / 3!r} with k = 3; the file says 1.0",
        "ok    line 8",
        "FAILS line 9: 01 002, because:",
        "entry 2 must be one of 0, 1",
        "same length",
        "division by zero",
        "2 of 6 examples hold.",
    ):
        assert part in ran.out
    data = check(WRONG, "--json").json
    assert not data["holds"]
    assert [example["holds"] for example in data["examples"]] == [True, False, True, *[False] * 3]
    differs = {"value": pytest.approx(1 / 3), "expected": 1.0, "with": {"k": 3}}
    assert {name: data["examples"][1][name] for name in differs} == differs
    assert data["examples"][3]["value"] is None


@pytest.mark.parametrize(
    ("text", "options", "code", "said"),
    [
        (TAGS, [], 0, "3 of 3"),
        (COSTS, [], 1, "0 of 2"),  # a table has no place in an example
        (COSTS, ["-p", "cost=[[0, 1], [2, 0]]"], 0, "2 of 2"),
        ("loss one value 1", [], 0, "no examples"),
        # what does not fit is a fault of the file; a number that nothing gives is none
        ('loss f\nlabels A B\ncount c when z == "C"\nvalue c', [], 1, "is not a label; the labels"),
        ("loss f(k: int)\ncount c when z == y\nvalue c + k", [], 0, "Not measured"),
        ("loss f count c when z == y value 1 / c", [], 1, "Measuring it FAILS, because:"),
        (GAP, [], 1, "no arc applies"),  # no example is there to fail, but pairs have no value
    ],
)
def test_exit_codes(check, text, options, code, said):
    ran = check(text, *options)
    assert (ran.code, said in ran.out) == (code, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("count c when z == y\nvalue c\nrange 0 .. 1", "declared range 0 .. 1. Got 2 instead"),
        ("register r in 0..1 start 0 next r + 1\nvalue r", "r leaves its bounds"),
        ("memory m of i in 0..1 last 2\nvalue sum(m)", "outside the declared bounds"),
    ],
)
def test_what_leaves_its_range_is_not_said_to_have_no_value(check, text, said):
    """Neither of an example, nor of the steps."""
    ran = check(f"loss f\nlabels 0 1\n{text}\nexample 00 00 = 2")
    assert ran.code == 1
    assert "FAILS line" in ran.out
    assert "no value" not in ran.out
    derived = " ".join(ran.out.partition("\nDerived with")[2].split())
    assert re.search(rf"steps no fault up to n = 1; beyond: \S+ .*{re.escape(said)}", derived)


def test_labels_may_be_given_to_examples(check):
    """The order of the labels is the order of the rows of a table."""
    options = ["-p", "cost=[[0, 1], [2, 0]]", "--labels", "B,A", "--json"]
    # z = ABA, y = AAB: one B for A, cost[B, A] = 1, and one A for B, cost[A, B] = 2.
    for text, values in ((COSTS, [3, 6]), (COSTS.replace("ABA AAB", "ABA ABB"), [2, 4])):
        assert [example["value"] for example in check(text, *options).json["examples"]] == values


@pytest.mark.thirds
@pytest.mark.parametrize("name", every_third(library()))
def test_reports_fit_into_80_columns(fsmeu, name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    ran = fsmeu("check", name, "-n", 3)
    assert ran.code == 0, ran.out
    begin = ran.out.index("Derived with")
    assert max(map(len, ran.out[begin:].splitlines())) <= 80
    assert set(facts_of(ran)) >= {"steps", "value", "additive", "confusion table"}


def test_the_f_score_as_it_is_known(fsmeu):
    """Jansche 2007: states (tp, hyp, ref), linear in tp; Natarajan 2016, table 1: monotonic."""
    data = fsmeu("check", "fscore", "--json", "-n", 10).json
    sizes = data["growth"]["sizes"]
    assert [row["states"] for row in sizes] == [comb(n + 3, 3) for n in range(1, 11)]
    assert data["growth"]["order"]["states"] == {"text": "n^3", "about": False}
    known = data["properties"]
    assert known["linear"] == ["tp"]
    assert (known["confusion"], known["tp_monotonic"], known["additive"]) == (True, True, False)
    top, bottom = known["fractional"]["numerator"], known["fractional"]["denominator"]
    assert [c * 2 / top[1] for c in top] == [0, 2, 0, 0]
    assert [d * 2 / top[1] for d in bottom] == [0, 0, 1, 1]
    assert data["determinism"]["up_to"] == 10
    methods = {d["method"]: d["any_model"] for d in data["decoders"]}
    assert methods == {"ratios": False, "counting": True, "ranking": False}
    registers = {r["name"]: (r["tapes"], r["given"], r["free"]) for r in data["registers"]}
    assert registers == {
        "tp": (["z", "y"], "weight", "weight"),
        "hyp": (["z"], "constant", "state"),
        "ref": (["y"], "state", "state"),
    }


def test_what_follows_in_words(fsmeu):
    told = facts_of(fsmeu("check", "fscore"))
    assert told["value"] == "linear in tp"
    assert told["additive"].startswith("no: the value also looks at hyp, ref")
    assert told["TP-monotonic"].startswith("yes, for n up to 12")
    assert told["exact decisions"] == (
        "at n = 12: counting (any model); ratios, ranking (independent labels)"
    )
    told = facts_of(fsmeu("check", "pk", "-p", "k=2"))
    assert told["additive"].startswith("yes")
    assert told["confusion table"].startswith("no: z=")
    assert "TP-monotonic" not in told
    told = facts_of(fsmeu("check", "windowdiff", "-n", 6))
    assert told["redundant"].startswith("seen: the others decide the value")
    data = fsmeu("check", "windowdiff", "-n", 6, "--json").json
    assert data["redundant"] == {"alone": ["seen"], "together": ["seen"], "n": 6}
    assert [row["name"] for row in data["registers"] if row["redundant"]] == ["seen"]


def test_a_counterexample_is_shown_with_both_tables(check):
    """hyp - tp^2 falls with tp: the smallest case is one position."""
    told = facts_of(check(BACKWARDS))
    case = check(BACKWARDS, "--json").json["properties"]["counterexample"]
    n, hyp, tp, ref = (case[name] for name in ("n", "hyp", "tp", "ref"))
    assert case["value"] == hyp - tp**2
    assert case["value_with_one_more"] == hyp - (tp + 1) ** 2
    assert f"tp={tp} fp={hyp - tp} fn={ref - tp} tn={n - hyp - ref + tp}" in told["TP-monotonic"]
    assert "ranking" not in told["exact decisions"].split()


def test_what_is_given_assumed_and_missing(fsmeu, check):
    text = "loss f(w: real) labels 0 1 count bad when z != y value w * bad"
    assert "Not measured: loss f: the parameter 'w' has no default" in check(text).out
    data = check(text, "--json").json
    assert data["growth"] is data["measured"] is data["decoders"] is None
    assert "'w'" in data["missing"]
    assert check(text, "-p", "w=2", "--json").json["growth"]
    costs = [[0, 2], [1, 0]]
    for words, labels, assumed, parameters in (
        ("pk", [0, 1], ["k"], {"k": 3}),
        ("pk -p k=2", [0, 1], [], {"k": 2}),
        ("cost_matrix --labels A,B -p cost=[[0,2],[1,0]]", ["A", "B"], [], {"cost": costs}),
        ("chunk_fscore --types NP", ["O", "B-NP", "I-NP"], [], {}),
    ):
        measured = fsmeu("check", *words.split(), "-n", 3, "--json").json["measured"]
        assert (measured["labels"], measured["assumed"]) == (labels, assumed)
        assert measured["parameters"].items() >= parameters.items()
    assert "k = 3 (assumed)" in fsmeu("check", "pk", "-n", 4).out


def test_overflow_is_reported_and_not_warned_of(fsmeu, recwarn):
    ran = fsmeu("check", "cost_matrix", "--n", "4", "-p", "cost=1e308")
    assert "not a finite number" in " ".join(ran.out.split())
    fsmeu("check", "cost_matrix", "-n", "4", "-p", "cost=[[1e308,-1e308],[-1e308,1e308]]")
    assert [str(w.message) for w in recwarn if issubclass(w.category, RuntimeWarning)] == []


LAST = "loss f\nlabels 0 1\nregister fin in 0..1 start 0 next (z != y)\nvalue fin"
AGES = "loss f\nlabels 0 1\nage a since z == 1 up to 3\nage b since y == 1 up to 3\nvalue (a != b)"


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        (LAST, "loss f\nlabels 0 1\ncount c when i == n and z != y\nvalue c"),
        (AGES, AGES.replace("value (a != b)", "count c when i == n and a != b\nvalue c")),
    ],
)
def test_counting_at_the_end_is_advised(check, text, counted):
    told = " ".join(check(text).out.split())
    assert "count the value at the last position; additive decides for that: count at_end" in told
    assert "advice" not in check(counted).out
    p = [0.3, 0.6, 0.2, 0.45, 0.7]
    decided = package.decode(package.loads(counted), p)
    assert (decided.method, decided.exact) == ("additive", True)
    best = package.decode(package.loads(text), p, method="exhaustive")
    assert decided.value == pytest.approx(best.value)


@pytest.mark.parametrize("name", ["mcc", "kappa", "hamming", "run_length"])
def test_nothing_is_advised_where_it_would_not_help(fsmeu, name):
    assert "i == n" not in fsmeu("check", name, "--n", 4).out


def test_sizes(fsmeu):
    """Of F1 triples of counts that fit into n positions; growth from a quarter and a half."""
    for n in (0, 1, 5):
        data = fsmeu("check", "--sizes", "fscore", "--n", n, "--json").json
        assert (data["states"], data["final"]) == (comb(n + 3, 3),) * 2
        assert data["arcs"] == 4 * comb(n + 2, 3)
        pairs = product(product((0, 1), repeat=n), repeat=2)
        assert data["values"] == len({fscore(z, y) for z, y in pairs})
    data = fsmeu("check", "--sizes", "hamming", "-n", 20, "--labels", "A,B,C", "--json").json
    sizes = [[size[name] for name in ("n", "states", "arcs", "values")] for size in data["growth"]]
    assert sizes == [[5, 6, 45, 6], [10, 11, 90, 11], [20, 21, 180, 21]]
    assert data["labels"] == ["A", "B", "C"]
    data = fsmeu("check", "--sizes", "zero_one", "--types", "NP,VP", "-n", 3, "--json").json
    assert data["labels"] == ["O", "B-NP", "I-NP", "B-VP", "I-VP"]
    assert (data["states"], data["arcs"], data["values"]) == (2, 50, 2)
    ran = fsmeu("check", "pk", "--sizes", "-p", "k=2", "--n", 4)
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    assert ["bad", "count", "z", "y", "weight", "weight"] in ran.rows()
    assert {row[0]: row[-1] for row in ran.rows()[-3:]} == {"1": "1", "2": "2", "4": "4"}


def test_hypotheses_that_a_loss_is_defined_for_are_said(fsmeu):
    printed = fsmeu("check", "event_fscore", "-p", "tolerance=2").out
    said = "events of z stand more than 2 * tolerance apart (tolerance = 2)"
    assert said in " ".join(printed.split())
    data = fsmeu("check", "event_fscore", "-p", "tolerance=2", "--json").json
    assert data["requirement"] == "z == 0 or old gap >= (2 * tolerance)"
    assert data["holds"]
