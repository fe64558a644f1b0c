"""Lanes of a trellis: each is by itself, and what they tell of counts is so in quadruple precision.

The truth is ``tests/support/chunk_sums.py``: the distribution of the number of chunks of y.
"""

import numpy as np
import pytest

import fsmeu
from fsmeu.models import Markov, from_potentials
from fsmeu.models.base import arc_weights_many
from fsmeu.trellis import kernels, lane_rows
from fsmeu.trellis.lanes import TAIL, LaneGroup, count_range, node_logs, rounded_rule
from fsmeu.trellis.rules import one_sided_rule
from fsmeu.trellis.sum_kernels import mass_batch
from fsmeu.trellis.trellis_cache import split_trellis_of
from tests.support.chunk_sums import chunk_sums, goes_on, of_markov, of_potentials
from tests.support.kernels import kernels_that_run

TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]
NODES = np.array([0.0, 0.01, 0.1, 0.5, 1.0, 2.0, -0.05, 3.0, 0.2])


def f1(**given):
    """A loss of chunks with nothing derived yet."""
    return fsmeu.load("chunk_fscore", labels=TAGS, **given)


def field(seed, n, scale=1.0):
    """Potentials of tags, and the same as a chain of quadruple precision."""
    random = np.random.default_rng(seed)
    unary = random.normal(size=(n, 5)) * scale
    table = random.normal(size=(5, 5)) * scale
    return from_potentials(unary, table, TAGS), of_potentials(unary, table, TAGS)


def chain(n, rows):
    """A Markov chain of rows of parts of 64, and the same as a chain of quadruple precision."""
    rows = np.array(rows) / 64
    return Markov(rows[0], rows, n, TAGS), of_markov(rows[0], rows, n, TAGS)


RARE = [[63, 1, 0, 0, 0], [60, 1, 3, 0, 0], [60, 0, 4, 0, 0], [64, 0, 0, 0, 0], [64, 0, 0, 0, 0]]
NEVER = [[64, 0, 0, 0, 0]] * 5
ALWAYS = [[0, 64, 0, 0, 0]] * 5
PERIODIC = [
    [0, 64, 0, 0, 0],
    [0, 0, 64, 0, 0],
    [0, 0, 0, 64, 0],
    [32, 0, 0, 0, 32],
    [64, 0, 0, 0, 0],
]
MODELS = {
    "flat": lambda: field(1, 150, 0.3),
    "plain": lambda: field(2, 60),
    "sure": lambda: field(3, 100, 4.0),
    "rare": lambda: chain(130, RARE),
    "never": lambda: chain(50, NEVER),
    "always": lambda: chain(50, ALWAYS),
    "periodic": lambda: chain(90, PERIODIC),
}


def group_of(model, loss=None, cap=None):
    """The sentence of a model."""
    return LaneGroup(split_trellis_of(loss or f1(), model, None, cap), arc_weights_many([model]))


def truth_of(model_chain):
    """The distribution of the number of chunks, (n + 1,), in quadruple precision."""
    return chunk_sums(["O"] * (len(model_chain.steps) + 1), model_chain).mass


@pytest.mark.parametrize("how", ["plain", "compiled"])
def test_each_lane_is_by_itself(how):
    """Numbers of lanes of one trellis, that grow and shrink: as if each were asked for alone.

    Plain kernels find what is written beyond the end of an array.
    """
    model, _ = field(5, 6)
    group = group_of(model)
    z = np.array([1, 2, 0, 3, 3, 4])
    with kernels_that_run(how):
        apart = [_answers(group_of(model), NODES[m : m + 1], z) for m in range(len(NODES))]
        for count in (1, 2, 5, 7, 8, 3, 4, 9, 6, 1):
            together = _answers(group, NODES[:count], z)
            for m, alone in enumerate(apart[:count]):
                for found, wanted in zip(together, alone, strict=True):
                    assert found[..., m] == pytest.approx(wanted[..., 0], rel=1e-14, abs=1e-300)


