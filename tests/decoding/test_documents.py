"""Documents decided by lanes: as by counts, as by listing, and in quadruple precision."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu import limits
from fsmeu.decoding.lanes import best_by_lanes
from fsmeu.decoding.problem import RefusalError
from fsmeu.expectation.totals import totals_problem
from fsmeu.models import Independent, Markov, Mixture, NBest, from_potentials
from fsmeu.models.base import arc_weights_many
from fsmeu.trellis.lanes import LaneGroup
from fsmeu.trellis.trellis_cache import split_trellis_of
from tests.support.chunk_sums import chunk_count, chunk_sums, f_score, of_potentials

TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]
IOBES = ["O", "B-A", "I-A", "E-A", "S-A", "B-B", "I-B", "E-B", "S-B"]
GIVEN = [{}, {"beta": 2, "empty": 0}, {"alpha": 0.2, "empty": 0.5}, {"empty": -1}, {"empty": 3}]


@pytest.fixture(autouse=True)
def lanes_from_one_label_on(lowered):
    """Lanes serve all lengths, not only those at which they are faster than counts."""
    lowered(LANE_DECISION_WORK=1)


def f1(**given):
    """A loss of chunks with nothing derived yet."""
    return fsmeu.load("chunk_fscore", labels=TAGS, **given)


def potentials(random, n, scale, tags=TAGS, stay=0.0):
    """Potentials (n, L) and (L, L); more of ``stay``, longer chunks."""
    unary = random.normal(size=(n, len(tags))) * scale
    table = random.normal(size=(len(tags), len(tags))) * scale
    for k, tag in enumerate(tags):
        if tag[0] == "I":
            table[k - 1 : k + 1, k] += stay
    return unary, table


def field(random, n, scale=1.0, tags=TAGS, stay=0.0):
    return from_potentials(*potentials(random, n, scale, tags, stay), tags)


def with_zeros(random, n):
    """A random field in which some tags never follow some others; O follows all."""
    unary, table = potentials(random, n, 1.0)
    table[:, 1:][random.random((5, 4)) < 0.4] = -np.inf
    return from_potentials(unary, table, TAGS)


def chain(random, n, spread=0.5):
    return Markov(
        random.dirichlet(np.full(5, spread)), random.dirichlet(np.full(5, spread), 5), n, TAGS
    )


def several(random, n):
    """A list of sequences, most of which differ at a few places."""
    first = random.integers(5, size=n)
    drawn = np.where(random.random((12, n)) < 0.1, random.integers(5, size=(12, n)), first)
    lines = [[TAGS[k] for k in row] for row in drawn]
    return NBest([*lines, ["O"] * n], random.random(13) + 0.1, labels=TAGS)


MODELS = {
    "flat": lambda random: field(random, 56, 0.3),
    "plain": lambda random: field(random, 44),
    "sure": lambda random: field(random, 36, 3.0),
    "zeros": lambda random: with_zeros(random, 42),
    "chain": lambda random: chain(random, 48),
    "mixture": lambda random: Mixture([field(random, 36), chain(random, 36)], [0.3, 0.7]),
    "list": lambda random: several(random, 42),
    "given": lambda random: field(random, 40).given(fsmeu.constraints.bio()),
}


def check(loss, model, **options):
    """Lanes and counts decide the same, where lanes prove it."""
    return check_against(by_counts(loss, model, **options), loss, model, **options)


def by_counts(loss, model, **options):
    """The decision by exact counts."""
    wanted = fsmeu.decode(loss, model, method="counting", **options)
    assert wanted.exact
    return wanted


def check_against(wanted, loss, model, **options):
    """The decision by lanes, which is as good as this one."""
    found = fsmeu.decode(loss, model, method="lanes", **options)
    assert found.value == pytest.approx(wanted.value, rel=1e-11)
    if found.labels != wanted.labels:  # as good
        own = fsmeu.expect(loss, found.labels, model).value
        assert own == pytest.approx(wanted.value, rel=1e-11)
    return found


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.thirds
def test_as_by_counts(kind, given):
    """Whatever the model and the parameters, with a constraint or without one."""
    model = MODELS[kind](np.random.default_rng(len(kind) + len(given)))
    loss = f1(**given)
    assert check(loss, model).exact
    assert check(loss, model, constraint=fsmeu.constraints.bio()).exact


@pytest.mark.parametrize("caps", [(3,), (2, 5), (4, 16)])
@pytest.mark.parametrize("stay", [-6.0, 0.0, 4.0])
@pytest.mark.thirds
def test_ages_that_reach_the_cap(caps, stay, lowered):
    """Then the next cap is tried, and at last none."""
    lowered(CAPS=caps)
    random = np.random.default_rng(int(10 + stay) + caps[0])
    loss = f1()
    for _ in range(2):
        model = field(random, 60, 1.0, stay=stay)
        check(loss, model)
        check(loss, model, constraint=fsmeu.constraints.bio())
    ending = fsmeu.load("chunk_fscore_iobes", labels=IOBES)
    check(ending, field(random, 50, 1.0, IOBES, stay))
    check(fsmeu.load("span_fscore", labels=TAGS), field(random, 55, 1.0, stay=stay))


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.thirds
def test_few_counts_decide_as_all_do(kind, given, monkeypatch):
    """Whatever the model; with a constraint or without one; sums of others are bounds."""
    model = MODELS[kind](np.random.default_rng(len(kind)))
    loss = f1(**given)
    for options in ({}, {"constraint": fsmeu.constraints.bio()}):
        decided = []
        for beside in (0, 10**6):
            with limits.lowered(FEWEST_BESIDE=beside, PART_BESIDE=10**6):
                decided.append(fsmeu.decode(loss, model, method="lanes", **options))
        few, every = decided
        assert few.exact == every.exact
        assert few.value == pytest.approx(every.value, rel=1e-12)
        own = fsmeu.expect(loss, few.labels, model).value
        assert own == pytest.approx(every.value, rel=1e-11)


RARE = [[0.995, 0.004, 0, 0.001, 0]] * 5


@pytest.mark.parametrize("empty", [0, 1])
@pytest.mark.thirds
def test_rare_chunks_are_proven(empty):
    """Also where the value is small: errors are parts of what is expected, not of what may be."""
    rows = np.array([[0.9994, 2e-4, 1e-4, 2e-4, 1e-4]] * 5)
    model = Markov(rows[0], rows, 60, TAGS)
    loss = f1(empty=empty)
    found = fsmeu.decode(loss, model, method="lanes")
    assert found.exact
    assert found.value == pytest.approx(fsmeu.expect(loss, found.labels, model).value, rel=1e-11)
    assert found.value >= (1 - 1e-11) * fsmeu.decode(loss, model, method="counting").value


@pytest.mark.parametrize(
    ("name", "types", "n", "options", "sure"),
    [
        ("chunk_fscore", 1, 120, {"empty": 0}, 14.0),  # surely none, which is worth nothing
        ("chunk_recall", 11, 300, {}, 7.0),  # references may have one chunk, and mostly have ten
        ("span_fscore", 11, 60, {}, 6.0),
    ],
)
def test_rare_chunks_of_confident_taggers_are_proven(name, types, n, options, sure):
    """Bounds on roundings are in proportion to the references' generating function."""
    loss = fsmeu.load(name, types=[f"T{k}" for k in range(types)], **options)
    random = np.random.default_rng(n)
    unary = random.normal(size=(n, 2 * types + 1))
    unary[:, 0] += sure  # the score of O
    table = random.normal(size=(2 * types + 1, 2 * types + 1))
    model = from_potentials(unary, table, loss.labels)
    found = fsmeu.decode(loss, model, method="lanes")
    assert found.exact
    value = fsmeu.expect(loss, found.labels, model)
    assert value.lower <= found.upper
    assert found.lower <= value.upper
    assert found.upper - found.lower <= 3e-9 * found.value


