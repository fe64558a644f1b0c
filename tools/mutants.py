"""`./run mutants FOLDER`: changes lines of a package one at a time and sees which tests notice.

Each mutant is the package with one change: a comparison, a number, a dropped term, two arguments
swapped, a removed ``not``, ``and`` for ``or``. It is *killed* when a test fails or takes far longer
than all tests took before. The same seed and number give the same mutants, whatever the tests are,
so that two sets of tests can be held against each other:

    ./run mutants fsmeu/decoding --tests tests/decoding --to out/old.json
    ./run mutants fsmeu/decoding --tests tests/matrix --against out/old.json

The second call lists the mutants that only the tests of the first killed, and fails if there are
any. A mutant takes as long as the tests up to the first failure: 200 of them may take hours.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

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


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Attributes:
        file: The path of the file, from the top directory.
        place: The line where the change begins, from 1, and the column, from 0.
        start: The offset of the replaced text, in bytes.
        end: The offset behind it.
        old: The text that is replaced.
        new: The text that replaces it.
    """

    file: str
    place: str
    start: int
    end: int
    old: str
    new: str

    @property
    def name(self) -> str:
        """The mutant in one line."""
        return f"{self.file}:{self.place}: {self.old} -> {self.new}"


def mutants_of(root: Path, folder: str) -> list[Mutant]:
    """Returns all mutants of the modules below a folder, in order of files and lines."""
    found: list[Mutant] = []
    for path in sorted((root / folder).rglob("*.py")):
        text = path.read_bytes()
        begins = [0]
        for line in text.splitlines(keepends=True):
            begins.append(begins[-1] + len(line))
        for node, new in _changes(ast.parse(text)):
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            start = begins[node.lineno - 1] + node.col_offset
            end = begins[node.end_lineno - 1] + node.end_col_offset
            old = " ".join(text[start:end].decode().split())
            new_text = ast.unparse(ast.fix_missing_locations(new))
            file = path.relative_to(root).as_posix()
            place = f"{node.lineno}:{node.col_offset}"
            found.append(Mutant(file, place, start, end, old, f"({new_text})"))
    return found


def _changes(tree: ast.Module) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yields pairs (expression, what replaces it) of expressions inside functions."""
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.Lambda)):
            body = function.body if isinstance(function.body, list) else [function.body]
            for statement in body:
                if not isinstance(statement, (ast.Raise, ast.FunctionDef, ast.ClassDef)):
                    yield from _changes_inside(statement)


def _changes_inside(top: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yields the changes of a statement, less those of functions and refusals inside it."""
    stack = [top]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.expr):
            yield from ((node, new) for new in _replacements(node))
        skipped = (ast.Raise, ast.FunctionDef, ast.Lambda, ast.JoinedStr)
        parts = [
            part
            for name, value in ast.iter_fields(node)
            if name not in ("annotation", "op", "ops", "ctx")
            for part in (value if isinstance(value, list) else [value])
        ]
        stack += [p for p in parts if isinstance(p, ast.AST) and not isinstance(p, skipped)]


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


class Copies:
    """Copies of the project, one for each job, in which mutants are tried."""

    def __init__(self, root: Path, place: Path, jobs: int, tests: Sequence[str]) -> None:
        self.tests = tests
        self.limit = 24 * 3600.0
        self._free: SimpleQueue[Path] = SimpleQueue()
        for job in range(jobs):
            copy = place / str(job)
            ignored = shutil.ignore_patterns(".*", "__pycache__", "out", "dist", "uv.lock")
            shutil.copytree(root, copy, ignore=ignored)
            self._free.put(copy)

    def survives(self, mutant: Mutant | None) -> bool:
        """Returns whether all tests pass with a mutant; with none, in the unchanged code."""
        copy = self._free.get()
        try:
            if mutant is None:
                return self._passes(copy)
            path = copy / mutant.file
            before = path.read_bytes()
            new = mutant.new.encode()
            path.write_bytes(before[: mutant.start] + new + before[mutant.end :])
            try:
                return self._passes(copy)
            finally:
                path.write_bytes(before)
        finally:
            self._free.put(copy)

    def _passes(self, copy: Path) -> bool:
        words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *self.tests]
        known = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            run = subprocess.run(
                words, cwd=copy, env=known, capture_output=True, timeout=self.limit, check=False
            )
        except subprocess.TimeoutExpired:
            return False
        return run.returncode == 0


def main(root: Path, words: Sequence[str]) -> int:
    """Runs the command; returns 1 if mutants survive that the tests held against killed."""
    parser = argparse.ArgumentParser(
        prog="./run mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("folder", help="a package, such as fsmeu/decoding")
    add("--tests", nargs="+", metavar="PATH", help="what pytest runs; tests of that package")
    add("--count", type=int, default=200, help="how many mutants are drawn")
    add("--seed", type=int, default=0, help="of the draw")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="how many run at a time")
    add("--to", type=Path, help="a file for the outcomes")
    add("--against", type=Path, help="a file that --to wrote, of other tests")
    given = parser.parse_args(words)
    tests = given.tests or [f"tests/{Path(given.folder).name}"]
    every = mutants_of(root, given.folder)
    drawn = random.Random(given.seed).sample(every, min(given.count, len(every)))
    with tempfile.TemporaryDirectory() as place:
        copies = Copies(root, Path(place), given.jobs, tests)
        begin = time.monotonic()
        if not copies.survives(None):
            print("The tests fail before anything is changed.", file=sys.stderr)
            return 2
        copies.limit = 3 * (time.monotonic() - begin) + _SLACK
        killed = _try(copies, drawn, given.jobs)
    print(f"{sum(killed.values())} of {len(killed)} mutants of {given.folder} are killed")
    if given.to:
        given.to.parent.mkdir(parents=True, exist_ok=True)
        given.to.write_text(json.dumps(killed, indent=1) + "\n", encoding="utf-8")
    if not given.against:
        return 0
    before = json.loads(given.against.read_text(encoding="utf-8"))
    lost = [name for name, dead in before.items() if dead and not killed.get(name, True)]
    print(f"{sum(before.values())} of {len(before)} before; {len(lost)} only then:")
    print("\n".join(lost))
    return int(bool(lost))


def _try(copies: Copies, drawn: Sequence[Mutant], jobs: int) -> dict[str, bool]:
    """Returns by name whether each mutant is killed; survivors are printed as they are found."""
    killed: dict[str, bool] = {}
    with ThreadPoolExecutor(jobs) as pool:
        outcomes = zip(drawn, pool.map(copies.survives, drawn), strict=True)
        for number, (mutant, lives) in enumerate(outcomes):
            killed[mutant.name] = not lives
            mark = "SURVIVES" if lives else "killed"
            print(f"{number + 1}/{len(drawn)} {mark} {mutant.name}", flush=True)
    return killed


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent.parent, sys.argv[1:]))
