"""The index is asked once for each set of requirements; what it answered is kept whole."""

import zipfile
from pathlib import Path

import packages
import process
import pytest
from stamp import Project

PYPROJECT = """\
[build-system]
requires = ["builder>=1"]

[project]
name = "x"
dependencies = [
    "a",
]

[project.optional-dependencies]
dev = ["b"]

[tool.lint]
rules = ["c"]
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    return Project(tmp_path)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FSMEU_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def pip(monkeypatch):
    """Stands in for pip: 'fetches' two wheels and the project's own; returns the calls."""
    calls = []

    def run(command, **_):
        calls.append(command)
        folder = command[command.index("--wheel-dir") + 1]
        Path(folder).mkdir()
        for name in ("a-1.0-py3-none-any.whl", "b_c-2.0+l-py3-none-any.whl", "fsmeu-0-any.whl"):
            zipfile.ZipFile(Path(folder) / name, "w").close()
        return ""

    monkeypatch.setattr(process, "run", run)
    return calls


def test_only_requirements_count():
    """A change of the linter's settings does not ask the index again."""
    assert packages.requirements(PYPROJECT) == PYPROJECT.partition("[tool")[0]


def test_asked_once_and_pinned(project, home, pip):
    pins = packages.provide(project, home)
    assert pins.read_text() == "a==1.0\nb_c==2.0+l\n"
    assert packages.provide(project, home) == pins
    assert len(pip) == 1
    assert pip[0][-2:] == [f"{project.root}[dev]", "builder>=1"]
    assert sorted(file.name for file in home.iterdir() if file != pins) == [
        "a-1.0-py3-none-any.whl",
        "b_c-2.0+l-py3-none-any.whl",
    ]


def test_other_requirements_are_asked_for(project, home, pip):
    first = packages.provide(project, home)
    project.recipe.write_text(PYPROJECT.replace('"b"', '"b", "d"'))
    assert packages.provide(project, home) != first
    assert len(pip) == 2


def test_missing_wheel_is_fetched_again(project, home, pip):
    packages.provide(project, home)
    (home / "a-1.0-py3-none-any.whl").unlink()
    packages.provide(project, home)
    assert len(pip) == 2
    (home / "a-1.0-py3-none-any.whl").write_bytes(b"")
    packages.provide(project, home)
    assert len(pip) == 3


def test_leftover_of_a_killed_fetch_is_no_hindrance(project, home, pip):
    (home / "fetching").mkdir()
    (home / "fetching" / "half.whl").touch()
    packages.provide(project, home)
    assert not (home / "half.whl").exists()
