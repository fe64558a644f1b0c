"""The endings of file names that fsmeu knows, without the dot and in small letters: one list."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

COMPRESSED = ("gz", "bz2")  # of inputs, behind the ending that says the format
LOSS = "loss"
MACHINE = "fst"  # an OpenFst machine
CONSTRAINTS = (MACHINE, "regex", "txt")
MODEL_ARRAY = "npy"  # probabilities, as numpy.save writes them
MODEL_JSON = "json"
PLOTS = ("png", "pdf", "svg")
PICTURES = ("svg", "png", "pdf", "dot", "html", "tex", "txt")
SCORES = ("json", "csv")
_COLUMNS = ("bio", "conll", "crf", "iob", "iob1", "iob2", "iobes")
# Formats by name, each with the endings that say it; the first is that of all other files.
CORPORA = {"jsonl": ("jsonl", "json"), "conll": (*_COLUMNS, "tsv", "txt")}
EXAMPLES = {"svmlight": ("svmlight",), "svmlight0": (), "csv": ("csv", "tsv"), "npz": ("npz",)}
TRAINING = {**EXAMPLES, "conll": _COLUMNS}  # examples of a classifier, or sentences of a tagger


def ending_of(name: str | os.PathLike[str]) -> str:
    """The ending of a file's name, without the dot and in small letters; "" where there is none.

    >>> ending_of("pictures/f1.SVG"), ending_of("corpus.jsonl.gz"), ending_of("README")
    ('svg', 'gz', '')
    """
    return Path(name).suffix.removeprefix(".").lower()


def format_by_ending(name: str, formats: Mapping[str, tuple[str, ...]]) -> str:
    """The format of an input, one of the keys, by its ending before that of a compressed file.

    >>> format_by_ending("train.conll.gz", CORPORA), format_by_ending("-", CORPORA)
    ('conll', 'jsonl')
    """
    path = Path(name)
    ending = ending_of(path.stem if ending_of(path) in COMPRESSED else path)
    for form, endings in formats.items():
        if ending in endings:
            return form
    return next(iter(formats))
