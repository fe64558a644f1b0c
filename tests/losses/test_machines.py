"""Machines: what is built, merged states, and machines whose paths add up."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import InputError, LossFileError, SizeLimitError
from fsmeu.losses.language.read import read
from fsmeu.losses.loss import Loss
from fsmeu.losses.machine.minimize import classes_by_depth, minimize
from tests import brute_force
from tests.losses.meaning import World
from tests.losses.writer import LABEL_SETS
from tests.strategies import losses
from tests.support.python_losses import Differs, Keeper
from tests.support.values import value_table, watched_cells

FEW = tuple(labels for labels in LABEL_SETS if len(labels) < 4)
LONGEST = {2: 6, 3: 3}

PK = "loss f(k: int in 1..) labels 0 1 {} value bad / (n - k + 1) or 0 when n < k"
AGES = "age az since z == 1 up to k age ay since y == 1 up to k"
MEMORIES = "memory mz of z last k memory my of y last k"
SEEN = "(tally(mz, 1) > 0) != (tally(my, 1) > 0)"
WAYS = (
    f"{AGES} count bad when i >= k and (az < k) != (ay < k)",
    f"{MEMORIES} count bad when i >= k and {SEEN}",
    f"{MEMORIES} count bad when (mz[k - 1] == 0 or mz[k - 1] == 1) and {SEEN}",
)


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
    everything = brute_force.sequences(loss.labels, n)
    return value_table(loss, everything, everything)


def distinguishable(table, size, n):
    """How many prefixes of each length can be told apart by what may follow (Myhill, Nerode)."""
    counts = []
    for depth in range(n + 1):
        heads, tails = size**depth, size ** (n - depth)
        futures = table.reshape(heads, tails, heads, tails).transpose(0, 2, 1, 3)
        rows = np.round(futures.reshape(heads * heads, -1), 9) + 0.0
        counts.append(len(np.unique(rows, axis=0)))
    return counts


@settings(max_examples=60, deadline=None)
@given(data=st.data(), case=losses(FEW))
def test_merged_states_keep_values_and_can_be_told_apart(data, case):
    """In layers there is one state for each class of prefixes that what follows tells apart."""
    n, loss = data.draw(st.integers(0, LONGEST[len(case.labels)])), case.load()
    try:
        machine = loss.compile(n)
    except LossFileError:
        reject()
    wanted, layered = values(loss, n), minimize(machine, layered=True)
    for smaller in (layered, minimize(machine), loss.compile(n, minimize=True)):
        np.testing.assert_allclose(ends(smaller), wanted, rtol=1e-12, atol=1e-12)
        assert smaller is layered or smaller.states <= machine.states
    classes = distinguishable(wanted, len(loss.labels), n)
    assert [len(layer) for layer in classes_by_depth(layered)[0]] == classes
    assert layered.states == sum(classes)


def test_pk_has_as_many_states_however_it_is_written():
    """With k = 12 there are 2^24 pairs of windows; they need not be built to be merged."""
    losses = [fsmeu.load("pk", k=12), *(fsmeu.loads(PK.format(way), k=12) for way in WAYS)]
    assert len({loss.compile(20, minimize=True).states for loss in losses}) == 1


@pytest.mark.parametrize("value", ["(bad - 10^15) ^ 2", "bad", "(bad - 10^15) / 10^9"])
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
            assert smaller.values[state] == float(meaning.run(z, y))


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


# -- the states of a machine are counted while it is built, very many labels before that -----------


@pytest.fixture
def cells(monkeypatch):
    return watched_cells(monkeypatch)


LEAST = "Got at least"
TOO_MANY = r"5,000 labels, which make 25,000,000.*FSMEU_MAX_STATES"
MEMORY = "loss f labels any memory m of (z != y) last 30 value (m[29] == 1)"
TARGETS = "loss f labels any register a in 0..9999 start 0 next z * 100 + y value a"


@pytest.mark.parametrize(
    ("name", "given", "n", "words", "most"),
    [
        *(("fscore", {}, n, f"at least {math.comb(n + 3, 3):,}", 4) for n in (70, 400, 100_000)),
        ("fscore", {}, 10**300, f"at least {10**18:,}", 4),
        ("chunk_fscore", {"types": ["NP"]}, 3000, LEAST, 1000),  # counts and ages of open chunks
        ("windowdiff", {"k": 12}, 200, LEAST, 2_000_000),  # 2^24 pairs of windows
        (MEMORY, {}, 200, LEAST, 2_000_000),  # 2^30 contents
        ("hamming", {"labels": range(5000)}, 3, TOO_MANY, 0),
        ("accuracy", {"labels": range(5000)}, 3, TOO_MANY, 0),
        (TARGETS, {"labels": range(100)}, 2, "arcs", 10_000),  # a target for each pair
    ],
)
def test_large_machines_are_refused_before_they_are_built(
    name, given, n, words, most, cells, monkeypatch
):
    monkeypatch.setenv("FSMEU_MAX_STATES", "50000")
    loss = fsmeu.loads(name, **given) if " " in name else fsmeu.load(name, **given)
    for ask in (Loss.compile, *[fsmeu.compile_summed] * (words == TOO_MANY)):
        with pytest.raises(SizeLimitError, match=words):
            ask(loss, n)
    assert sum(cells) <= most


AGED = "age a since z == 1 up to 40 age b since y == 1 up to 40 value a + b"
PAIRS = {"a": "z == 1 and y == 1", "b": "z == 1 and y == 0", "c": "z == 0 and y == 1"}
FULL = [f"register {r} in 0..30 start 0 next min({r} + ({c}), 30)" for r, c in PAIRS.items()]
FULL += ["register s in 0..300 start 0 next min(a + b + c, 300) value a * b * c + s"]


@pytest.mark.parametrize(
    ("loss", "n", "states"),
    [
        ("fscore", 12, 455),
        ("jaccard", 12, 91),
        ("sec", 12, 169),
        ("hamming", 12, 13),
        ("loss f labels 0 1 memory m of (z != y) last 9 value n", 40, 1023),
        ("loss f labels 0 1 count m when z != y value n", 40, 41),
        (f"loss f labels 0 1 {AGED}", 10_000, 41**2),  # no new states after depth 40
        (f"loss f labels 0 1 {' '.join(FULL)}", 2000, 31**3),  # they fill up slowly
    ],
    ids=repr,
)
def test_a_machine_of_as_many_states_as_the_limit_is_built(loss, n, states):
    loss = fsmeu.load(loss) if " " not in loss else fsmeu.loads(loss)
    assert loss.compile(n, max_states=states).states == states
    with pytest.raises(SizeLimitError, match="at least"):
        loss.compile(n, max_states=states - 1)


@pytest.mark.parametrize("n", [10, 11, 1_000_000, 1_000_001])
def test_where_pairs_of_a_length_end_in_turns(n):
    """Two states in turn: which one is final depends on the length being even or odd."""
    loss = fsmeu.loads("loss f labels 0 1 register r in 0..1 start 0 next 1 - r value r + 1")
    machine = loss.compile(n)
    assert [int(v) for v in machine.values if not np.isnan(v)] == [1 + n % 2]


def test_what_counts_gain_is_asked_for_all_pairs_at_once(cells):
    """300 labels make 90,000 pairs, but a few calls are enough."""
    machine = fsmeu.compile_summed(fsmeu.load("hamming", labels=range(300)), 25)
    assert machine.states == 2
    assert machine.arcs == 2 * 300 * 300 + 300 * 299
    assert len(cells) < 10


# -- machines whose paths add up: the weights of all paths of a pair are its value -----------------


def path_sums(machine, zs, ys):
    """The summed weight of the paths of each pair, followed arc by arc."""
    table = machine.table
    leaving, columns = {}, (table.source, table.ilabel, table.olabel, table.weight, table.target)
    for s, a, b, w, t in zip(*columns, strict=True):
        leaving.setdefault((s, a, b), []).append((t, math.exp(-w)))
    labels = machine.alphabet.labels
    for z, y in itertools.product(zs, ys):
        here = {0: 1.0}
        for a, b in zip(z, y, strict=True):
            after = {}
            for s, mass in here.items():
                for t, factor in leaving.get((s, labels.index(a) + 1, labels.index(b) + 1), ()):
                    after[t] = after.get(t, 0.0) + mass * factor
            here = after
        total = sum(mass * math.exp(-table.final[s]) for s, mass in here.items())
        yield z, y, total - machine.shift


NOTHING = fsmeu.loads("loss nothing labels 0 1 value 0")


@pytest.mark.parametrize(
    ("loss", "n", "least", "most"),
    [
        (NOTHING, 3, 1, 1),
        *((fsmeu.load("fscore"), n, 2 * n**2, 2 * n**2) for n in (1, 5, 20)),
        *((fsmeu.load("windowdiff", k=k), 200, 2, 1 + k**2) for k in (6, 12, 33)),
    ],
)
def test_summed_machines_have_few_states(loss, n, least, most):
    """F-score: (hyp, ref), once to wait for a true positive and once after it was paid.

    Both are from 0 to n - 1 while one is still to come, and from 1 to n afterwards. WindowDiff:
    one that waits, one that has paid, and at most 2j + 1 differences j slots into a window.
    """
    assert least <= fsmeu.compile_summed(loss, n).states <= most


@pytest.mark.parametrize(
    ("name", "params"),
    [("fscore", {}), ("windowdiff", {"k": 2}), ("hamming", {}), ("kappa", {}), ("zero_one", {})],
)
def test_every_state_is_on_an_accepted_path(name, params):
    loss = fsmeu.load(name, **params)
    for machine in (fsmeu.compile_summed(loss, 6), fsmeu.compile_summed(loss, 4, z="0110")):
        assert machine.shared.copy().connect().num_states() == machine.states


@pytest.mark.parametrize(
    ("loss", "n", "kind", "words"),
    [
        (fsmeu.load("fscore"), 50, SizeLimitError, "at most 100 states"),
        (fsmeu.function_loss(Differs()), 3, InputError, "written in a loss file"),
        *((NOTHING, n, InputError, "whole number") for n in (-1, 2.5, "3", None, True)),
    ],
)
def test_what_is_not_summed(loss, n, kind, words):
    with pytest.raises(kind, match=words):
        fsmeu.compile_summed(loss, n, max_states=100)


def test_a_large_machine_is_told_to_be_summed():
    with pytest.raises(SizeLimitError, match=r"compile_summed, where tp is no part of"):
        fsmeu.load("fscore").compile(50, max_states=100)


def test_the_materialised_engine_adds_up_what_is_too_large(monkeypatch):
    """The value is that of the other engine; the distribution still needs the large machine."""
    monkeypatch.setenv("FSMEU_MAX_STATES", "8000")
    rng = np.random.default_rng(5)
    z, p = rng.integers(0, 2, 40), rng.random(40)
    for loss in (fsmeu.load("fscore"), fsmeu.load("windowdiff", k=8)):
        answer = fsmeu.expect(loss, z, p, engine="openfst")
        assert answer.value == pytest.approx(fsmeu.expect(loss, z, p).value, rel=1e-12)
        assert answer.kept == pytest.approx(1.0, rel=1e-12)
        with pytest.raises(SizeLimitError):
            answer.levels  # noqa: B018