def _answers(group, nodes, z):
    """Numbers of every kind that are found by lane, the lane last."""
    lanes = group.trellis.with_lanes(nodes)
    sums = lanes.lane_sums(group.weights)
    ends = np.ones((1, 1, len(nodes)))
    scores, of_scores = lanes.scores(group.weights, ends)
    means = lanes.sums(group.weights, [z])
    return [
        sums.masses,
        sums.deficits,
        scores.value,
        of_scores.masses,
        of_scores.deficits,
        means.totals[..., : len(nodes)],
    ]


@pytest.mark.parametrize("how", ["plain", "compiled"])
@pytest.mark.parametrize("least", [1e-12, 1e-3, 0.1])
def test_small_scores_are_left_out(how, least):
    """Those that exceed it in no lane, whatever they are: they would take room and time."""
    group = group_of(field(3, 30, 4.0)[0])
    lanes = group.trellis.with_lanes(NODES)
    ends = np.ones((1, 1, len(NODES)))
    limits = least * np.arange(1.0, len(NODES) + 1)
    with kernels_that_run(how):
        every, _ = lanes.scores(group.weights, ends)
        some, _ = lanes.scores(group.weights, ends, least=limits)
    shape = 30, int(every.cell[:, 1].max()) + 1
    whole, found = (np.abs(scores.dense(*shape)[0]) for scores in (every, some))
    assert whole == pytest.approx(np.where(found > 0, found, 0.0), abs=limits.max())
    kept = (found > 0).any(axis=2)
    assert (kept == (whole > limits).any(axis=2)).all()
    assert len(some.value) == np.count_nonzero(kept) < len(every.value)
    assert found[kept] == pytest.approx(whole[kept], abs=least)


@pytest.mark.thirds
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cap", [None, 7])
def test_masses_are_generating_functions(name, cap):
    """E[exp(-x count)] of the distribution; at a cap, no more is lost than is said."""
    model, exact = MODELS[name]()
    masses = truth_of(exact)
    group = group_of(model, cap=cap)
    nodes = np.abs(NODES)
    found = group.trellis.with_lanes(nodes).lane_sums(group.weights)
    assert found.escaped[0] == 0.0 or cap is not None
    counts = np.arange(len(masses)).astype(masses.dtype)
    for m, node in enumerate(nodes):
        exponents = -counts * masses.dtype.type(node)
        wanted = (masses * np.exp(exponents)).sum()
        off = group.rounding + 2**-52 * len(masses) * node
        lost = wanted - found.masses[0, m]
        assert -off * wanted <= lost <= off * wanted + found.escaped[0]
        if group.is_stochastic and not found.escaped[0]:
            deficit = (masses * -np.expm1(exponents)).sum()  # 1 - wanted, without cancellation
            assert abs(found.deficits[0, m] - deficit) <= off * deficit


@pytest.mark.thirds
@pytest.mark.parametrize("name", MODELS)
def test_logarithms_are_as_near_as_they_say(name):
    """log G at the nodes of a rule; their factors exp(-x) are doubles."""
    model, exact = MODELS[name]()
    masses = truth_of(exact)
    group = group_of(model)
    counts = np.arange(len(masses)).astype(masses.dtype)
    mean = float((masses * counts).sum())
    rule = rounded_rule(one_sided_rule(6, max(1.0, 2 * mean)))
    found = group.trellis.with_lanes(rule.nodes).lane_sums(group.weights)
    logs = node_logs(group, found.masses, found.deficits)
    factors = np.exp(-rule.nodes).astype(masses.dtype)
    for m, factor in enumerate(factors):
        wanted = np.log((masses * factor**counts).sum())
        assert abs(logs.logs[0, m] - wanted) <= logs.errors[0, m] + 1e-300


