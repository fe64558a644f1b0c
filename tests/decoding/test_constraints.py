"""Constraints on the hypothesis: the best allowed sequence, and regular expressions themselves.

Acceptors may be large: only sequences of the length asked for matter.
"""

import itertools
import random
import re

import numpy as np
import pytest
from seqeval.metrics.sequence_labeling import get_entities

import fsmeu
from fsmeu.decoding.choice import METHODS
from fsmeu.errors import EmptyError, FsmeuError, SizeLimitError
from fsmeu.fst.alphabet import BINARY, Alphabet
from fsmeu.fst.constraint import as_constraint
from tests.decoding.listing import ask, check, random_model, shelf_listing
from tests.support.missing import openfst

pynini = openfst()

FEW_ONES = "0* (1 0*){0,3}"


def few_ones(z):
    return sum(z) <= 3


def separate(z):
    return (1, 1) not in itertools.pairwise(z)


def acceptor(arcs, finals):
    """An acceptor built with OpenFst's own hands, from arcs (source, label, target)."""
    fst, one = pynini.Fst(), pynini.Weight.one("tropical")
    for _ in range(1 + max(max(source, target) for source, _, target in arcs)):
        fst.add_state()
    for source, label, target in arcs:
        fst.add_arc(source, pynini.Arc(label, label, one, target))
    for state in finals:
        fst.set_final(state, one)
    return fst.set_start(0)


def at_most(count):
    """An acceptor of sequences with at most this many ones."""
    arcs = [(state, 1, state) for state in range(count + 1)]
    return acceptor([*arcs, *((state, 2, state + 1) for state in range(count))], range(count + 1))


def one_before(k):
    """A machine with an epsilon: a 1, then k labels, then the end."""
    labels = [(state, label, state + 1) for state in range(2, k + 2) for label in (1, 2)]
    return acceptor([(0, 1, 0), (0, 2, 0), (0, 0, 1), (1, 2, 2), *labels], [k + 2])


CONSTRAINTS = [
    (FEW_ONES, few_ones),
    ("(0 | 1 0)* 1?", separate),
    ("!(.* 1 1 .*)", separate),
    ("(0* (1 0*){0,3}) & !(.* 1 1 .*)", lambda z: few_ones(z) and separate(z)),
    ("1 .* | 0*", lambda z: not any(z) or z[0] == 1),
    (at_most(3), few_ones),
]
PROVEN = {
    "fscore": {"counting"},
    "recall": {"counting"},
    "hamming": {"additive", "counting"},
    "pk": {"additive", "counting"},
    "zero_one": {"viterbi"},
    "g_mean": set(),
}


@pytest.mark.parametrize(("constraint", "allowed"), CONSTRAINTS)
@pytest.mark.parametrize("name", PROVEN)
@pytest.mark.thirds
def test_the_best_that_is_allowed(name, constraint, allowed, rounds):
    """What claims to be exact is the best of the listed sequences that the rule allows."""
    rng, proven = np.random.default_rng(7), set()
    for _ in rounds(5, least=2):
        n = int(rng.integers(2, 7))
        listing, case = shelf_listing(name, n), random_model(rng, (0, 1), n)
        for method in ("auto", *METHODS):
            decision = ask(listing.loss, case.model, method=method, constraint=constraint)
            if decision is not None:
                check(listing, case, decision, allowed)
                at_end = min(abs(decision.value), abs(1 - decision.value)) < 1e-12
                if decision.exact and not (method == "search" and at_end):
                    proven.add(method)  # a search proves nothing but an end of the range, 0..1
    assert proven >= PROVEN[name] | {"exhaustive", "auto"}
    assert not proven & {"search", "ranking", "ratios", "chain_ratios"}


def test_zero_probability_is_no_obstacle():
    """Where no probable sequence is allowed, the best allowed one is still found."""
    for name, method in (("zero_one", "viterbi"), ("fscore", "counting"), ("hamming", "additive")):
        decision = fsmeu.decode(fsmeu.load(name), [1.0, 1.0], constraint="0 0")
        assert (decision.labels, decision.method) == ([0, 0], method)
        assert decision.exact


