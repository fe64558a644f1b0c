"""Machines: paths of one length, merged states, sizes, and machines whose paths add up."""

import itertools
import math
import time

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import SizeLimitError
from tests.support.missing import openfst


@pytest.mark.parametrize(
    ("name", "params", "n"), [("fscore", {}, 0), ("fscore", {}, 3), ("pk", {"k": 2}, 3)]
)
def test_openfst_finds_no_path_of_another_length(name, params, n):
    """Also in the file that is written, read by OpenFst itself; given z, of no other z."""
    loss, z = fsmeu.load(name, **params), "010"[:n]
    for given in (None, z):
        machines = [loss.compile(n, z=given, minimize=least) for least in (False, True)]
        for machine in (*machines, fsmeu.compile_summed(loss, n, z=given)):
            written = openfst().Fst.read_from_string(fsmeu.to_openfst(machine))
            for fst in (machine.fst, written):
                read = set(fst.paths(input_token_type=fst.input_symbols()).istrings())
                assert {len(text.split()) for text in read} == {n}
                assert given is None or read == {" ".join(z)}


# -- states that are merged, and how many there are -----------------------------------------------


@pytest.mark.parametrize(
    ("name", "params", "states"),
    [("hamming", {}, 6), ("zero_one", {}, 2), ("threshold", {"m": 2}, 4)],
)
def test_as_many_states_as_there_are_things_to_tell_apart(name, params, states):
    assert fsmeu.load(name, **params).compile(5, minimize=True).states == states


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


MEMORY = "loss f labels any memory m of (z != y) last 30 value (m[29] == 1)"
TARGETS = "loss f labels any register a in 0..9999 start 0 next z * 100 + y value a"


@pytest.mark.parametrize(
    ("name", "given", "n", "words"),
    [
        ("fscore", {}, 100_000, f"at least {math.comb(100_003, 3):,}"),
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


@pytest.mark.parametrize(
    ("loss", "n", "states"),
    [
        ("fscore", 12, math.comb(15, 3)),
        ("jaccard", 12, 91),
        ("loss f labels 0 1 memory m of (z != y) last 9 value n", 40, 1023),
        (f"loss f labels 0 1 {AGED}", 10_000, 41**2),  # no new states after depth 40
    ],
    ids=repr,
)
def test_a_machine_of_as_many_states_as_the_limit_is_built(loss, n, states):
    loss = fsmeu.load(loss) if " " not in loss else fsmeu.loads(loss)
    assert loss.compile(n, max_states=states).states == states
    with pytest.raises(SizeLimitError, match="at least"):
        loss.compile(n, max_states=states - 1)


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
        (fsmeu.load("fscore"), 20, 800, 800),
        (fsmeu.load("windowdiff", k=33), 200, 2, 1 + 33**2),
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
