"""Errors carry fields, which make one sentence in Python's words or in the command line's."""

import ast
import copy
import importlib
import inspect
import pickle
import pkgutil
import re
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
import typer

import fsmeu
from fsmeu import errors
from fsmeu.cli.failures import OPTIONS, option_of
from fsmeu.cli.main import COMMANDS
from fsmeu.cli.options import flat
from fsmeu.corpora.records import LineError
from fsmeu.errors import Argument, Excerpt, FsmeuError, InputError, LossFileError, wording
from tests.support.sources import nodes

PACKAGE = Path(fsmeu.__file__).parent
SOURCES = sorted(p for p in PACKAGE.rglob("*.py") if "cli" not in p.relative_to(PACKAGE).parts)
OPTION = re.compile(r"(?<!\w)--[a-z]")


@cache
def error_classes():
    """Every class of errors of the package, by name."""
    for module in pkgutil.walk_packages([str(PACKAGE)], "fsmeu."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # an extra that is not installed
                importlib.import_module(module.name)
    found, classes = {}, [FsmeuError]
    while classes:
        kind = classes.pop()
        found[kind.__name__] = kind
        classes += kind.__subclasses__()
    return {name: kind for name, kind in found.items() if kind.__module__.startswith("fsmeu.")}


@cache
def constructions():
    """The calls in the library that make an error, with their file, line and class."""
    classes = error_classes()
    return [
        (f"{path.relative_to(PACKAGE)}:{node.lineno}", node, classes[name])
        for path in SOURCES
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute)
        if (name := node.func.id if isinstance(node.func, ast.Name) else node.func.attr) in classes
    ]


def test_errors_are_made_of_fields():
    """Each says where and what must hold; no error is one text, and none is composed before."""
    made = constructions()
    assert len(made) > 300
    for place, node, kind in made:
        signature = inspect.signature(kind)
        names = [keyword.arg for keyword in node.keywords]
        bound = signature.bind(*node.args, **dict.fromkeys(names))
        first = [*signature.parameters][:2]
        assert first == ["where", "must"], place
        assert set(first) <= set(bound.arguments), place


def test_fields_do_not_say_what_another_field_says():
    """What was given stands in ``given``, and advice in ``remedy``, not at the end of ``must``."""
    said = [(place, node.args[1]) for place, node, _ in constructions() if len(node.args) > 1]
    for path in SOURCES:
        assigned = (n for n in nodes(path) if isinstance(n, ast.Assign))
        musts = [n for n in assigned if ast.unparse(n.targets[0]) == "must"]
        said += [(f"{path.relative_to(PACKAGE)}:{n.lineno}", n.value) for n in musts]
    assert len(said) > 300
    for place, must in said:
        for part in ast.walk(must):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                assert not re.search(r"\w\. |Got ", part.value), place


def test_the_library_names_no_option():
    """Neither errors nor other texts do: the command line has words of its own."""
    texts = {
        f"{path.relative_to(PACKAGE)}:{node.lineno}": node.value
        for path in SOURCES
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert len(texts) > 1000
    assert {place: text for place, text in texts.items() if OPTION.search(text)} == {}


def test_every_option_that_stands_for_an_argument_is_there():
    known = set()
    for command in COMMANDS.values():
        module, function = command.function.split(":")
        target = getattr(importlib.import_module(f"fsmeu.cli.{module}"), function)
        single = typer.Typer(add_completion=False)
        single.command()(flat(target))
        known |= {name for p in typer.main.get_command(single).params for name in p.opts}
    for text in OPTIONS.values():
        assert text.split()[-1] in known


def test_the_sentence():
    error = InputError("decode", "keep must be at least 1", given=0, remedy="Leave keep out")
    assert str(error) == "decode: keep must be at least 1. Got 0 instead. Leave keep out."
    assert str(InputError("a", "b must hold.")) == "a: b must hold."
    assert error.given == "0"
    assert str(error.within("line 3")) == f"line 3: {error}"
    assert str(error.but(where="x", remedy="")) == "x: keep must be at least 1. Got 0 instead."
    assert str(error.advised("Or wait")) == f"{error} Or wait."
    assert str(error.but(remedy="").advised("Wait")).endswith("instead. Wait.")


def test_arguments_have_other_names_at_the_command_line():
    tags = (Argument("types", '["NP"]'), " or ", Argument("k", "2", of_loss=True))
    must = wording(Argument("n"), " is needed")
    error = InputError(wording(Argument("gold")), must, remedy=wording("Give ", *tags))
    assert str(error) == 'gold: n is needed. Give types=["NP"] or k=2.'
    typed = "--gold: --n is needed. Give --types NP,VP or --param k=2."
    assert error.sentence(option_of) == typed
    assert pickle.loads(pickle.dumps(error)).sentence(option_of) == typed
    assert error.within("line 3").advised("Wait").sentence(option_of) == f"line 3: {typed} Wait."
    assert option_of(Argument("transition", "[[1]]")) == "transition=[[1]]"


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
    error = caught.value
    assert (error.line, error.column) == (3, 7)
    assert str(error).splitlines()[1:] == ["    value q", "          ^"]
    assert str(error.within("here")).splitlines()[1:] == ["    value q", "          ^"]
