"""Failures of programs and of the machine become a sentence; set-ups go one at a time."""

import errno
import io
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import console
import process
import pytest
from console import SetupFailure

HOLDER = """
import sys, subprocess
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import process
with process.exclusive(Path(sys.argv[2]), "testing"):
    print("held", flush=True)
    {body}
"""


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
    with pytest.raises(SetupFailure) as caught, console.step("packing"):
        raise OSError(number, "broken", "/some/cache")
    first = caught.value.report().splitlines()[0]
    assert first.startswith("fsmeu set-up stopped while packing: ")
    assert sentence in first


def test_innermost_step_is_named():
    with pytest.raises(SetupFailure) as caught, console.guard("outer"), console.guard("inner"):
        raise SetupFailure("it is broken", "Mend it.")
    assert caught.value.report() == "fsmeu set-up stopped while inner: it is broken.\n  - Mend it."


def test_a_line_for_each_state_or_one_that_fits(monkeypatch):
    log, terminal = io.StringIO(), io.StringIO()
    step = console.Step("compiling", log)
    step.progress(1, 2, "a.cc")
    step.end("... done")
    states = ("...", "... 1/2 a.cc", "... done")
    assert log.getvalue().splitlines() == [f"[set-up] compiling {one} (0 s)" for one in states]
    monkeypatch.setenv("COLUMNS", "30")
    terminal.isatty = lambda: True
    console.Step("compiling " + "x" * 50, terminal).end("... done")
    assert terminal.getvalue().count("\n") == 1
    assert all(len(line) < 30 for line in terminal.getvalue().rstrip("\n").split("\r\x1b[2K"))


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


def test_killed_and_missing_programs_are_named():
    """A module that Python runs goes by its own name."""
    killed = [sys.executable, "-m", "timeit", "-n1", "-r1", "import os; os.kill(os.getpid(), 9)"]
    with pytest.raises(SetupFailure, match="timeit was ended by signal 9"):
        process.run(killed)
    with pytest.raises(SetupFailure, match="'no-such-program' is missing"):
        process.run(["no-such-program"])


def test_stopped_programs_take_their_children_along():
    """Ending a shell also ends the compiler that it waits for."""
    command = ["sh", "-c", f"{sys.executable} -c 'import time; time.sleep(60)' && true"]
    with ThreadPoolExecutor() as pool:
        running = pool.submit(process.run, command)
        for _ in range(300):
            process.stop_all()
            if wait([running], 0.1).done:
                break
        assert isinstance(running.exception(0), SetupFailure)


def hold(path, body):
    """Starts a process that takes the lock and then runs `body`."""
    tools = Path(process.__file__).parent
    command = [sys.executable, "-c", HOLDER.format(body=body), tools, str(path)]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    return holder


def test_second_waits_and_says_so(tmp_path, capfd):
    for _ in range(2):
        with process.exclusive(tmp_path / "made" / "lock", "building"):
            pass
    assert capfd.readouterr().err == ""
    holder = hold(tmp_path / "lock", "import time; time.sleep(0.5)")
    with process.exclusive(tmp_path / "lock", "building"):
        assert holder.wait(timeout=30) == 0
    assert "waiting: another set-up is building" in capfd.readouterr().err


def test_lock_outlives_its_killed_holder_while_a_program_runs(tmp_path):
    """After kill -9, the next one waits until the orphaned program is done."""
    mark = tmp_path / "done"
    body = f'process.run(["sh", "-c", "sleep 0.7; touch {mark}"])'
    holder = hold(tmp_path / "lock", body)
    time.sleep(0.3)
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert not mark.exists()
    with process.exclusive(tmp_path / "lock", "building"):
        assert mark.exists()
