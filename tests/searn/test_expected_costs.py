"""Cost oracles of a reference that is not known but modelled: expected costs, by both engines."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import FsmeuError, InputError, SizeLimitError
from fsmeu.expectation.expect import ENGINES
from fsmeu.searn import CostOracle, CostOracles
from tests import brute_force, shelf
from tests.label_models import ModelSpec

LOSSES = ("fscore", "chunk_fscore", "pk", "hamming", "mcc", "cost_matrix", "windowdiff")


def rows(rng, *shape):
    """Probabilities that add up to 1 along the last axis."""
    return rng.dirichlet(np.ones(shape[-1]), shape[:-1])


def first_order(rng, labels, n):
    size = len(labels)
    return {"initial": rows(rng, 1, size)[0], "transition": rows(rng, size, size)}


def second_order(rng, labels, n):
    size = len(labels)
    initial = rows(rng, 1, size * size).reshape(size, size)
    return {"initial": initial, "transition": rows(rng, size, size, size)}


def field(rng, labels, n):
    size = len(labels)
    return {"unary": rng.normal(size=(n, size)), "pairwise": rng.normal(size=(size, size))}


def listed(rng, labels, n):
    lines = [[labels[k] for k in rng.integers(len(labels), size=n)] for _ in range(4)]
    return {"sequences": lines, "weights": rng.random(4) + 0.1}


def independent(rng, labels, n):
    return {"probabilities": rows(rng, n, len(labels))}


MODELS = {
    "independent": ("independent", independent),
    "markov": ("markov", first_order),
    "markov 2": ("markov", second_order),
    "field": ("potentials", field),
    "nbest": ("nbest", listed),
}


def drawn(name, kind, n, seed=0):
    """A case of the loss, and a model of its labels."""
    case, rng = shelf.case(name), np.random.default_rng([seed, *map(ord, name + kind)])
    if name == "chunk_fscore":
        case = chunks()
    made, parts = MODELS[kind]
    return case, ModelSpec(made, tuple(case.labels), n, parts(rng, case.labels, n))


def chunks():
    """Chunk F1 of one type: three labels."""
    return replace(shelf.case("chunk_fscore"), labels=("O", "B-X", "I-X"))


def loss_of(name):
    """The loss of the case of that name."""
    if name == "chunk_fscore":
        return fsmeu.load(name, types=["X"])
    return shelf.load(name)


def enumerated(case, model, n):
    """The expected value of every hypothesis, by listing both tapes."""
    world, found = case.world(n), {}
    for z in product(case.labels, repeat=n):
        found[z] = 0.0
        for y, p in model.listed().items():
            state = world.start()
            for i, (a, b) in enumerate(zip(z, y, strict=True)):
                state = world.step(state, a, b, i + 1)
            found[z] += p * float(world.value(state))
    return found


def prefixes(labels, n):
    """All prefixes that leave a label to decide."""
    return [prefix for k in range(n) for prefix in product(labels, repeat=k)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.thirds
def test_costs_equal_enumeration_after_every_prefix(name, kind, engine):
    n = 3
    case, model = drawn(name, kind, n)
    loss = loss_of(name)
    best = max if loss.kind == "utility" else min
    every = enumerated(case, model, n)
    oracle = CostOracle(loss, model=model.build(), engine=engine)
    assert len(oracle) == n
    assert set(oracle.labels) == set(case.labels)
    assert 0.0 <= oracle.rounding < 1e-7
    for prefix in prefixes(case.labels, n):
        ahead = {
            label: best(v for z, v in every.items() if z[: len(prefix) + 1] == (*prefix, label))
            for label in oracle.labels
        }
        ideal = best(ahead.values())
        want = [abs(ahead[label] - ideal) for label in oracle.labels]
        costs = oracle.costs(prefix)
        np.testing.assert_allclose(costs, want, rtol=0, atol=1e-12)
        assert costs.min() == 0.0
        assert oracle.value(prefix) == pytest.approx(ideal, rel=0, abs=1e-12)
        assert oracle.exact(prefix)
        least, greatest = oracle.bounds(prefix)
        assert (least <= want).all()
        assert (want <= greatest).all()
        assert (greatest - least <= 4 * oracle.rounding).all()
        close = [label for label, cost in zip(oracle.labels, want, strict=True) if cost < 1e-13]
        assert set(close) <= set(oracle.best_all(prefix))
        assert oracle.best(prefix) == oracle.best_all(prefix)[0]
    for z, value in every.items():
        assert oracle.value(z) == pytest.approx(value, rel=0, abs=1e-12)


@pytest.mark.thirds
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["fscore", "pk", "hamming", "mcc"])
def test_a_model_that_is_certain_is_a_reference(name, engine):
    loss, y = shelf.load(name), [1, 0, 0, 1]
    known = CostOracle(loss, y)
    modelled = CostOracle(loss, model=fsmeu.models.NBest([y], labels=(0, 1)), engine=engine)
    for prefix in prefixes((0, 1), 4):
        np.testing.assert_allclose(modelled.costs(prefix), known.costs(prefix), rtol=0, atol=1e-12)
        assert modelled.value(prefix) == pytest.approx(known.value(prefix), rel=0, abs=1e-12)
        assert known.exact(prefix)
        least, greatest = known.bounds(prefix)
        assert (least <= known.costs(prefix)).all()
        assert (known.costs(prefix) <= greatest).all()


def test_what_seems_to_be_gained_in_hindsight_is_not():
    """Two references, of which each costs nothing to copy: what is best is best for both."""
    model = fsmeu.models.NBest([[1, 0, 0], [0, 1, 1]], [0.6, 0.4], labels=(0, 1))
    oracle = CostOracle("zero_one", model=model)
    assert oracle.costs([]).tolist() == pytest.approx([0.2, 0.0])
    assert oracle.costs([0]).tolist() == pytest.approx([0.4, 0.0])
    assert oracle.costs([0, 0]).tolist() == [0.0, 0.0]  # all is lost
    assert oracle.value([0]) == pytest.approx(0.6)


@pytest.mark.parametrize("labels", [None, (0, 1), (1, 0)])
def test_labels_are_in_the_order_that_is_asked_for(labels):
    """The loss's own order, whatever that of the model is."""
    swapped = fsmeu.models.Independent([[0.9, 0.1], [0.4, 0.6]], labels=(1, 0))
    oracle = CostOracle("fscore", model=swapped, labels=labels)
    assert oracle.labels == (labels or (0, 1))
    listed = brute_force.independent([[0.1, 0.9], [0.6, 0.4]], (0, 1))

    def best(prefix):
        zs = (z for z in listed if z[: len(prefix)] == prefix)
        return max(sum(p * brute_force.fscore(z, y) for y, p in listed.items()) for z in zs)

    for prefix in ((), (0,), (1,)):
        want = [best(prefix) - best((*prefix, label)) for label in oracle.labels]
        np.testing.assert_allclose(oracle.costs(prefix), want, rtol=0, atol=1e-12)


