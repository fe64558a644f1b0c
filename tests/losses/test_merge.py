"""Values of a register that nothing tells apart: how many are left, and that nobody notices."""

import itertools

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import LossFileError
from fsmeu.losses.machine.quotient_register import merged_registers, observations
from fsmeu.losses.machine.view import SpecView
from tests.losses.writer import LABEL_SETS
from tests.strategies import losses

FEW = tuple(labels for labels in LABEL_SETS if len(labels) < 4)
LONGEST = {2: 5, 3: 3}


def classes(text, n, **params):
    """How many values of each merged register remain."""
    merged = merged_registers(fsmeu.loads(text, **params).bound, n)
    return {name: len(held.representatives) for name, held in merged.items()}


def ending(view):
    """The value of every sequence of symbols, in order."""
    codes = np.array([view.start], np.int64)
    for i in range(1, view.n + 1):
        codes = view.advance(i, codes)[0].ravel()
    return view.values(codes)[0]


@settings(max_examples=70, deadline=None)
@given(data=st.data(), case=losses(FEW))
def test_values_are_the_same_with_and_without(data, case):
    """Every pair, and every reference against one hypothesis."""
    n = data.draw(st.integers(0, LONGEST[len(case.labels)]))
    bound = case.load().bound
    z = np.array(
        data.draw(st.lists(st.sampled_from(range(len(case.labels))), min_size=n, max_size=n))
    )
    for given_z in (None, z.astype(np.int64)):
        if given_z is None and n > 3:
            continue
        merged, plain = (SpecView(bound, n, given_z, merge=merge) for merge in (True, False))
        try:
            wanted = ending(plain)
        except LossFileError:
            reject()  # the file is undefined at this length
        np.testing.assert_allclose(ending(merged), wanted, rtol=1e-12, atol=1e-12)
        assert merged.space_of.size <= plain.space_of.size


@pytest.mark.parametrize("k", [1, 2, 3, 6, 10])
def test_memory_of_which_only_the_newest_boundary_matters(k):
    """The last k labels become the age of the last 1: 0, ..., k - 1, or older."""
    text = """
    loss windows(k: int)
    labels 0 1
    memory my of y last k
    count held when tally(my, 1) > 0
    value held
    """
    assert classes(text, 30, k=k) == {"my": k + 1}


@pytest.mark.parametrize("k", [1, 2, 5, 8])
def test_memory_that_is_needed_is_kept(k):
    """Windows of WindowDiff must be remembered; only 'nothing yet' is as good as 0."""
    shelf = merged_registers(fsmeu.load("windowdiff", k=k).bound, 30)
    assert {name: len(shelf[name].representatives) for name in ("mz", "my")} == {
        "mz": 2**k,
        "my": 2**k,
    }


def test_count_of_which_only_a_threshold_matters():
    text = "loss f(m: int) labels 0 1 count bad when z != y value if bad > m then 1 else 0"
    assert classes(text, 40, m=3) == {"bad": 5}
    assert classes(text, 4, m=3) == {}
    assert classes(text, 400, m=0) == {"bad": 2}


def test_explicit_states_that_do_the_same():
    text = """
    loss f
    state good also bad
    arc good -> also when z == y
    arc good -> bad otherwise
    arc also -> good when z == y
    arc also -> bad otherwise
    arc bad -> bad
    value if at bad then 1 else 0
    """
    assert classes(text, 9) == {"state": 2}


def test_what_is_read_before_and_after_a_step_counts_twice():
    """'old' looks at the same values one step earlier, so both readings must agree."""
    text = """
    loss f labels 0 1
    register r in 0..3 start 0 next if y == 1 then min(r + 1, 3) else 0
    count a when r > 1 and not (old r > 1)
    count b when r - old r == 1
    value a + b
    """
    spec = fsmeu.loads(text).bound.spec
    assert len(observations(spec, "r")) == 4  # r > 1, old r > 1, r, old r
    assert classes(text, 9) == {}
    assert classes(text.replace("r - old r == 1", "z == 1"), 9) == {"r": 3}


