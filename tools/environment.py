"""The project's own environment (`.venv`): made when missing, refreshed when it is out of date.

`uv sync` installs the project and the dependency groups that a command needs; pip brings uv into
the environment, as a bare machine has none. What uv does not do is done here:

- A stamp, written last, says what the environment was made from. With it a command starts at once,
  without asking uv; no stamp means that an earlier set-up did not finish.
- pip's index and certificates are handed to uv, which does not read pip's settings.
- Where the index has no wheel of pynini, one is built (pynini_wheel.py) and named by --find-links.
- uv may run twice at once; making the environment, and building pynini, may not.
- A failure is one sentence with a way out.

The file uv.lock, which `uv sync` leaves, names the index and the wheel of this machine: it is no
part of the project.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import console
import process
from console import SetupFailure

# Dependency groups beside the base, from the least to the most; each holds those before it.
GROUPS = ("", "docs", "dev")
# The way pynini is built; counting it up makes every machine build it, and its environments, anew.
BUILD = "2"
_UV = "uv>=0.9"
_ROOM_FOR_PIP = 50e6
# Settings of pip that uv must share, and the variables by which uv takes them.
_SHARED_SETTINGS = {"index-url": "UV_DEFAULT_INDEX", "cert": "SSL_CERT_FILE"}


class Project:
    """A copy of the project: its top directory, and the files in it that a set-up knows."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.recipe = root / "pyproject.toml"  # says what must be installed
        self.venv = root / ".venv"
        self.python = self.venv / "bin" / "python"
        self.stamp = self.venv / "fsmeu-stamp.json"  # says what the environment was made from
        self.lock = root / ".setup.lock"  # keeps two set-ups of this copy apart


def wanted_stamp(project: Project, group: str) -> dict[str, str]:
    """Returns the stamp of an environment that is up to date and holds a group."""
    return {
        "recipe": hashlib.sha256(project.recipe.read_bytes()).hexdigest(),
        "group": group,
        "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
        "path": str(project.venv),
        "installer": _UV,
        "build": BUILD,
    }


def read_stamp(project: Project) -> dict[str, str] | None:
    """Returns the stamp of the environment that is there, if it was finished."""
    try:
        stamp = json.loads(project.stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return stamp if isinstance(stamp, dict) and project.python.exists() else None


def write_stamp(project: Project, stamp: dict[str, str]) -> None:
    """Declares the environment finished."""
    part = project.stamp.with_suffix(".part")
    part.write_text(json.dumps(stamp), encoding="utf-8")
    part.replace(project.stamp)


def is_up_to_date(project: Project, group: str) -> bool:
    """Returns whether the environment is finished and holds at least this group."""
    larger = GROUPS[GROUPS.index(group) :]
    present = read_stamp(project)
    return any(present == wanted_stamp(project, enough) for enough in larger)


def bring_up_to_date(project: Project, group: str) -> None:
    """Makes or refreshes the environment, alone.

    Without a stamp, or with one of another place, Python or pynini, it is made anew. If only the
    project's own requirements or the group changed, what is missing is installed.

    Args:
        project: The project.
        group: One of ``GROUPS``; an environment never loses the group that it has.

    Raises:
        SetupFailure: It cannot be made.
    """
    with (
        console.guard("making the environment (.venv)"),
        process.exclusive(project.lock, "making this environment"),
    ):
        if is_up_to_date(project, group):
            return
        present = read_stamp(project)
        if present is not None and present.get("group") in GROUPS:
            group = max(group, present["group"], key=GROUPS.index)
        wanted = wanted_stamp(project, group)
        project.stamp.unlink(missing_ok=True)
        fresh = present is None or {**present, "recipe": wanted["recipe"], "group": group} != wanted
        if fresh:
            _create(project)
        with _compiled_loops(project, early=not fresh) if group == "dev" else nullcontext():
            _sync(project, group)
        write_stamp(project, wanted)


@contextmanager
def _compiled_loops(project: Project, early: bool) -> Iterator[None]:
    """Compiles the loops of the tests in two processes, beside the body if early, else after it.

    The tests compile for themselves what is missing where these fail.
    """
    children: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        words = [str(project.python), "-m", "tests.support.loops"]
        quiet = subprocess.DEVNULL
        for half in "01":
            child = subprocess.Popen([*words, half], cwd=project.root, stdout=quiet, stderr=quiet)
            children.append(child)

    try:
        if early:
            start()
        yield
        with console.step("compiling the loops that the tests use, once on this machine"):
            if not early:
                start()
            for child in children:
                child.wait()
    finally:
        for child in children:
            child.kill()


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
        process.run([project.python, "-m", "pip", "install", "--no-compile", _UV])


def _sync(project: Project, group: str) -> None:
    words = ["sync", "--inexact", "--python", str(project.python)]
    if group:
        words += ["--group", group]
    words += _with_pynini(project)
    with console.step("installing fsmeu and what it needs"):
        run_uv(project.python, words, cwd=project.root, log=project.venv / "install.log")


def _with_pynini(project: Project) -> list[str]:
    """uv's words for pynini; none on macOS, where fsmeu is installed without it."""
    if not sys.platform.startswith("linux"):
        print(
            "[set-up] without pynini: see 'explicit machines' in docs/install.md", file=sys.stderr
        )
        return []
    # Imported only here: most set-ups find the wheel of pynini in the cache.
    import pynini_wheel

    version = pynini_wheel.pinned_version(project.recipe.read_text(encoding="utf-8"))
    wheels = pynini_wheel.provide(version, project.python)
    return ["--extra", "openfst", "--find-links", str(wheels)]


def run_uv(python: Path, words: list[str], cwd: Path | None = None, log: Path | None = None) -> str:
    """Runs the environment's uv with the index and the certificates that pip is set to use.

    Args:
        python: The environment's interpreter.
        words: What uv is asked.
        cwd: Where it runs.
        log: A file that keeps the output when uv fails.
    """
    settings = pip_settings(process.run([python, "-m", "pip", "config", "list"]))
    return process.run([python, "-m", "uv", *words], cwd=cwd, env=settings, log=log)


def pip_settings(listing: str) -> dict[str, str]:
    """Returns uv's variables for what `pip config list` printed; the first of a name counts."""
    found: dict[str, str] = {}
    for name, value in re.findall(r"^\S*\.([\w-]+)='(.*)'$", listing, re.MULTILINE):
        if name in _SHARED_SETTINGS:
            found.setdefault(_SHARED_SETTINGS[name], value)
    return found