def test_states_are_walked_as_those_of_a_reference():
    oracle = CostOracle("fscore", model=[0.3, 0.6, 0.2])
    state = oracle.step(oracle.step(oracle.start, 1), 0)
    assert state == oracle.state([1, 0])
    np.testing.assert_array_equal(oracle.costs_at(state), oracle.costs([1, 0]))
    assert oracle.value_at(state) == oracle.value([1, 0])


def test_sequences_without_labels():
    oracle = CostOracle("fscore", model=fsmeu.models.Bernoulli([]))
    assert (len(oracle), oracle.value([])) == (0, 1.0)
    with pytest.raises(InputError, match="state"):
        oracle.costs([])


# -- where decisions are not proven ----------------------------------------------------------------

# No change of a single label helps, as the number of ones must be even, so that a search is stuck;
# and the value is not linear in what reads both tapes.
EVEN = """utility f labels 0 1
memory m of y last 1
register odd in 0..1 start 0 next if z == 1 then 1 - odd else odd
count a by 1 + m[0] when z != y
value if odd == 0 then a * a / (4 * n * n) else 0
range 0 .. 1"""
UNSURE = [0.3, 0.8, 0.4, 0.6, 0.55]


def test_bounds_hold_what_is_not_proven():
    """More sequences than the budget allows: some costs are wrong, and bounds hold the true."""
    loss, n = fsmeu.loads(EVEN), 5
    listed, labels = brute_force.bernoulli(UNSURE), (0, 1)

    def value(z):
        return sum(chance * loss(z, y) for y, chance in listed.items())

    every = {z: value(z) for z in listed}
    oracle = CostOracle(loss, model=UNSURE, budget=2)
    wrong = 0
    for prefix in prefixes(labels, n):
        ahead = [
            max(v for z, v in every.items() if z[: len(prefix) + 1] == (*prefix, label))
            for label in labels
        ]
        want = max(ahead) - np.array(ahead)
        least, greatest = oracle.bounds(prefix)
        assert (least >= 0.0).all()
        assert (least <= want + 1e-15).all()
        assert (want <= greatest + 1e-15).all()
        assert np.isfinite(greatest).all()
        assert oracle.value(prefix) <= max(ahead) + 1e-12
        off = np.abs(oracle.costs(prefix) - want).max()
        wrong += off > 0.01
        assert off < 1e-9 or not oracle.exact(prefix)
    assert wrong
    whole = CostOracle(loss, model=UNSURE)
    assert all(whole.exact(prefix) for prefix in prefixes(labels, n))


