"""`./run` explains itself, hands arguments over, makes its environment, fails in sentences."""

import ast
import errno
import io
import json
import math
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from pathlib import Path

import console
import environment
import launch
import process
import pynini_wheel
import pytest
from console import SetupFailure
from environment import Project

from tests.benchmarks import measure, report
from tests.benchmarks.measure import Row

ROOT = Path(__file__).resolve().parents[2]
BESIDE = ["loops 0", "loops 1", "sync dev", "waited", "waited"]
ODD_ARGUMENTS = ["-k", "a and b", "", "--", "*", "$HOME", "ü"]


def run(*words, cwd=None):
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60)


@pytest.fixture
def copy(tmp_path):
    """A copy of the launcher whose environment is 'up to date' and echoes what it is given."""
    root = tmp_path / "copy"
    root.mkdir()
    (root / "run").write_text((ROOT / "run").read_text())
    (root / "tools").symlink_to(ROOT / "tools")
    (root / "pyproject.toml").touch()
    project = Project(root)
    project.python.parent.mkdir(parents=True)
    project.python.write_text('#!/bin/sh\npwd\nprintf "%s\\n" "$@"\nexit 7\n')
    project.python.chmod(0o755)
    environment.write_stamp(project, environment.wanted_stamp(project, "dev"))
    return root


def test_every_command_is_listed():
    alone, unknown = run(ROOT / "run"), run(ROOT / "run", "tset")
    assert (alone.returncode, unknown.returncode) == (0, 2)
    assert "no command 'tset'" in unknown.stderr
    names = "demo test bench explore-tests frozen fsmeu python setup docs wheel check"
    for name in names.split():
        assert f"./run {name}" in alone.stdout
        assert name in unknown.stderr


@pytest.mark.parametrize(
    ("command", "words", "at_root"),
    [
        ("test", ["-m", "pytest", "-n", "auto", "--dist", "worksteal"], True),
        ("bench", ["-m", "pytest", "tests/benchmarks"], True),
        ("explore-tests", ["-m", "tests.explore.run"], True),
        ("frozen", ["-m", "tests.frozen.run"], True),
        ("demo", ["-m", "fsmeu.cli.main", "demo"], True),
        ("fsmeu", ["-m", "fsmeu.cli.main"], False),
        ("python", [], False),
    ],
)
def test_arguments_and_exit_code_pass_through(copy, tmp_path, command, words, at_root):
    """From another directory, through a symbolic link, nothing is changed on the way."""
    link = tmp_path / "link"
    link.symlink_to(copy / "run")
    result = run(link, command, *ODD_ARGUMENTS, cwd=tmp_path)
    assert result.returncode == 7
    assert result.stderr == ""
    where = copy if at_root else tmp_path
    assert result.stdout.splitlines() == [str(where), *words, *ODD_ARGUMENTS]


def test_paths_are_meant_from_where_the_user_is(tmp_path):
    (tmp_path / "test_a.py").touch()
    (tmp_path / "expression").touch()
    assert launch.rooted("test_a.py::test_b", tmp_path) == f"{tmp_path}/test_a.py::test_b"
    assert launch.rooted("test_a.py", tmp_path) == f"{tmp_path}/test_a.py"
    for untouched in ("expression", "tests/elsewhere.py", "-x", "--ignore=test_a.py"):
        assert launch.rooted(untouched, tmp_path) == untouched
    given = ["--against", "old.json", "--to=new.json", "-k", "x", "--against=/o.json"]
    files = launch.files_here(given, tmp_path)
    assert files[:3] == ["--against", f"{tmp_path}/old.json", f"--to={tmp_path}/new.json"]
    assert files[3:] == given[3:]


def test_unwritable_project_is_one_sentence(copy):
    (copy / ".venv/fsmeu-stamp.json").unlink()
    (copy / ".setup.lock").mkdir()
    result = run(copy / "run", "setup")
    assert result.returncode == 1
    assert result.stdout == ""
    first = result.stderr.splitlines()[0]
    assert first.startswith("fsmeu set-up stopped while making the environment (.venv): ")
    assert ".setup.lock" in first
    assert "Traceback" not in result.stderr


def test_old_python_is_refused_in_words():
    """It can read the launcher, so that the sentence reaches those who need it."""
    ast.parse((ROOT / "run").read_text(), feature_version=(3, 7))
    script = (
        "import sys, runpy\nsys.version_info = (3, 8, 0)\n"
        f"runpy.run_path({str(ROOT / 'run')!r}, run_name='__main__')"
    )
    result = run("-c", script)
    assert result.returncode == 1
    assert result.stderr == "fsmeu needs Python 3.10 or newer, but python3 is 3.8.\n"


