"""Machines: one path for each pair, merged states, sizes, and machines whose paths add up."""

import itertools
import math
import time

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import SizeLimitError
from tests.losses.meaning import World
from tests.support.missing import openfst
from tests.support.values import value_table

N = 3
Z = "010"
LOSSES = {"fscore": {}, "pk": {"k": 2}, "zero_one": {}, "run_length": {}}
MACHINES = {
    "compiled": lambda loss: loss.compile(N),
    "minimized": lambda loss: loss.compile(N, minimize=True),
    "given z": lambda loss: loss.compile(N, z=Z),
    "given z, minimized": lambda loss: loss.compile(N, z=Z, minimize=True),
    "summed": lambda loss: fsmeu.compile_summed(loss, N),
    "summed, given z": lambda loss: fsmeu.compile_summed(loss, N, z=Z),
}


def paths(graph, z, y):
    """The weights of the paths of a pair through a graph of networkx, with those of their ends."""
    found = [(graph.graph["start"], 0.0)]
    for a, b in zip(z, y, strict=True):
        found = [
            (target, weight + arc["weight"])
            for state, weight in found
            for _, target, arc in graph.out_edges(state, data=True)
            if (arc["input"], arc["output"]) == (a, b)
        ]
    ends = ((graph.nodes[state], weight) for state, weight in found)
    return [weight + node["final"] for node, weight in ends if node["ending"]]


@pytest.mark.thirds
@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize("name", LOSSES)
def test_only_pairs_of_its_length_have_paths(name, kind):
    """One, or paths that add up, of the value of the pair; given z, for pairs with it alone."""
    loss = fsmeu.load(name, **LOSSES[name])
    machine = MACHINES[kind](loss)
    graph = fsmeu.to_networkx(machine)
    for length in (0, N - 1, N, N + 1):
        for z, y in itertools.product(itertools.product("01", repeat=length), repeat=2):
            found = paths(graph, z, y)
            if length == N and ("given z" not in kind or z == tuple(Z)):
                value = float(np.exp(-np.array(found)).sum()) - machine.shift
                assert value == pytest.approx(loss(z, y), abs=1e-9)
                assert len(found) == 1 or "summed" in kind
            else:
                assert not found


@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize("name", ["fscore", "pk"])
def test_openfst_finds_no_path_of_another_length(name, kind):
    """Also in the file that is written, read by OpenFst itself."""
    machine = MACHINES[kind](fsmeu.load(name, **LOSSES[name]))
    for fst in (machine.fst, openfst().Fst.read_from_string(fsmeu.to_openfst(machine))):
        read = set(fst.paths(input_token_type=fst.input_symbols()).istrings())
        assert {len(text.split()) for text in read} == {N}
        if "given z" in kind:
            assert read == {" ".join(Z)}


def test_a_machine_that_has_no_steps():
    for machine in (fsmeu.load("fscore").compile(0), fsmeu.compile_summed("fscore", 0)):
        graph = fsmeu.to_networkx(machine)
        assert paths(graph, (), ()) == [0.0]
        assert not paths(graph, "1", "1")


# -- states that are merged, and how many there are -----------------------------------------------


def ends(machine):
    """The value of every pair, in the order of sequences on both sides."""
    size = len(machine.alphabet)
    states = np.zeros((1, 1), np.int64)
    for _ in range(machine.n):
        rows, columns = states.shape
        states = machine.next[states].transpose(0, 2, 1, 3).reshape(rows * size, columns * size)
    return machine.values[states]


@pytest.mark.parametrize(
    ("name", "params", "n", "merged"),
    [
        ("hamming", {}, 5, 6),  # as many as there are numbers of mistakes
        ("zero_one", {}, 5, 2),
        ("threshold", {"m": 2}, 5, 4),
        ("transitions", {"labels": "abc"}, 3, None),
        ("chunk_fscore", {"types": ["NP"]}, 3, None),
    ],
)
def test_merged_states_keep_values(name, params, n, merged):
    loss = fsmeu.load(name, **params)
    machine, smaller = loss.compile(n), loss.compile(n, minimize=True)
    everything = list(itertools.product(loss.labels, repeat=n))
    wanted = value_table(loss, everything, everything)
    np.testing.assert_allclose(ends(smaller), wanted, rtol=1e-12, atol=1e-12)
    assert smaller.states <= machine.states
    assert merged is None or smaller.states == merged


PK = "loss f(k: int in 1..) labels 0 1 {} value bad / (n - k + 1) or 0 when n < k"
WAYS = (
    "age az since z == 1 up to k age ay since y == 1 up to k "
    "count bad when i >= k and (az < k) != (ay < k)",
    "memory mz of z last k memory my of y last k "
    "count bad when i >= k and (tally(mz, 1) > 0) != (tally(my, 1) > 0)",
)


