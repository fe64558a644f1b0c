"""The data of the experiments, which are not part of the project: where they are, reading them.

The environment variable FSMEU_DATA names the folder that holds ``conll2000``, ``conll2002_esp`` and
``ocr_letters``; without it, ``shared/data`` beside the project is looked at.
"""

from __future__ import annotations

import gzip
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence
from fsmeu.searn.tasks.conll import Sentence, read_sentences

__all__ = ["FILES", "Letters", "conll2000", "conll2002", "letters", "path_of"]

FILES = {
    "conll2000": ("conll2000/train.txt.gz", "conll2000/test.txt.gz"),
    "conll2002": (
        "conll2002_esp/esp.train.gz",
        "conll2002_esp/esp.testa.gz",
        "conll2002_esp/esp.testb.gz",
    ),
    "letters": ("ocr_letters/letter.data.gz",),
}
_PIXELS = 128


def path_of(name: str) -> Path:
    """The path of a file of the data.

    Raises:
        InputError: it is not there; the message says what to do.
    """
    given = os.environ.get("FSMEU_DATA")
    beside = Path(__file__).resolve().parents[4] / "shared" / "data"
    found = (Path(given).expanduser() if given else beside) / name
    if not found.is_file():
        must = "the data of the experiment must be there"
        remedy = f"Set FSMEU_DATA to the folder that holds {name}"
        raise InputError(sentence(f"file {found}", must, None, remedy))
    return found


def conll2000(most: int | None = None) -> tuple[list[Sentence], list[Sentence]]:
    """Training and test sentences of CoNLL-2000: word, part of speech, chunk tag.

    Args:
        most: how many sentences of each part are read; None for all.
    """
    train, test = (read_sentences(path_of(name), 3, most) for name in FILES["conll2000"])
    return train, test


def conll2002(
    most: int | None = None,
) -> tuple[list[Sentence], list[Sentence], list[Sentence]]:
    """Training, development and test sentences of CoNLL-2002 in Spanish: word, POS, tag.

    Args:
        most: how many sentences of each part are read; None for all.
    """
    train, develop, test = (read_sentences(path_of(name), 3, most) for name in FILES["conll2002"])
    return train, develop, test


@dataclass(frozen=True)
class Letters:
    """Handwritten words.

    Attributes:
        pixels: 1 where ink is, (letters, 128), words laid end to end.
        names: the letters.
        starts: where each word starts, and the end of the last, (words + 1,).
        folds: the fold of each word, 0 to 9, (words,).
    """

    pixels: NDArray[np.float64]
    names: list[str]
    starts: NDArray[np.int64]
    folds: NDArray[np.int64]


def letters() -> Letters:
    """The words of the handwriting data (Kassel 1995; Taskar et al. 2003).

    Raises:
        InputError: the file is missing, or its rows are not 6 columns and 128 pixels.
    """
    path = path_of(FILES["letters"][0])
    try:
        with gzip.open(path, "rt", encoding="ascii") as file:
            rows = [line.split() for line in file]
        if any(len(row) != 6 + _PIXELS for row in rows):
            raise ValueError(len(rows))
        word = np.array([int(row[3]) for row in rows])
        fold = np.array([int(row[5]) for row in rows])
        pixels = np.array([row[6:] for row in rows], np.float64)
    except (OSError, ValueError, EOFError, zlib.error):
        must = f"each row must have 6 columns and {_PIXELS} pixels"
        raise InputError(sentence(f"file {path}", must)) from None
    begins = np.flatnonzero(np.concatenate([[True], word[1:] != word[:-1]]))
    starts = np.concatenate([begins, [len(rows)]]).astype(np.int64)
    return Letters(pixels, [row[1] for row in rows], starts, fold[begins])
