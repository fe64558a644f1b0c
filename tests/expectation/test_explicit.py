"""The explicit engine by itself: what it composes, weights of acceptors, messages about sizes."""

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import SizeLimitError
from fsmeu.fst.alphabet import BINARY
from fsmeu.fst.layers import Layer, Layered


def lattice(n, start, final):
    """An acceptor of all binary sequences whose state is the last label, its weights not pushed."""
    ints = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
    weight = np.array([0.3, 0.7, 0.2, 0.8])
    layer = Layer(ints[0], ints[1], ints[1], weight, 2)
    made = Layered(BINARY, np.array(start), (layer,) * n, np.array(final), True)
    return fsmeu.models.Acceptor(made, normalize=False)


def weight(y, start, final):
    """The weight of a sequence in that acceptor, all starts together."""
    factor = {(0, 0): 0.3, (0, 1): 0.7, (1, 0): 0.2, (1, 1): 0.8}
    total = 0.0
    for first, mass in enumerate(start):
        for a, b in zip([first, *y], y, strict=False):
            mass *= factor[a, b]
        total += mass * final[y[-1] if y else first]
    return total


@pytest.mark.parametrize("engine", ["lattice", "openfst"])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_weights_at_the_ends_of_an_acceptor_count(engine, n):
    """Starts and ends of an acceptor that is not normalised are factors of the expectation."""
    start, final = [2.0, 0.25], [0.5, 3.0]
    f1, z = fsmeu.load("fscore"), [1, 0, 1][:n]
    ys = [[int(c) for c in np.binary_repr(k, n)] if n else [] for k in range(2**n)]
    masses = [weight(y, start, final) for y in ys]
    wanted = sum(p * fsmeu.evaluate(f1, z, y) for p, y in zip(masses, ys, strict=True))
    answer = fsmeu.expect(f1, z, lattice(n, start, final), engine=engine)
    assert answer.value == pytest.approx(wanted, rel=1e-13)
    assert answer.kept == pytest.approx(sum(masses), rel=1e-13)
    assert answer.levels.mean == pytest.approx(wanted, rel=1e-13)


@pytest.mark.parametrize("ask", [fsmeu.expect, fsmeu.gradient])
def test_what_is_too_large_is_said_to_have_another_engine(ask, monkeypatch):
    monkeypatch.setenv("FSMEU_MAX_STATES", "20")
    with pytest.raises(SizeLimitError, match="The default engine has no such limit"):
        ask(fsmeu.load("jaccard"), [1, 0] * 4, [0.3, 0.4] * 4, engine="openfst")
