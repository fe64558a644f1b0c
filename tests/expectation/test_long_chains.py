"""Long sequences under chains by matrices of polynomials: against machines and the plain sweep."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.expectation import long_chains
from fsmeu.expectation.query import query

MANY_LABELS = """utility some labels 0 1 2 3
count tp by 2 when z == y and z != 0
count tp_too by -1 when z == 3 and y == 1
count hyp when z != 0
count ref by 1 + (y == 2) when y != 0
value (tp + tp_too) / (hyp + ref) or 1 when hyp + ref == 0
range -1 .. 2"""
LOSSES = ["fscore", "recall", "mcc", "balanced_accuracy", MANY_LABELS]


def loaded(text):
    return fsmeu.loads(text) if "\n" in text else fsmeu.load(text)


def some_chain(random, labels, n, kind):
    """Chains of the kinds that there are, some steps impossible."""
    size = len(labels)
    if kind == "potentials":
        pairwise = np.where(
            random.random((size, size)) < 0.2, -np.inf, random.normal(size=(size,) * 2)
        )
        np.fill_diagonal(pairwise, 0.0)
        return fsmeu.models.from_potentials(random.normal(size=(n, size)), pairwise, labels)
    if kind == "independent":
        return fsmeu.models.Independent(random.dirichlet(np.ones(size), size=n), labels)
    first = random.dirichlet(np.ones(size**kind)).reshape((size,) * kind)
    return fsmeu.models.Markov(
        first, random.dirichlet(np.ones(size), first.shape), n=n, labels=labels
    )


def by_matrices(loss, z, model):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_chains, "LONG_CHAIN", 0)
        return long_chains.long_chain_value(query(loss, z, model))


@pytest.mark.parametrize("text", LOSSES)
@pytest.mark.parametrize("kind", ["independent", "potentials", 1, 2])
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32), n=st.integers(2, 4))
@pytest.mark.thirds
def test_short_sequences_as_by_machines(text, kind, seed, n):
    loss, random = loaded(text), np.random.default_rng(seed)
    model = some_chain(random, loss.labels, n, kind)
    z = random.choice(loss.labels, size=n).tolist()
    wanted, found = (
        fsmeu.expect(loss, z, model, engine="openfst").value,
        by_matrices(loss, z, model),
    )
    if kind == 2 and len(loss.labels) > 2:
        assert found is None  # 16 states
        return
    assert found.value == pytest.approx(wanted, rel=1e-12, abs=1e-13)
    assert found.lower <= wanted + 1e-13
    assert found.upper >= wanted - 1e-13
    assert found.kept == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("fscore", "potentials"), ("fscore", 1), ("mcc", 2), ("recall", 1), (MANY_LABELS, 1)],
)
def test_several_stretches_as_by_the_sweep(text, kind):
    """The bounds hold what the sweep finds, up to its own rounding."""
    loss, random = loaded(text), np.random.default_rng(8)
    model = some_chain(random, loss.labels, 200, kind)
    z = random.choice(loss.labels, size=200).tolist()
    wanted, found = fsmeu.expect(loss, z, model).value, by_matrices(loss, z, model)
    assert found.value == pytest.approx(wanted, rel=1e-12, abs=1e-13)
    assert found.lower - 1e-13 <= wanted <= found.upper + 1e-13
    assert found.upper - found.lower < 1e-9


def test_long_chains_are_taken():
    """Of 5,000 labels, a chain that forgets at once: the same as independent labels."""
    n, p = 5000, 0.3
    chain = fsmeu.models.Markov([1 - p, p], [[1 - p, p]] * 2, n=n)
    z, loss = [1, 0, 0] * 1666 + [0, 1], fsmeu.load("fscore")
    assert long_chains.long_chain_value(query(loss, z, chain)) is not None
    wanted = fsmeu.expect(loss, z, np.full(n, p))
    assert fsmeu.expect(loss, z, chain).value == pytest.approx(wanted.value, rel=1e-11)
