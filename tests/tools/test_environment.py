"""The environment is made when missing, refreshed when stale, and left alone when in order."""

import sys

import environment
import process
import pynini_wheel
import pytest
from console import SetupFailure
from environment import Project

BESIDE = ["loops 0", "loops 1", "[dev]", "waited", "waited"]


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
            asked.append(words[-1].removeprefix(str(project.root)))
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
        (write_recipe, [""]),
        (lambda project: project.stamp.unlink(), ["venv", ""]),  # an earlier set-up was cut short
        (lambda project: project.python.unlink(), ["venv", ""]),
        *(({key: "another"}, ["venv", ""]) for key in ("python", "path", "installer", "build")),
        *((text, ["venv", ""]) for text in ("", "{", "[]", "null", '"x"')),
    ],
)
def test_made_once_and_again_when_out_of_date(project, calls, change, made):
    """New requirements are installed; an environment of another kind, or a part of one, goes."""
    environment.bring_up_to_date(project, "")
    assert calls == ["venv", ""]
    leftover = project.venv / "half-written"
    leftover.touch()
    if isinstance(change, dict):
        environment.write_stamp(project, environment.wanted_stamp(project, "") | change)
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
    """Debian's python3 without python3-venv: the package to install is named."""
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SetupFailure) as caught:
        environment.bring_up_to_date(project, "")
    assert "ensurepip is missing" in caught.value.report()
    assert "python3-venv" in caught.value.report()


def test_extras_are_added_and_never_lost(project, calls):
    """The base serves the demo; tests add theirs to it; new requirements keep both."""
    environment.bring_up_to_date(project, "")
    assert not environment.is_up_to_date(project, "dev")
    environment.bring_up_to_date(project, "dev")
    assert environment.is_up_to_date(project, "")
    write_recipe(project)
    environment.bring_up_to_date(project, "")
    assert calls == ["venv", "", *BESIDE, *BESIDE]


def test_loops_are_compiled_after_a_first_installation(project, calls):
    environment.bring_up_to_date(project, "dev")
    assert calls == ["venv", "[dev]", "loops 0", "loops 1", "waited", "waited"]


def test_uv_is_asked_for_the_project_and_its_pynini(project, monkeypatch):
    """pynini comes as a wheel, from the cache or the index, and never from source."""
    calls = []
    monkeypatch.setattr(process, "run", lambda command, **_: calls.append(command) or "")
    monkeypatch.setattr(pynini_wheel, "provide", lambda version, python: f"/wheels-{version}")
    environment._install(project, "dev")
    line = " ".join(map(str, calls[-1]))
    assert line.startswith(f"{project.python} -m uv pip install --python {project.python} ")
    assert "--only-binary pynini --find-links /wheels-1.2.3 " in line
    assert line.endswith(f"--editable {project.root}[dev]")
    assert sys.executable not in calls[-1]


def test_uv_uses_pips_index_and_certificates():
    listing = ":env:.index-url='https://a/simple'\nglobal.cert='/c.pem'\nglobal.index-url='b'\n"
    assert environment.pip_settings(listing) == {
        "UV_DEFAULT_INDEX": "https://a/simple",
        "SSL_CERT_FILE": "/c.pem",
    }
    assert environment.pip_settings("global.timeout='3'\n") == {}
