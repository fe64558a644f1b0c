"""What is derived of a loss: methods that decide, ratios, redundant registers, advice, sizes."""

import itertools

import numpy as np
import pytest

import fsmeu
from fsmeu.checking.advice import obstacle, rewrites
from fsmeu.checking.facts import facts
from fsmeu.decoding.choice import EXACT
from fsmeu.errors import FsmeuError
from fsmeu.models import Bernoulli, Markov
from tests import shelf

OF_TWO_LABELS = [name for name in fsmeu.library() if len(shelf.case(name).labels) == 2]


def of(text, n=5, **options):
    return fsmeu.check(fsmeu.loads(text), n=n, **options)


def said(found, heading):
    return dict(facts(found))[heading]


@pytest.mark.parametrize("name", OF_TWO_LABELS)
@pytest.mark.thirds
def test_methods_that_apply_decide_and_others_refuse(name):
    """Each is asked about models that were not used to find out."""
    n = 7
    found = fsmeu.check(name, n=n)
    independent = Bernoulli([0.3, 0.8, 0.45, 0.6, 0.1, 0.5, 0.7])
    chain = Markov([0.4, 0.6], [[0.8, 0.2], [0.35, 0.65]], n)
    applies = {a.method: a for a in found.methods}
    for method, model in itertools.product(EXACT[:-1], (independent, chain)):
        if method == "lanes":  # not said to apply where counting is as good
            continue
        expected = method in applies and (model is independent or applies[method].any_model)
        try:
            decided = fsmeu.decode(found.loss, model, method=method).exact
        except FsmeuError:
            decided = False
        assert decided == expected


HEAD = "labels 0 1 count tp when z == 1 and y == 1 count hyp when z == 1 count ref when y == 1"


@pytest.mark.parametrize(
    ("value", "ratios", "monotonic"),
    [
        ("2 * tp / (hyp + ref)", 1, True),
        ("(n - hyp + 2 * tp) / (3 * n + ref)", 1, True),
        ("(hyp - tp) / (ref + n)", 1, False),
        ("tp / (hyp + ref) - (ref - tp) / (n + ref)", 2, True),
        ("tp / sqrt(hyp * ref)", 1, True),
        ("sqrt(tp / (hyp + ref + 1))", 0, True),
    ],
)
def test_ratios_of_counts(value, ratios, monotonic):
    """A fractional-linear one has the value of the loss wherever its denominator is above 0."""
    text = f"utility f {HEAD} value {value} or 0 when hyp * ref == 0"
    found = of(text, n=3).properties
    assert (found.confusion, found.ratios, found.tp_monotonic) == (True, ratios, monotonic)
    if found.fractional is None:
        return
    loss = fsmeu.loads(text)
    for z, y in itertools.product(itertools.product((0, 1), repeat=4), repeat=2):
        counts = [4, sum(a * b for a, b in zip(z, y, strict=True)), sum(z), sum(y)]
        above, below = np.dot(found.fractional.numerator, counts), found.fractional.denominator
        if sum(z) * sum(y):
            assert loss(z, y) == pytest.approx(above / np.dot(below, counts), rel=1e-12)


BOTH = "loss f labels 0 1 age ay since y == 1 up to 3 memory my of y last 3 "
BOTH += "count bad when (ay < 3) != (z == 1) value bad"


def test_redundant_registers():
    """The last three labels tell the age of the last 1; of Pk all are needed."""
    found = of(BOTH, n=7)
    assert (found.redundant, found.together) == (("ay", "my"), ("my",))
    assert "together only my" in said(found, "redundant")
    assert fsmeu.check(fsmeu.load("pk", k=3), n=7).redundant == ()


ARCS = "loss f labels 0 1 state a b arc a -> b when {} arc a -> a {} arc b -> b value at b"


