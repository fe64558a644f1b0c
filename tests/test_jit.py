"""Compiled loops on disk: files and what they depend on, folders that are trusted, and none."""

import importlib
import importlib.util
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints
from unittest import mock

import numpy as np
import pytest

from fsmeu import jit
from fsmeu.trellis import kernels

ROOT = Path(__file__).resolve().parent.parent
SOURCE = """
from fsmeu.jit import jit_entry, jit_helper

FACTOR = 3

@jit_helper
def times(x):
    return x * FACTOR

@jit_entry
def total(rows):
    return times(rows.a[0]) - rows.b[0]
"""
FIELDS = """
from typing import NamedTuple
import numpy as np

class Rows(NamedTuple):
    a: np.ndarray
    b: np.ndarray
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The cache folder of this test alone."""
    monkeypatch.setenv("FSMEU_CACHE", str(tmp_path / "cache"))
    forget()
    yield tmp_path / "cache" / "loops"
    forget()


def forget():
    """Has folders and files looked at anew, as another process would."""
    jit.cache_folder.cache_clear()
    jit._say_once.cache_clear()
    jit._source_digest.cache_clear()


def module_of(path, source, name="loops"):
    """A module of this source under a name, as another process would load it."""
    path.write_text(source, encoding="utf-8")
    Path(importlib.util.cache_from_source(path)).unlink(missing_ok=True)  # it knows seconds alone
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    forget()
    return module


def total(path, source=SOURCE, fields=FIELDS, name="loops"):
    """3 * 3 - 4 = 5 by compiled loops, as they are written."""
    rows = module_of(path.parent / "rows.py", fields, "rows").Rows
    module = module_of(path, source, name)
    arrays = {"a": np.array([3.0]), "b": np.array([4.0])}
    return module.total(rows(**arrays)), hits(module)


def hits(module):
    """How many signatures came from a file."""
    return sum(module.total.stats.cache_hits.values())


def test_another_process_takes_the_file_of_the_first(folder, tmp_path):
    assert total(tmp_path / "loops.py") == (5.0, 0)
    assert total(tmp_path / "loops.py") == (5.0, 1)
    assert [path.suffix for path in folder.iterdir()] == [".loop"]


@pytest.mark.parametrize(
    ("source", "fields", "name", "value"),
    [
        (SOURCE.replace("x * FACTOR", "x + FACTOR"), FIELDS, "loops", 2.0),
        (SOURCE.replace("FACTOR = 3", "FACTOR = 4"), FIELDS, "loops", 8.0),
        (SOURCE.replace("@jit_helper", "@jit_helper  # a remark"), FIELDS, "loops", 5.0),
        (SOURCE, FIELDS.replace("a:", "c:").replace("b:", "a:").replace("c:", "b:"), "loops", 5.0),
        (SOURCE, FIELDS, "loops_of_another_kind", 5.0),
    ],
    ids=["source", "constant", "remark", "order of fields", "module"],
)
def test_what_code_depends_on_has_another_file(folder, tmp_path, source, fields, name, value):
    """A changed helper, constant or order of fields, and another kind of rows."""
    assert total(tmp_path / "loops.py") == (5.0, 0)
    assert total(tmp_path / "loops.py", source, fields, name) == (value, 0)
    assert len(list(folder.iterdir())) == 2


def test_a_constant_of_another_module_is_part_of_the_key(folder, tmp_path):
    source = "import numbers_of as of\n" + SOURCE.replace("x * FACTOR", "x * of.FACTOR")
    module_of(tmp_path / "numbers_of.py", "FACTOR = 3", "numbers_of")
    assert total(tmp_path / "loops.py", source) == (5.0, 0)
    module_of(tmp_path / "numbers_of.py", "FACTOR = 5", "numbers_of")
    assert total(tmp_path / "loops.py", source) == (11.0, 0)


def test_a_loop_whose_code_was_lost_to_an_interruption_serves_and_has_no_file(
    folder, tmp_path, monkeypatch
):
    from numba.core.compiler import CompileResult

    monkeypatch.setattr(CompileResult, "_reduce", mock.Mock(side_effect=RuntimeError("no object")))
    assert total(tmp_path / "loops.py") == (5.0, 0)
    assert not list(folder.iterdir())


