"""pynini's wheel: OpenFst from the user or the archive, builds that go on, sound wheels only."""

import zipfile
from pathlib import Path

import environment
import openfst
import pynini_wheel
import pytest
from console import SetupFailure

NAME = f"pynini-1.2-{environment.BUILD}-cp311-cp311-linux_aarch64.whl"


def test_where_nothing_can_be_fetched_the_ways_out_are_named(tmp_path, monkeypatch):
    monkeypatch.delenv("FSMEU_OPENFST", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupFailure) as caught:
        openfst.provide(tmp_path / "workshop")
    for part in ("without apt-get", "conda-forge", "libfst-dev"):
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