@pytest.mark.parametrize(
    ("first", "second", "every_length", "fault", "words"),
    [
        ("z == 1", "otherwise", True, "", "for every n"),
        ("i % 2 == 0", "otherwise", False, "", "up to n = 5"),
        ("z == 1 and i == 2", "when i > 0", False, "two arcs apply", "beyond: "),
        ("z == 1 and i == 2", "when i > 3", False, "no arc applies", "beyond: "),
    ],
)
def test_arcs_are_proven_or_tried_up_to_a_length(first, second, every_length, fault, words):
    found = of(ARCS.format(first, second))
    assert found.holds == (not fault)
    assert found.determinism.every_length == every_length
    assert fault in found.determinism.fault
    assert words in said(found, "steps")


@pytest.mark.parametrize("name", ["pk", "run_length"])
def test_pairs_that_clash_have_one_table_and_two_values(name):
    found = fsmeu.check(name, n=6)
    one, two = found.clash
    tables = [sorted(zip(pair.z, pair.y, strict=True)) for pair in (one, two)]
    assert tables[0] == tables[1]
    assert one.value != two.value
    assert all(found.loss(pair.z, pair.y) == pair.value for pair in (one, two))


@pytest.mark.parametrize(
    ("text", "labels", "assumed"),
    [
        ('any count c when z == "A" value c', ("A", "other"), ("A",)),
        ('any count c when z == "A" value c example AB BB = 1', ("A", "B"), ()),
        ('any count c when z == "A" value c example CB BB = 0', ("A", "B", "C"), ("A",)),
        ("any count c when z == 2 value c", (0, 1, 2), ("2",)),
    ],
)
def test_labels_are_those_of_examples_and_those_that_a_file_names(text, labels, assumed):
    """Over others, all pairs would have the same value."""
    found = of(f"loss f labels {text}", n=3)
    assert found.holds
    assert (set(found.loss.labels), found.assumed_labels) == (set(labels), assumed)
    assert "warning" not in dict(facts(found))


def test_an_error_in_an_analysis_is_said():
    """Up to length 3 all is defined; what is asked beyond it has no value."""
    found = of("loss f labels 0 1 count c by log(9 - i) when z == y value c", n=12)
    assert not found.tried.applies
    assert "what c adds has no value at position 9" in found.tried.faults["additive"]
    found = of("loss f labels 0 1 count c when z == y value sqrt(9 - c)", n=3)
    assert found.properties is None
    assert "root of a negative number" in said(found, "not derived")


# -- the lines to write instead --------------------------------------------------------------------

CASES = {
    "a memory of both": (
        "loss misses labels 0 1\nmemory m of (z == 0 and y == 1) last 1\n"
        "count a when z == 1 and y == 0\ncount c when z == 0 and y == 1 and old m[0] != 1\n"
        "value (a + 2 * c) / n or 0 when n == 0",
        "line 2: memory m",
        "additive",
    ),
    "events apart": (
        "loss f labels 0 1\nage a since z != y up to 2\n"
        "count c when z != y and old a == 1\ncount h when z == 1\nvalue c / (1 + h)",
        "line 2: age a",
        "counting",
    ),
}


@pytest.mark.parametrize(("text", "stands", "method"), CASES.values(), ids=CASES)
def test_the_lines_to_write_are_of_the_same_loss(text, stands, method):
    loss = fsmeu.loads(text)
    assert obstacle(loss).startswith(stands)
    way = next(rewrites(loss))
    other = fsmeu.loads(way.text)
    assert way.methods[0].method == method
    assert set(way.lines) <= set(way.text.splitlines())
    pairs = list(itertools.product(itertools.product((0, 1), repeat=4), repeat=2))
    found, known = (fsmeu.evaluate_many(one, *zip(*pairs, strict=True)) for one in (other, loss))
    assert found == pytest.approx(known, abs=1e-12)
    assert fsmeu.decode(other, np.random.default_rng(1).random(25)).exact


# -- how sizes grow --------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "order"), [("zero_one", "constant"), ("fscore", "n^3")])
def test_how_sizes_grow(name, order):
    assert str(fsmeu.check(name, n=12).growth.states) == order


def test_what_ends_the_measurement():
    """Division by zero at n = 4 is told, and what was measured before it stays."""
    found = of("loss f labels 0 1 count bad when z != y value bad / (4 - n)", n=9).growth
    assert found.longest == 3
    assert "division by zero" in found.fault
    assert found.states is None