def test_signatures_have_files_of_their_own(folder, tmp_path):
    """Two processes that compile for two signatures at once cannot exchange their files."""
    total(tmp_path / "loops.py")
    module = sys.modules["loops"]
    rows = sys.modules["rows"].Rows
    assert module.total(rows(np.array([1]), np.array([2]))) == 1
    assert len(list(folder.iterdir())) == 2


def test_the_kinds_of_rows_of_kernels_have_files_of_their_own():
    """One source, two kinds of rows: lanes and counts of the same signature are told apart."""
    from fsmeu.trellis import lane_rows
    from fsmeu.trellis.kernels import compiled
    from fsmeu.trellis.sum_kernels import mass_batch

    kinds = [compiled(mass_batch, rows) for rows in (None, lane_rows)]
    keys = {kernel._cache._dependencies for kernel in kinds}
    assert len(keys) == 2


@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: data[:-9], lambda data: data[:-1] + b"?"]
)
def test_a_damaged_file_is_made_anew(folder, tmp_path, damage):
    total(tmp_path / "loops.py")
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert total(tmp_path / "loops.py") == (5.0, 0)
    assert total(tmp_path / "loops.py") == (5.0, 1)


def test_a_sound_file_of_something_else_is_made_anew(folder, tmp_path):
    total(tmp_path / "loops.py")
    (file,) = folder.iterdir()
    file.write_bytes(jit._digest(b"N.") + b"N.")  # None, pickled
    assert total(tmp_path / "loops.py") == (5.0, 0)
    assert total(tmp_path / "loops.py") == (5.0, 1)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder among temporary files that is taken instead of another."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(jit.tempfile, "gettempdir", lambda: str(place))
    return place / f"fsmeu-{os.geteuid()}"


def others_can_write(folder):
    folder.mkdir(parents=True)
    folder.chmod(0o770)


def a_link(folder):
    (folder.parent.parent / "theirs").mkdir()
    folder.parent.mkdir()
    folder.symlink_to(folder.parent.parent / "theirs")


def a_file(folder):
    folder.parent.mkdir()
    folder.write_text("no folder")


@pytest.mark.parametrize("make", [others_can_write, a_link, a_file])
def test_a_folder_that_is_not_private_is_left_alone(folder, tmp_path, temporary, make, capsys):
    make(folder)
    assert total(tmp_path / "loops.py") == (5.0, 0)
    assert len(list(temporary.iterdir())) == 1
    assert temporary.stat().st_mode & 0o777 == 0o700
    said = capsys.readouterr().err
    assert said.count("fsmeu keeps compiled loops in") == 1
    assert str(folder) in said
    assert "FSMEU_CACHE" in said
    assert folder.is_file() or not list(folder.iterdir())
    assert total(tmp_path / "loops.py") == (5.0, 1)


def test_folders_of_another_user_are_left_alone(folder, tmp_path, temporary, monkeypatch, capsys):
    """Neither is read: loops are compiled in memory, and the line says why."""
    total(tmp_path / "loops.py")
    user = os.geteuid()
    temporary.with_name(f"fsmeu-{user + 1}").mkdir(mode=0o700)
    monkeypatch.setattr(jit.os, "geteuid", lambda: user + 1)
    assert total(tmp_path / "loops.py") == (5.0, 0)
    said = capsys.readouterr().err
    assert "fsmeu compiles loops in every process" in said
    assert said.count("it belongs to another user") == 2


