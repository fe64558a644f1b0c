"""`./run mutants FOLDER`: changes lines of a package one at a time and sees which tests notice.

Each mutant is the package with one change: a comparison, a number, a dropped term, two arguments
swapped, a removed ``not``, ``and`` for ``or``. It is *killed* when a test fails or takes far longer
than it took before. The same seed and number give the same mutants, whatever the tests are, so that
two sets of tests can be held against each other:

    ./run mutants fsmeu/decoding --tests tests/decoding --to out/old.json
    ./run mutants fsmeu/decoding --tests tests/matrix --against out/old.json

The second call lists the mutants that only the tests of the first killed, and fails if there are
any. Tests are collected once and run once unchanged, while coverage notes which lines each of them
runs. For each mutant this process forks, the child gives the changed function its new code, and
runs the tests that run the changed line, the quickest first, for ``--seconds``. With ``--every``
they do not stop at the first failure, and the file of ``--to`` names all tests that kill a mutant.

Loops over a trellis run as plain Python here, where they are short: compiled ones keep their code.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import json
import multiprocessing
import multiprocessing.connection
import os
import random
import sys
import time
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import coverage
import pytest

_OPPOSITE = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_SLACK = 30.0  # seconds that a mutant may take beyond three times the unchanged code's time
_FORK = multiprocessing.get_context("fork")


# -- what is changed ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Attributes:
        file: The path of the file, from the top directory.
        place: The line where the change begins, from 1, and the column, from 0.
        lines: The first line of the changed statement, and the lines of the replaced text.
        function: The name and the first line of the outermost function that holds the change.
        start: The offset of the replaced text, in bytes.
        end: The offset behind it.
        old: The text that is replaced.
        new: The text that replaces it.
    """

    file: str
    place: str
    lines: frozenset[int]
    function: tuple[str, int]
    start: int
    end: int
    old: str
    new: str

    @property
    def name(self) -> str:
        """The mutant in one line."""
        return f"{self.file}:{self.place}: {self.old} -> {self.new}"

    def source(self, root: Path) -> bytes:
        """The changed file."""
        before = (root / self.file).read_bytes()
        return before[: self.start] + self.new.encode() + before[self.end :]


def mutants_of(root: Path, folder: str) -> list[Mutant]:
    """Returns all mutants of the modules below a folder, in order of files and lines."""
    found: list[Mutant] = []
    for path in sorted((root / folder).rglob("*.py")):
        text = path.read_bytes()
        file = path.relative_to(root).as_posix()
        begins = [0]
        for line in text.splitlines(keepends=True):
            begins.append(begins[-1] + len(line))
        for function in _functions(ast.parse(text)):
            first = min([function.lineno, *(part.lineno for part in function.decorator_list)])
            for statement, node, new in _changes(function):
                assert node.end_lineno is not None
                assert node.end_col_offset is not None
                start = begins[node.lineno - 1] + node.col_offset
                end = begins[node.end_lineno - 1] + node.end_col_offset
                found.append(
                    Mutant(
                        file,
                        f"{node.lineno}:{node.col_offset}",
                        frozenset({statement, *range(node.lineno, node.end_lineno + 1)}),
                        (function.name, first),
                        start,
                        end,
                        " ".join(text[start:end].decode().split()),
                        f"({ast.unparse(ast.fix_missing_locations(new))})",
                    )
                )
    return found


def _functions(tree: ast.Module | ast.ClassDef) -> Iterator[ast.FunctionDef]:
    """Yields the functions of a module and the methods of its classes, not those inside others."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node)


def _changes(function: ast.FunctionDef) -> Iterator[tuple[int, ast.expr, ast.expr]]:
    """Yields (line of the statement, expression, what replaces it), less those of refusals."""
    stack: list[tuple[int, Any]] = [(part.lineno, part) for part in function.body]
    while stack:
        line, node = stack.pop()
        if isinstance(node, ast.stmt):
            line = node.lineno
        if isinstance(node, ast.expr):
            yield from ((line, node, new) for new in _replacements(node))
        stack += [
            (line, part)
            for name, value in ast.iter_fields(node)
            if name not in ("annotation", "op", "ops", "ctx", "decorator_list")
            for part in (value if isinstance(value, list) else [value])
            if isinstance(part, ast.AST) and not isinstance(part, (ast.Raise, ast.JoinedStr))
        ]


def _replacements(node: ast.expr) -> Iterator[ast.expr]:
    """Yields what an expression is replaced by, one change at a time."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=right):
            yield ast.Compare(left, [_OPPOSITE[type(op)]()], right)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.And() if isinstance(op, ast.Or) else ast.Or(), values)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
            yield left
        case ast.Constant(value=bool() as truth):
            yield ast.Constant(not truth)
        case ast.Constant(value=int() | float() as number):
            yield ast.Constant(number + 1)
        case ast.Call(args=[first, second, *rest]) if not _has_stars(node):
            yield ast.Call(node.func, [second, first, *rest], node.keywords)


