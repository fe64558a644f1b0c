"""Parameters of which the default run takes a few."""

import pytest


def mostly_nightly(cases, quick):
    """Parameters for ``pytest.mark.parametrize``: the first few run always, others nightly."""
    cases = list(cases)
    return cases[:quick] + [
        pytest.param(*_row(x), marks=pytest.mark.nightly) for x in cases[quick:]
    ]


def _row(case):
    return case if isinstance(case, tuple) else (case,)
