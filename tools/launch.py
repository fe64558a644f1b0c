"""The launcher behind `./run`: brings the environment up to date, then becomes the command."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import console
import environment
from environment import Project

_ENDINGS = (signal.SIGTERM, signal.SIGHUP)
_FILES = ("--against", "--to")


Run = Callable[[Project, list[str]], int]  # given the remaining arguments; returns the exit code


@dataclass(frozen=True)
class Command:
    """One command of the launcher."""

    usage: str  # how it is called
    help: str  # what it does, in one line
    run: Run  # does it
    group: str = ""  # what must be installed beside the base: one of ``environment.GROUPS``


def main(root: Path, arguments: Sequence[str]) -> int:
    """Runs the words after `./run`; the exit code, unless the process became the command."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(help_text())
        return 0
    name, *rest = arguments
    if name not in COMMANDS:
        known = ", ".join(COMMANDS)
        print(f"./run: there is no command '{name}'. The commands are: {known}.", file=sys.stderr)
        return 2
    try:
        prepare(Project(root), COMMANDS[name].group)
        keep_bytecode(Project(root), os.environ)
        return COMMANDS[name].run(Project(root), rest)
    except console.SetupFailure as failure:
        print(failure.report(), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted. The next call goes on from here.", file=sys.stderr)
        return 130


def prepare(project: Project, group: str) -> None:
    """Makes sure that the environment is there, up to date and holds a group.

    Raises:
        SetupFailure: It cannot be made.
    """
    with console.guard("reading pyproject.toml"):
        if environment.is_up_to_date(project, group):
            return
    handlers = {number: signal.signal(number, _interrupt) for number in _ENDINGS}
    environment.bring_up_to_date(project, group)
    for number, handler in handlers.items():
        signal.signal(number, handler)


def keep_bytecode(project: Project, variables: MutableMapping[str, str]) -> None:
    """Has compiled modules kept in the environment where Python is told not to write any.

    They are installed without, so that each start would compile them anew.
    """
    if variables.pop("PYTHONDONTWRITEBYTECODE", ""):
        variables.setdefault("PYTHONPYCACHEPREFIX", str(project.venv / "bytecode"))


def help_text() -> str:
    """Returns what `./run` alone prints."""
    width = max(len(command.usage) for command in COMMANDS.values())
    rows = [f"  ./run {command.usage:<{width}}  {command.help}" for command in COMMANDS.values()]
    first = "fsmeu: finite-state maximum expected utility."
    then = "The first call sets everything up (.venv); later calls start at once."
    return "\n".join([first, "", then, "", *rows])


def rooted(argument: str, directory: Path) -> str:
    """Makes a test path that is meant from `directory` absolute; other arguments stay."""
    path, mark, node = argument.partition("::")
    looks_like_path = not path.startswith("-") and (mark or "/" in path or path.endswith(".py"))
    if looks_like_path and (directory / path).exists():
        return f"{(directory / path).resolve()}{mark}{node}"
    return argument


def files_here(arguments: Sequence[str], directory: Path) -> list[str]:
    """Makes the files of --against and --to, meant from `directory`, absolute; others stay."""
    words: list[str] = []
    for word in arguments:
        name, equals, value = word.partition("=")
        if words and words[-1] in _FILES:
            words.append(str(directory / word))
        elif equals and name in _FILES:
            words.append(f"{name}={directory / value}")
        else:
            words.append(word)
    return words


def _interrupt(signum: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _become(project: Project, *words: str) -> NoReturn:
    """Goes on as the environment's Python with these words."""
    sys.stdout.flush()
    os.execv(project.python, [str(project.python), *words])


def _module(name: str, *words: str, at_root: bool = True) -> Run:
    """A command that becomes a module, given these words and its arguments."""

    def run(project: Project, arguments: list[str]) -> NoReturn:
        if at_root:
            os.chdir(project.root)
        _become(project, "-m", name, *words, *arguments)

    return run


def _with_torch(project: Project, words: Sequence[str]) -> NoReturn:
    """Goes on as the Python that has PyTorch beside the environment, at the top directory."""
    import torch_overlay

    python = str(torch_overlay.provide(project))
    os.chdir(project.root)
    sys.stdout.flush()
    os.execv(python, [python, *words])


def _test(project: Project, arguments: list[str]) -> int:
    paths = [rooted(argument, Path.cwd()) for argument in arguments if argument != "--torch"]
    if len(paths) < len(arguments):
        chosen = any(path.startswith(str(project.root)) for path in paths)
        _with_torch(project, ["-m", "pytest", *([] if chosen else ["tests/torch"]), *paths])
    alone = any(a.startswith(("-n", "--pdb", "-s")) for a in paths)
    # Each process begins with a run of files that stand together, which share what they set up.
    spread = [] if alone else ["-n", "auto", "--dist", "worksteal"]
    return _module("pytest", *spread)(project, paths)


def _bench(project: Project, arguments: list[str]) -> int:
    words = files_here([word for word in arguments if word != "--torch"], Path.cwd())
    if "--torch" in arguments:
        _with_torch(project, ["-m", "pytest", "tests/benchmarks/test_torch.py", *words])
    return _module("pytest", "tests/benchmarks")(project, words)


def _python(project: Project, arguments: list[str]) -> int:
    _become(project, *arguments)


def _notebooks(project: Project, arguments: list[str]) -> int:
    _become(project, str(project.root / "tools" / "notebooks.py"), *arguments)


def _nightly(project: Project, arguments: list[str]) -> int:
    _become(project, str(project.root / "tools" / "nightly.py"), *arguments)


def _mutants(project: Project, arguments: list[str]) -> int:
    os.chdir(project.root)
    _become(project, str(project.root / "tools" / "mutants.py"), *arguments)


def _setup(project: Project, arguments: list[str]) -> int:
    print(f"fsmeu is set up in {project.venv}")
    return 0


def _check(project: Project, arguments: list[str]) -> int:
    import subprocess

    os.chdir(project.root)
    checks = (["ruff", "check"], ["ruff", "format", "--check"], ["mypy"])
    results = []
    for words in checks:
        print(f"-- {' '.join(words)}", flush=True)
        results.append(subprocess.call([str(project.python), "-m", *words]))
    return 1 if any(results) else 0


def _docs(project: Project, arguments: list[str]) -> int:
    verb = "serve" if "--serve" in arguments else "build"
    words = [word for word in arguments if word != "--serve"]
    os.environ["NO_MKDOCS_2_WARNING"] = "1"  # the theme's advice to change to another program
    return _module("mkdocs", verb, "--strict", "-f", "tools/mkdocs.yml")(project, words)


def _wheel(project: Project, arguments: list[str]) -> int:
    import pynini_wheel

    version = pynini_wheel.pinned_version(project.recipe.read_text(encoding="utf-8"))
    folder = pynini_wheel.provide(version, project.python)
    print(f"pip install --find-links {folder} '{project.root}[openfst]'")
    return 0


COMMANDS = {
    "demo": Command(
        "demo",
        "a short tour on built-in data",
        _module("fsmeu.cli.main", "demo"),
    ),
    "test": Command(
        "test [--all] [--torch] [ARG ...]",
        "the test suite, --all with nightly tests and every example; --torch installs PyTorch "
        "beside it (200 MB, GBs with CUDA) and runs tests/torch; arguments go to pytest",
        _test,
        "dev",
    ),
    "bench": Command(
        "bench [--against OLD.json] [--torch] [ARG ...]",
        "the benchmarks, as a table and in out/bench.json; --torch those with PyTorch, on a GPU if "
        "there is one; other arguments go to pytest",
        _bench,
        "dev",
    ),
    "explore-tests": Command(
        "explore-tests [ARG ...]",
        "random losses and models against enumeration",
        _module("tests.explore.run"),
        "dev",
    ),
    "frozen": Command(
        "frozen [ARG ...]",
        "5,000 drawn problems, compared with the answers that are kept in tests/frozen",
        _module("tests.frozen.run"),
        "dev",
    ),
    "fuzz": Command(
        "fuzz [ARG ...]", "every reader on files that are nearly right", _module("tests.fuzz.run")
    ),
    "nightly": Command(
        "nightly [PART ...]",
        "all that takes long: every test, explorer, fuzzer, notebooks, lowest versions; "
        "one table at the end, logs in out/nightly",
        _nightly,
        "dev",
    ),
    "mutants": Command(
        "mutants FOLDER [ARG ...]",
        "changes a package one place at a time and lists the changes that no test notices",
        _mutants,
        "dev",
    ),
    "fsmeu": Command(
        "fsmeu [ARG ...]", "the command line", _module("fsmeu.cli.main", at_root=False)
    ),
    "python": Command("python [ARG ...]", "the environment's Python", _python),
    "notebooks": Command(
        "notebooks [NAME ...]",
        "execute the notebooks, or those whose names begin so, and write their outputs",
        _notebooks,
        "dev",
    ),
    "setup": Command("setup", "only set up, with what the tests need", _setup, "dev"),
    "docs": Command(
        "docs [--serve]",
        "the documentation, into out/site; --serve shows it in a browser while it is written",
        _docs,
        "docs",
    ),
    "wheel": Command("wheel", "pynini's wheel for this machine; prints the pip line", _wheel),
    "check": Command("check", "ruff and mypy over the project", _check, "dev"),
}
