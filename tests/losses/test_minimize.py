"""Merged states: every pair keeps its value, and nothing that can be merged is left."""

import itertools

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import LossFileError, SizeLimitError
from fsmeu.expectation.composition import compose_machines
from fsmeu.fst import distinct
from fsmeu.fst.alphabet import BINARY
from fsmeu.fst.layers import string_layers
from fsmeu.losses.language.read import read
from fsmeu.losses.machine.machine import Machine
from fsmeu.losses.machine.minimize import minimize, same_values, unroll
from tests.losses.meaning import World
from tests.losses.writer import LABEL_SETS
from tests.strategies import losses, questions

FEW = tuple(labels for labels in LABEL_SETS if len(labels) < 4)
LONGEST = {2: 6, 3: 3}

AGES = """
loss ages(k: int in 1..)
labels 0 1
age   az since z == 1 up to k
age   ay since y == 1 up to k
count bad when i >= k and (az < k) != (ay < k)
value bad / (n - k + 1) or 0 when n < k
"""
MEMORIES = """
loss memories(k: int in 1..)
labels 0 1
memory mz of z last k
memory my of y last k
count  bad when i >= k and (tally(mz, 1) > 0) != (tally(my, 1) > 0)
value  bad / (n - k + 1) or 0 when n < k
"""
FULL_WINDOWS = MEMORIES.replace("i >= k", "(mz[k - 1] == 0 or mz[k - 1] == 1)")
WAYS = {"shelf": None, "ages": AGES, "memories": MEMORIES, "full windows": FULL_WINDOWS}


def pk(way, k):
    return fsmeu.load("pk", k=k) if WAYS[way] is None else fsmeu.loads(WAYS[way], k=k)


def ends(machine):
    """The value of every pair, in the order of sequences on both sides."""
    size = len(machine.alphabet)
    states = np.zeros((1, 1), np.int64)
    for _ in range(machine.n):
        rows, columns = states.shape
        states = machine.next[states].transpose(0, 2, 1, 3).reshape(rows * size, columns * size)
    assert (states >= 0).all()
    return machine.values[states]


def values(loss, n):
    """The same by evaluation of each pair, one by one."""
    size = len(loss.labels)
    indices = np.array(list(itertools.product(range(size), repeat=n)), np.int64)
    indices = indices.reshape(size**n, n)
    z = np.repeat(indices, len(indices), axis=0)
    y = np.tile(indices, (len(indices), 1))
    return loss.pair_values(z, y).reshape(len(indices), len(indices))


def compiled(loss, n):
    """The machine; a file that is undefined at this length is not used."""
    try:
        return loss.compile(n)
    except LossFileError:
        reject()


def distinguishable(table, size, n):
    """How many prefixes of each length can be told apart by what may follow (Myhill, Nerode).

    Args:
        table: value of every pair of sequences of length n.
        size: number of labels.
        n: length.
    """
    counts = []
    for depth in range(n + 1):
        heads, tails = size**depth, size ** (n - depth)
        futures = table.reshape(heads, tails, heads, tails).transpose(0, 2, 1, 3)
        rows = np.round(futures.reshape(heads * heads, -1), 9) + 0.0
        counts.append(len(np.unique(rows, axis=0)))
    return counts


@settings(max_examples=40, deadline=None)
@given(data=st.data(), case=losses(FEW))
def test_every_pair_keeps_its_value(data, case):
    n = data.draw(st.integers(0, LONGEST[len(case.labels)]))
    loss = case.load()
    machine = compiled(loss, n)
    wanted = values(loss, n)
    merged = [minimize(machine), minimize(machine, layered=True), loss.compile(n, minimize=True)]
    for smaller in merged:
        np.testing.assert_allclose(ends(smaller), wanted, rtol=1e-12, atol=1e-12)
    assert merged[0].states <= machine.states
    assert merged[2].states <= machine.states


