"""The cache hands out sound wheels only, and publishes what is finished only."""

import zipfile
from pathlib import Path

import openfst
import pytest
import stamp
import wheelhouse
from console import SetupFailure

ROOT = Path(__file__).resolve().parents[2]
NAME = f"pynini-1.2-{stamp.BUILD}-cp311-cp311-linux_aarch64.whl"


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
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("FSMEU_CACHE", raising=False)
    assert wheelhouse.cache_directory() == Path("/h/.cache/fsmeu")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert wheelhouse.cache_directory() == Path("/x/fsmeu")
    monkeypatch.setenv("FSMEU_CACHE", "~/mine")
    assert wheelhouse.cache_directory() == Path("/h/mine")


def test_version_is_pinned_in_one_place():
    """The launcher finds the pin in the project's own pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text()
    assert f'"pynini=={wheelhouse.pinned_version(text)}"' in text
    with pytest.raises(SetupFailure, match="does not pin pynini"):
        wheelhouse.pinned_version('"pynini>=2"')


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b[:60]])
def test_damaged_wheel_is_thrown_out(tmp_path, damage):
    wheel = write_wheel(tmp_path / NAME)
    assert wheelhouse.find(tmp_path, "1.2") == wheel
    wheel.write_bytes(damage(wheel.read_bytes()))
    assert wheelhouse.find(tmp_path, "1.2") is None
    assert not wheel.exists()


def test_flipped_bytes_are_noticed(tmp_path):
    wheel = write_wheel(tmp_path / NAME)
    wheel.write_bytes(wheel.read_bytes().replace(b"x = 1", b"x = 2", 1))
    assert wheelhouse.find(tmp_path, "1.2") is None


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
    assert bool(wheelhouse.find(tmp_path, "1.2")) == used


def test_made_once_and_published_whole(cache, monkeypatch):
    """Until the wheel is finished its place is empty; afterwards nothing is made again."""
    made = []

    def make(version, python, workshop):
        made.append(version)
        assert not list(cache.glob("wheels/*/*"))
        return write_wheel(workshop / NAME)

    monkeypatch.setattr(wheelhouse, "_fetch_or_build", make)
    for _ in range(2):
        home = wheelhouse.provide("1.2", Path("python"))
        assert [file.name for file in home.iterdir()] == [NAME]
    assert made == ["1.2"]
    assert not list(cache.glob("build/*"))


def test_failed_build_publishes_nothing_and_keeps_its_work(cache, monkeypatch):
    def fail(version, python, workshop):
        (workshop / "a.o").touch()
        raise OSError(28, "No space left on device", str(workshop / "b.o"))

    monkeypatch.setattr(wheelhouse, "_fetch_or_build", fail)
    with pytest.raises(SetupFailure, match="the disk is full"):
        wheelhouse.provide("1.2", Path("python"))
    assert not list(cache.glob("wheels/*/*"))
    assert [file.name for file in cache.glob("build/*/*")] == ["a.o"]


def fake_pip(tmp_path, file):
    """A python whose pip 'downloads' one file."""
    script = tmp_path / "python"
    script.write_text(
        '#!/bin/sh\nwhile [ "$1" != --dest ]; do shift; done\n'
        f'mkdir -p "$2" && echo x > "$2/{file}"\n'
    )
    script.chmod(0o755)
    return script


def test_wheel_of_the_index_is_taken(tmp_path):
    """Where PyPI has a wheel, nothing is built."""
    name = "pynini-1.2-cp311-cp311-manylinux_2_28_x86_64.whl"
    found = wheelhouse._fetch_or_build("1.2", fake_pip(tmp_path, name), tmp_path / "w")
    assert found == tmp_path / "w/download" / name


def test_machine_that_cannot_build_is_told_the_way_out(tmp_path, monkeypatch):
    monkeypatch.setattr(wheelhouse.sys, "platform", "darwin")
    pip = fake_pip(tmp_path, "pynini-1.2.tar.gz")
    with pytest.raises(SetupFailure, match=r"no pynini 1\.2 wheel") as caught:
        wheelhouse._fetch_or_build("1.2", pip, tmp_path / "w")
    assert caught.value.remedies == openfst.WAYS_OUT[:1]


def test_damaged_source_is_fetched_anew(tmp_path):
    sdist = tmp_path / "pynini-1.2.tar.gz"
    sdist.write_bytes(b"\x1f\x8b nothing")
    with pytest.raises(SetupFailure, match="is damaged"):
        wheelhouse._unpack(sdist, tmp_path / "source")
    assert not sdist.exists()
