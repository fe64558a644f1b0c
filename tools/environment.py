"""The project's own environment (`.venv`): made when missing, refreshed when it is out of date."""

from __future__ import annotations

import importlib.util
import shutil
import sys

import console
import locks
import packages
import process
import stamp
import wheelhouse
from console import SetupFailure
from stamp import Project

_ROOM_FOR_PIP = 50e6


def bring_up_to_date(project: Project) -> None:
    """Makes or refreshes the environment, alone.

    Without a stamp, or with one of another place, Python or pynini, it is made anew. If only the
    project's own requirements changed, pip installs what is missing.

    Raises:
        SetupFailure: It cannot be made.
    """
    with (
        console.guard("making the environment (.venv)"),
        locks.exclusive(project.lock, "making this environment"),
    ):
        wanted, present = stamp.wanted(project), stamp.present(project)
        if present == wanted:
            return
        project.stamp.unlink(missing_ok=True)
        if present is None or {**present, "recipe": wanted["recipe"]} != wanted:
            _create(project)
        _install(project)
        stamp.write(project, wanted)


def _create(project: Project) -> None:
    base = getattr(sys, "_base_executable", None) or sys.executable
    with console.step("making the environment (.venv)"):
        if importlib.util.find_spec("ensurepip") is None:
            reason = f"this Python ({base}) cannot make virtual environments: ensurepip is missing"
            remedy = "Install it (Debian, Ubuntu: apt install python3-venv) and call again."
            raise SetupFailure(reason, remedy)
        if project.venv.is_symlink():
            project.venv.unlink()
        elif project.venv.exists():
            shutil.rmtree(project.venv)
        try:
            process.run([base, "-m", "venv", project.venv])
        except process.ProgramFailed as failure:
            # venv does not pass on what its own helper said, so the likely cause is looked up.
            if shutil.disk_usage(project.root).free < _ROOM_FOR_PIP:
                raise SetupFailure(console.DISK_FULL, console.MAKE_ROOM) from failure
            raise


def _install(project: Project) -> None:
    version = wheelhouse.pinned_version(project.recipe.read_text(encoding="utf-8"))
    home = wheelhouse.provide(version, project.python)
    pins = packages.provide(project, home)
    where = ["--no-index", "--find-links", str(home), "--constraint", str(pins)]
    what = ["--editable", f"{project.root}[{stamp.EXTRAS}]"]
    command = [str(project.python), "-m", "pip", "install", *stamp.PIP_OPTIONS, *where, *what]
    with console.step("installing fsmeu and what it needs"):
        process.run(command, log=project.venv / "pip.log")
