"""Compiling is ordered, resumable, and never leaves a half-written object behind."""

from pathlib import Path

import compile as compiling
import pytest
from console import SetupFailure
from openfst import OpenFst

# Writes its output in two halves; fails on the file that is named broken.cc.
COMPILER = """
echo "$@" >> {log}
case "$*" in *broken.cc*) echo "broken.cc:1: error: no"; exit 1 ;; esac
while [ "$1" != -o ]; do shift; done
printf half > "$2"; printf whole > "$2"
"""


@pytest.fixture
def shop(tmp_path, monkeypatch, programs):
    """pynini's source in small, and a compiler that logs what it is asked."""
    extensions = tmp_path / "source" / "extensions"
    extensions.mkdir(parents=True)
    names = ("_pynini.cpp", "_pywrapfst.cpp", "stringutil.cc", "unknown.cc", *compiling.JOINED)
    for name in names:
        (extensions / name).touch()
    (tmp_path / "libs").mkdir()
    log = tmp_path / "log"
    compiler = programs("g++", COMPILER.format(log=log))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(compiling, "parallel_jobs", lambda: 1)

    def build():
        return compiling.build_extensions(
            tmp_path / "source",
            OpenFst(tmp_path / "include", tmp_path / "lib"),
            [tmp_path / "libs" / "libfst.so.26", tmp_path / "libs" / "libshim.so"],
            tmp_path,
            compiler,
        )

    build.log, build.extensions, build.folder = log, extensions, tmp_path
    return build


def compiled(log):
    """Returns the names of the sources compiled, in order."""
    calls = [line.split() for line in log.read_text().splitlines()]
    return [call[call.index("-c") + 1].rpartition("/")[2] for call in calls if "-c" in call]


def test_longest_first_and_unknown_in_the_middle(shop):
    shop()
    assert compiled(shop.log) == [
        "joined.cc",
        "unknown.cc",
        "_pywrapfst.cpp",
        "_pynini.cpp",
        "stringutil.cc",
    ]


def test_files_that_share_templates_are_compiled_as_one(shop):
    """Each of them is included once, and none is compiled alone."""
    shop()
    included = (shop.folder / "joined.cc").read_text().split()[1::2]
    assert sorted(included) == sorted(f'"{name}"' for name in compiling.JOINED)


@pytest.mark.parametrize(
    ("free", "jobs"), [(0.5e9, 1), (4e9, 1), (4.6e9, 2), (64e9, 2), (float("inf"), 2)]
)
def test_memory_limits_the_number_of_compilers(monkeypatch, free, jobs):
    monkeypatch.setattr(compiling.os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(compiling, "_free_memory", lambda: free)
    assert compiling.parallel_jobs() == jobs


def test_modules_find_their_libraries_beside_them(shop):
    """The run path is relative, of the old kind, and every library is kept, the shim last."""
    modules = shop()
    assert [module.name.partition(".")[0] for module in modules] == ["_pywrapfst", "_pynini"]
    for link in shop.log.read_text().splitlines()[-2:]:
        assert "--disable-new-dtags,-rpath,$ORIGIN/libs -Wl,--no-as-needed" in link
        assert link.endswith("libshim.so")
    assert "unknown.cc.o" not in shop.log.read_text().splitlines()[-2]


def test_modules_export_nothing_that_openfst_holds(shop):
    """Unoptimised copies of its templates must not take the place of its own code."""
    shop()
    for link in shop.log.read_text().splitlines()[-2:]:
        (option,) = [word for word in link.split() if "--version-script=" in word]
        script = Path(option.partition("=")[2]).read_text()
        assert "PyInit_*" in script
        assert "local: *" in script


def test_finished_objects_are_not_compiled_again(shop):
    shop()
    (shop.folder / "unknown.cc.o").unlink()
    shop.log.unlink()
    shop()
    assert compiled(shop.log) == ["unknown.cc"]


def test_failure_keeps_what_is_whole(shop):
    (shop.extensions / "broken.cc").touch()
    with pytest.raises(SetupFailure) as caught:
        shop()
    assert "compiling pynini" in caught.value.report()
    assert "broken.cc:1: error: no" in caught.value.report()
    objects = list(shop.folder.glob("*.o"))
    assert {file.read_text() for file in objects} == {"whole"}
    assert not (shop.folder / "broken.cc.o").exists()


def test_missing_compiler_is_named(programs, monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(SetupFailure, match=r"no C\+\+ compiler \(g\+\+\)") as caught:
        compiling.find_compiler()
    assert "conda-forge" in caught.value.report()


def test_missing_python_headers_are_named(programs, monkeypatch, tmp_path):
    programs("g++", "true")
    monkeypatch.setattr(compiling, "python_headers", lambda: str(tmp_path))
    with pytest.raises(SetupFailure, match=r"Python\.h") as caught:
        compiling.find_compiler()
    assert "python3-dev" in caught.value.report()
