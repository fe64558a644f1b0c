"""The files on the shelf keep what they promise."""

import re

import pytest

import fsmeu
from fsmeu.checking.examples import run_examples
from fsmeu.losses.loss import read_spec

LOSSES = fsmeu.library()


@pytest.mark.parametrize("name", LOSSES)
def test_file_says_what_it_is(name):
    spec = read_spec(name)
    assert spec.name == name
    assert spec.summary
    assert len(spec.examples) >= 3
    assert re.search(r"^labels\s", spec.source, re.MULTILINE)
    unbounded = [p for p in spec.params if p.type == "table" or p.low is None or p.high is None]
    assert spec.range is not None or unbounded


@pytest.mark.parametrize("name", LOSSES)
def test_examples_hold(name):
    spec = read_spec(name)
    for result in run_examples(spec):
        assert result.error == ""
        assert result.value == pytest.approx(result.expected, rel=1e-9, abs=1e-12)