OFF, PLACE = "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({OFF: "1"}, {PLACE: "/copy/.venv/bytecode"}),
        ({OFF: "1", PLACE: "/own"}, {PLACE: "/own"}),
        ({OFF: "", "HOME": "/home"}, {"HOME": "/home"}),
        ({}, {}),
    ],
)
def test_compiled_modules_are_kept(given, kept):
    variables = dict(given)
    launch.keep_bytecode(Project(Path("/copy")), variables)
    assert variables == kept


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text('dependencies = ["pynini==1.2.3"]')
    return Project(tmp_path)


@pytest.fixture
def calls(project, monkeypatch):
    """Stands in for venv, pip, uv and what compiles; returns what was made, in order."""
    asked = []

    class Compiling:
        def __init__(self, words, **_):
            asked.append(f"loops {words[-1]}")

        def wait(self):
            asked.append("waited")

        def kill(self):
            pass

    def run(command, **_):
        words = [str(word) for word in command]
        assert not project.stamp.exists()  # whatever fails leaves none behind
        if "venv" in words:
            asked.append("venv")
            project.python.parent.mkdir(parents=True)
            project.python.touch()
        elif "uv" in words:
            groups = [name for flag, name in pairwise(words) if flag == "--group"]
            asked.append(" ".join(["sync", *groups]))
        return ""

    monkeypatch.setattr(process, "run", run)
    monkeypatch.setattr(environment.subprocess, "Popen", Compiling)
    monkeypatch.setattr(pynini_wheel, "provide", lambda version, python: "/wheels")
    return asked


def write_recipe(project):
    project.recipe.write_text('dependencies = ["pynini==1.2.3", "new"]')


@pytest.mark.parametrize(
    ("change", "made"),
    [
        (lambda project: None, []),
        (write_recipe, ["sync"]),
        (
            lambda project: project.stamp.unlink(),
            ["venv", "sync"],
        ),  # an earlier set-up was cut short
        (lambda project: project.python.unlink(), ["venv", "sync"]),
        *(({key: "another"}, ["venv", "sync"]) for key in ("python", "path", "installer", "build")),
        *((text, ["venv", "sync"]) for text in ("", "{", "[]", "null", '"x"')),
    ],
)
def test_made_once_and_again_when_out_of_date(project, calls, change, made):
    """New requirements are installed; an environment of another kind, or a part of one, goes."""
    environment.bring_up_to_date(project, "")
    assert calls == ["venv", "sync"]
    leftover = project.venv / "half-written"
    leftover.touch()
    if isinstance(change, dict):
        wanted = environment.wanted_stamp(project, "")
        assert wanted.keys() >= change.keys()
        environment.write_stamp(project, wanted | change)
    elif isinstance(change, str):
        project.stamp.write_text(change)
    else:
        change(project)
    assert environment.is_up_to_date(project, "") == (made == [])
    environment.bring_up_to_date(project, "")
    assert calls[2:] == made
    assert leftover.exists() == ("venv" not in made)
    assert environment.is_up_to_date(project, "")


def test_full_disk_is_seen_behind_venvs_silence(project, monkeypatch):
    def run(*_, **__):
        raise process.describe_failure("venv", 1, "Command '... ensurepip' returned 1")

    monkeypatch.setattr(process, "run", run)
    with pytest.raises(SetupFailure, match="venv failed"):
        environment.bring_up_to_date(project, "")
    usage = environment.shutil.disk_usage(project.root)._replace(free=1000)
    monkeypatch.setattr(environment.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(SetupFailure, match="the disk is full"):
        environment.bring_up_to_date(project, "")


def test_python_without_ensurepip(project, monkeypatch):
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SetupFailure) as caught:
        environment.bring_up_to_date(project, "")
    assert "ensurepip is missing" in caught.value.report()
    assert "python3-venv" in caught.value.report()


def test_groups_are_added_and_never_lost(project, calls):
    """The base serves the demo; tests add theirs to it; new requirements keep both."""
    environment.bring_up_to_date(project, "")
    assert not environment.is_up_to_date(project, "dev")
    environment.bring_up_to_date(project, "dev")
    assert environment.is_up_to_date(project, "")
    write_recipe(project)
    environment.bring_up_to_date(project, "")
    assert calls == ["venv", "sync", *BESIDE, *BESIDE]


