"""PyTorch beside the environment (`.venv-torch`): its own packages, then those of `.venv`.

PyTorch is part of nobody's base or development environment. Installed by pip, it takes some 200 MB
to fetch and 0.6 GB of disk where the index has a build for the CPU (Linux on arm64, macOS), and
several GB where it brings CUDA (Linux on x86_64). FSMEU_TORCH holds other words for pip, such as
`torch==2.13.0 --index-url` and the address of PyTorch's own index of builds for the CPU.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from pathlib import Path

import console
import process
from environment import Project

TORCH = "torch==2.13.0"


def folder(project: Project) -> Path:
    """Returns the folder of the environment with PyTorch."""
    return project.root / ".venv-torch"


def provide(project: Project) -> Path:
    """Makes the environment with PyTorch unless it is there; returns its Python.

    Raises:
        SetupFailure: It cannot be made.
    """
    venv = folder(project)
    python = venv / "bin" / "python"
    words = shlex.split(os.environ.get("FSMEU_TORCH", "")) or [TORCH]
    wanted = json.dumps({"pip": words, "python": sys.version, "base": str(project.venv)})
    stamp = venv / "fsmeu-stamp.json"
    with (
        console.guard("making the environment with PyTorch (.venv-torch)"),
        process.exclusive(project.lock, "making this environment"),
    ):
        if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
            return python
        shutil.rmtree(venv, ignore_errors=True)
        with console.step("installing PyTorch beside the environment (.venv-torch)"):
            process.run([project.python, "-m", "venv", "--without-pip", venv])
            pip = ["-m", "pip", "--python", str(python), "install", "--no-compile"]
            process.run([project.python, *pip, *words], log=venv / "install.log")
            _join(project, python)
        stamp.write_text(wanted, encoding="utf-8")
    return python


def _join(project: Project, python: Path) -> None:
    """Has the environment look for packages in the project's own, too, behind its own."""
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = Path(process.run([python, "-c", where]).strip())
    base = process.run([project.python, "-c", where]).strip()
    line = f"import site; site.addsitedir({base!r})\n"
    (own / "project.pth").write_text(line, encoding="utf-8")
