"""One at a time, whatever happens to the one that goes first."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import locks

HOLDER = """
import sys, subprocess
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import locks, process
with locks.exclusive(Path(sys.argv[2]), "testing"):
    print("held", flush=True)
    {body}
"""


def hold(path, body):
    """Starts a process that takes the lock and then runs `body`."""
    tools = Path(locks.__file__).parent
    command = [sys.executable, "-c", HOLDER.format(body=body), tools, str(path)]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    return holder


def test_second_waits_and_says_so(tmp_path, capfd):
    holder = hold(tmp_path / "lock", "import time; time.sleep(0.5)")
    with locks.exclusive(tmp_path / "lock", "building"):
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
    with locks.exclusive(tmp_path / "lock", "building"):
        assert mark.exists()


def test_free_lock_is_taken_silently(tmp_path, capfd):
    for _ in range(2):
        with locks.exclusive(tmp_path / "made" / "lock", "building"):
            pass
    assert capfd.readouterr().err == ""