@pytest.mark.thirds
@pytest.mark.parametrize("name", MODELS)
def test_counts_lie_in_their_range(name):
    """But for a stated probability; one sentence, and three of them."""
    model, exact = MODELS[name]()
    masses = truth_of(exact)
    for copies in (1, 3):
        whole = masses
        for _ in range(copies - 1):
            whole = np.convolve(whole, masses)
        counts = np.arange(len(whole))
        reach = count_range([group_of(model)] * copies)
        assert whole[(counts < reach.low) | (counts > reach.high)].sum() <= TAIL
        mean = float((whole * counts).sum())
        assert reach.mean == pytest.approx(mean, rel=1e-5, abs=1e-12)
        assert abs(reach.mean - mean) <= reach.bias * (1 + 1e-9)
        square = float((whole * (counts - reach.mean) ** 2).sum())
        assert square <= reach.deviation**2 * (1 + 1e-9) + 1e-300
        assert reach.none == pytest.approx(float(whole[0]), rel=1e-11)
        assert reach.escaped == 0.0


@pytest.mark.parametrize("name", ["flat", "plain", "sure", "rare"])
def test_the_chance_to_reach_a_cap_is_bounded(name):
    """By no less than it is, and by no more than so much for each position."""
    model, exact = MODELS[name]()
    for cap in (2, 4, 9):
        chance = _chance_of_length(exact, cap)
        escaped = count_range([group_of(model, cap=cap)]).escaped
        assert chance * (1 - 1e-11) <= escaped <= model.n * chance


def _chance_of_length(exact, cap):
    """The probability that some chunk of y has so many tags or more."""
    tags = exact.tags
    after = [np.ones(len(tags), exact.start.dtype)]
    for step in reversed(exact.steps):
        after.append(step @ after[-1])
    after.reverse()
    mass = np.zeros((len(tags), cap), exact.start.dtype)  # by tag and length so far
    for y, tag in enumerate(tags):
        mass[y, int(tag != "O")] = exact.start[y]
    reached = 0
    for step, rest in zip(exact.steps, after[1:], strict=True):
        moved = np.zeros_like(mass)
        for x, before in enumerate(tags):
            for y, tag in enumerate(tags):
                if goes_on(before, tag):
                    moved[y, 1:] += mass[x, :-1] * step[x, y]
                    reached = reached + mass[x, -1] * step[x, y] * rest[y]
                else:
                    moved[y, int(tag != "O")] += mass[x].sum() * step[x, y]
        mass = moved
    return float(reached / (exact.start * after[0]).sum())


def documents(seed):
    """Numbers of every kind that lanes compute for short documents."""
    random = np.random.default_rng(seed)
    for given in ({}, {"beta": 2, "empty": 0}):
        loss = f1(**given)
        for n in (5, 3, 6):
            model, _ = field(seed + n, n)
            z = [TAGS[k] for k in random.integers(5, size=n)]
            made = fsmeu.decode(loss, model, method="lanes")
            yield [made.value, made.exact, *map(TAGS.index, made.labels)]
            expected = fsmeu.expect(loss, z, model)
            yield [expected.value, expected.lower, expected.upper]
            slopes = fsmeu.gradient(loss, z, model)
            yield np.concatenate([np.ravel(slopes[name]) for name in sorted(slopes)])


@pytest.mark.parametrize("caps", [(), (2,)])
def test_plain_and_compiled_have_the_same_bits(caps, lowered):
    """Also where ages stop."""
    lowered(LANE_DECISION_WORK=1)
    lowered(DOCUMENT_WORK=1)
    lowered(CAPS=caps)
    found = []
    for how in ("plain", "compiled"):
        with kernels_that_run(how):
            found.append([np.array(one, np.float64).tobytes() for one in documents(3)])
    assert found[0] == found[1]


def test_compiled_functions_for_two_types_of_rows_have_two_names():
    """They are linked by name, and loops of several processes are linked together."""
    by_count = kernels.compiled(mass_batch)
    by_lane = kernels.compiled(mass_batch, lane_rows)
    assert by_count.py_func.__qualname__ != by_lane.py_func.__qualname__
    called = [one.py_func.__globals__["forward"].py_func for one in (by_count, by_lane)]
    assert called[0].__qualname__ != called[1].__qualname__
