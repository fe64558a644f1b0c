"""Expectations of sums over windows: counting instead of remembering changes no number."""

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import LossFileError
from tests import brute_force
from tests.expectation.checks import ENGINES, close, scale_of
from tests.losses.meaning import Undefined, World

BODIES = (
    "count c by abs(tally(a, 1) - tally(b, 1)) when i >= 4 value c",
    "register s in 0..4 start 0 next min(s + 1, 4) count c by sum(a) when s == 4 value c",
    "count c by if i < 4 then 0 else tally(a, 1) value c",
    # nearly sums over windows: what matters is that nothing is taken for one that is none
    "count c when i >= 4 and a[3] == 1 value c",  # looks at one entry
    "count c when tally(a, 1) > 2 value c",  # gains before the first whole window
    "count c by i * tally(a, 1) when i >= 4 value c",  # gains differ from window to window
    "count c by tally(a, 1) when i >= 4 value c ^ 2",  # not linear
    "count c by tally(a, 1) when i >= 4 value c + tally(a, 1)",  # the end matters by itself
    "flag f when z == 1 count c by tally(a, 1) when i >= 4 and f value c",  # looks further back
    "age g since y == 1 up to 5 count c by tally(a, 1) * g when i >= 4 value c",
    "register r in 0..9 start 0 next r + z count c by tally(a, 1) when i >= 4 value c",
    # what else the file does may have no answer, and has to be looked at
    "memory m of 1 + z in 0..1 last 4 count c by sum(a) when i >= 4 value c",
    "age g since 1 / z > 0 up to 3 count c by sum(a) when i >= 4 value c",
    "count d by 1 / z when i >= 4 count c by sum(a) when i >= 4 value c + 0 * d",
)


@pytest.mark.parametrize("body", BODIES)
def test_files_that_are_nearly_sums_over_windows(body, lowered):
    """The expectation or the refusal is that of the second reading, whatever is found."""
    lowered(MUCH_TO_REMEMBER=0)
    loss = fsmeu.loads(f"loss f labels 0 1 memory a of z last 4 memory b of y last 4 {body}")
    p = (0.3, 0.6, 0.5, 0.2, 0.9, 0.4)
    for z in ((1, 0, 1, 1, 0, 1), (1,) * 6):
        values = World(loss.spec, (0, 1), 6)
        try:
            pairs = brute_force.joint(values.every_y(z), brute_force.bernoulli(p))
        except Undefined:
            with pytest.raises(LossFileError):
                fsmeu.expect(loss, z, p)
        else:
            assert fsmeu.expect(loss, z, p).value == close(brute_force.mean(pairs), scale_of(pairs))


@pytest.mark.parametrize(("name", "k"), [("pk", 12), ("windowdiff", 12), ("windowdiff", 33)])
def test_long_windows(name, k):
    """Labels are independent, so each window is a sum that can be worked out alone."""
    rng, n = np.random.default_rng(k), 100
    p, z, wrong = rng.uniform(0.01, 0.2, n), (rng.random(n) < 0.1).astype(int), []
    for i in range(n - k + 1):
        chance, count = np.ones(1), z[i : i + k].sum()
        for one in p[i : i + k]:
            chance = np.convolve(chance, [1 - one, one])
        differs = chance[0] if count else 1 - chance[0]
        wrong.append(differs if name == "pk" else 1 - chance[count])
    for engine in ENGINES if (name, k) == ("pk", 12) else ENGINES[:1]:
        known = fsmeu.expect(fsmeu.load(name, k=k), z, p, engine=engine).value
        assert known == pytest.approx(np.mean(wrong), rel=1e-11)  # one of them by logarithms