def test_pk_has_as_many_states_however_it_is_written():
    """With k = 12 there are 2^24 pairs of windows; they need not be built to be merged."""
    losses = [fsmeu.load("pk", k=12), *(fsmeu.loads(PK.format(way), k=12) for way in WAYS)]
    assert len({loss.compile(20, minimize=True).states for loss in losses}) == 1


@pytest.mark.parametrize("value", ["(bad - 10^15) ^ 2", "bad", "(bad - 10^15) / 10^9"])
def test_merging_keeps_the_digits_of_values(value):
    """Values that differ by less than 15 digits, before and after states are merged."""
    text = f"loss f labels 0 1 count bad by if i == 1 then 10^15 else z * y value {value}"
    loss = fsmeu.loads(text)
    meaning = World(loss.spec, (0, 1), 4)
    everything = list(itertools.product((0, 1), repeat=4))
    wanted = [[float(meaning.run(z, y)) for y in everything] for z in everything]
    assert ends(loss.compile(4, minimize=True)).tolist() == wanted


MEMORY = "loss f labels any memory m of (z != y) last 30 value (m[29] == 1)"
TARGETS = "loss f labels any register a in 0..9999 start 0 next z * 100 + y value a"


@pytest.mark.parametrize(
    ("name", "given", "n", "words"),
    [
        *(("fscore", {}, n, f"at least {math.comb(n + 3, 3):,}") for n in (70, 400, 100_000)),
        ("chunk_fscore", {"types": ["NP"]}, 3000, "at least"),  # counts and ages of open chunks
        ("windowdiff", {"k": 12}, 200, "at least"),  # 2^24 pairs of windows
        (MEMORY, {}, 200, "at least"),  # 2^30 contents
        ("accuracy", {"labels": range(5000)}, 3, "5,000 labels, which make 25,000,000"),
        (TARGETS, {"labels": range(100)}, 2, "arcs"),  # a target for each pair
    ],
)
def test_large_machines_are_refused_before_they_are_built(name, given, n, words):
    loss = fsmeu.loads(name, **given) if " " in name else fsmeu.load(name, **given)
    began = time.process_time()
    with pytest.raises(SizeLimitError, match=words):
        loss.compile(n, max_states=50_000)
    assert time.process_time() - began < 5


AGED = "age a since z == 1 up to 40 age b since y == 1 up to 40 value a + b"
PAIRS = {"a": "z == 1 and y == 1", "b": "z == 1 and y == 0", "c": "z == 0 and y == 1"}
FULL = [f"register {r} in 0..30 start 0 next min({r} + ({c}), 30)" for r, c in PAIRS.items()]
FULL += ["register s in 0..300 start 0 next min(a + b + c, 300) value a * b * c + s"]


@pytest.mark.parametrize(
    ("loss", "n", "states"),
    [
        ("fscore", 12, math.comb(15, 3)),
        ("jaccard", 12, 91),
        ("sec", 12, 169),
        ("loss f labels 0 1 memory m of (z != y) last 9 value n", 40, 1023),
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


@pytest.mark.parametrize(
    ("loss", "n", "least", "most"),
    [
        (fsmeu.loads("loss nothing labels 0 1 value 0"), 3, 1, 1),
        *((fsmeu.load("fscore"), n, 2 * n**2, 2 * n**2) for n in (1, 5, 20)),
        *((fsmeu.load("windowdiff", k=k), 200, 2, 1 + k**2) for k in (6, 33)),
        (fsmeu.load("hamming", labels=range(100)), 25, 2, 2),
    ],
)
def test_summed_machines_have_few_states(loss, n, least, most):
    """F-score: (hyp, ref), once to wait for a true positive and once after it was paid.

    Both are from 0 to n - 1 while one is still to come, and from 1 to n afterwards. WindowDiff:
    one that waits, one that has paid, and at most 2j + 1 differences j slots into a window.
    """
    assert least <= fsmeu.compile_summed(loss, n).states <= most


def test_the_materialised_engine_adds_up_what_is_too_large(monkeypatch):
    """The value is that of the other engine; the distribution still needs the large machine."""
    monkeypatch.setenv("FSMEU_MAX_STATES", "8000")
    rng = np.random.default_rng(5)
    z, p = rng.integers(0, 2, 40), rng.random(40)
    for loss in (fsmeu.load("fscore"), fsmeu.load("windowdiff", k=8)):
        answer = fsmeu.expect(loss, z, p, engine="openfst")
        assert answer.value == pytest.approx(fsmeu.expect(loss, z, p).value, rel=1e-12)
        with pytest.raises(SizeLimitError):
            answer.levels  # noqa: B018
