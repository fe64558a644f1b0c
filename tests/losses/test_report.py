"""What is reported of a loss file: proofs, redundant registers, pairs that clash, assumptions."""

import itertools

import pytest

import fsmeu
from fsmeu.checking.exact_methods import exact_methods, try_methods
from fsmeu.checking.facts import facts, report_data, underived_methods
from fsmeu.checking.report import report
from fsmeu.decoding.choice import EXACT
from fsmeu.errors import FsmeuError
from fsmeu.losses.language.read import read
from fsmeu.losses.loss import library, read_spec
from fsmeu.models import Bernoulli, Markov

BOTH = "loss f labels 0 1 age ay since y == 1 up to 3 memory my of y last 3 "
BOTH += "count bad when (ay < 3) != (z == 1) value bad"
ALL = "loss f labels 0 1 count all count bad when z != y value bad / all or 0 when n == 0"
ARCS = "loss f labels 0 1 state a b arc a -> b when {} arc a -> a {} arc b -> b value at b"


def of(text, **options):
    return report(read(text), n=options.pop("n", 7), **options)


def said(found, heading):
    return dict(facts(found))[heading]


@pytest.mark.thirds
@pytest.mark.parametrize(
    ("spec", "params", "redundant"),
    [
        (read(BOTH), {}, ("ay", "my")),  # the last three labels tell the age of the last 1
        (read(ALL), {}, ("all",)),  # a count of positions, because n is known
        (read_spec("pk"), {"k": 3}, ()),  # which window is full depends on the position
        (read_spec("windowdiff"), {}, ("seen",)),  # its memories hold nothing before the start
        *((read_spec(x), {}, ()) for x in ("fscore", "kappa", "hamming", "zero_one", "recall")),
    ],
    ids=lambda held: getattr(held, "name", None),
)
def test_redundant_registers(spec, params, redundant):
    found = report(spec, params=params, n=8)
    assert found.redundant == redundant
    if len(redundant) > 1:
        assert found.together == ("my",)
        assert "together only my" in said(found, "redundant")


def test_arcs_that_look_at_labels_are_proven_for_every_length():
    proven = report(read_spec("zero_one"), n=3).determinism
    assert (proven.arcs, proven.every_length, proven.fault) == (True, True, "")


@pytest.mark.parametrize(
    ("first", "second", "fault", "words"),
    [
        ("i % 2 == 0", "otherwise", "", "up to n = 5"),
        ("n > 200", "otherwise", "", "up to n = 5"),
        ("z == 1 and i == 2", "when i > 0", "two arcs apply", "beyond: "),
        ("z == 1 and i == 2", "when i > 3", "no arc applies", "beyond: "),
    ],
)
def test_arcs_that_look_at_the_position_are_tried_up_to_a_length(first, second, fault, words):
    found = of(ARCS.format(first, second), n=5)
    assert found.holds == (not fault)
    assert not found.determinism.every_length
    assert fault in found.determinism.fault
    assert words in said(found, "steps")


@pytest.mark.parametrize("name", ["pk", "transitions", "windowdiff", "run_length"])
def test_pairs_that_clash_have_one_table_and_two_values(name):
    found = report(read_spec(name), n=6)
    one, two = found.clash
    tables = []
    for pair in (one, two):
        z, y = ([int(c) for c in sequence] for sequence in (pair.z, pair.y))
        tables.append((sum(a * b for a, b in zip(z, y, strict=True)), sum(z), sum(y), len(z)))
        assert found.loss(pair.z, pair.y) == pair.value
    assert tables[0] == tables[1]
    assert one.value != two.value


def test_a_table_that_only_enumeration_sees_is_not_denied():
    """At most m mistakes follow from hyp + ref - 2 tp, though the register stops counting."""
    found = report(read_spec("threshold"), n=6)
    assert found.clash is None
    assert "no pair up to n = 6 contradicts it" in said(found, "confusion table")


def test_a_table_is_assumed_to_punish_differences():
    found = of("loss f(cost: table) labels A B C count t by cost[z, y] value t")
    assert found.assumed["cost"] == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert found.loss("ABC", "ABA") == 1


def test_labels_are_those_of_the_examples():
    found = of('loss f labels any count bad when z != y value bad example "DT NN" "NN NN" = 1')
    assert found.loss.labels == ("DT", "NN")
    assert report(read_spec("chunk_fscore"), n=2).loss.labels[0] == "O"