@pytest.mark.parametrize("empty", [1, 3, 0])
@pytest.mark.parametrize("expression", ["B-A (O|B-A|I-A)*", "(O|B-A|I-A)* B-B"])
@pytest.mark.thirds
def test_constraints_that_ask_for_a_chunk(empty, expression):
    """Where no chunk at all would be best, but is not allowed."""
    model = Markov(RARE[0], RARE, 48, TAGS)
    found = check(f1(empty=empty), model, constraint=expression)
    assert "B-A" in found.labels or "B-B" in found.labels


LOSS = """
loss    less_f1(empty = 1)
labels  bio
memory  tz of type(z) last 1
memory  ty of type(y) last 1
let     goes_z = kind(z) == "I" and tz[0] == old tz[0]
let     goes_y = kind(y) == "I" and ty[0] == old ty[0]
let     opens_z = kind(z) != "O" and not goes_z
let     opens_y = kind(y) != "O" and not goes_y
register az in 0..n start 0 next if goes_z then az + 1 else if opens_z then 1 else 0
register ay in 0..n start 0 next if goes_y then ay + 1 else if opens_y then 1 else 0
let     agreed = old az > 0 and old az == old ay and old tz[0] == old ty[0]
count   tp by (opens_z and opens_y and tz[0] == ty[0]) - (agreed and goes_z != goes_y)
count   hyp when opens_z
count   ref when opens_y
value   {value}
range   -1 .. 1
"""
NEGATIVE = LOSS.format(value="-2 * tp / (hyp + ref) or -1 when hyp + ref == 0")
REST = LOSS.format(value="1 - 2 * tp / (hyp + ref) or 0 when hyp + ref == 0")
KIN = {  # values that are affine in a ratio of one joint count, for each count of z
    "rest": REST,
    "one ratio": LOSS.format(value="(hyp + ref - 2 * tp) / (hyp + ref) or 0 when hyp + ref == 0"),
    "priced": LOSS.format(value="hyp / (2 * n) - tp / (hyp + ref) or -1/2 when hyp + ref == 0"),
    "precision": ("chunk_precision", {}),
    "precision 0": ("chunk_precision", {"empty": 0}),
    "alpha 0": ("chunk_fscore", {"alpha": 0, "empty": 0.3}),
    "recall": ("chunk_recall", {}),
    "recall 0": ("chunk_recall", {"empty": 0}),
    "alpha 1": ("chunk_fscore", {"alpha": 1, "empty": 0.3}),
    "iob1": ("chunk_fscore_iob1", {}),
    "iob1 2": ("chunk_fscore_iob1", {"beta": 2, "empty": 0}),
}
NOT_CLOSE = {"recall", "recall 0", "alpha 1", "priced"}  # bounds may be wide for short sequences