def test_loops_are_compiled_after_a_first_installation(project, calls):
    environment.bring_up_to_date(project, "dev")
    assert calls == ["venv", "sync dev", "loops 0", "loops 1", "waited", "waited"]


def test_uv_is_asked_for_the_project_and_its_pynini(project, monkeypatch):
    """pynini comes as a wheel, from the cache or the index; on macOS it may be absent."""
    calls = []

    def run(command, **given):
        calls.append([" ".join(map(str, command)), given.get("cwd")])
        return ""

    monkeypatch.setattr(process, "run", run)
    monkeypatch.setattr(pynini_wheel, "provide", lambda version, python: f"/wheels-{version}")
    sync = f"{project.python} -m uv sync --inexact --python {project.python}"
    monkeypatch.setattr(sys, "platform", "linux")
    environment._sync(project, "dev")
    pynini = " --extra openfst --find-links /wheels-1.2.3"
    assert calls[-1] == [f"{sync} --group dev{pynini}", project.root]
    monkeypatch.setattr(sys, "platform", "darwin")
    environment._sync(project, "")
    assert calls[-1] == [sync, project.root]


def test_uv_uses_pips_index_and_certificates():
    listing = ":env:.index-url='https://a/simple'\nglobal.cert='/c.pem'\nglobal.index-url='b'\n"
    assert environment.pip_settings(listing) == {
        "UV_DEFAULT_INDEX": "https://a/simple",
        "SSL_CERT_FILE": "/c.pem",
    }
    assert environment.pip_settings("global.timeout='3'\n") == {}


# -- programs: failures become a sentence, set-ups go one at a time -------------------------------

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
    mark = tmp_path / "done"
    body = f'process.run(["sh", "-c", "sleep 0.7; touch {mark}"])'
    holder = hold(tmp_path / "lock", body)
    time.sleep(0.3)
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert not mark.exists()
    with process.exclusive(tmp_path / "lock", "building"):
        assert mark.exists()


# -- `./run bench`: what is written, and what is said of two runs ---------------------------------


def row(title, second, **more):
    return Row(title, 1.0, second, second, **more)


def test_written_and_read(tmp_path):
    """What is infinite, after a fault, is written as nothing."""
    file = tmp_path / "folder" / "b.json"
    report.write(file, [row("a", 0.5, exponent=1.9, gigabytes=0.25), row("b", math.inf)])
    first, second = report.read(file)
    assert (first["second"], first["exponent"], first["gigabytes"]) == (0.5, 1.9, 0.25)
    assert (second["second"], second["ratio"]) == (None, None)
    assert "python" in json.loads(file.read_text())["machine"]


def test_what_got_slower_is_marked():
    """By more than a fifth; titles are compared without what was measured in brackets."""
    before = {"a (50 a second)": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}
    now = {"a (9 a second)": 1.21, "b": 1.19, "c": math.inf, "e": 1.0}
    old, new = ([row(*one) for one in (*rows.items(), ("f", 2.0))] for rows in (before, now))
    rows = (report.as_json([*rows, row("f", k)])["rows"] for k, rows in ((2.0, old), (4.0, new)))
    lines = list(report.side_by_side(*rows))
    cells = [line.split() for line in lines if line[:2] in ("a ", "b ", "c ", "f ")]
    assert cells == [
        ["a", "1.00000", "1.21000", "1.21", "SLOWER"],
        ["b", "1.00000", "1.19000", "1.19"],
        ["c", "1.00000", "-", "FAILED"],
        ["f", "2.00000", "2.00000", "1.00"],  # rows of one title are kept apart
        ["f", "2.00000", "4.00000", "2.00", "SLOWER"],
    ]
    assert lines[-1] == "3 of 5 slower; 1 new, 1 gone."


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"rows": [1]}', '{"rows": [{}]}', "[["])
def test_files_that_are_none_of_ours(tmp_path, content):
    file = tmp_path / "old.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ValueError, match=r"must be a file that \./run bench wrote"):
        report.read(file)


def test_growth_is_read_from_the_sizes(monkeypatch):
    """Four times the time for twice the length is an exponent of 2."""
    monkeypatch.setattr(measure, "ROWS", [])
    assert measure.record("F1: n = 1,000 | n = 2,000", 1.0, 4.0, at_most=5)
    assert not measure.record("F1: ours | theirs", 1.0, 4.0, at_most=3)
    first, second = measure.ROWS
    assert first.exponent == pytest.approx(2.0, rel=1e-12)
    assert second.exponent is None
    assert first.gigabytes > 0
    assert "2.00" in list(measure.table())[-2]
