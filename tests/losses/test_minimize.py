"""Merged states: every pair keeps its value, and nothing that can be merged is left."""

import itertools

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import LossFileError, SizeLimitError
from fsmeu.losses.language.read import read
from fsmeu.losses.machine.machine import minimize, unroll
from tests.losses.meaning import World
from tests.losses.writer import LABEL_SETS
from tests.strategies import losses
from tests.support.python_losses import Keeper

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
    """Mistakes, remembered with their positions where only their number matters."""
    loss = fsmeu.function_loss(Keeper(mistakes=True))
    assert loss.compile(5).states == 2**6 - 1
    merged = loss.compile(5, minimize=True)
    assert merged.states == sum(range(1, 7))
    np.testing.assert_array_equal(ends(merged), values(loss, 5))


def test_too_many_layers_are_refused():
    machine = fsmeu.load("fscore").compile(9)
    with pytest.raises(SizeLimitError, match="in layers"):
        minimize(machine, layered=True, limit=50)
    assert minimize(machine, limit=50).states < machine.states