def _has_stars(node: ast.Call) -> bool:
    return any(isinstance(argument, ast.Starred) for argument in node.args)


def install(root: Path, mutant: Mutant) -> None:
    """Gives the changed function its new code, wherever in this process it is referred to."""
    path = str(root / mutant.file)
    [new] = _codes(compile(mutant.source(root), path, "exec", dont_inherit=True), mutant.function)
    for function in gc.get_objects():
        if isinstance(function, FunctionType):
            code = function.__code__
            if (code.co_name, code.co_firstlineno) == mutant.function and code.co_filename == path:
                function.__code__ = new


def _codes(code: CodeType, function: tuple[str, int]) -> list[CodeType]:
    """Returns the code of a function among the constants of a module's code."""
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    here = [part for part in inner if (part.co_name, part.co_firstlineno) == function]
    return here or [found for part in inner for found in _codes(part, function)]


# -- what is run ----------------------------------------------------------------------------------


@dataclass
class Baseline:
    """What tests did with the unchanged code.

    Attributes:
        seconds: How long each test took, by its number.
        tests: The numbers of the tests that ran a line, by file and line.
        failed: The numbers of the tests that failed.
    """

    seconds: dict[int, float] = field(default_factory=dict)
    tests: dict[tuple[str, int], set[int]] = field(default_factory=lambda: defaultdict(set))
    failed: list[int] = field(default_factory=list)

    def quickest(self, mutant: Mutant, most: float) -> tuple[list[int], float]:
        """Returns tests that run a mutant, the quickest first, of so many seconds; and these."""
        numbers = set().union(*(self.tests[mutant.file, line] for line in mutant.lines))
        order = sorted(numbers.difference(self.failed), key=lambda number: self.seconds[number])
        ends = [*accumulate(self.seconds[number] for number in order)]
        count = max(1, bisect(ends, most))
        return order[:count], sum(ends[count - 1 : count])


class Trials:
    """A plugin of pytest that, in place of running the collected tests, tries mutants on them."""

    def __init__(self, root: Path, mutants: Sequence[Mutant], given: argparse.Namespace) -> None:
        self.root = root
        self.folders: list[str] = given.folders
        self.mutants = mutants
        self.jobs: int = given.jobs
        self.every: bool = given.every
        self.seconds: float = given.seconds
        self.killers: dict[str, list[str]] = {}  # by the name of a mutant
        self.broken: list[str] = []  # tests that fail without a change
        self._failures: set[str] = set()  # names of tests that failed in this process

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes what fails."""
        if report.failed:
            self._failures.add(report.nodeid)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Tries all mutants, instead of pytest's own loop."""
        for file in sorted({mutant.file for mutant in self.mutants}):
            name = file.removesuffix(".py").removesuffix("/__init__")
            importlib.import_module(name.replace("/", "."))
        baseline = self._baseline(session.items)
        self.broken = [session.items[number].nodeid for number in baseline.failed]
        work, limits = [], []
        for mutant in self.mutants:
            order, seconds = baseline.quickest(mutant, self.seconds)
            tests = [session.items[number] for number in order]
            work.append(partial(self._try, mutant, tests))
            limits.append(3 * seconds + _SLACK)
        for done, (number, killers) in enumerate(_in_children(work, limits, self.jobs)):
            name = self.mutants[number].name
            self.killers[name] = ["no answer"] if killers is None else killers
            mark = "killed" if self.killers[name] else "SURVIVES"
            print(f"{done + 1}/{len(work)} {mark} {name}", file=sys.__stderr__, flush=True)
        return True

    def _baseline(self, items: Sequence[pytest.Item]) -> Baseline:
        """Runs all tests with the unchanged code, in as many parts as there are jobs."""
        whole, size = Baseline(), -(-len(items) // self.jobs)
        parts = [range(k, min(k + size, len(items))) for k in range(0, len(items), size)]
        work = [partial(self._measure, items, part) for part in parts]
        for _, part in _in_children(work, [24 * 3600.0] * len(work), self.jobs):
            whole.seconds.update(part.seconds)
            whole.failed += part.failed
            for place, numbers in part.tests.items():
                whole.tests[place] |= numbers
        return whole

    def _measure(self, items: Sequence[pytest.Item], numbers: range) -> Baseline:
        """Runs the tests with these numbers, and notes time and lines."""
        found, source = Baseline(), [str(self.root / folder) for folder in self.folders]
        meter = coverage.Coverage(data_file=None, source=source, config_file=False, messages=False)
        meter.start()
        for number in numbers:
            meter.switch_context(str(number))
            begin = time.monotonic()
            self._run(items[number], items[number + 1] if number + 1 in numbers else None)
            found.seconds[number] = time.monotonic() - begin
            if items[number].nodeid in self._failures:
                found.failed.append(number)
        meter.stop()
        data = meter.get_data()
        for path in data.measured_files():
            file = Path(path).relative_to(self.root).as_posix()
            for line, contexts in data.contexts_by_lineno(path).items():
                found.tests[file, line] = {int(context) for context in contexts if context}
        return found

    def _try(self, mutant: Mutant, tests: Sequence[pytest.Item]) -> list[str]:
        """Returns the names of the tests that a mutant makes fail; the first, unless ``every``."""
        install(self.root, mutant)
        for number, item in enumerate(tests):
            self._run(item, tests[number + 1] if number + 1 < len(tests) else None)
            if self._failures and not self.every:
                break
        return sorted(self._failures)

    def _run(self, item: pytest.Item, after: pytest.Item | None) -> None:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)


