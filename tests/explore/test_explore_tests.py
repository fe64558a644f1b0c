"""The command that explores: fixed cases pass, planted faults are found, shrunk and replayed."""

import multiprocessing
import os
from dataclasses import replace

import numpy as np
import pytest

import fsmeu
from tests.explore import run
from tests.explore.cases import Case, random_case
from tests.explore.rounded import Rounded, Unsure
from tests.explore.shrink import reproducer, shrunk
from tests.explore.trial import run_case, run_check
from tests.label_models import random_model
from tests.strategies import LossCase
from tests.support.missing import openfst

SEED = 20


@pytest.mark.nightly
@pytest.mark.thirds
@pytest.mark.parametrize("seed", range(SEED, SEED + 12))
def test_fixed_cases_pass(seed, rounds):
    """The law of every query: its answer is that of enumeration by the second reading of a file."""
    cases = len(rounds(150, least=25))
    report = run.explore(seed, cases, None, jobs=1)
    assert report.failures == []
    assert report.cases == cases
    assert sum(report.counts[name, "passed"] for name in run.CHECKS) > 2 * cases


@pytest.mark.skipif(multiprocessing.get_start_method() != "fork", reason="needs forks to plant it")
def test_a_process_that_dies_is_a_failure_of_its_case(monkeypatch):
    """The cases that ran beside it are run again."""
    openfst()  # of which the cases of other processes compose machines
    right = run.run_case

    def deadly(seed, k):
        if k == 3:
            os._exit(1)
        return right(seed, k)

    monkeypatch.setattr(run, "run_case", deadly)
    report = run.explore(SEED, 6, None, jobs=2, shrink=False)
    assert [(k, check) for _, k, check, _ in report.failures] == [(3, "process")]
    assert report.cases == 6


def test_a_planted_fault_is_found_shrunk_and_replayed(monkeypatch, capsys):
    """One part in a million, for sequences longer than 1; Python is printed that shows it."""
    right = fsmeu.expect

    def wrong(loss, z, model, **options):
        answer = right(loss, z, model, **options)
        return replace(answer, value=answer.value * (1 + 1e-6 * (len(z) > 1)))

    monkeypatch.setattr(fsmeu, "expect", wrong)
    ran = ((k, *run_case(SEED, k, "expect")) for k in range(2, 200))
    k, case, [outcome] = next(one for one in ran if one[2][0].result == "failed")
    small, again = shrunk(case, outcome)
    assert again.result == "failed"
    assert small.n == 2
    assert len(small.program.text.splitlines()) <= len(case.program.text.splitlines())
    text = reproducer(small, again)
    assert "fsmeu.loads" in text
    assert "# true: " in text
    names = {}
    *setup, call, got, _ = text.splitlines()
    exec("\n".join(setup), names)
    assert repr(eval(call, names)) == got.removeprefix("# came out: ")
    monkeypatch.setattr(run, "run_case", lambda *asked: run_case(*asked, "expect"))
    assert run.main(["--case", f"{SEED}:{k}"]) == 1
    printed = capsys.readouterr().out
    assert text in printed
    assert "expect: failed" in printed


def test_strange_errors_are_faults(monkeypatch):
    monkeypatch.setattr(fsmeu, "decode", lambda *_, **__: [][0])
    outcomes = [run_check(random_case(SEED, k), "decode", 0) for k in range(5)]
    failed = [outcome for outcome in outcomes if outcome.result == "failed"]
    assert failed
    assert failed[0].fault.got.startswith("IndexError")


def test_a_claim_that_is_not_the_best_is_a_fault(monkeypatch):
    """The worst sequence, said to be proven."""
    program = LossCase("loss f\nlabels 0 1\ncount c when z != y\nvalue c\n", (0, 1), False, {})
    rng = np.random.default_rng(0)
    case = Case(program, tuple(random_model(rng, (0, 1), 3, ("independent",)) for _ in range(3)))
    assert run_check(case, "decode", 0).result == "passed"
    right = fsmeu.decode
    worst = case.truth.sequences[int(case.truth.means(case.chances[0])[0].argmax())]

    def wrong(loss, model, **options):
        value = fsmeu.expect(loss, worst, model).value
        return replace(right(loss, model, **options), labels=list(worst), value=value)

    monkeypatch.setattr(fsmeu, "decode", wrong)
    outcome = run_check(case, "decode", 0)
    assert outcome.result == "failed"
    assert "better by" in outcome.fault.true


def test_rounding_is_noticed():
    third, tenth = Rounded(1) / 3, Rounded(0.1)
    assert not third.plain
    assert (Rounded(3) / 4).plain
    assert third + third < 1
    with pytest.raises(Unsure):
        third * 3 == 1  # noqa: B015
    with pytest.raises(Unsure):
        tenth + tenth + tenth <= Rounded(0.3)  # noqa: B015
    cancelled = Rounded(10**15) + third - 10**15
    assert cancelled.size > 1e15
    with pytest.raises(Unsure):
        cancelled > 0.3  # noqa: B015