def kin(name, tags=TAGS):
    """A loss by its name in the table."""
    made = KIN[name]
    if isinstance(made, str):
        return fsmeu.loads(made, labels=tags)
    return fsmeu.load(made[0], labels=tags, **made[1])


@pytest.mark.parametrize("kind", ["plain", "sure", "chain"])
@pytest.mark.thirds
def test_losses_are_as_low_as_utilities_are_high(kind):
    """- F1 and 1 - F1."""
    model = MODELS[kind](np.random.default_rng(8))
    best = fsmeu.decode(f1(), model, method="lanes")
    for text, above in ((NEGATIVE, 0), (REST, 1), (KIN["one ratio"], 1)):
        found = check(fsmeu.loads(text, labels=TAGS), model)
        assert found.exact
        assert found.labels == best.labels
        assert found.value == pytest.approx(above - best.value, rel=1e-12)


@pytest.mark.parametrize("kind", ["plain", "sure", "zeros", "list"])
@pytest.mark.parametrize("name", KIN)
@pytest.mark.nightly
def test_kin_as_by_counts(kind, name, lowered):
    """Affine values, precision, recall, chunks counted late; by few counts and by all."""
    model = MODELS[kind](np.random.default_rng(len(kind)))
    loss = kin(name)
    is_proven = name not in NOT_CLOSE
    for options in ({}, {"constraint": "(O|B-A|I-A|B-B)* B-A O"}):
        wanted = by_counts(loss, model, **options)
        for beside in (0, 10**6):
            lowered(FEWEST_BESIDE=beside)
            assert check_against(wanted, loss, model, **options).exact >= is_proven


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 3), st.sampled_from(list(KIN)), st.booleans())
def test_bounds_of_kin_are_those_of_a_listing(seed, n, name, rare):
    """All hypotheses are valued by all references, and no value is above ``upper``."""
    random = np.random.default_rng(seed)
    tags = TAGS[:4]
    rows = random.dirichlet(np.full(4, random.choice([0.2, 1.0])), 5)
    if rare:
        rows = rows * 1e-3
        rows[:, 0] = 1 - rows[:, 1:].sum(axis=1)
    model = Markov(rows[0], rows[1:], n, tags)
    loss = kin(name, tags)
    sign = 1 if loss.kind == "utility" else -1
    listed = list(product(range(4), repeat=n))
    chances = [rows[0][y[0]] * np.prod([rows[1 + a][b] for a, b in pairwise(y)]) for y in listed]

    def truth(z):
        named = [tags[k] for k in z]
        values = [loss(named, [tags[k] for k in y]) for y in listed]
        return sign * float(np.dot(chances, values))

    found, _ = decided(loss, model, None)
    assert abs(found.value - truth(found.labels[0])) <= found.error + 1e-15
    best = max(truth(z) for z in listed)
    assert best <= found.upper + 1e-15
    assert found.upper - found.value <= 1e-9