@settings(max_examples=40, deadline=None)
@given(data=st.data(), case=losses(FEW))
def test_layers_hold_what_can_be_told_apart_and_no_more(data, case):
    """One state for each class of prefixes that some continuation tells apart."""
    n = data.draw(st.integers(0, LONGEST[len(case.labels)]))
    loss = case.load()
    least = minimize(compiled(loss, n), layered=True)
    wanted = distinguishable(values(loss, n), len(loss.labels), n)
    assert [len(layer) for layer in unroll(least)[0]] == wanted
    assert least.states == sum(wanted)


@settings(max_examples=25, deadline=None)
@given(questions(FEW, most=5))
def test_expectations_stay_as_they_are(asked):
    """hypothesis o minimised loss o model has the same total weight; z given or free."""
    loss, n = asked.case.load(), len(asked.z)
    machine = compiled(loss, n)
    wanted = fsmeu.expect(loss, asked.z, asked.model.model).value
    scale = 1e-12 * max(1.0, float(np.abs(values(loss, n)).max()))
    hypothesis = string_layers(loss.alphabet, loss.alphabet.encode(asked.z))
    for smaller in (
        minimize(machine),
        minimize(machine, layered=True),
        loss.compile(n, asked.z, minimize=True),
    ):
        whole = compose_machines(hypothesis, smaller, asked.model.model.layered())
        # The shift that keeps weights positive is added and taken away again.
        slack = scale + 1e-12 * abs(smaller.shift)
        assert whole.total == pytest.approx(wanted, rel=1e-12, abs=slack)
    plain, merged = (fsmeu.compose(loss, asked.z, asked.model.model, minimize=m) for m in (0, 1))
    assert merged.total == pytest.approx(plain.total, rel=1e-12, abs=slack)
    assert merged.machine.states <= plain.machine.states


@pytest.mark.parametrize("way", ["ages", "memories", "full windows"])
@pytest.mark.parametrize(("k", "n"), [(1, 6), (2, 2), (2, 9), (3, 2), (3, 10), (4, 12), (5, 9)])
@pytest.mark.thirds
def test_pk_has_as_many_states_however_it_is_written(way, k, n):
    """The last k labels of each tape, or the age of the last boundary: it is one loss."""
    written, shelf = pk(way, k), pk("shelf", k)
    plain = written.compile(n)
    assert minimize(plain, layered=True).states == minimize(shelf.compile(n), layered=True).states
    if n >= k:  # shorter sequences have no window
        merged = written.compile(n, minimize=True)
        assert merged.states == shelf.compile(n, minimize=True).states < plain.states
    if way == "memories":
        assert minimize(plain).states == minimize(pk("ages", k).compile(n)).states


def test_long_memories_of_pk_need_not_be_built():
    """With k = 12 there are 2^24 pairs of windows, and merged as many states as with ages."""
    sizes = {way: pk(way, 12).compile(20, minimize=True).states for way in WAYS}
    assert len(set(sizes.values())) == 1


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_false_positives_and_negatives_of_one_price_are_one_count(n):
    """With equal prices, z != y is all that matters: 0 to n mistakes, though three are counted."""
    text = """
    loss mistakes
    labels 0 1
    count tp  when z == 1 and y == 1
    count hyp when z == 1
    count ref when y == 1
    value (hyp - tp) + (ref - tp)
    """
    machine = fsmeu.loads(text).compile(n)
    assert minimize(machine).states == n + 1


def test_states_that_only_the_end_tells_apart_from_others():
    """At most 2 mistakes: 0, 1, 2, or more, however many more."""
    text = "loss few labels 0 1 count bad when z != y value if bad > 2 then 1 else 0"
    for n in range(3, 9):
        assert minimize(fsmeu.loads(text).compile(n)).states == 4


def test_a_minimised_machine_is_left_as_it_is():
    machine = minimize(fsmeu.load("fscore").compile(6))
    again = minimize(machine)
    assert (again.next == machine.next).all()
    assert list(again.registers) == ["tp", "hyp", "ref"]
    assert all(len(held) == machine.states for held in again.registers.values())


