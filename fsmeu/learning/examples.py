"""Files of labelled examples: svmlight, csv and npz."""

from __future__ import annotations

import csv
import io
import itertools
import math
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.datasets import load_svmlight_file

from fsmeu.endings import EXAMPLES, format_by_ending
from fsmeu.errors import Argument, InputError, SizeLimitError, as_number, one_of, wording
from fsmeu.files import TABLES, input_limit, read_arrays, read_bytes, readable


class Examples(NamedTuple):
    """The examples of a file: rows, (examples, features), an array of doubles or a ``csr_array``.

    Labels are classes, (examples,), or 0 and 1 of several, (examples, labels); None without any.
    """

    rows: Any
    labels: Any
    classes: Any = None  # both, the positive one last, where they are known


def read_examples(
    name: str,
    input_format: str | None = None,
    label: str | None = None,
    features: int | None = None,
    labelled: bool = False,
) -> Examples:
    """The examples of a file.

    Args:
        name: the path of the file.
        input_format: svmlight, whose features count from 1, svmlight0, csv or npz; None goes by
            the ending, else svmlight.
        label: csv: columns of labels by name or counted from 1, with commas; None is the last one.
        features: how many there must be, if known; a csv file of as many columns has no labels.
        labelled: whether there must be labels.
    """
    form = format_by_ending(name, EXAMPLES) if input_format is None else input_format
    one_of(name, "input_format", form, EXAMPLES)
    if label is not None and form != "csv":
        must = "a column of labels can be chosen in csv files only"
        raise InputError(wording(Argument("label")), must, given=f"{form} file {name}")
    if form == "csv":
        data = _from_csv(name, label, features)
    else:
        data = _from_npz(name) if form == "npz" else _from_svmlight(name, features, form)
    if not data.rows.shape[0]:
        raise InputError(name, "there must be examples", given="none")
    if features is not None and data.rows.shape[1] != features:
        must = f"the model was trained with {features} features"
        raise InputError(name, must, given=f"{data.rows.shape[1]} features")
    if labelled and data.labels is None:
        raise InputError(name, "the examples must have labels", given="none")
    return data


def _from_svmlight(name: str, features: int | None, form: str) -> Examples:
    content = io.BytesIO(read_bytes(name, f"svmlight file {name}", TABLES))
    try:
        from_0 = form == "svmlight0"
        rows, labels = load_svmlight_file(content, n_features=features, zero_based=from_0)
    except (ValueError, TypeError, OverflowError) as error:
        must = f"each line must be a label and features as index:value ({error})"
        other = Argument("input_format", "svmlight0")
        counted = wording("Features count from 1, or from 0 with ", other, "; or choose another")
        raise InputError(name, must, remedy=counted) from None
    if features is None and rows.shape[1] > (most := input_limit(32)):  # bytes of weights each
        remedy = "Number features without gaps, or raise the limit with FSMEU_MAX_BYTES"
        must = f"there may be at most {most:,} features"
        got = f"{rows.shape[1]:,}"
        raise SizeLimitError(name, must, given=got, remedy=remedy)
    return Examples(csr_array(rows), labels)


def _from_npz(name: str) -> Examples:
    must = "the arrays X and y are needed; or data, indices, indptr and shape of a csr matrix for X"
    arrays = read_arrays(name, f"npz file {name}")
    labels = arrays.get("y")
    sparse = ("data", "indices", "indptr", "shape")
    if "X" not in arrays and not arrays.keys() >= set(sparse):
        raise InputError(name, must, given=", ".join(sorted(arrays)) or "nothing")
    try:
        if "X" in arrays:
            rows: Any = np.asarray(arrays["X"], np.float64)
        else:
            *parts, shape = (arrays[part] for part in sparse)
            rows = csr_array(tuple(parts), shape=tuple(shape.tolist()))
            rows.check_format(full_check=True)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise InputError(name, f"{must} ({error})") from None
    if rows.ndim != 2:
        raise InputError(name, "X must be rows of features", given=f"shape {rows.shape}")
    if labels is not None and (labels.ndim not in (1, 2) or len(labels) != rows.shape[0]):
        must = f"y must hold a label for each of the {rows.shape[0]} rows of X"
        raise InputError(name, must, given=f"shape {labels.shape}")
    return Examples(rows, labels)


def _from_csv(name: str, label: str | None, features: int | None) -> Examples:
    """The examples; the first line is a header where none of its cells is a number."""
    lines = _csv_lines(name)
    begin, first = next(lines, (0, [""]))
    width = len(first)
    header = [] if any(number_in(cell) is not None for cell in first) else [*map(str.strip, first)]
    words = [str(width)] * (width != features) if label is None else label.split(",")
    words = [*map(str.strip, words)]
    chosen = [header.index(x) if x in header else (as_number(x) or 0) - 1 for x in words]
    for word, column in zip(words, chosen, strict=True):
        if not 0 <= column < width:
            must = f"a column is one of 1 to {width}" + f" or {', '.join(header)}" * bool(header)
            place = wording(Argument("label"), f", {name}")
            raise InputError(place, must, given=word or "nothing")
    others = [k for k in range(width) if k not in chosen]
    if not others and begin:
        raise InputError(name, "there must be a column beside the labels", given="none")
    numbers = array("d")
    names = [list[str]() for _ in chosen]
    for line, cells in itertools.chain([] if header else [(begin, first)], lines):
        if len(cells) != width:
            must = f"each line must have {width} columns"
            raise InputError(f"{name}, line {line}", must, given=len(cells))
        for column in others:
            number = number_in(cells[column])
            if number is None or not math.isfinite(number):
                where = f"{name}, line {line}, column {column + 1}"
                got = cells[column].strip() or "nothing"
                raise InputError(where, "a feature must be a finite number", given=got)
            numbers.append(number)
        for texts, column in zip(names, chosen, strict=True):
            texts.append(sys.intern(cells[column].strip()))
    if not numbers:
        got = "a header alone" if begin else "none"
        raise InputError(name, "there must be examples", given=got)
    rows = np.frombuffer(numbers).reshape(-1, len(others))
    columns = [*map(_labels, names)]
    if len(columns) > 1:
        return Examples(rows, np.stack(columns, axis=1))
    return Examples(rows, columns[0] if columns else None)


def _csv_lines(name: str) -> Iterator[tuple[int, list[str]]]:
    """The lines that are not empty, with their numbers, cut at commas (at tabs in .tsv files)."""
    between = "\t" if ".tsv" in Path(name).suffixes else ","
    content = io.BytesIO(read_bytes(name, f"csv file {name}", TABLES))
    reader = csv.reader(io.TextIOWrapper(content, "utf-8-sig", newline=""), delimiter=between)
    try:
        with readable(f"csv file {name}"):
            yield from ((reader.line_num, cells) for cells in reader if "".join(cells).strip())
    except csv.Error as error:
        where = f"{name}, line {reader.line_num}"
        raise InputError(where, f"it must be a csv file ({error})") from None


def number_in(cell: str) -> float | None:
    """The number in a cell."""
    try:
        return float(cell)
    except ValueError:
        return None


def _labels(cells: list[str]) -> NDArray[Any]:
    """Labels as whole numbers or numbers where all of them are, else as texts, (examples,)."""
    try:
        numbers = np.array([float(cell) for cell in cells])
    except ValueError:
        return np.array(cells)
    whole = (numbers == np.round(numbers)).all() and np.abs(numbers).max() < 2**53
    return numbers.astype(np.int64) if whole else numbers