@pytest.mark.parametrize(
    ("text", "labels", "assumed"),
    [
        ('labels any count c when z == "A" value c', ("A", "other"), ("A",)),
        ('labels any count c when z == "A" value c example AB BB = 1', ("A", "B"), ()),
        ('labels any count c when z == "A" value c example CB BB = 0', ("A", "B", "C"), ("A",)),
        ('labels bio count c when z == "B-NP" value c', ("O", "B-NP", "I-NP"), ("B-NP",)),
        ("labels any count c when z == 2 value c", (0, 1, 2), ("2",)),
    ],
)
def test_labels_that_a_file_names_are_measured_with(text, labels, assumed):
    """Over others, all pairs would have the same value."""
    found = of(f"loss f {text}", n=3)
    assert found.holds
    assert (set(found.loss.labels), found.assumed_labels) == (set(labels), assumed)
    assert dict(facts(found)).get("labels", "").startswith(", ".join(assumed))
    assert "warning" not in dict(facts(found))
    known = of(f"loss f {text}", n=3, labels=labels)
    assert known.assumed_labels == ()


def test_a_loss_of_one_value_is_warned_of():
    found = of("loss f labels 0 1 count c when z == y and z != y value c + n")
    assert said(found, "warning") == "all pairs of a length have the same value"


def test_parameters_of_the_measurement_leave_examples_alone():
    """An example that binds nothing is meant with the defaults of the file."""
    found = report(read_spec("fscore"), params={"beta": 2}, n=3)
    assert found.loss.params["beta"] == 2
    assert found.holds


@pytest.mark.parametrize("name", [name for name in library() if not read_spec(name).scheme])
@pytest.mark.thirds
def test_methods_that_apply_decide_and_others_refuse(name):
    """Each is asked about models that were not used to find out."""
    loss = report(read_spec(name), n=1).loss
    assert loss.labels == (0, 1)
    n = 7
    independent = Bernoulli([0.3, 0.8, 0.45, 0.6, 0.1, 0.5, 0.7])
    chain = Markov([0.4, 0.6], [[0.8, 0.2], [0.35, 0.65]], n)
    applies = {a.method: a for a in exact_methods(loss)}
    for method, model in itertools.product(EXACT[:-1], (independent, chain)):
        if method in ("lanes", "chain_ratios"):  # not said to apply where counting is as good
            continue
        expected = method in applies and (model is independent or applies[method].any_model)
        try:
            decided = fsmeu.decode(loss, model, method=method).exact
        except FsmeuError:
            decided = False
        assert decided == expected


def test_methods_that_never_apply_are_not_said_to_need_longer_sequences():
    """Length is the reason only where all else holds."""
    refused = try_methods(fsmeu.load("fscore")).refused
    assert "must be longer" in refused["lanes"]
    refused = try_methods(fsmeu.load("pk", k=2)).refused
    assert "(tp, hyp, ref, n)" in refused["chain_ratios"]
    assert "ratio" in refused["lanes"]


@pytest.mark.nightly
def test_a_long_file_is_asked_with_bounded_effort():
    """Forty counts of sixteen terms each."""
    terms = " + ".join(f"(z * {k + 2} - y * i)" for k in range(8))
    counts = "\n".join(f"count c{k} by {terms}" for k in range(40))
    text = f"loss f labels 0 1\n{counts}\nvalue {' + '.join(f'c{k}' for k in range(40))}"
    found = exact_methods(fsmeu.loads(text))
    assert {(a.method, a.n) for a in found} == {("additive", 4), ("counting", 4)}
    assert exact_methods(fsmeu.load("hamming", labels="01"))[0].n == 12


LATE = "loss f labels 0 1 count c by log(9 - i) when z == y value c"
LATE_VALUE = "loss f labels 0 1 count c when z == y value sqrt(9 - c)"


def test_an_error_in_an_analysis_is_said():
    """Up to length 3 all is defined; what is asked beyond it has no value."""
    found = of(LATE, n=3)
    tried = try_methods(found.loss, 12)
    assert not tried.applies
    assert "what c adds has no value at position 9" in tried.faults["additive"]
    rows = underived_methods(tried)
    assert [heading for heading, _ in rows] == ["not derived"] * len(rows)
    assert "additive" in rows[0][1]
    assert "what c adds has no value" in rows[0][1]
    assert try_methods(found.loss, 3).applies


def test_properties_that_cannot_be_derived_are_said():
    found = of(LATE_VALUE, n=3)
    assert found.properties is None
    assert "root of a negative number" in said(found, "not derived")
    assert report_data(found)["not_derived"]["properties"] == found.underived


@pytest.mark.nightly
def test_methods_are_tried_at_the_length_that_is_asked_for():
    assert report(read_spec("hamming"), n=60).methods[0].n == 60
    assert report(read_spec("hamming")).methods[0].n == 12
