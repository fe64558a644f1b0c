"""Expectations of random losses under random models, against listing every sequence."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.fst.distance import total_weight
from fsmeu.fst.image import table_from_fst
from tests import brute_force
from tests.expectation.checks import assert_same, close, scale_of
from tests.losses.writer import LABEL_SETS
from tests.strategies import cases as all_models
from tests.strategies import losses, model_cases, questions

FEW = tuple(labels for labels in LABEL_SETS if len(labels) < 4)


@settings(max_examples=100, deadline=None)
@given(questions())
def test_both_engines_equal_enumeration(asked):
    pairs, loss = asked.pairs, asked.case.load()
    for engine in ("lattice", "openfst"):
        assert_same(fsmeu.expect(loss, asked.z, asked.model.model, engine=engine), pairs)


@settings(max_examples=50, deadline=None)
@given(
    asked=questions(most=6), keep=st.integers(1, 12), engine=st.sampled_from(["lattice", "openfst"])
)
def test_bounds_hold_the_truth(asked, keep, engine):
    pairs, loss = asked.pairs, asked.case.load()
    truth = brute_force.mean(pairs)
    for limit in (keep, 10**6):
        some = fsmeu.expect(loss, asked.z, asked.model.model, keep=limit, engine=engine)
        assert some.lower <= truth <= some.upper
        assert 0 < some.kept <= 1 + 1e-12
    everything = close(truth, scale_of(pairs))
    assert (some.lower, some.value, some.upper) == (everything, everything, everything)
    assert some.kept == close(1.0)


@settings(max_examples=30, deadline=None)
@given(asked=questions(most=5), keep=st.integers(1, 12))
def test_bounds_by_a_declared_range(asked, keep):
    pairs = asked.pairs
    values = [float(v) for v, _ in pairs]
    bounds = f"range {_literal(min(values) - 0.5)} .. {_literal(max(values) + 0.25)}\n"
    loss = fsmeu.loads(
        asked.case.text + bounds,
        labels=asked.case.labels if asked.case.ask else None,
        **asked.case.given,
    )
    some = fsmeu.expect(loss, asked.z, asked.model.model, keep=keep)
    assert some.lower <= brute_force.mean(pairs) <= some.upper


def _literal(number):
    return f"{number:.17g}" if number >= 0 else f"-{-number:.17g}"


@settings(max_examples=40, deadline=None)
@given(data=st.data(), case=losses(FEW))
def test_distribution_on_the_hypothesis_tape(data, case):
    n = data.draw(st.integers(0, {2: 4, 3: 3}[len(case.labels)]))
    ours = data.draw(model_cases(case.labels, n))
    theirs = data.draw(model_cases(case.labels, n))
    world = case.world(n)
    values = {(z, y): v for z in ours.distribution for y, v in world.every_y(z).items()}
    pairs = brute_force.joint_of_both(values, ours.distribution, theirs.distribution)
    for engine in ("lattice", "openfst"):
        assert_same(fsmeu.expect(case.load(), ours.model, theirs.model, engine=engine), pairs)
    some = fsmeu.expect(case.load(), ours.model, theirs.model, keep=data.draw(st.integers(1, 9)))
    assert some.lower <= brute_force.mean(pairs) <= some.upper


@settings(max_examples=40, deadline=None)
@given(questions(most=6))
def test_total_weight_by_openfst(asked):
    """The weights of the machine that is handed out, and the sum without its shift."""
    pairs, loss = asked.pairs, asked.case.load()
    whole = fsmeu.compose(loss, asked.z, asked.model.model)
    shift = whole.machine.shift
    scale = 1 + scale_of(pairs) + abs(shift)
    total = total_weight(table_from_fst(whole.fst)) - shift
    assert total == pytest.approx(brute_force.mean(pairs), abs=1e-11 * scale)
    assert whole.total == close(brute_force.mean(pairs), scale)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), known=all_models())
def test_every_kind_of_model(data, known):
    labels = known.model.labels
    case = data.draw(losses((tuple(labels),)))
    z = tuple(data.draw(st.sampled_from(labels)) for _ in range(known.model.n))
    values = case.world(known.model.n).every_y(z)
    pairs = brute_force.joint(values, known.distribution)
    for engine in ("lattice", "openfst"):
        assert_same(fsmeu.expect(case.load(), z, known.model, engine=engine), pairs)


@settings(max_examples=20, deadline=None)
@given(data=st.data(), case=losses(FEW))
def test_full_machine_gives_every_pair_its_value(data, case):
    """The machine with the hypothesis free has one path for each pair, and it ends in the value."""
    n = data.draw(st.integers(0, {2: 4, 3: 3}[len(case.labels)]))
    machine, world = case.load().compile(n), case.world(n)
    index = {label: k for k, label in enumerate(case.labels)}
    for z, y in itertools.product(brute_force.sequences(case.labels, n), repeat=2):
        state = 0
        for a, b in zip(z, y, strict=True):
            state = machine.next[state, index[a], index[b]]
        assert machine.values[state] == close(float(world.run(z, y)))
