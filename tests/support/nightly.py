"""Parameters of which the default run takes a few; the others are marked ``nightly``."""

import pytest

EVERYTHING = False
"""Whether nightly tests run, too; set from the command line before tests are imported."""


def mostly_nightly(cases, quick):
    """Parameters for ``pytest.mark.parametrize``: the first ``quick`` of them run always."""
    return _marked(cases, lambda k: k < quick)


def every_third(cases):
    """Parameters for ``pytest.mark.parametrize``: one in three runs always."""
    return _marked(cases, lambda k: k % 3 == 0)


def _marked(cases, always):
    rows = [case if isinstance(case, tuple) else (case,) for case in cases]
    nightly = pytest.mark.nightly
    return [pytest.param(*row, marks=() if always(k) else nightly) for k, row in enumerate(rows)]