UNMET = {
    "over tp": "tp / (1 + hyp + ref - tp)",
    "squared": "tp * tp / (1 + hyp + ref)",
    "of y alone": "ref / (1 + hyp + ref) - tp / (1 + hyp + ref)",
    "two": "-tp / (1 + hyp) - tp / (1 + ref)",
}


@pytest.mark.parametrize("name", UNMET)
def test_what_lanes_do_not_serve(name):
    """Denominators that depend on the joint count, two of them, terms of y's count alone."""
    loss = fsmeu.loads(LOSS.format(value=UNMET[name]), labels=TAGS)
    model = field(np.random.default_rng(2), 12)
    with pytest.raises(RefusalError, match="the value must be"):
        fsmeu.decode(loss, model, method="lanes")


EARLY = """
utility early
labels  O B
register open_z in 0..1 start 0 next z == "B"
register open_y in 0..1 start 0 next y == "B"
count   tp when z == "B" and y == "B"
count   hyp when z == "B" and {late}
count   ref when y == "B"
value   tp / (1 + hyp + ref)
range   0 .. 1
"""


@pytest.mark.parametrize(("late", "needs"), [("true", True), ("old open_z == 1", False)])
def test_joint_counts_of_hypotheses_that_count_nothing(late, needs):
    """Where they may be above 0, these hypotheses are decided as all others."""
    loss = fsmeu.loads(EARLY.format(late=late))
    random = np.random.default_rng(3)
    for scale in (0.3, 1.0, 2.0):
        model = field(random, 30, scale, ["O", "B"])
        trellis = split_trellis_of(loss, model, None, None)
        assert trellis.needs_item("z", 30) is needs
        assert trellis.needs_item("y", 30)
        assert check(loss, model).exact
        if not needs:
            assert check(loss, model, constraint="(B O)*").exact


@settings(max_examples=120)
@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([(), (2,), (2, 3)]))
def test_short_ones_are_those_of_a_listing(seed, n, caps):
    """Of all hypotheses, valued one by one; where one is proven to be best, it is."""
    random = np.random.default_rng(seed)
    tags = TAGS[:3]
    spread = random.choice([0.2, 1.0])
    rows = random.dirichlet(np.full(3, spread), 4)
    model = field(random, n, random.choice([0.3, 1, 3]), tags)
    if seed % 2:
        model = Markov(rows[0], rows[1:], n, tags)
    beta = float(random.choice([0.5, 1, 2]))
    loss = fsmeu.load("chunk_fscore", labels=tags, beta=beta, empty=random.choice([0, 0.3, 1]))
    with limits.lowered(CAPS=caps):
        found = fsmeu.decode(loss, model, method="lanes")
    best = max(fsmeu.expect(loss, z, model).value for z in product(tags, repeat=n))
    own = fsmeu.expect(loss, found.labels, model).value
    assert found.value == pytest.approx(own, rel=1e-9, abs=1e-12)
    if found.exact:
        assert own == pytest.approx(best, rel=1e-9)


def decided(loss, model, cap):
    """The best hypothesis with its bounds, and what ages that reach the cap may be worth."""
    group = LaneGroup(split_trellis_of(loss, model, None, cap), arc_weights_many([model]))
    problem = totals_problem(loss, model.n, [group])
    return best_by_lanes(problem), problem.escaped


@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("given", [{}, {"beta": 2, "empty": 0}])
@pytest.mark.parametrize("cap", [None, 16])
@pytest.mark.thirds
def test_bounds_hold_in_quadruple_precision(scale, given, cap):
    """Of the value of the decision; and no hypothesis that others decide on is above ``upper``."""
    random = np.random.default_rng(int(10 * scale) + len(given))
    tables = potentials(random, 110, scale)
    model = from_potentials(*tables, TAGS)
    exact = of_potentials(*tables, TAGS)
    loss = f1(**given)

    def truth(labels):
        return f_score(chunk_sums(labels, exact), chunk_count(labels), **given)

    found, escaped = decided(loss, model, cap)
    own = truth([TAGS[k] for k in found.labels[0]])
    assert abs(found.value - own) <= found.error
    assert found.error - escaped <= 2e-10  # sums without signs are bounded by greatest amounts
    likely = [TAGS[k] for k in tables[0].argmax(axis=1)]
    for labels in (fsmeu.decode(loss, model, method="counting").labels, likely):
        assert truth(labels) <= found.upper
    assert found.upper - found.value <= 2e-10 + 2 * escaped


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3))
def test_long_documents_in_quadruple_precision(seed):
    random = np.random.default_rng(seed)
    tables = potentials(random, 300, [0.3, 1.0, 3.0][seed])
    model = from_potentials(*tables, TAGS)
    loss = f1()
    found, _ = decided(loss, model, 32)
    labels = [TAGS[k] for k in found.labels[0]]
    own = f_score(chunk_sums(labels, of_potentials(*tables, TAGS)), chunk_count(labels))
    assert abs(found.value - own) <= found.error
    assert fsmeu.decode(loss, model).labels == labels


