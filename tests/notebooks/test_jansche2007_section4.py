"""The table of the experiment on inexact decoding has each range of lengths once."""

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "notebooks" / "jansche2007_section4.py"


@pytest.mark.parametrize(
    ("longest", "ranges"),
    [
        (3, [(1, 3)]),
        (10, [(1, 10)]),
        (12, [(1, 12), (1, 10), (11, 12)]),
        (20, [(1, 20), (1, 10), (11, 20)]),
    ],
)
def test_ranges(longest, ranges):
    spec = importlib.util.spec_from_file_location("jansche2007_section4", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    assert module.ranges_of(longest) == ranges
