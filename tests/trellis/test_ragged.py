"""One loss for sentences of all lengths: as a fresh loss for each, and as OpenFst."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from tests.label_models import by_name, plain_model

TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]
READS_N = """utility half labels any count late when i > n / 2 and z == y
count ref when y == "B-A" value late / (1 + ref)"""
COSTS = np.arange(25.0).reshape(5, 5) % 7
LOSSES = {
    "chunk_fscore": lambda: fsmeu.load("chunk_fscore", labels=TAGS),
    "span_fscore": lambda: fsmeu.load("span_fscore", labels=TAGS).swapped,
    "cost_matrix": lambda: fsmeu.load("cost_matrix", labels=TAGS, cost=COSTS),
    "reads_n": lambda: fsmeu.loads(READS_N, labels=TAGS),
}
LENGTHS = [3, 1, 0, 2, 3, 2, 0]


def corpus(kind, scale):
    """A hypothesis and a model of each length, some tags impossible; the same at every call."""
    random = np.random.default_rng(3)
    zs = [[TAGS[k] for k in random.integers(0, 5, n)] for n in LENGTHS]
    specs = [plain_model(random, kind, TAGS, n) for n in LENGTHS]
    for spec in specs if kind == "potentials" else ():
        spec.parts["unary"] = scale * spec.parts["unary"]
    return zs, [spec.build() for spec in specs]


@pytest.mark.thirds
@pytest.mark.parametrize("kind", [("potentials", 200), ("potentials", 1), ("markov", 1)])
@pytest.mark.parametrize("name", LOSSES)
def test_expectations_and_derivatives(name, kind):
    """After other queries, in another order, and by two threads."""
    zs, models = corpus(*kind)
    loss = LOSSES[name]()
    many = fsmeu.expect_many(loss, zs, models).values
    back = fsmeu.expect_many(loss, zs[::-1], models[::-1]).values[::-1]
    threads = fsmeu.expect_many(loss, zs, models, jobs=2).values
    for k, (z, model) in enumerate(zip(*corpus(*kind), strict=True)):
        wanted, slopes = fsmeu.value_and_gradient(LOSSES[name](), z, model, engine="openfst")
        alone, found = fsmeu.value_and_gradient(loss, z, model)
        near = pytest.approx([wanted] * 4, rel=1e-11, abs=1e-13)
        assert [many[k], back[k], threads[k], alone] == near
        for array, one in by_name(slopes).items():
            assert by_name(found)[array] == pytest.approx(one, rel=1e-9, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-2, 2), min_size=5, max_size=5), st.integers(0, 2**32))
def test_counts_may_get_negative(amounts, seed):
    """Whatever range is declared: no end is left out because its count cannot grow."""
    pairs = list(product((0, 1), repeat=2))
    terms = [f"{a} * (z == {z} and y == {y})" for a, (z, y) in zip(amounts, pairs, strict=False)]
    loss = fsmeu.loads(
        "utility f labels 0 1 memory mz of z last 1 memory my of y last 1 "
        f"count tp by {' + '.join(terms)} + {amounts[-1]} * (old mz[0] == 1 and old my[0] == 1) "
        "count hyp when z == 1 count ref when y == 1 "
        "value tp / (hyp + ref) or 1 when hyp + ref == 0"
    )
    model = plain_model(np.random.default_rng(seed), "potentials", (0, 1), 4).build()
    found, wanted = (fsmeu.decode(loss, model, method=one) for one in ("counting", "exhaustive"))
    assert found.value == pytest.approx(wanted.value, rel=1e-12, abs=1e-12)