def test_far_from_what_is_probable():
    """Millions of forbidden sequences are more probable than the best one that is allowed."""
    p = [0.9 - 0.01 * i for i in range(40)]
    few = fsmeu.decode(fsmeu.load("zero_one"), p, constraint=FEW_ONES)
    assert (few.labels, few.exact) == ([1] * 3 + [0] * 37, True)
    assert fsmeu.decode(fsmeu.load("jaccard"), p, constraint=FEW_ONES).labels == few.labels


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0 (1", "not closed"),
        ("0 [1", "not closed"),
        ("0 )", "not expected"),
        ("0 2", "'2' is not a label"),
        ("1{3,1}", "low to high"),
        ("1{}", "{2}"),
        ("1{5000}", "1000"),
        ("[^ 0 1]", "no label is left"),
        ("* 0", "not a label"),
        ("(" * 200 + "0" + ")" * 200, "100 deep"),
        ("0" + "*{2}" * 5000, "100 deep"),
        ("!(.*)", "at least one sequence"),
        (5, "regular expression"),
    ],
)
def test_malformed(text, says):
    with pytest.raises(FsmeuError) as caught:
        fsmeu.decode(fsmeu.load("fscore"), [0.5, 0.5], constraint=text)
    assert says in str(caught.value)


def write(rng, depth):
    """A random expression, for us and for Python."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice([("0", "0"), ("1", "1"), (".", "."), ("[01]", "[01]"), ("[^1]", "0")])
    kind = rng.randrange(4)
    ours, theirs = write(rng, depth - 1)
    if kind == 0:
        sign = rng.choice(["*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,1}", "{0}"])
        return f"({ours}){sign}", f"(?:{theirs}){sign}"
    more, them = write(rng, depth - 1)
    if kind == 1:
        return f"({ours} | {more})", f"(?:{theirs}|{them})"
    return f"{ours} {more}", f"(?:{theirs})(?:{them})"


@pytest.mark.parametrize("few", [1, 1000])
def test_expressions_are_those_of_python(lowered, few):
    """Random ones with ``&`` and ``!``, for one length or any, states of positions apart or not."""
    lowered(FEW_CONSTRAINT_STATES=few)
    rng = random.Random(5)
    empty = 0
    for number in range(200):
        (first, one), (second, two) = write(rng, 3), write(rng, 2)
        n = rng.randrange(6)
        lengths = range(6) if number % 4 == 0 else [n]
        every = ["".join(z) for k in lengths for z in itertools.product("01", repeat=k)]
        sign, rule = (("&", all), ("|", any))[number % 2]
        expected = [z for z in every if rule([re.fullmatch(one, z), not re.fullmatch(two, z)])]
        text = f"(({first}) {sign} !({second})) | (0 1){{9}}"
        try:
            found = as_constraint(text, BINARY, *([] if number % 4 == 0 else [n]))
        except EmptyError:
            assert expected == []
            empty += 1
            continue
        accepted = [z for z in every if found.accepts(np.array([*map(int, z)], np.int64))]
        assert accepted == expected, (first, second, n)
    assert 0 < empty < 100


def test_labels_that_look_like_operators():
    """Quotes make a label of anything; words need spaces between them."""
    alphabet = Alphabet(("*", "a.b", "O"))
    constraint = as_constraint('"*"+ "a.b" [^ "*" "a.b"]', alphabet)
    assert constraint.accepts(np.array([0, 0, 1, 2]))
    assert not constraint.accepts(np.array([0, 1, 1]))


@pytest.mark.parametrize(
    ("constraint", "n", "rule"),
    [
        (".* 1 .{16}", 18, lambda z: z[1] == 1),
        ("((0? 1?){300}){400}", 7, lambda z: True),
        ("(.{0,999}){0,999} 1", 5, lambda z: z[-1] == 1),
        ("!(.* 1 .{300})", 4, lambda z: True),
        ("(1{1000}){100} | 0*", 3, lambda z: not any(z)),
        ("(0 | 1 | " * 90 + "0" + ")*" * 90, 9, lambda z: True),
        ("(0 | 1?" * 90 + "0" + ")*" * 90, 200, lambda z: True),
        (one_before(16), 25, lambda z: z[8] == 1),  # 2^17 states, were it determinised
    ],
)
def test_large_constraints_of_short_sequences(constraint, n, rule):
    """What is longer than the sequences costs nothing."""
    found = as_constraint(constraint, BINARY, n)
    assert found.states <= n + 1
    for z in np.random.default_rng(2).integers(0, 2, (50, n)):
        assert found.accepts(z) == rule(z)


@pytest.mark.parametrize("text", ["(1{1000}){100}", ".* 1 .{16}", ".{18}", "1 0 1"])
@pytest.mark.parametrize("method", ["auto", "viterbi", "search", "counting", "exhaustive"])
def test_sequences_that_are_too_short(text, method):
    for name in ("fscore", "hamming", "zero_one", "jaccard"):
        with pytest.raises(EmptyError, match="at least one sequence of length 2"):
            fsmeu.decode(fsmeu.load(name), [0.5] * 2, method=method, constraint=text)


@pytest.mark.parametrize(
    ("constraint", "lengths"),
    [
        ("!(.* 1 .{16} 1 .*)", [200]),
        ("(.* 1 .{16} .*) & (.* 0 .{15} 1 .*)", [200]),
        ("((.{0,999}){0,999}){0,999} & (.* 1 .{30} 1 .{0,99} 0 .*)", [200]),
        ("0? 1? " * 10_500, [200]),
        ("((0? 1?){70}){70} & !((0? 1? 0? 1?){99} 0)", [200]),
        (one_before(16), []),
    ],
)
def test_too_many_states_are_refused(constraint, lengths):
    """The sentence names the limit and how to raise it; as many states are never made."""
    with pytest.raises(SizeLimitError, match=r"at most 20,000 states.*raise FSMEU_MAX_STATES"):
        as_constraint(constraint, BINARY, *lengths)


def test_the_limit_can_be_raised(monkeypatch):
    """The position of the last 1 but eight: 2^9 states, when sequences have any length."""
    monkeypatch.setenv("FSMEU_MAX_STATES", str(250 * 400))
    with pytest.raises(SizeLimitError, match="at most 400 states"):
        as_constraint(".* 1 .{8}", BINARY)
    assert as_constraint(one_before(3), BINARY).states == 2**4
    monkeypatch.setenv("FSMEU_MAX_STATES", str(250 * 1600))
    assert as_constraint(".* 1 .{8}", BINARY).states == 2**9


def test_labels_that_are_never_told_apart_cost_nothing():
    """5,000 labels, of which an expression names two."""
    alphabet = Alphabet(tuple(f"t{k}" for k in range(5000)))
    constraint = as_constraint("!(.* t7 t9 .*) & .* t3", alphabet, 40)
    assert constraint.states == 3
    for three, last, allowed in (
        ([7, 8, 9], 3, True),
        ([7, 9, 9], 3, False),
        ([7, 8, 9], 4, False),
    ):
        assert constraint.accepts(np.array([*three * 13, last])) == allowed


def test_long_lists_of_sequences():
    """A thousand sequences of eight labels each, of which many share their beginnings."""
    rng = np.random.default_rng(4)
    rows = np.unique(rng.integers(0, 9, (1000, 8)), axis=0)
    alphabet = Alphabet(tuple(f"t{k}" for k in range(9)))
    text = " | ".join(" ".join(f"t{k}" for k in row) for row in rows)
    constraint, allowed = as_constraint(text, alphabet, 8), set(map(tuple, rows.tolist()))
    for row in [*rows[:50], *rng.integers(0, 9, (50, 8))]:
        assert constraint.accepts(row) == (tuple(row.tolist()) in allowed)


# -- a constraint on the answer, and a condition on the reference ---------------------------------

TAGS = ("O", "B-NP", "I-NP", "B-VP", "I-VP")


def well_formed(z):
    """The tags with B in the place of each I that opens a chunk."""
    return [
        "B" + tag[1:] if tag[0] == "I" and before[1:] != tag[1:] else tag
        for before, tag in itertools.pairwise(["O", *z])
    ]


@pytest.mark.nightly
def test_a_constraint_to_well_formed_tags_costs_no_chunks():
    """An I that opens a chunk may be written B: the score of chunks is that of well-formed tags."""
    loss = fsmeu.load("chunk_fscore", types=["NP", "VP"])
    allowed = as_constraint(fsmeu.constraints.bio(), Alphabet(TAGS))
    for z in itertools.product(TAGS, repeat=3):
        formed = well_formed(z)
        assert allowed.accepts(np.array([TAGS.index(tag) for tag in formed]))
        assert get_entities(list(z)) == get_entities(formed)
        for y in itertools.product(TAGS, repeat=3):
            assert loss(z, y) == loss(formed, y)
    rng = np.random.default_rng(0)
    for beta in (1, 2):
        loss = fsmeu.load("chunk_fscore", beta=beta)
        for _ in range(5):
            model = fsmeu.models.Independent(rng.dirichlet(np.full(5, 0.5), 8), TAGS)
            free = fsmeu.decode(loss, model)
            formed = fsmeu.decode(loss, model, constraint=fsmeu.constraints.bio())
            assert formed.value == pytest.approx(free.value, rel=1e-12)
            assert formed.labels == well_formed(formed.labels)


def test_a_condition_changes_what_is_expected_and_a_constraint_does_not():
    """Enumerated: ``given`` moves probability, ``constraint`` leaves out hypotheses."""
    loss, bio = fsmeu.load("chunk_fscore", types=["NP"]), fsmeu.constraints.bio()
    tags = TAGS[:3]
    model = fsmeu.models.Independent([[0.5, 0.2, 0.3], [0.3, 0.1, 0.6], [0.6, 0.2, 0.2]], tags)
    every = [list(y) for y in itertools.product(tags, repeat=3)]
    rows = [[tags.index(tag) for tag in y] for y in every]
    chances = np.array([np.prod(model.probabilities[range(3), row]) for row in rows])
    possible = np.array([y == well_formed(y) for y in every])
    for condition, chance in ((False, chances), (True, chances * possible)):
        chance = chance / chance.sum()
        values = {tuple(z): sum(chance * [loss(z, y) for y in every]) for z in every}
        best = max(value for z, value in values.items() if list(z) == well_formed(z))
        asked = model.given(bio) if condition else model
        found = fsmeu.decode(loss, asked, constraint=None if condition else bio)
        assert found.value == pytest.approx(best, rel=1e-12)
        assert values[tuple(found.labels)] == pytest.approx(best, rel=1e-12)
    assert 0 < chances[possible].sum() < 0.9


# -- gaps and durations ----------------------------------------------------------------------------


def runs_of(z):
    return [(label, len(list(run))) for label, run in itertools.groupby(z)]


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("labels", [(0, 1), ("A", "B", 1)])
def test_gaps_and_durations_of_all_sequences(k, labels):
    alphabet = Alphabet(labels)
    gap, ones = fsmeu.constraints.min_gap(k), fsmeu.constraints.min_duration(k, 1)
    every = fsmeu.constraints.min_duration(k)
    two = fsmeu.constraints.min_duration(k, *labels[:2])
    both = fsmeu.constraints.all_of(gap, every)
    made = [one.over(alphabet) for one in (gap, ones, every, two, both)]
    for n in range(7 if len(labels) == 2 else 6):
        for z in itertools.product(labels, repeat=n):
            places = [i for i, label in enumerate(z) if label == 1]
            apart = all(b - a >= k for a, b in itertools.pairwise(places))
            lasts = dict.fromkeys(labels, True)
            for label, length in runs_of(z):
                lasts[label] &= length >= k
            wanted = [apart, lasts[1], all(lasts.values()), lasts[labels[0]] and lasts[labels[1]]]
            wanted.append(apart and all(lasts.values()))
            found = [one.accepts(alphabet.encode(z)) for one in made]
            assert found == wanted, z


def test_minimum_durations_are_decided_among():
    rng = np.random.default_rng(11)
    constraint = fsmeu.constraints.all_of(
        fsmeu.constraints.min_duration(2, 1), fsmeu.constraints.min_duration(3, 0)
    )
    listing = shelf_listing("fscore", 7)
    for _ in range(5):
        case = random_model(rng, (0, 1), 7)
        decision = ask(listing.loss, case.model, constraint=constraint)
        check(
            listing,
            case,
            decision,
            lambda z: all(length >= (2 if label else 3) for label, length in runs_of(z)),
        )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fsmeu.constraints.min_gap(0), "k"),
        (lambda: fsmeu.constraints.min_gap(2.5), "k"),
        (lambda: fsmeu.constraints.min_gap(2, 1.5), "a label must be a whole number or a text"),
        (lambda: fsmeu.constraints.min_duration(-1, 1), "k"),
        (lambda: fsmeu.constraints.min_duration(2, None), "a label must be a whole number or a"),
        (lambda: fsmeu.constraints.all_of(), "there must be a constraint"),
        (
            lambda: fsmeu.decode("fscore", [0.5], constraint=fsmeu.constraints.min_gap(2, "X")),
            "Got 'X' instead",
        ),
        (
            lambda: fsmeu.decode("fscore", [0.5], constraint=fsmeu.constraints.all_of(3)),
            "must be a regular expression over labels or an acceptor",
        ),
        (
            lambda: fsmeu.decode("fscore", [0.5], constraint=fsmeu.constraints.min_duration(2)),
            "it must allow at least one sequence of length 1",
        ),
    ],
)
def test_gaps_and_durations_that_cannot_be_are_refused(make, message):
    with pytest.raises(FsmeuError, match=message):
        make()


def test_a_gap_and_a_duration_of_events_at_once():
    """An event that lasts and must stand apart from itself: none is possible."""
    both = fsmeu.constraints.all_of(
        fsmeu.constraints.min_gap(2), fsmeu.constraints.min_duration(2, 1)
    )
    assert fsmeu.decode("fscore", [0.9] * 4, constraint=both).labels == [0] * 4
