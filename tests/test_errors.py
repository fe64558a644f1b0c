"""Errors carry fields, which make one sentence in Python's words or in the command line's."""

import copy
import pickle

import pytest

import fsmeu
from fsmeu import errors
from fsmeu.cli.failures import option_of
from fsmeu.corpora.records import LineError
from fsmeu.errors import Argument, Excerpt, InputError, LossFileError, is_installed, wording


def test_the_sentence():
    error = InputError("decode", "keep must be at least 1", given=0, remedy="Leave keep out")
    assert str(error) == "decode: keep must be at least 1. Got 0 instead. Leave keep out."
    assert str(InputError("a", "b must hold.")) == "a: b must hold."
    assert "\x1b" not in str(InputError("a\x1b[2J", "b must hold"))  # names come from files
    assert len(str(InputError("a", "b must hold", given="x" * 10**6))) < 300


def test_arguments_have_other_names_at_the_command_line():
    tags = (Argument("types", '["NP"]'), " or ", Argument("k", "2", of_loss=True))
    must = wording(Argument("n"), " is needed")
    error = InputError(wording(Argument("gold")), must, remedy=wording("Give ", *tags))
    assert str(error) == 'gold: n is needed. Give types=["NP"] or k=2.'
    typed = "--gold: --n is needed. Give --types NP,VP or --param k=2."
    assert pickle.loads(pickle.dumps(error)).sentence(option_of) == typed


@pytest.mark.parametrize(
    "error",
    [
        InputError("a", "b", given=[1, 2], remedy="c"),
        errors.MissingExtra("a", "b"),
        LossFileError("f:1:2", "b", excerpt=Excerpt(1, 2, "  x\n  ^")),
        LineError("a", "b", 7, given="c"),
    ],
)
def test_errors_are_sent_and_copied_with_their_fields(error):
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(other) is type(error)
        assert vars(other) == vars(error)
        assert str(other) == str(error)


def test_a_fault_of_a_file_shows_its_line():
    with pytest.raises(LossFileError) as caught:
        fsmeu.loads("loss a\nlabels 0 1\nvalue q\n")
    assert (caught.value.line, caught.value.column) == (3, 7)
    assert str(caught.value).splitlines()[1:] == ["    value q", "          ^"]


def test_a_package_that_is_broken_is_not_installed(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("raise OSError('no such library')")
    monkeypatch.syspath_prepend(tmp_path)
    assert not is_installed("broken_package")
    assert not is_installed("no_such_package")
    assert is_installed("json")
