"""Random cases that reach every branch of the core, held against enumeration.

A line of ``cases.txt`` names a case of the explorer (losses, models, queries, engines, limits), a
check, and what comes of it; ``./run explore-tests --keep tests/matrix/cases.txt`` chooses them, and
``./run explore-tests --case 41:7`` shows one.
"""

from pathlib import Path

import pytest

from tests.explore.keep import parsed
from tests.explore.shrink import reproducer
from tests.explore.trial import run_case

LINES = (Path(__file__).parent / "cases.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("line", LINES)
def test_case(line):
    seed, k, check, expected = parsed(line)
    case, [outcome] = run_case(seed, k, check)
    assert outcome.fault is None, reproducer(case, outcome)
    assert outcome.result == expected
