"""Files of labelled examples: svmlight, csv and npz."""

from __future__ import annotations

import csv
import io
import itertools
import math
import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, as_number, message, one_of
from fsmeu.files import TABLES, read_arrays, read_bytes, readable

__all__ = ["Examples", "read_examples"]

FORMATS = ("svmlight", "csv", "npz")
_ENDINGS = {"csv": "csv", "tsv": "csv", "npz": "npz"}
_SPARSE = ("data", "indices", "indptr", "shape")


@dataclass(frozen=True)
class Examples:
    """What a file holds.

    Attributes:
        rows: (examples, features), an array of doubles or a ``csr_array``.
        labels: the class of each example, (examples,), or 0 and 1 of several labels,
            (examples, labels); None where the file has none.
    """

    rows: Any
    labels: NDArray[Any] | None


def read_examples(
    name: str,
    form: str | None = None,
    label: str | None = None,
    features: int | None = None,
    zero_based: bool = False,
    labelled: bool = False,
) -> Examples:
    """The examples of a file.

    Args:
        name: the path of the file.
        form: one of ``FORMATS``; None goes by the ending, and svmlight where that says nothing.
        label: csv: the column of the label, by name or counted from 1; several with commas
            between them. None is the last column.
        features: the number of features that there must be, if it is known. A csv file with that
            many columns then has no labels.
        zero_based: svmlight: features are counted from 0.
        labelled: whether there must be labels.

    Raises:
        InputError: the file cannot be read, or holds something else.
    """
    path = Path(name)
    ending = path.name.lower().removesuffix(".gz").removesuffix(".bz2").rpartition(".")[2]
    form = _ENDINGS.get(ending, "svmlight") if form is None else form
    form = one_of("--format", "the format", form, FORMATS)
    if label is not None and form != "csv":
        must = "a column of labels can be chosen in csv files only"
        raise InputError(message("--label", must, f"{form} file {name}"))
    if form == "csv":
        found = _from_csv(path, label, features)
    elif form == "npz":
        found = _from_npz(path)
    else:
        found = _from_svmlight(path, features, zero_based)
    if features is not None and found.rows.shape[1] != features:
        must = f"the model was trained with {features} features"
        raise InputError(message(name, must, f"{found.rows.shape[1]} features"))
    if labelled and found.labels is None:
        raise InputError(message(name, "the examples must have labels", "none"))
    return found


def _from_svmlight(path: Path, features: int | None, zero_based: bool) -> Examples:
    from scipy.sparse import csr_array
    from sklearn.datasets import load_svmlight_file

    content = io.BytesIO(read_bytes(path, f"svmlight file {path}", TABLES))
    try:
        rows, labels = load_svmlight_file(content, n_features=features, zero_based=zero_based)
    except (ValueError, TypeError, OverflowError) as error:
        must = f"each line must be a label and features as index:value ({error})"
        remedy = "Features count from 1, or from 0 with --zero-based; or give --format"
        raise InputError(message(str(path), must, None, remedy)) from None
    if not rows.shape[0]:
        raise InputError(message(str(path), "there must be examples", "none"))
    return Examples(csr_array(rows), labels)


def _from_npz(path: Path) -> Examples:
    from scipy.sparse import csr_array

    must = "the arrays X and y are needed; or data, indices, indptr and shape of a csr matrix for X"
    held = read_arrays(path, f"npz file {path}")
    labels = held.get("y")
    try:
        if "X" in held:
            rows: Any = np.asarray(held["X"], np.float64)
        elif held.keys() >= set(_SPARSE):
            data, indices, indptr, shape = (held[name] for name in _SPARSE)
            rows = csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
            rows.check_format(full_check=True)
        else:
            raise InputError(message(str(path), must, ", ".join(sorted(held)) or "nothing"))
    except InputError:
        raise
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise InputError(message(str(path), f"{must} ({error})")) from None
    if rows.ndim != 2 or not rows.shape[0]:
        raise InputError(message(str(path), "X must be rows of features", f"shape {rows.shape}"))
    if labels is not None and (labels.ndim not in (1, 2) or len(labels) != rows.shape[0]):
        must = f"y must hold a label for each of the {rows.shape[0]} rows of X"
        raise InputError(message(str(path), must, f"shape {labels.shape}"))
    return Examples(rows, labels)


def _from_csv(path: Path, label: str | None, features: int | None) -> Examples:
    lines = _csv_lines(path)
    first = next(lines, None)
    if first is None:
        raise InputError(message(str(path), "there must be examples", "none"))
    header = None if any(_is_number(cell) for cell in first[1]) else first[1]
    width = len(first[1])
    chosen = _label_columns(str(path), label, header, width, features)
    others = [k for k in range(width) if k not in chosen]
    if not others:
        raise InputError(message(str(path), "there must be a column beside the labels", "none"))
    numbers, names = array("d"), [list[str]() for _ in chosen]
    for number, cells in itertools.chain([] if header else [first], lines):
        if len(cells) != width:
            must = f"each line must have {width} columns"
            raise InputError(message(f"{path}, line {number}", must, len(cells)))
        for column in others:
            where = f"{path}, line {number}, column {column + 1}"
            numbers.append(_feature(where, cells[column]))
        for held, column in zip(names, chosen, strict=True):
            held.append(sys.intern(cells[column].strip()))
    if not numbers:
        raise InputError(message(str(path), "there must be examples", "a header alone"))
    rows = np.frombuffer(numbers).reshape(-1, len(others))
    columns = [_labels(held) for held in names]
    if len(columns) < 2:
        return Examples(rows, columns[0] if columns else None)
    return Examples(rows, np.stack(columns, axis=1))


def _csv_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines that are not empty, with their numbers, cut at commas (at tabs in .tsv files)."""
    between = "\t" if ".tsv" in path.suffixes else ","
    content = io.BytesIO(read_bytes(path, f"csv file {path}", TABLES))
    reader = csv.reader(io.TextIOWrapper(content, "utf-8-sig", newline=""), delimiter=between)
    try:
        with readable(f"csv file {path}"):
            for cells in reader:
                if any(cell.strip() for cell in cells):
                    yield reader.line_num, cells
    except csv.Error as error:
        where = f"{path}, line {reader.line_num}"
        raise InputError(message(where, f"it must be a csv file ({error})")) from None


def _label_columns(
    name: str, label: str | None, header: list[str] | None, width: int, features: int | None
) -> list[int]:
    """The places of the columns of labels, from 0; none where the file has no labels."""
    if label is None:
        return [] if width == features else [width - 1]
    names = [cell.strip() for cell in header or ()]
    found = []
    for word in (part.strip() for part in label.split(",")):
        if word in names:
            found.append(names.index(word))
        elif 1 <= (as_number(word) or 0) <= width:
            found.append(int(word) - 1)
        else:
            must = f"a column is one of 1 to {width}" + (f" or {', '.join(names)}" if names else "")
            raise InputError(message(f"--label, {name}", must, word or "nothing"))
    return found


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _feature(where: str, cell: str) -> float:
    if _is_number(cell) and math.isfinite(float(cell)):
        return float(cell)
    raise InputError(message(where, "a feature must be a finite number", cell.strip() or "nothing"))


def _labels(cells: list[str]) -> NDArray[Any]:
    """Labels as whole numbers or numbers where all of them are, else as texts."""
    if not all(_is_number(cell) for cell in cells):
        return np.array(cells)
    numbers = np.array([float(cell) for cell in cells])
    whole = np.isfinite(numbers).all() and (numbers == np.round(numbers)).all()
    return numbers.astype(np.int64) if whole and np.abs(numbers).max() < 2**53 else numbers
