"""Files that cannot be written, and limits that are no numbers."""

import os
from contextlib import contextmanager

import fsmeu
from fsmeu.errors import InputError, SizeLimitError
from fsmeu.files import write_file
from fsmeu.models import Bernoulli


@contextmanager
def _environment(**variables):
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def compiled(limit):
    """A small machine under a limit on its states."""
    with _environment(FSMEU_MAX_STATES=limit):
        return fsmeu.load("hamming").compile(2)


def model(limit):
    """A small model under a limit on its arcs."""
    with _environment(FSMEU_MAX_ARCS=limit):
        return Bernoulli([0.5] * 6)


NAMES = {"write_file": write_file, "compiled": compiled, "model": model}
STATES = "environment variable FSMEU_MAX_STATES: must be a whole number"
ROWS = [
    ('write_file("/dev/full", b"x")', InputError, "it cannot be written (No space left"),
    ('write_file("/", b"x")', InputError, "it cannot be written (Is a directory"),
    ('write_file("/missing/x", b"x")', InputError, "it cannot be written (No such file"),
    ('write_file("/tmp/" + "x" * 300, b"x")', InputError, "it cannot be written (File name too"),
    ('write_file("a\\0b", b"x")', InputError, "it cannot be written ( ... null"),
    ('write_file(5, b"x")', InputError, "name of a file"),
    ('compiled("many")', InputError, STATES),
    ('compiled("-5")', InputError, STATES),
    ('compiled("²")', InputError, STATES),
    ('compiled("9" * 5000)', InputError, STATES),
    ('model("10")', SizeLimitError, "at most 10 arcs. Got 12 instead"),
    ('model("1e6")', InputError, "FSMEU_MAX_ARCS"),
]
