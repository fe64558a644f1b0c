"""Results of runs in a folder, one file for each, so that an experiment goes on where it ended.

A file is found by task, method, fold and seed. It holds what was measured for each example, so that
tables and intervals can be made of any set of files, and a mark of the settings and the sizes of
the data: where that is another one, the run is done again. The code that made it is not part of the
mark: results of another version are for the reader to remove.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from fsmeu.arrays import Ints
from fsmeu.errors import InputError
from fsmeu.files import read_text, write_file
from searn.measures import MEASURES, Measure
from searn.task import Method, Split

__all__ = [
    "Difference",
    "Result",
    "Row",
    "Told",
    "mark_of",
    "read_folder",
    "read_results",
    "result_file",
    "write_results",
]

Told = Callable[[str, float], None]
"""Is called with the name of a run and its score."""


@dataclass(frozen=True)
class Row:
    """A method's results on a task.

    Attributes:
        task: the name of the task.
        method: the name of the method.
        iteration: of SEARN, from 0.
        score: the name of the score that is compared.
        value: its mean over seeds, all folds taken together.
        low: the lower end of its bootstrap interval.
        high: the upper end.
        scores: means of all scores.
        by_seed: the score that is compared for each seed.
        folds: how many folds were taken together.
        trained: how many examples were trained on (in the first fold).
        tested: how many examples were predicted, in all folds.
        training: seconds of processor time for training, the mean over folds and seeds.
        predicting: the same for predictions.
        memory: the peak of memory in megabytes, the greatest of folds and seeds.
    """

    task: str
    method: str
    iteration: int
    score: str
    value: float
    low: float
    high: float
    scores: dict[str, float]
    by_seed: tuple[float, ...]
    folds: int
    trained: int
    tested: int
    training: float
    predicting: float
    memory: float


@dataclass(frozen=True)
class Difference:
    """How much better one method is than another on the same examples.

    Attributes:
        task: the name of the task.
        method: the name of the method.
        other: the name of the other one.
        score: the name of the score that is compared.
        value: the mean of the score over seeds less that of the other.
        low: the lower end of its bootstrap interval.
        high: the upper end.
    """

    task: str
    method: str
    other: str
    score: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Result:
    """What was measured in one run.

    Attributes:
        task: the name of the task.
        method: the name of the method.
        name: of the run: that of the method or of its first iteration, with the beam.
        iteration: of SEARN, from 0; 0 for other methods.
        fold: from 0.
        seed: of everything that is drawn.
        trained: how many examples were trained on.
        measured: what was measured for each example.
        numbers: of the examples in the whole corpus, where several folds predict the same.
        training: seconds of processor time until then.
        predicting: the same for the prediction.
        memory: the peak of memory of the process so far, in megabytes.
    """

    task: str
    method: str
    name: str
    iteration: int
    fold: int
    seed: int
    trained: int
    measured: Measure
    numbers: Ints | None
    training: float
    predicting: float
    memory: float


def result_file(folder: Path, task: str, method: str, fold: int, seed: int) -> Path:
    """The path of the file of a method's results on one fold with one seed."""
    plain = "".join(letter if letter.isalnum() else "-" for letter in method)
    return folder / task / f"{plain}.fold{fold}.seed{seed}.json.gz"


def mark_of(method: Method, split: Split) -> str:
    """A hash of a method's settings and of the sizes of its data."""
    found = blake2b(digest_size=16)
    found.update(repr((method.kind, _told(method.settings), dict(method.beams))).encode())
    for part in (split.train, split.test):
        matrix = getattr(part.sentences, "matrix", None)
        collections = [] if matrix is not None else [len(one) for one in part.sentences]
        sizes = collections if matrix is None else (matrix.shape, matrix.nnz)
        found.update(repr((len(part.labels), sum(map(len, part.labels)), sizes)).encode())
    return found.hexdigest()


def _told(value: Any) -> Any:
    """Settings as text tells them in full: estimators by their parameters."""
    if isinstance(value, Mapping):
        return sorted((str(name), _told(one)) for name, one in value.items())
    if hasattr(value, "get_params"):
        return type(value).__name__, _told(value.get_params(deep=False))
    return repr(value)


def write_results(path: Path, mark: str, results: Sequence[Result]) -> None:
    """Writes the results of a method on one fold with one seed, all of the file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"mark": mark, "results": [_as_data(one) for one in results]})
    write_file(path, gzip.compress(text.encode(), mtime=0))


def _as_data(result: Result) -> dict[str, Any]:
    kind = next(name for name, made in MEASURES.items() if isinstance(result.measured, made))
    numbers = None if result.numbers is None else result.numbers.tolist()
    amounts = [[int(x) if x.is_integer() else x for x in row] for row in _rows(result.measured)]
    more = {"kind": kind, "amounts": amounts, "numbers": numbers}
    kept = {name: one for name, one in vars(result).items() if name not in ("measured", "numbers")}
    return {**kept, **more}


def _rows(measured: Measure) -> list[list[float]]:
    found: list[list[float]] = measured.amounts.tolist()
    return found


def read_results(path: Path, mark: str | None = None) -> list[Result] | None:
    """The results in a file; None where there is no such file, or it has another mark.

    Raises:
        InputError: the file is not one that ``write_results`` has made.
    """
    if not path.is_file():
        return None
    try:
        held = json.loads(read_text(path, f"file {path}"))
        if mark is not None and held["mark"] != mark:
            return None
        return [_result(one) for one in held["results"]]
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        must = "must hold results of a run"
        raise InputError(f"file {path}", must, remedy="Remove it") from None


def _result(held: dict[str, Any]) -> Result:
    made = MEASURES[held.pop("kind")]
    amounts = np.array(held.pop("amounts"), np.float64)
    numbers = held.pop("numbers")
    width = 1 if made is MEASURES["means"] else 6
    measured = made(amounts.reshape(-1, width))
    return Result(
        **held, measured=measured, numbers=None if numbers is None else np.array(numbers, np.int64)
    )


def read_folder(folder: Path) -> Iterator[Result]:
    """All results in a folder, by task and file.

    Raises:
        InputError: there are none.
    """
    files = sorted(folder.glob("*/*.json.gz"))
    if not files:
        remedy = "Make some with run TASK -o FOLDER"
        raise InputError(f"folder {folder}", "it must hold results", remedy=remedy)
    for path in files:
        yield from read_results(path) or []
