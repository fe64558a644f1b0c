"""Machines whose paths add up: the weights of all paths of a pair are its value."""

import itertools
import math

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import InputError, SizeLimitError
from tests import shelf
from tests.support.nightly import every_third
from tests.support.python_losses import Differs


def path_sums(machine, zs, ys):
    """The summed weight of the paths of each pair, followed arc by arc."""
    table = machine.table
    leaving = {}
    for s, a, b, w, t in zip(
        table.source, table.ilabel, table.olabel, table.weight, table.target, strict=True
    ):
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


def scale_of(machine, value):
    return max(1.0, abs(machine.shift), abs(value))


@pytest.mark.parametrize("name", every_third(fsmeu.library()))
def test_paths_of_the_shelf_add_up(name, rounds):
    loss, world = shelf.load(name), shelf.case(name).world(3)
    everything = list(itertools.product(loss.labels, repeat=3))[: len(rounds(40, least=20))]
    machine = fsmeu.compile_summed(loss, 3)
    for z, y, total in path_sums(machine, everything[::3], everything):
        value = float(world.run(z, y))
        assert total == pytest.approx(value, rel=1e-11, abs=1e-11 * scale_of(machine, value))


@pytest.mark.parametrize("k", [6, 12, 33])
def test_windowdiff_has_few_states(k):
    """One that waits, one that has paid, and at most 2j + 1 differences j slots into a window."""
    machine = fsmeu.compile_summed(fsmeu.load("windowdiff", k=k), 200)
    assert machine.states <= 2 + sum(2 * j + 1 for j in range(1, k))


@pytest.mark.parametrize("k", [2, 6, 7])
def test_windows_with_costs_of_both_signs(k):
    """Weights cannot be negative: costs below 0 are shifted, once for each window."""
    amount = "sum(a) - 2 * tally(b, 1)"
    loss = fsmeu.loads(
        f"loss f labels 0 1 memory a of z last {k} memory b of y last {k} "
        f"count c by {amount} when i >= {k} value 1 - c / 2"
    )
    n = k + 1
    machine = fsmeu.compile_summed(loss, n)
    rng = np.random.default_rng(k)
    rows = [tuple(map(int, row)) for row in rng.integers(0, 2, (12, n))]
    for z, y, total in path_sums(machine, rows, rows):
        ends = range(k, n + 1)
        wanted = 1 - sum(sum(z[e - k : e]) - 2 * sum(y[e - k : e]) for e in ends) / 2
        assert total == pytest.approx(wanted, abs=1e-9)


def test_fscore_keeps_one_count_less():
    """(hyp, ref), once to wait for a true positive and once after it was paid.

    Both counts are from 0 to n - 1 while one is still to come, and from 1 to n afterwards.
    """
    for n in (1, 5, 20):
        assert fsmeu.compile_summed(fsmeu.load("fscore"), n).states == 2 * n**2


@pytest.mark.parametrize(
    ("name", "params"),
    [("fscore", {}), ("windowdiff", {"k": 2}), ("hamming", {}), ("kappa", {}), ("zero_one", {})],
)
def test_every_state_is_on_an_accepted_path(name, params):
    loss = fsmeu.load(name, **params)
    for machine in (fsmeu.compile_summed(loss, 6), fsmeu.compile_summed(loss, 4, z="0110")):
        assert machine.fst.copy().connect().num_states() == machine.states


def test_a_loss_without_value_has_one_state():
    nothing = fsmeu.loads("loss nothing\nlabels 0 1\nvalue 0")
    assert fsmeu.compile_summed(nothing, 3).states == 1


def test_large_machines_are_refused():
    with pytest.raises(SizeLimitError, match="at most 100 states"):
        fsmeu.compile_summed(fsmeu.load("fscore"), 50, max_states=100)
    with pytest.raises(SizeLimitError, match=r"compile_summed .* tp is no part of"):
        fsmeu.load("fscore").compile(50, max_states=100)


def test_a_python_loss_has_no_counts():
    with pytest.raises(InputError, match="losses from files"):
        fsmeu.compile_summed(fsmeu.function_loss(Differs()), 3)


@pytest.mark.parametrize("n", [-1, 2.5, "3", None, True])
def test_length_must_be_whole(n):
    with pytest.raises(InputError, match="whole number"):
        fsmeu.compile_summed(fsmeu.load("hamming"), n)


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
