"""Results of two runs, compared by what they say."""

import pytest


def same_records(one, other):
    """Asserts that two lists of records are equal, numbers (in texts, too) up to 1e-12."""
    assert len(one) == len(other)
    for left, right in zip(one, other, strict=True):
        assert list(left) == list(right)
        for name, value in left.items():
            wanted = _number(right[name])
            near = pytest.approx(wanted, rel=1e-12) if isinstance(wanted, float) else wanted
            assert _number(value) == near, name


def _number(value):
    """A float where the value is one or the text of one, else the value."""
    try:
        return float(value) if isinstance(value, str) and "." in value else value
    except ValueError:
        return value
