"""Documents in the ways of many counts: as by exact counts, and in quadruple precision.

Thresholds are lowered, so that sequences of some ten labels are answered as long ones.
"""

import numpy as np
import pytest

import fsmeu
from fsmeu.models import Markov, Mixture, NBest, from_potentials
from tests.decoding.listing import TAGS, random_field
from tests.support.chunk_sums import chunk_count, chunk_sums, f_score, of_potentials

GIVEN = {"": {}, "beta": {"beta": 2, "empty": 0}, "alpha": {"alpha": 0.2, "empty": 3}}
BIO = fsmeu.constraints.bio()


@pytest.fixture(autouse=True)
def as_long_ones(lowered):
    lowered(LANE_DECISION_WORK=1)


def chain(random, n):
    return Markov(random.dirichlet(np.full(5, 0.5)), random.dirichlet(np.full(5, 0.5), 5), n, TAGS)


def with_zeros(random, n):
    """A random field in which some tags never follow some others; O follows all."""
    unary, table = random.normal(size=(n, 5)), random.normal(size=(5, 5))
    table[:, 1:][random.random((5, 4)) < 0.4] = -np.inf
    return from_potentials(unary, table, TAGS)


def several(random, n):
    """A list of sequences, most of which differ at a few places."""
    first = random.integers(5, size=n)
    drawn = np.where(random.random((12, n)) < 0.1, random.integers(5, size=(12, n)), first)
    lines = [[TAGS[k] for k in row] for row in drawn]
    return NBest([*lines, ["O"] * n], random.random(13) + 0.1, labels=TAGS)


MODELS = {
    "flat": lambda random: random_field(random, 24, 0.3),
    "sure": lambda random: random_field(random, 30, 3.0),
    "zeros": lambda random: with_zeros(random, 24),
    "mixture": lambda random: Mixture([random_field(random, 24), chain(random, 24)], [0.3, 0.7]),
    "list": lambda random: several(random, 24),
    "given": lambda random: random_field(random, 24).given(BIO),
}


def check(loss, model, **options):
    """What the ways of many counts decide is what exact counts decide, and both say its value."""
    wanted = fsmeu.decode(loss, model, method="counting", **options)
    found = fsmeu.decode(loss, model, method="lanes", **options)
    assert wanted.exact
    assert found.value == pytest.approx(wanted.value, rel=1e-11)
    own = fsmeu.expect(loss, found.labels, model).value
    assert own == pytest.approx(wanted.value, rel=1e-11)
    assert found.lower - 1e-15 <= wanted.value <= found.upper + 1e-15
    return found


@pytest.mark.parametrize("kind", MODELS)
def test_as_by_counts(kind, lowered):
    """Whatever the model and the parameters; with a constraint, by the sums of few counts."""
    model = MODELS[kind](np.random.default_rng(len(kind)))
    for given in GIVEN.values():
        loss = fsmeu.load("chunk_fscore", labels=TAGS, **given)
        assert check(loss, model).exact
    assert check(loss, model, constraint=BIO).exact


@pytest.mark.parametrize("stay", [-6.0, 4.0])
def test_ages_that_reach_the_cap(stay, lowered):
    """Then the next cap is tried, and at last none; the greater ``stay``, the longer chunks."""
    lowered(CAPS=(3, 5))
    random = np.random.default_rng(int(10 + stay))
    table = random.normal(size=(5, 5))
    for k in (2, 4):
        table[k - 1 : k + 1, k] += stay
    model = from_potentials(random.normal(size=(30, 5)), table, TAGS)
    for name in ("chunk_fscore", "span_fscore"):
        check(fsmeu.load(name, labels=TAGS), model)


KIN = {
    "chunk_precision": {"empty": 0},
    "chunk_recall": {},
    "chunk_fscore": {"alpha": 1, "empty": 0.3},
    "chunk_fscore_iob1": {"beta": 2, "empty": 0},
}


@pytest.mark.parametrize("name", KIN)
def test_kin_as_by_counts(name, lowered):
    """Precision, recall, chunks counted late; where a chunk is asked for."""
    loss = fsmeu.load(name, labels=TAGS, **KIN[name])
    model = random_field(np.random.default_rng(len(name)), 24, 2.0)
    check(loss, model)
    check(loss, model, constraint="(O|B-A|I-A|B-B)* B-A O")