@pytest.mark.parametrize("beside", [0, 100])
@pytest.mark.parametrize(("empty", "best"), [(1, 1.0), (-1, 0.0)])
def test_references_that_surely_have_no_chunk(beside, empty, best, lowered):
    """No chunk is ever right: none, or any, whichever the file says is better."""
    lowered(FEWEST_BESIDE=beside)
    certain = Independent(np.tile(np.eye(len(TAGS))[0], (12, 1)), TAGS)
    found = fsmeu.decode(f1(empty=empty), certain, method="lanes")
    assert found.value == best
    assert (set(found.labels) == {"O"}) == (empty == 1)


@pytest.mark.parametrize("p", [[0.5, 0.25], [1.0, 0.75]])
def test_a_joint_count_that_is_always_0(p):
    """Nothing is counted of sequences this short; no ones are right where y has none."""
    loss = fsmeu.loads(
        "utility f labels 0 1 count tp by (n > 2) when z == 1 and y == 1 count hyp when z == 1 "
        "count ref when y == 1 value 2 * tp / (hyp + ref) or 1 when hyp + ref == 0 range 0 .. 1"
    )
    found = fsmeu.decode(loss, p, method="lanes")
    assert found.value == (1 - p[0]) * (1 - p[1])
    assert found.lower <= found.value <= found.upper
    if found.value:
        assert found.labels == [0, 0]


@pytest.mark.parametrize("beside", [0, 100])
@pytest.mark.parametrize("rate", ["tp / ref", "tp / (hyp + ref)"])
def test_totals_that_no_hypothesis_has(beside, rate, lowered):
    """Each item of z counts 3: all hypotheses are valued by all references."""
    lowered(FEWEST_BESIDE=beside)
    counts = "count tp when z == 1 and y == 1 count hyp by 3 when z == 1 count ref when y == 1"
    value = f"value {rate} or 0.75 when hyp + ref == 0 or 0.5 when ref == 0 range 0 .. 1"
    loss = fsmeu.loads(f"utility f labels 0 1 {counts} {value}")
    p = [1.0, 0.5, 0.0, 0.1, 0.6]
    found = fsmeu.decode(loss, p, method="lanes")
    values = {}
    for z in product((0, 1), repeat=5):
        values[z] = 0.0
        for y in product((0, 1), repeat=5):
            chance = np.prod([q if one else 1 - q for one, q in zip(y, p, strict=True)])
            below = sum(y) if rate == "tp / ref" else 3 * sum(z) + sum(y)
            if chance:  # then y has an item, the first
                values[z] += chance * sum(a * b for a, b in zip(z, y, strict=True)) / below
    assert values[tuple(found.labels)] == pytest.approx(max(values.values()), rel=1e-12)
    assert found.value == pytest.approx(max(values.values()), rel=1e-12)
    assert found.upper >= max(values.values())


@pytest.mark.parametrize(
    ("text", "constraint"),
    [
        ("utility f labels 0 1 count hyp when z == 1 count ref when y == 1 "
         "value (ref + 1) / (1e9 * hyp + 1) range 0 .. 4", ".* .+ 1 .*"),
        ("loss f labels 0 1 count tp count hyp by 7 when z < n count ref when y == 1 "
         "value -tp or 1 when hyp + ref == 0 range -3 .. 1", None),
    ],
)  # fmt: skip
def test_a_likely_total_that_no_hypothesis_has(text, constraint, lowered):
    """A constraint asks for an item; numbers of items are multiples of 7."""
    lowered(FEWEST_BESIDE=0)
    loss = fsmeu.loads(text)
    sure = [[0.1, 0.9], [0.9, 0.1], [0.5, 0.5]]
    rows = [[0.5, 0.5]] * 3 if constraint is None else sure
    model = Mixture([Independent(rows, (0, 1))], [1.0])
    found = fsmeu.decode(loss, model, method="lanes", constraint=constraint)
    best = fsmeu.decode(loss, model, method="exhaustive", constraint=constraint)
    assert found.value == pytest.approx(best.value, rel=1e-12)
    assert found.lower <= best.value <= found.upper
