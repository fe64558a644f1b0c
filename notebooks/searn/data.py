"""Reading the data of the experiments, ``conll2000``, ``conll2002_esp`` and ``ocr_letters``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from data_folder import data_file
from numpy.typing import NDArray

from fsmeu.corpora.columns import Sentence, read_sentences
from fsmeu.errors import FsmeuError, InputError, message
from fsmeu.files import read_text

__all__ = ["FILES", "Letters", "conll2000", "conll2002", "letters"]

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


def conll2000(most: int | None = None) -> tuple[list[Sentence], list[Sentence]]:
    """Training and test sentences of CoNLL-2000: word, part of speech, chunk tag.

    Args:
        most: how many sentences of each part are read; None for all.
    """
    train, test = (read_sentences(data_file(name), 3, most) for name in FILES["conll2000"])
    return train, test


def conll2002(
    most: int | None = None,
) -> tuple[list[Sentence], list[Sentence], list[Sentence]]:
    """Training, development and test sentences of CoNLL-2002 in Spanish: word, POS, tag.

    Args:
        most: how many sentences of each part are read; None for all.
    """
    train, develop, test = (read_sentences(data_file(name), 3, most) for name in FILES["conll2002"])
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
    path = data_file(FILES["letters"][0])
    try:
        rows = [line.split(maxsplit=6) for line in read_text(path, f"file {path}").splitlines()]
        word = np.array([int(row[3]) for row in rows])
        fold = np.array([int(row[5]) for row in rows])
        inks = ["".join(row[6].split()) for row in rows]
        if any(len(one) != _PIXELS or one.strip("01") for one in inks):
            raise ValueError(len(rows))
        ink = np.frombuffer("".join(inks).encode(), np.uint8).reshape(-1, _PIXELS)
        pixels = (ink == ord("1")).astype(np.float64)
    except FsmeuError:
        raise
    except (ValueError, IndexError):
        must = f"each row must have 6 columns and {_PIXELS} pixels"
        raise InputError(message(f"file {path}", must)) from None
    begins = np.flatnonzero(np.concatenate([[True], word[1:] != word[:-1]]))
    starts = np.concatenate([begins, [len(rows)]]).astype(np.int64)
    return Letters(pixels, [row[1] for row in rows], starts, fold[begins])