def _in_children(
    work: Sequence[Callable[[], Any]], limits: Sequence[float], jobs: int
) -> Iterator[tuple[int, Any]]:
    """Yields (number, result) of functions, each called in a fork of its own; None if it died."""
    todo = list(enumerate(zip(work, limits, strict=True)))[::-1]
    running: dict[Any, tuple[int, Any, float]] = {}
    while todo or running:
        while todo and len(running) < jobs:
            number, (call, limit) = todo.pop()
            here, there = _FORK.Pipe(duplex=False)
            process = _FORK.Process(target=_answer, args=(call, there))
            process.start()
            there.close()
            running[here] = (number, process, time.monotonic() + limit)
        ready = multiprocessing.connection.wait([*running], timeout=1.0)
        late = [pipe for pipe, (_, _, end) in running.items() if end < time.monotonic()]
        for pipe in {*ready, *late}:
            number, process, _ = running.pop(pipe)
            try:
                result = pipe.recv() if pipe in ready else None
            except EOFError:
                result = None
            process.kill()
            process.join()
            pipe.close()
            yield number, result


def _answer(call: Callable[[], Any], pipe: Any) -> None:
    """Sends what a function returns, and ends this process."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    os.setpgid(0, 0)
    pipe.send(call())
    os._exit(0)


# -- the command ----------------------------------------------------------------------------------


def main(root: Path, words: Sequence[str]) -> int:
    """Runs the command; returns 1 if mutants survive that the tests held against killed."""
    given = _arguments(words)
    tests = given.tests or [f"tests/{Path(folder).name}" for folder in given.folders]
    drawn = []
    for folder in given.folders:
        every = mutants_of(root, folder)
        drawn += random.Random(given.seed).sample(every, min(given.count, len(every)))
    trials = Trials(root, drawn, given)
    sys.path.insert(0, str(root))
    os.environ["FSMEU_PLAIN_LOOPS"] = "60000"
    options = [f"--rootdir={root}", "--override-ini=addopts=--import-mode=importlib"]
    silent = [f"-pno:{name}" for name in ("terminal", "xdist", "cacheprovider", "faulthandler")]
    code = pytest.main([*options, *silent, *tests], plugins=[trials])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) or trials.broken:
        print("Tests fail before anything is changed:", *trials.broken, sep="\n", file=sys.stderr)
    if not trials.killers:
        return 2
    for folder in given.folders:
        dead = [bool(one) for name, one in trials.killers.items() if name.startswith(f"{folder}/")]
        print(f"{sum(dead)} of {len(dead)} mutants of {folder} are killed")
    if given.to:
        given.to.parent.mkdir(parents=True, exist_ok=True)
        given.to.write_text(json.dumps(trials.killers, indent=1) + "\n", encoding="utf-8")
    return _compare(trials.killers, given.against) if given.against else 0


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./run mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("folders", nargs="+", metavar="FOLDER", help="a package, such as fsmeu/decoding")
    add("--tests", nargs="+", metavar="PATH", help="what pytest runs; tests of these packages")
    add("--count", type=int, default=200, help="how many mutants of each are drawn")
    add("--seed", type=int, default=0, help="of the draw")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="how many run at a time")
    add("--seconds", type=float, default=20.0, help="of tests that each mutant is tried on")
    add("--every", action="store_true", help="find all tests that kill a mutant")
    add("--to", type=Path, help="a file for the outcomes")
    add("--against", type=Path, help="a file that --to wrote, of other tests")
    return parser.parse_args(words)


def _compare(killers: Mapping[str, Sequence[str]], old: Path) -> int:
    """Prints what only the tests of a file killed; returns 1 if there is any."""
    before = json.loads(old.read_text(encoding="utf-8"))
    lost = [name for name, dead in before.items() if dead and not killers.get(name, True)]
    print(f"{sum(map(bool, before.values()))} of {len(before)} before; {len(lost)} only then:")
    print("\n".join(lost))
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent.parent, sys.argv[1:]))
