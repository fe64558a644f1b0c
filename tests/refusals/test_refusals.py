"""What the package refuses, floor by floor: a call, the class of its error, a part of its message.

The rows of a floor stand in the module of its name beside this file, with the names that its calls
use. Where a row has ``...``, what is before and behind it stands in the message in this order. A
row is there because the refusal protects somebody: from a wrong number, a hang, or a search for
what went wrong. Words that nobody needs are not pinned.
"""

import importlib
import re
from pathlib import Path

import pytest

FLOORS = sorted(
    path.stem for path in Path(__file__).parent.glob("*.py") if path.name != Path(__file__).name
)
MODULES = {floor: importlib.import_module(f"tests.refusals.{floor}") for floor in FLOORS}
ROWS = [(floor, *row) for floor, module in MODULES.items() for row in module.ROWS]


@pytest.mark.parametrize(("floor", "call", "error", "part"), ROWS)
def test_refusal(floor, call, error, part):
    with pytest.raises(error, match=".*".join(map(re.escape, part.split(" ... ")))) as caught:
        eval(call, dict(MODULES[floor].NAMES))
    assert type(caught.value) is error