def test_a_register_that_nothing_reads_is_no_state():
    text = "loss f labels 0 1 count bad when z != y count unused when z == 1 value bad"
    assert classes(text, 9) == {"unused": 1}
    assert fsmeu.loads(text).compile(9, minimize=True).states == 10


def test_registers_that_follow_others_are_left_alone():
    text = """
    loss f labels 0 1
    count hyp when z == 1
    memory m of (hyp > 1) last 3
    count late when m[0] == 1
    value late
    """
    assert "m" not in classes(text, 6)


def test_counts_that_the_value_adds_up_stay():
    for name in ("fscore", "hamming", "accuracy"):
        assert merged_registers(fsmeu.load(name).bound, 12) == {}


def test_classes_found_once_hold_for_longer_sequences():
    """The register's automaton is closed after k steps, so nothing is computed again."""
    text = "loss f labels 0 1 memory m of y last 4 count c when tally(m, 1) > 0 value c"
    bound = fsmeu.loads(text).bound
    assert merged_registers(bound, 20)["m"] is merged_registers(bound, 50)["m"]


def test_length_is_part_of_what_can_be_read():
    """A memory that is looked at only in long sequences."""
    text = "loss f labels 0 1 memory m of y last 3 count c when n > 5 and m[2] == 1 value c"
    assert classes(text, 4) == {"m": 1}
    assert classes(text, 8) == {"m": 8}


def test_a_fault_is_told_where_it_happens():
    """Classes are not looked for where a step is undefined; whoever takes it is told."""
    text = "loss f labels 0 1 register r in 0..2 start 0 next r + y value if r > 1 then 1 else 0"
    loss = fsmeu.loads(text)
    assert merged_registers(loss.bound, 5) == {}
    with pytest.raises(LossFileError, match="leaves its bounds"):
        fsmeu.expect(loss, "00000", [0.5] * 5)


def test_long_memory_costs_the_engine_no_more_than_an_age():
    """The space of Pk with the last 12 labels is that of ages, and the expectation the same."""
    memories = """
    loss f(k: int)
    labels 0 1
    memory mz of z last k
    memory my of y last k
    count  bad when i >= k and (tally(mz, 1) > 0) != (tally(my, 1) > 0)
    value  bad / (n - k + 1)
    """
    clumsy, shelf = fsmeu.loads(memories, k=12), fsmeu.load("pk", k=12)
    n = 40
    z = np.tile([0, 0, 0, 1, 0, 0, 0, 0], 5)
    views = [loss.view(n, z, weights=True) for loss in (clumsy, shelf)]
    assert [view.space_of.size for view in views] == [13, 13]
    p = np.linspace(0.01, 0.2, n)
    both = [fsmeu.expect(loss, z, p).value for loss in (clumsy, shelf)]
    assert both[0] == pytest.approx(both[1], rel=1e-12)


def test_every_class_is_told_apart_by_something():
    """No more is kept than needed: for every two classes there is a continuation that differs."""
    text = """
    loss f labels 0 1 2
    memory m of y last 3
    count c when tally(m, 2) > 1 or m[0] == 1
    value c
    """
    bound = fsmeu.loads(text).bound
    merged = merged_registers(bound, 20)["m"]
    base, depth = 4, 3

    def seen(packed):
        digits = [packed // base**j % base for j in range(depth)]
        return digits.count(3) > 1 or digits[0] == 2

    def future(packed):
        return tuple(
            seen(_pushed(packed, tail, base, depth))
            for length in range(depth + 1)
            for tail in itertools.product((1, 2, 3), repeat=length)
        )

    futures = [future(int(value)) for value in merged.values]
    groups = {}
    for value_class, what in zip(merged.classes.tolist(), futures, strict=True):
        groups.setdefault(value_class, set()).add(what)
    assert all(len(found) == 1 for found in groups.values())
    assert len({next(iter(found)) for found in groups.values()}) == len(groups)


def _pushed(packed, tail, base, depth):
    for digit in tail:
        packed = (packed * base + digit) % base**depth
    return packed