def test_bounds_are_narrower_than_the_range():
    """They are those of a decider who sees the labels so far, not of the file's range alone."""
    oracle = CostOracle(fsmeu.loads(EVEN), model=UNSURE, budget=31)
    assert not oracle.exact([])
    assert oracle.bounds([])[1].max() < 0.2


def test_engines_agree_at_greater_lengths():
    p = np.random.default_rng(0).random(20)
    both = [CostOracle("fscore", model=p, engine=engine) for engine in ENGINES]
    for prefix in ([], [0, 1, 1], [1] * 12):
        default, explicit = (oracle.costs(prefix) for oracle in both)
        assert all(oracle.exact(prefix) for oracle in both)
        np.testing.assert_allclose(default, explicit, rtol=0, atol=1e-9)
        assert default.max() > 0.001


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{}, {"y": [0, 1], "model": [0.5, 0.5]}])
def test_one_of_reference_and_model_is_given(given):
    with pytest.raises(InputError, match="exactly one of y, the reference, and model"):
        CostOracle("fscore", **given)


@pytest.mark.parametrize("made", [CostOracle, lambda loss, y: CostOracles(loss, [y])])
def test_a_model_in_the_place_of_the_reference_is_told_its_place(made):
    with pytest.raises(InputError, match="model="):
        made("fscore", fsmeu.models.Bernoulli([0.5, 0.2]))


def test_sizes_are_refused_by_the_name_of_the_limit(monkeypatch):
    model = fsmeu.models.Bernoulli([0.5] * 20)
    with pytest.raises(SizeLimitError, match="budget"):
        CostOracle(fsmeu.loads(EVEN), model=model, engine="openfst").costs([])
    monkeypatch.setenv("FSMEU_MAX_STATES", "10")
    with pytest.raises(SizeLimitError, match="FSMEU_MAX_STATES"):
        CostOracle(shelf.load("cost_matrix"), model=model)  # its range is found by a machine


@pytest.mark.parametrize(
    ("ask", "kind"),
    [
        (lambda: CostOracle("fscore", model="ab"), FsmeuError),
        (lambda: CostOracle("fscore", model=[0.5], engine="dense"), InputError),
        (lambda: CostOracle("fscore", model=[0.5], budget=0), InputError),
        (lambda: CostOracle("fscore", model=[0.5], seconds=0), InputError),
        (lambda: CostOracle("fscore", model=[0.5], labels="abc"), InputError),
        (lambda: CostOracle("fscore", model=[0.5]).costs([0]), InputError),
        (lambda: CostOracle("fscore", model=[0.5]).costs([0, 1]), InputError),
        (lambda: CostOracle("fscore", model=[0.5]).costs([2]), InputError),
        (lambda: CostOracle("fscore", model=[0.5]).step((), 2), InputError),
        (lambda: CostOracle("fscore", model=[0.5]).step((), -1), InputError),
        (lambda: CostOracle("fscore", model=[0.5]).step((0,), 0), InputError),
        (lambda: CostOracle("fscore", model=[0.5]).costs_at(3), InputError),
        (lambda: CostOracle("fscore", model=[0.5]).costs_at((7,)), InputError),
        (lambda: CostOracle("fscore", model=[0.5]).value_at((0, 0)), InputError),
        (lambda: CostOracle("fscore", [0, 1]).exact([0, 1]), InputError),
    ],
)
def test_what_is_refused(ask, kind):
    with pytest.raises(kind):
        ask()
