"""``require``: which hypotheses a loss is defined for, as a file says it."""

import itertools

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import InputError
from fsmeu.losses.language.write import file_text

HEAD = "loss f(k: int = 2) labels 0 1 count c when z != y "
STATES = "state A B C arc A -> B when z == 1 arc A -> A otherwise "
STATES += "arc B -> C when z == 1 arc B -> A otherwise arc C -> C"
REQUIREMENTS = [
    ("require z == 0 or i > k", lambda z: "1" not in z[:2]),
    ("require not (i == n and z == 1)", lambda z: z[-1:] != "1"),
    ("count ones when z == 1 require ones <= k", lambda z: z.count("1") <= 2),
    ("memory m of z last 2 require not (m[0] == 1 and m[1] == 1)", lambda z: "11" not in z),
    ("flag f when z == 1 require f == 0 or z == 1", lambda z: "10" not in z),
    ("age a since z == 1 up to k require z == 1 or a < k or i < 3", lambda z: "00" not in z[1:]),
    (f"{STATES} require not at C", lambda z: "11" not in z),
    (
        "register r in 0..n start n next max(0, r - z) require r >= n - 1",
        lambda z: z.count("1") < 2,
    ),
    ("require true", lambda z: True),
]


@pytest.mark.parametrize(("said", "holds"), REQUIREMENTS)
def test_hypotheses_are_those_in_which_it_holds(said, holds):
    """Others have no value, and no decision is one, though it were the best."""
    loss = fsmeu.loads(f"{HEAD} {said} value c")
    for n in (0, 3, 1, 5, 2, 4):
        hypotheses = ["".join(z) for z in itertools.product("01", repeat=n)]
        for z in hypotheses:
            if holds(z):
                assert loss(z, "0" * n) == z.count("1")
            else:
                with pytest.raises(InputError, match="loss f is defined where"):
                    loss(z, "0" * n)
        if said == "require true":
            assert loss.allowed(n) is None  # and methods for all hypotheses apply
        p = np.random.default_rng(n).random(n)
        decided = fsmeu.decode(loss, p)
        costs = {
            z: sum(1 - q if a == "1" else q for a, q in zip(z, p, strict=True))
            for z in filter(holds, hypotheses)
        }
        assert decided.value == pytest.approx(min(costs.values()))
        assert "".join(map(str, decided.labels)) in costs


@pytest.mark.parametrize("method", ["auto", "search", "exhaustive"])
def test_a_loss_whose_range_holds_for_allowed_hypotheses_alone(method):
    """No other is valued on the way, and decisions are among them."""
    loss = fsmeu.loads(
        "loss f labels 0 1 register worst in 0..n start 0 next max(worst, z) "
        "count c when z == y count ones when z == 1 require ones <= 1 "
        "value (c - 1)^2 + ones range 0 .. (n - 1)^2 + 2"
    )
    assert sum(fsmeu.decode(loss, [0.9, 0.8, 0.3, 0.6], method=method).labels) <= 1


def test_a_file_that_is_written_out_requires_the_same():
    given = fsmeu.load("event_fscore", tolerance=1)
    assert fsmeu.loads(file_text(given.spec), tolerance=1).requirement == given.requirement