def test_only_equal_values_are_one():
    """Values that a tolerance would merge feed means; 1/3 and its neighbour are two."""
    one_third = 1 / 3
    near = np.nextafter(one_third, 1)
    numbers = same_values(np.array([0.5, near, np.nan, one_third, 0.0, -0.0, 1e-17, one_third]))
    assert numbers.tolist() == [4, 3, -1, 2, 0, 0, 1, 2]
    assert same_values(np.array([np.nan])).tolist() == [-1]
    assert same_values(np.zeros(0)).tolist() == []


@pytest.mark.parametrize("value", ["(bad - 10^15) ^ 2", "bad", "bad - 10^15"])
def test_merging_keeps_the_digits_of_values(value):
    """Values that differ by less than 15 digits, before and after states are merged."""
    text = f"loss f labels 0 1 count bad by if i == 1 then 10^15 else z * y value {value}"
    loss, meaning = fsmeu.loads(text), World(read(text), (0, 1), 4)
    for layered in (False, True):
        smaller = minimize(loss.compile(4), layered=layered)
        for z, y in itertools.product(itertools.product((0, 1), repeat=4), repeat=2):
            state = 0
            for a, b in zip(z, y, strict=True):
                state = smaller.next[state, a, b]
            assert smaller.values[state] == meaning.run(z, y)


def test_a_python_loss_is_minimised_as_well():
    class Clumsy:
        """Mistakes, remembered with their positions where only their number matters."""

        def start(self):
            return ()

        def step(self, state, z, y):
            return (*state, z != y)

        def value(self, state):
            return float(sum(state))

    loss = fsmeu.function_loss(Clumsy())
    assert loss.compile(5).states == 2**6 - 1
    merged = loss.compile(5, minimize=True)
    assert merged.states == sum(range(1, 7))
    np.testing.assert_array_equal(ends(merged), values(loss, 5))


def test_states_that_lead_to_no_end_are_left_out():
    """As where a model restricts what is compiled: state 2 has no step, and no pair ends there."""
    steps = np.full((4, 2, 2), -1)
    steps[0, :, 0], steps[0, :, 1], steps[1] = 1, 2, 3
    ending = np.array([np.nan, np.nan, np.nan, 5.0])
    machine = minimize(Machine("m", 2, BINARY, steps, ending, 0.0, {}))
    assert machine.next[0].tolist() == [[1, -1], [1, -1]]
    assert machine.values[machine.next[1]].tolist() == [[5.0, 5.0], [5.0, 5.0]]


def test_too_many_layers_are_refused():
    machine = fsmeu.load("fscore").compile(9)
    with pytest.raises(SizeLimitError, match="in layers"):
        minimize(machine, layered=True, limit=50)
    assert minimize(machine, limit=50).states < machine.states


@given(data=st.data())
def test_classes_are_what_continuations_tell_apart(data):
    size = data.draw(st.integers(1, 8))
    cells = st.lists(st.integers(0, size - 1), min_size=2, max_size=2)
    targets = np.array(data.draw(st.lists(cells, min_size=size, max_size=size)), np.int64)
    outputs = np.array(data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)))
    words = [word for n in range(size + 1) for word in itertools.product((0, 1), repeat=n)]
    reached = {0}
    for _ in range(size):
        reached |= {int(t) for state in reached for t in targets[state]}

    def answers(state):
        found = []
        for word in words:
            at = state
            for symbol in word:
                at = targets[at, symbol]
            found.append(int(outputs[at]))
        return tuple(found)

    classes = distinct.refine(targets, outputs)
    for a, b in itertools.product(sorted(reached), repeat=2):
        assert (classes[a] == classes[b]) == (answers(a) == answers(b))


def test_a_long_chain_is_left_as_it_is(monkeypatch):
    """A count of which only the last value is seen: as many rounds as values would be needed."""
    sorts = []
    plain = distinct.group
    monkeypatch.setattr(distinct, "group", lambda rows: sorts.append(len(rows)) or plain(rows))
    monkeypatch.setattr(distinct, "_MOST_SORTED_CELLS", 1 << 20)
    steps = np.minimum(np.arange(5000)[:, None] + [0, 1], 4999)
    classes = distinct.refine(steps, np.arange(5000) // 4999)
    assert len(np.unique(classes)) == 5000
    assert len(sorts) < 200
