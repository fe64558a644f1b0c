"""PyTorch is installed beside the environment, once, and commands go on with it."""

import environment
import launch
import process
import pytest
import torch_overlay
from environment import Project


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose programs are only written down; what they print is a folder."""
    made = Project(tmp_path)
    made.ran = []

    def run(words, **_):
        made.ran.append([str(word) for word in words])
        (torch_overlay.folder(made) / "bin").mkdir(parents=True, exist_ok=True)
        return f"{tmp_path / '.venv-torch'}\n"

    monkeypatch.setattr(process, "run", run)
    monkeypatch.delenv("FSMEU_TORCH", raising=False)
    return made


def test_it_is_installed_once(project, tmp_path):
    python = torch_overlay.provide(project)
    assert python == tmp_path / ".venv-torch" / "bin" / "python"
    installs = [words for words in project.ran if "install" in words]
    assert [words[-1] for words in installs] == [torch_overlay.TORCH]
    assert installs[0][3:5] == ["--python", str(python)]
    text = (tmp_path / ".venv-torch" / "project.pth").read_text()
    assert text.startswith("import site; site.addsitedir(")
    before = len(project.ran)
    assert torch_overlay.provide(project) == python
    assert len(project.ran) == before


def test_another_build_may_be_asked_for(project, monkeypatch):
    torch_overlay.provide(project)
    monkeypatch.setenv("FSMEU_TORCH", "torch==2.13.0 --index-url https://index")
    torch_overlay.provide(project)
    last = [words for words in project.ran if "install" in words][-1]
    assert last[-3:] == ["torch==2.13.0", "--index-url", "https://index"]


@pytest.mark.parametrize(
    ("command", "arguments", "words"),
    [
        ("test", ["--torch", "-x"], ["tests/torch", "-x"]),
        ("bench", ["--torch", "-k", "f1"], ["tests/benchmarks/test_torch.py", "-k", "f1"]),
    ],
)
def test_commands_go_on_with_it(project, monkeypatch, command, arguments, words):
    became = []
    monkeypatch.setattr(launch.os, "execv", lambda python, all_words: became.append(all_words))
    monkeypatch.setattr(launch.os, "chdir", lambda place: None)
    launch.COMMANDS[command].run(project, arguments)
    python = str(torch_overlay.folder(project) / "bin" / "python")
    assert became[0] == [python, "-m", "pytest", *words]


def test_it_is_no_part_of_an_environment():
    assert "torch" not in environment.GROUPS
