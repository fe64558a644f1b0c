"""pynini's wheel: OpenFst from the user or the archive, builds that go on, sound wheels only."""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import environment
import numpy as np
import openfst
import pynini_wheel
import pytest
from console import SetupFailure
from openfst import OpenFst

ROOT = Path(__file__).resolve().parents[2]
NAME = f"pynini-1.2-{environment.BUILD}-cp311-cp311-linux_aarch64.whl"
# Writes its output in two halves; fails on the file that is named broken.cc.
COMPILER = """
echo "$@" >> {log}
case "$*" in *broken.cc*) echo "broken.cc:1: error: no"; exit 1 ;; esac
while [ "$1" != -o ]; do shift; done
printf half > "$2"; printf whole > "$2"
"""
URIS = """\
'http://archive.example/debian/dists/bookworm/InRelease' archive.example_InRelease 0
'http://archive.example/debian/dists/bookworm-updates/InRelease' archive.example_InRelease 0
'http://archive.example/debian-security/dists/bookworm-security/InRelease' sec_InRelease 0
'http://archive.example/debian/dists/bookworm/main/binary-arm64/Packages.xz' Packages 0
'https://other.example/dists/stable/InRelease' other.example_InRelease 0
"""
APT = """
echo "$@" >> {log}
case "$*" in
  *--print-uris*) cat {uris} ;;
  *download*) touch libfst26_1.deb libfst-dev_1.deb ;;
  *"{broken}"*) echo "E: Failed to fetch: 404 Not Found"; exit 100 ;;
esac
"""
DPKG = 'mkdir -p "$3/usr/lib/any" && touch "$3/usr/lib/any/libfst.so"'


def test_archives_are_read_from_apt():
    """Each archive once, in the machine's order, without those of security updates."""
    sites = ["http://archive.example/debian", "https://other.example"]
    assert openfst.archive_sites(URIS) == sites
    assert openfst.archive_sites("") == []


@pytest.fixture
def machine(programs, tmp_path, monkeypatch):
    """A machine with apt and dpkg that answer without a network; returns what apt was asked."""
    monkeypatch.delenv("FSMEU_OPENFST", raising=False)
    log, uris = tmp_path / "apt.log", tmp_path / "uris"
    uris.write_text(URIS)

    def build(broken="no such word"):
        programs("apt-get", APT.format(log=log, uris=uris, broken=broken))
        programs("dpkg", DPKG)
        return log

    return build


def test_packages_are_unpacked_privately_and_kept(machine, tmp_path):
    """Every apt call that changes something is given a state of our own; a second asks nothing."""
    log = machine()
    found = openfst.provide(tmp_path / "workshop")
    assert found.lib == tmp_path / "workshop/openfst/usr/lib/any"
    calls = log.read_text()
    for call in calls.splitlines()[1:]:
        for setting in ("Dir::State::lists", "Dir::Cache", "Dir::Etc::sourcelist"):
            assert f"{setting}={tmp_path}/workshop/" in call
    source = tmp_path / "workshop/apt/0/sources.list"
    assert source.read_text() == "deb http://archive.example/debian trixie main\n"
    openfst.provide(tmp_path / "workshop")
    assert log.read_text() == calls


@pytest.mark.parametrize(
    ("apt", "said"), [(False, ["without apt-get"]), (True, ["fetching OpenFst", "404"])]
)
def test_where_nothing_can_be_fetched_the_ways_out_are_named(machine, tmp_path, apt, said):
    if apt:
        machine(broken="update")
    with pytest.raises(SetupFailure) as caught:
        openfst.provide(tmp_path / "workshop")
    for part in (*said, "conda-forge", "libfst-dev"):
        assert part in caught.value.report()
    assert not (tmp_path / "workshop/openfst").exists()


