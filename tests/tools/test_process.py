"""A program's failure becomes a sentence that says what to do; set-ups go one at a time."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

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


def hold(path, body):
    """Starts a process that takes the lock and then runs `body`."""
    tools = Path(process.__file__).parent
    command = [sys.executable, "-c", HOLDER.format(body=body), tools, str(path)]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    return holder


def test_second_waits_and_says_so(tmp_path, capfd):
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


def test_free_lock_is_taken_silently(tmp_path, capfd):
    for _ in range(2):
        with process.exclusive(tmp_path / "made" / "lock", "building"):
            pass
    assert capfd.readouterr().err == ""
