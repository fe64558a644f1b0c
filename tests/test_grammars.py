"""The files on the shelf keep what they promise."""

import re

import numpy as np
import pytest

import fsmeu
from fsmeu.losses.language.write import file_text
from fsmeu.losses.loss import read_spec
from tests import shelf

LOSSES = fsmeu.library()


@pytest.mark.parametrize("name", LOSSES)
def test_file_says_what_it_is_and_its_examples_hold(name):
    spec = read_spec(name)
    assert spec.name == name
    assert spec.summary
    assert len(spec.examples) >= 3
    assert re.search(r"^labels\s", spec.source, re.MULTILINE)
    unbounded = [p for p in spec.params if p.type == "table" or p.low is None or p.high is None]
    assert spec.range is not None or unbounded
    for result in fsmeu.check(name, n=1).examples:
        assert result.error == ""
        assert result.value == pytest.approx(result.expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_the_loss_of_sweeps_over_all_takes_two_values(name):
    """One that is the same for all pairs would pass whatever it was compared with.

    A file that is written out is the same loss; of explicit states none is written.
    """
    rng = np.random.default_rng(0)
    for size in (2, 3):
        case, loss = shelf.case(name, size), shelf.load(name, size)
        z, y = rng.integers(0, len(loss.labels), (2, 50, 4))
        allowed = loss.allowed(4)
        keep = [allowed is None or allowed.accepts(row) for row in z]
        values = loss.pair_values(z[keep], y[keep]).tolist()
        assert len(set(values)) > 1
        text = file_text(loss.spec)
        assert (text is None) == ("\nstate" in loss.spec.source)
        if text is not None:
            again = fsmeu.loads(text, labels=case.labels if case.ask else None, **case.given)
            assert again.pair_values(z[keep], y[keep]).tolist() == values
