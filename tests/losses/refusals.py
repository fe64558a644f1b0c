"""Loss files that are refused."""

import pytest

import fsmeu
from fsmeu.errors import FsmeuError, LossFileError


def refusal(text, **given):
    """What is said of a file, and what stands above the caret; » in the text marks the fault."""
    head, mark, tail = text.partition("»")
    with pytest.raises(LossFileError) as caught:
        fsmeu.loads(head + tail, **given)
    error = caught.value
    assert isinstance(error, FsmeuError)
    assert isinstance(error, ValueError)
    said, line, caret = str(error).split("\n")
    assert caret.strip() == "^"
    place, under = f"<text>:{error.line}:{error.column}: ", line[caret.index("^") :]
    assert said.startswith(place)
    if mark:
        assert (error.line, error.column) == (head.count("\n") + 1, len(head.split("\n")[-1]) + 1)
        expected = tail.split("\n")[0]
        assert under.startswith(expected[:14]) if expected else under == ""
    return said.removeprefix(place), under