@pytest.mark.parametrize("empty", [1, 3, 0])
def test_constraints_that_ask_for_a_chunk(empty):
    """Where no chunk at all would be best, but is not allowed; there may surely be none."""
    loss = fsmeu.load("chunk_fscore", labels=TAGS, empty=empty)
    rows = [[0.995, 0.004, 0, 0.001, 0]] * 5
    found = check(loss, Markov(rows[0], rows, 40, TAGS), constraint="(O|B-A|I-A)* B-B")
    assert found.labels[-1] == "B-B"
    certain = fsmeu.models.Independent(np.tile(np.eye(5)[0], (12, 1)), TAGS)
    found = fsmeu.decode(loss, certain, method="lanes")
    assert found.value == empty
    assert empty == 0 or set(found.labels) == {"O"}


@pytest.mark.parametrize(
    ("name", "types", "n", "options", "sure"),
    [
        ("chunk_fscore", 1, 120, {"empty": 0}, 14.0),  # surely none, which is worth nothing
        ("chunk_recall", 11, 200, {}, 7.0),  # references may have one chunk, and mostly have ten
    ],
)
def test_rare_chunks_of_confident_taggers_are_proven(name, types, n, options, sure):
    """Also where the value is small: errors are parts of what is expected, not of what may be."""
    loss = fsmeu.load(name, types=[f"T{k}" for k in range(types)], **options)
    model = random_field(np.random.default_rng(n), n, 1.0, loss.labels, rare=sure)
    found = fsmeu.decode(loss, model)
    assert found.exact
    value = fsmeu.expect(loss, found.labels, model)
    assert value.lower <= found.upper
    assert found.lower <= value.upper
    assert found.upper - found.lower <= 3e-9 * max(found.value, 1e-3)


@pytest.mark.parametrize(("scale", "given"), [(0.3, "beta"), (1.0, ""), (3.0, "beta")])
def test_in_quadruple_precision(scale, given):
    """The value of the decision, between its bounds; and nothing likely is above ``upper``."""
    random = np.random.default_rng(int(10 * scale) + len(given))
    tables = random.normal(size=(110, 5)) * scale, random.normal(size=(5, 5)) * scale
    exact = of_potentials(*tables, TAGS)
    loss = fsmeu.load("chunk_fscore", labels=TAGS, **GIVEN[given])
    found = fsmeu.decode(loss, from_potentials(*tables, TAGS))
    likely = [TAGS[k] for k in tables[0].argmax(axis=1)]
    own, other = (
        f_score(chunk_sums(labels, exact), chunk_count(labels), **GIVEN[given])
        for labels in (found.labels, likely)
    )
    assert found.value == pytest.approx(float(own), rel=1e-11)
    assert found.lower <= own <= found.upper
    assert other <= found.upper


EARLY = """
{kind} early
labels  O B
register open_z in 0..1 start 0 next z == "B"
count   tp when z == "B" and y == "B"
count   hyp when z == "B" and {late}
count   ref when y == "B"
value   {value}
"""


@pytest.mark.parametrize("late", ["true", "old open_z == 1"])
def test_joint_counts_of_hypotheses_that_count_nothing(late):
    """Where they may be above 0, these hypotheses are decided as all others; of losses, too."""
    model = random_field(np.random.default_rng(3), 30, 1.0, ["O", "B"])
    found = []
    for kind, value in (
        ("utility", "tp / (1 + hyp + ref) range 0 .. 1"),
        ("loss", "-tp / (1 + hyp + ref) range -1 .. 0"),
        ("loss", "(1 + hyp + ref - tp) / (1 + hyp + ref) range 0 .. 1"),
    ):
        loss = fsmeu.loads(EARLY.format(kind=kind, late=late, value=value))
        found.append(check(loss, model))
        assert found[-1].exact
        assert found[-1].labels == found[0].labels
    assert -found[1].value == pytest.approx(found[0].value, rel=1e-12)
    assert 1 - found[2].value == pytest.approx(found[0].value, rel=1e-11)