def test_users_own_openfst(tmp_path, monkeypatch):
    monkeypatch.setenv("FSMEU_OPENFST", str(tmp_path))
    with pytest.raises(SetupFailure, match=r"FSMEU_OPENFST is .*libfst\.so"):
        openfst.provide(tmp_path)
    for file in ("include/fst/fst.h", "lib/libfst.so"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert openfst.provide(tmp_path).lib == tmp_path / "lib"


@pytest.mark.nightly
@pytest.mark.skipif(
    not (sys.platform == "linux" and shutil.which("readelf")),
    reason="needs Linux and binutils' readelf",
)
def test_needs_of_the_shims_versions_become_weak(tmp_path, monkeypatch):
    library = tmp_path / "library.so"
    shutil.copy(next(Path(np.__file__).parent.rglob("_multiarray_umath*.so")), library)
    before = library.read_bytes()

    def needs():
        words = ["readelf", "-V", library]
        shown = subprocess.run(words, capture_output=True, text=True, check=True)
        return re.findall(r"Name: (\S+)\s+Flags: (\S+)", shown.stdout)

    versions = [version for version, _ in needs()]
    monkeypatch.setattr(openfst, "SHIM_VERSIONS", versions[:1])
    for _ in range(2):
        assert openfst.weaken(library) == versions.count(versions[0])
        assert needs() == [(v, "WEAK" if v == versions[0] else "none") for v in versions]
        after = library.read_bytes()
        changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
        assert changed == [(0, 2)] * versions.count(versions[0])
    monkeypatch.setattr(openfst, "SHIM_VERSIONS", ["GLIBC_99"])
    assert openfst.weaken(library) == 0
    assert "libc.so.6" in openfst.dynamic_names(library, "NEEDED")


def write_wheel(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("pynini/__init__.py", "x = 1\n" * 100)
    return path


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FSMEU_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_cache_follows_the_environment(monkeypatch):
    for name in ("XDG_CACHE_HOME", "FSMEU_CACHE"):
        monkeypatch.delenv(name, raising=False)
    for name, value, place in (
        ("HOME", "/h", "/h/.cache/fsmeu"),
        ("XDG_CACHE_HOME", "x", "/h/.cache/fsmeu"),
        ("XDG_CACHE_HOME", "/x", "/x/fsmeu"),
        ("FSMEU_CACHE", "~/mine", "/h/mine"),
    ):
        monkeypatch.setenv(name, value)
        assert pynini_wheel.cache_directory() == Path(place)


def test_one_version_is_pinned():
    text = (ROOT / "pyproject.toml").read_text()
    assert set(re.findall(r'"pynini==([0-9.]+)', text)) == {pynini_wheel.pinned_version(text)}
    with pytest.raises(SetupFailure, match="does not pin pynini"):
        pynini_wheel.pinned_version('"pynini>=2"')


def test_damaged_wheel_is_thrown_out(tmp_path):
    whole = write_wheel(tmp_path / NAME).read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", whole[:60], whole.replace(b"= 1", b"= 2", 1)):
        wheel = write_wheel(tmp_path / NAME)
        assert pynini_wheel.find(tmp_path, "1.2") == wheel
        wheel.write_bytes(damaged)
        assert pynini_wheel.find(tmp_path, "1.2") is None
        assert not wheel.exists()


@pytest.mark.parametrize(
    ("name", "used"),
    [
        (NAME, True),
        ("pynini-1.2-cp311-cp311-manylinux_2_28_x86_64.whl", True),
        ("pynini-1.2-0-cp311-cp311-linux_aarch64.whl", False),
        ("pynini-1.2.1-cp311-cp311-linux_aarch64.whl", False),
    ],
)
def test_wheel_of_another_version_or_recipe_is_not_used(tmp_path, name, used):
    write_wheel(tmp_path / name)
    assert bool(pynini_wheel.find(tmp_path, "1.2")) == used


def test_made_once_and_published_whole(cache, monkeypatch):
    made = []

    def make(version, python, workshop):
        made.append(version)
        assert not list(cache.glob("wheels/*/*"))
        return write_wheel(workshop / NAME)

    monkeypatch.setattr(pynini_wheel, "_fetch_or_build", make)
    for _ in range(2):
        home = pynini_wheel.provide("1.2", Path("python"))
        assert [file.name for file in home.iterdir()] == [NAME]
    assert made == ["1.2"]
    assert not list(cache.glob("build/*"))


def test_failed_build_publishes_nothing_and_keeps_its_work(cache, monkeypatch):
    def fail(version, python, workshop):
        (workshop / "a.o").touch()
        raise OSError(28, "No space left on device", str(workshop / "b.o"))

    monkeypatch.setattr(pynini_wheel, "_fetch_or_build", fail)
    with pytest.raises(SetupFailure, match="the disk is full"):
        pynini_wheel.provide("1.2", Path("python"))
    assert not list(cache.glob("wheels/*/*"))
    assert [file.name for file in cache.glob("build/*/*")] == ["a.o"]


PIP = 'while [ "$1" != --dest ]; do shift; done; mkdir -p "$2" && echo x > "$2/{}"'


def test_wheel_of_the_index_or_the_way_out(programs, tmp_path, monkeypatch):
    """Where PyPI has a wheel, nothing is built; where it has none, a Mac is told what to do."""
    name = "pynini-1.2-cp311-cp311-manylinux_2_28_x86_64.whl"
    python = programs("python", PIP.format(name))
    found = pynini_wheel._fetch_or_build("1.2", python, tmp_path / "w")
    assert found == tmp_path / "w/download" / name
    monkeypatch.setattr(pynini_wheel.sys, "platform", "darwin")
    programs("python", PIP.format("pynini-1.2.tar.gz"))
    with pytest.raises(SetupFailure, match=r"no pynini 1\.2 wheel") as caught:
        pynini_wheel._fetch_or_build("1.2", python, tmp_path / "v")
    assert caught.value.remedies == openfst.WAYS_OUT[:1]


def test_damaged_source_is_fetched_anew(tmp_path):
    sdist = tmp_path / "pynini-1.2.tar.gz"
    sdist.write_bytes(b"\x1f\x8b nothing")
    with pytest.raises(SetupFailure, match="is damaged"):
        pynini_wheel._unpack(sdist, tmp_path / "source")
    assert not sdist.exists()


@pytest.fixture
def shop(tmp_path, monkeypatch, programs):
    """pynini's source in small, and a compiler that logs what it is asked."""
    extensions = tmp_path / "source" / "extensions"
    extensions.mkdir(parents=True)
    names = ("_pynini.cpp", "_pywrapfst.cpp", "stringutil.cc", "unknown.cc", *pynini_wheel.JOINED)
    for name in names:
        (extensions / name).touch()
    (tmp_path / "libs").mkdir()
    log = tmp_path / "log"
    compiler = programs("g++", COMPILER.format(log=log))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(pynini_wheel, "parallel_jobs", lambda: 1)

    fst = OpenFst(tmp_path / "include", tmp_path / "lib")
    links = [tmp_path / "libs" / name for name in ("libfst.so.26", "libshim.so")]

    def build():
        return pynini_wheel.build_extensions(extensions.parent, fst, links, tmp_path, compiler)

    build.log, build.extensions, build.folder = log, extensions, tmp_path
    return build


def test_modules_find_their_libraries_beside_them(shop):
    """The run path is relative; the modules export nothing that OpenFst holds."""
    modules = shop()
    assert [module.name.partition(".")[0] for module in modules] == ["_pywrapfst", "_pynini"]
    links = shop.log.read_text().splitlines()[-2:]
    for link in links:
        assert "--disable-new-dtags,-rpath,$ORIGIN/libs -Wl,--no-as-needed" in link
        assert link.endswith("libshim.so")
        (option,) = [word for word in link.split() if "--version-script=" in word]
        script = Path(option.partition("=")[2]).read_text()
        assert "PyInit_*" in script
        assert "local: *" in script
    assert "unknown.cc.o" not in links[0]


def test_finished_objects_are_not_compiled_again(shop):
    shop()
    (shop.folder / "unknown.cc.o").unlink()
    shop.log.unlink()
    shop()
    assert re.findall(r"-c \S*/(\S+)", shop.log.read_text()) == ["unknown.cc"]


def test_failure_keeps_what_is_whole(shop):
    (shop.extensions / "broken.cc").touch()
    with pytest.raises(SetupFailure) as caught:
        shop()
    assert "compiling pynini" in caught.value.report()
    assert "broken.cc:1: error: no" in caught.value.report()
    objects = list(shop.folder.glob("*.o"))
    assert {file.read_text() for file in objects} == {"whole"}
    assert not (shop.folder / "broken.cc.o").exists()


def test_missing_compiler_and_headers_are_named(programs, monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(SetupFailure, match=r"no C\+\+ compiler \(g\+\+\)") as caught:
        pynini_wheel.find_compiler()
    assert "conda-forge" in caught.value.report()
    programs("g++", "true")
    monkeypatch.setattr(pynini_wheel, "_HEADERS", str(tmp_path))
    with pytest.raises(SetupFailure, match=r"Python\.h") as caught:
        pynini_wheel.find_compiler()
    assert "python3-dev" in caught.value.report()


def test_a_wheel_holds_what_belongs_in_it(tmp_path):
    source, libraries = tmp_path / "source", tmp_path / "pynini.libs"
    for package in ("pynini", "pywrapfst"):
        (source / package).mkdir(parents=True)
        (source / package / "__init__.py").write_text("answer = 42\n")
    for name in ("pynini/BUILD.bazel", "PKG-INFO", "LICENSE", "AUTHORS"):
        (source / name).touch()
    libraries.mkdir()
    for file in (libraries / "libfst.so.26", tmp_path / "_pynini.so"):
        file.touch()
    fst, modules = OpenFst(source, source, copyright=source / "LICENSE"), [tmp_path / "_pynini.so"]
    tree = pynini_wheel.collect(source, "1.2", modules, libraries, fst, tmp_path / "tree")
    names = {file.relative_to(tree).as_posix() for file in tree.rglob("*") if file.is_file()}
    info, licenses = "pynini-1.2.dist-info", ("LICENSE", "AUTHORS", "OpenFst-copyright")
    modules = {"_pynini.so", "pynini.libs/libfst.so.26", "pynini/__init__.py"}
    told = {f"{info}/{x}" for x in ("METADATA", "WHEEL", *(f"licenses/{x}" for x in licenses))}
    assert names == {*modules, "pywrapfst/__init__.py", *told}
    assert f"Tag: {pynini_wheel.wheel_tag()}\n" in (tree / info / "WHEEL").read_text()