def test_a_folder_given_away_while_a_process_runs_is_left_alone(folder, tmp_path):
    total(tmp_path / "loops.py")
    folder.chmod(0o777)
    module = sys.modules["loops"]
    rows = sys.modules["rows"].Rows
    assert module.total(rows(np.array([1]), np.array([2]))) == 1
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize(
    ("variables", "found"),
    [
        ({"FSMEU_CACHE": "/f"}, "/f/loops"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/"}, "/x/fsmeu/loops"),
        ({"XDG_CACHE_HOME": "x", "HOME": "/"}, "/.cache/fsmeu/loops"),
        ({"XDG_CACHE_HOME": "", "HOME": "/"}, "/.cache/fsmeu/loops"),
    ],
)
def test_variables_name_the_folder(monkeypatch, variables, found):
    for name in ("FSMEU_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(jit._user_folder()) == found


@pytest.mark.parametrize("home", ["none", "."])
def test_a_home_that_does_not_exist_is_not_made(monkeypatch, tmp_path, home):
    for name in ("FSMEU_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", home if home == "." else str(tmp_path / home))
    with pytest.raises(OSError, match="it does not exist"):
        jit._user_folder()


def no_home():
    message = "no home"
    raise RuntimeError(message)


def test_a_user_without_a_home_has_a_temporary_folder(monkeypatch, temporary, tmp_path, capsys):
    for name in ("FSMEU_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(jit.Path, "home", no_home)
    forget()
    assert total(tmp_path / "loops.py") == (5.0, 0)
    assert total(tmp_path / "loops.py") == (5.0, 1)
    assert "this user has no home" in capsys.readouterr().err
    forget()


SCRIPT = """if True:
    import numpy as np
    from fsmeu.trellis.chain_kernels import count_variance
    print(count_variance(np.full((2, 2, 2), 0.5), np.zeros(2, int), np.ones(2), np.zeros(2)))
"""


def answers(limit=None, **variables):
    """What the script prints in two processes: answers, and lines on standard error."""
    kept = {name: value for name, value in os.environ.items() if name not in CACHE_VARIABLES}
    runs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**kept, **variables},
            text=True,
            capture_output=True,
            preexec_fn=limit,
            check=True,
        )
        for _ in range(2)
    ]
    return [run.stdout for run in runs], [run.stderr for run in runs]


CACHE_VARIABLES = ("FSMEU_CACHE", "XDG_CACHE_HOME", "HOME", "TMPDIR")


def beside_sources():
    """Files of numba in the package."""
    return [*(ROOT / "fsmeu").rglob("*.nbi"), *(ROOT / "fsmeu").rglob("*.nbc")]


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="a home that cannot be written is needed")
def test_nothing_is_written_beside_sources_where_a_home_cannot_be_written(tmp_path):
    found, said = answers(HOME="/proc", TMPDIR=str(tmp_path))
    assert found[0] == found[1]
    assert [line.count("once on this machine") for line in said] == [1, 0]
    assert [line.count("fsmeu keeps compiled loops in") for line in said] == [1, 1]
    assert not beside_sources()


@pytest.mark.nightly
def test_a_full_disk_costs_time_alone(tmp_path):
    """As every write fails, here by a limit on the size of files."""

    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    found, said = answers(full, FSMEU_CACHE=str(tmp_path))
    assert found[0] == found[1]
    assert [line.count("fsmeu cannot keep compiled loops in") for line in said] == [1, 1]
    assert not list((tmp_path / "loops").iterdir())
    assert not beside_sources()


# -- interruptions ---------------------------------------------------------------------------------

INTERRUPTED = """
import os, signal, sys, time
import fsmeu.jit as jit

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "numba.core.types":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)

sys.meta_path.insert(0, Interrupting())
try:
    jit.jit_helper(len)
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted")

def twice(x):
    return 2 * x

print(jit.jit_helper(twice)(21))
"""


@pytest.mark.nightly
def test_an_interruption_leaves_numba_whole():
    """Half of an import, which later calls would meet, is not left."""
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["interrupted", "42"]


LINEAR_ALGEBRA = """
import sys
import numpy as np
import fsmeu

fsmeu.decode(fsmeu.load("fscore"), np.full(2000, 0.4))
assert "numba" in sys.modules
print("scipy.linalg" in sys.modules)

import numba
print(numba.njit(lambda a: a @ a)(np.full((2, 2), 3.0)).sum())
"""


@pytest.mark.nightly
def test_linear_algebra_is_loaded_by_those_that_use_it():
    """A decision does not wait for SciPy's; a caller's own loops find it."""
    run = subprocess.run(
        [sys.executable, "-c", LINEAR_ALGEBRA], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["False", "72.0"]


def entries():
    """All functions of the package that are compiled and called from Python, as they are written.

    Those of trellises are marked; others are numba's dispatchers.
    """
    for path in sorted((ROOT / "fsmeu").rglob("*kernels.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for value in vars(importlib.import_module(name)).values():
            if hasattr(value, "py_func") and isinstance(value._cache, jit.LoopCache):
                yield value.py_func
            elif callable(value) and kernels._COMPILERS.get(value) is jit.jit_entry:
                yield value


def test_no_compiled_function_returns_a_named_tuple():
    """An interruption while numba asks for its class would crash the process."""
    found = {function.__name__: function for function in entries()}
    assert {"push", "forward_masses", "logistic_pass", "costs"} <= found.keys()
    for name, function in found.items():
        returned = get_type_hints(function).get("return")
        assert not hasattr(returned, "_fields"), name
