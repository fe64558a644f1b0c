"""A program's failure becomes a sentence that says what to do."""

import sys
import threading
import time

import process
import pytest
from console import SetupFailure


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("as: can't write x.o: No space left on device", "the disk is full"),
        ("OSError: [Errno 122] Disk quota exceeded", "the disk is full"),
        ("WARNING: Retrying (Retry(total=4)) after NewConnectionError", "network did not answer"),
        ("E: Temporary failure resolving 'archive.example'", "network did not answer"),
        ("g++: fatal error: Killed signal terminated program cc1plus", "memory ran out"),
        ("something else", r"g\+\+ failed \(3\)"),
    ],
)
def test_cause_is_named(output, sentence):
    failure = process.describe_failure("g++", 3, output)
    assert failure.remedies
    with pytest.raises(SetupFailure, match=sentence):
        raise failure


def test_last_telling_lines_are_shown_and_all_is_kept(tmp_path):
    """pip ends with lines that say nothing; the error before them is what counts."""
    output = "first\nE: the cause\nnote: not pip's fault\nhint: See above\n"
    failure = process.describe_failure("pip", 1, output, tmp_path / "log")
    assert "      first\n      E: the cause\n" in failure.report()
    assert "hint" not in failure.report()
    assert (tmp_path / "log").read_text() == output


def test_killed_program_is_named():
    """A module that Python runs goes by its own name."""
    killed = [sys.executable, "-m", "timeit", "-n1", "-r1", "import os; os.kill(os.getpid(), 9)"]
    with pytest.raises(SetupFailure, match="timeit was ended by signal 9"):
        process.run(killed)


def test_missing_program_is_named():
    with pytest.raises(SetupFailure, match="'no-such-program' is missing"):
        process.run(["no-such-program"])


def test_stopped_programs_take_their_children_along():
    """Ending a shell also ends the compiler that it waits for."""
    failures = []

    def call():
        try:
            process.run(["sh", "-c", f"{sys.executable} -c 'import time; time.sleep(60)' && true"])
        except SetupFailure as failure:
            failures.append(failure)

    thread = threading.Thread(target=call)
    started = time.monotonic()
    thread.start()
    while thread.is_alive() and time.monotonic() - started < 30:
        process.stop_all()
        thread.join(0.1)
    assert len(failures) == 1
