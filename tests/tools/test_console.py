"""Refusals of the machine become one clear sentence with the step it happened in."""

import errno
import io

import console
import pytest


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EROFS, "no permission to read or write at /some/cache"),
        (errno.EACCES, "no permission to read or write at /some/cache"),
        (errno.EIO, "the operating system says 'broken'"),
    ],
)
def test_refusals_are_worded(number, sentence):
    with pytest.raises(console.SetupFailure) as caught, console.step("packing"):
        raise OSError(number, "broken", "/some/cache")
    first = caught.value.report().splitlines()[0]
    assert first.startswith("fsmeu set-up stopped while packing: ")
    assert sentence in first


def test_innermost_step_is_named():
    with (
        pytest.raises(console.SetupFailure) as caught,
        console.guard("outer"),
        console.guard("inner"),
    ):
        raise console.SetupFailure("it is broken", "Mend it.")
    assert caught.value.report() == (
        "fsmeu set-up stopped while inner: it is broken.\n  - Mend it."
    )


def test_log_gets_a_line_for_each_state():
    stream = io.StringIO()
    step = console.Step("compiling", stream)
    step.progress(1, 2, "a.cc")
    step.end("... done")
    assert stream.getvalue().splitlines() == [
        "[set-up] compiling ... (0 s)",
        "[set-up] compiling ... 1/2 a.cc (0 s)",
        "[set-up] compiling ... done (0 s)",
    ]


def test_terminal_gets_one_line_that_fits(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    stream = io.StringIO()
    stream.isatty = lambda: True
    console.Step("compiling " + "x" * 50, stream).end("... done")
    assert stream.getvalue().count("\n") == 1
    assert all(len(line) < 30 for line in stream.getvalue().rstrip("\n").split("\r\x1b[2K"))
