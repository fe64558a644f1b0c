"""Parameters of which the default run takes a few; the others are marked ``nightly``."""

import pytest

EVERYTHING = False
"""Whether nightly tests run, too; set from the command line before tests are imported."""


def mostly_nightly(cases, quick):
    """Parameters for ``pytest.mark.parametrize``: the first ``quick`` of them run always."""
    marks = [() if k < quick else pytest.mark.nightly for k in range(len(cases))]
    return [pytest.param(case, marks=mark) for case, mark in zip(cases, marks, strict=True)]
