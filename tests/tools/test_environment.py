"""The environment is made when missing, refreshed when stale, and left alone when in order."""

import json
import sys

import environment
import process
import pytest
import stamp
from console import SetupFailure
from stamp import Project


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text('dependencies = ["pynini==1.2.3"]')
    return Project(tmp_path)


@pytest.fixture
def calls(project, monkeypatch):
    """Stands in for venv and pip; returns what they were asked, as 'venv' and 'pip'."""
    asked = []

    def run(command, **_):
        words = [str(word) for word in command]
        asked.append("venv" if "venv" in words else "pip")
        if "venv" in words:
            project.python.parent.mkdir(parents=True)
            project.python.touch()
        assert not project.stamp.exists()
        return ""

    monkeypatch.setattr(process, "run", run)
    monkeypatch.setattr(environment.wheelhouse, "provide", lambda version, python: "/wheels")
    monkeypatch.setattr(environment.packages, "provide", lambda project, home: f"{home}/pins")
    return asked


def test_made_then_left_alone(project, calls):
    environment.bring_up_to_date(project)
    assert calls == ["venv", "pip"]
    environment.bring_up_to_date(project)
    assert calls == ["venv", "pip"]
    assert stamp.present(project) == stamp.wanted(project)


def test_unfinished_environment_is_made_anew(project, calls):
    """A leftover without a stamp does not survive."""
    leftover = project.venv / "lib" / "half-written"
    leftover.parent.mkdir(parents=True)
    leftover.touch()
    environment.bring_up_to_date(project)
    assert calls == ["venv", "pip"]
    assert not leftover.exists()


def test_failed_install_leaves_no_stamp(project, calls, monkeypatch):
    environment.bring_up_to_date(project)
    project.recipe.write_text('dependencies = ["pynini==1.2.3", "new"]')

    def fail(*_, **__):
        raise process.describe_failure("pip", 1, "no such package")

    with monkeypatch.context() as patch:
        patch.setattr(process, "run", fail)
        with pytest.raises(SetupFailure, match="pip failed"):
            environment.bring_up_to_date(project)
    assert stamp.present(project) is None
    environment.bring_up_to_date(project)
    assert calls == ["venv", "pip", "venv", "pip"]


def test_changed_requirements_are_installed(project, calls):
    environment.bring_up_to_date(project)
    project.recipe.write_text('dependencies = ["pynini==1.2.3", "new"]')
    environment.bring_up_to_date(project)
    assert calls == ["venv", "pip", "pip"]


@pytest.mark.parametrize("key", ["python", "path", "build"])
def test_environment_of_another_kind_is_made_anew(project, calls, key):
    environment.bring_up_to_date(project)
    stamp.write(project, {**stamp.wanted(project), key: "another"})
    environment.bring_up_to_date(project)
    assert calls == ["venv", "pip", "venv", "pip"]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", json.dumps("x")])
def test_damaged_stamp_is_no_stamp(project, calls, text):
    environment.bring_up_to_date(project)
    project.stamp.write_text(text)
    assert stamp.present(project) is None


def test_vanished_interpreter_is_noticed(project, calls):
    environment.bring_up_to_date(project)
    project.python.unlink()
    assert stamp.present(project) is None


def test_full_disk_is_seen_behind_venvs_silence(project, monkeypatch):
    def run(*_, **__):
        raise process.describe_failure("venv", 1, "Command '... ensurepip' returned 1")

    monkeypatch.setattr(process, "run", run)
    with pytest.raises(SetupFailure, match="venv failed"):
        environment.bring_up_to_date(project)
    usage = environment.shutil.disk_usage(project.root)._replace(free=1000)
    monkeypatch.setattr(environment.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(SetupFailure, match="the disk is full"):
        environment.bring_up_to_date(project)


def test_python_without_ensurepip(project, monkeypatch):
    """Debian's python3 without python3-venv: the package to install is named."""
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SetupFailure) as caught:
        environment.bring_up_to_date(project)
    assert "ensurepip is missing" in caught.value.report()
    assert "python3-venv" in caught.value.report()


def test_pip_is_asked_for_the_project_and_its_pynini(project, calls, monkeypatch):
    """Everything comes from the cache, in the versions that were found to fit together."""
    words = []
    monkeypatch.setattr(process, "run", lambda command, **_: words.extend(command) or "")
    monkeypatch.setattr(
        environment.wheelhouse, "provide", lambda version, python: f"/wheels-{version}"
    )
    environment._install(project)
    line = " ".join(words)
    assert line.startswith(f"{project.python} -m pip install ")
    assert "--no-index --find-links /wheels-1.2.3 --constraint /wheels-1.2.3/pins " in line
    assert line.endswith(f"--editable {project.root}[dev]")
    assert sys.executable not in words
