"""pynini's wheel: OpenFst from the user or the archive, builds that go on, sound wheels only."""

import re
import zipfile
from pathlib import Path

import environment
import openfst
import pynini_wheel
import pytest
from console import SetupFailure
from openfst import OpenFst

NAME = f"pynini-1.2-{environment.BUILD}-cp311-cp311-linux_aarch64.whl"
# Writes its output in two halves; fails on the file that is named broken.cc.
COMPILER = """
echo "$@" >> {log}
case "$*" in *broken.cc*) echo "broken.cc:1: error: no"; exit 1 ;; esac
while [ "$1" != -o ]; do shift; done
printf half > "$2"; printf whole > "$2"
"""


APT = """
case "$*" in
  *--print-uris*) echo "'http://archive.example/debian/dists/bookworm/InRelease' InRelease 0" ;;
  *) echo "E: Failed to fetch: 404 Not Found"; exit 100 ;;
esac
"""


@pytest.mark.parametrize(("apt", "said"), [("", "without apt-get"), (APT, "404")])
def test_where_nothing_can_be_fetched_the_ways_out_are_named(
    programs, tmp_path, monkeypatch, apt, said
):
    monkeypatch.delenv("FSMEU_OPENFST", raising=False)
    if apt:
        programs("apt-get", apt)
        programs("dpkg", "true")
    with pytest.raises(SetupFailure) as caught:
        openfst.provide(tmp_path / "workshop")
    for part in (said, "conda-forge", "libfst-dev"):
        assert part in caught.value.report()


def write_wheel(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("pynini/__init__.py", "x = 1\n" * 100)
    return path


def test_damaged_wheels_and_those_of_another_recipe_are_not_used(tmp_path):
    write_wheel(tmp_path / NAME.replace("1.2", "1.2.1"))
    whole = write_wheel(tmp_path / NAME).read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", whole.replace(b"= 1", b"= 2", 1)):
        wheel = write_wheel(tmp_path / NAME)
        assert pynini_wheel.find(tmp_path, "1.2") == wheel
        wheel.write_bytes(damaged)
        assert pynini_wheel.find(tmp_path, "1.2") is None
        assert not wheel.exists()


def test_made_once_and_published_whole(tmp_path, monkeypatch):
    """A failed build publishes nothing and keeps its work."""
    monkeypatch.setenv("FSMEU_CACHE", str(tmp_path / "cache"))
    made = []

    def make(version, python, workshop):
        made.append(version)
        assert not list(tmp_path.glob("cache/wheels/*/*"))
        (workshop / "a.o").touch()
        if len(made) == 1:
            raise OSError(28, "No space left on device", str(workshop / "b.o"))
        return write_wheel(workshop / NAME)

    monkeypatch.setattr(pynini_wheel, "_fetch_or_build", make)
    with pytest.raises(SetupFailure, match="the disk is full"):
        pynini_wheel.provide("1.2", Path("python"))
    assert [file.name for file in tmp_path.glob("cache/build/*/*")] == ["a.o"]
    for _ in range(2):
        home = pynini_wheel.provide("1.2", Path("python"))
        assert [file.name for file in home.iterdir()] == [NAME]
    assert made == ["1.2"] * 2


def test_finished_objects_are_not_compiled_again(tmp_path, monkeypatch, programs):
    """pynini's source in small, and a compiler that logs what it is asked."""
    extensions = tmp_path / "source" / "extensions"
    extensions.mkdir(parents=True)
    for name in ("_pynini.cpp", "_pywrapfst.cpp", "stringutil.cc", "broken.cc"):
        (extensions / name).touch()
    for name in pynini_wheel.JOINED:
        (extensions / name).touch()
    log = tmp_path / "log"
    compiler = programs("g++", COMPILER.format(log=log))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(pynini_wheel, "parallel_jobs", lambda: 1)
    fst = OpenFst(tmp_path / "include", tmp_path / "lib")
    given = (extensions.parent, fst, [tmp_path / "libs" / "libfst.so.26"], tmp_path, compiler)
    with pytest.raises(SetupFailure) as caught:
        pynini_wheel.build_extensions(*given)
    assert "broken.cc:1: error: no" in caught.value.report()
    done = {file.name.removesuffix(".o") for file in tmp_path.glob("*.o")}
    assert "broken.cc" not in done
    assert {file.read_text() for file in tmp_path.glob("*.o")} <= {"whole"}
    (extensions / "broken.cc").rename(extensions / "mended.cc")
    log.unlink()
    modules = pynini_wheel.build_extensions(*given)
    assert not done & set(re.findall(r"-c \S*/(\S+)", log.read_text()))
    assert [module.name.partition(".")[0] for module in modules] == ["_pywrapfst", "_pynini"]
    assert "--disable-new-dtags,-rpath,$ORIGIN/libs" in log.read_text()
