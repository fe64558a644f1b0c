"""From what was typed to losses, label sequences and models."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from fsmeu.checking.examples import as_labels, labels_in
from fsmeu.errors import InputError, sentence
from fsmeu.exchange.constraint_file import read_constraint
from fsmeu.fst.alphabet import Alphabet, Label
from fsmeu.fst.tags import tag_labels
from fsmeu.losses.language.parse import MAX_SIZE
from fsmeu.losses.language.read import read
from fsmeu.losses.language.syntax import Spec
from fsmeu.losses.library import grammar_folder, library, read_spec
from fsmeu.losses.loss import SpecLoss, bind_loss
from fsmeu.losses.semantics.bind import check_known
from fsmeu.models import Model, as_model, from_json
from fsmeu.models.checks import real_array
from fsmeu.reading import STDIN, read_text

__all__ = [
    "STDIN",
    "check_labels_known",
    "choose_labels",
    "choose_params",
    "given_model",
    "load_loss",
    "name_values",
    "read_loss_file",
    "read_model",
    "sequence",
    "sequences",
    "whereabouts",
    "words",
]


def read_loss_file(name: str) -> Spec:
    """The spec of a built-in loss, of a file, or of standard input."""
    if name == STDIN:
        text = read_text(STDIN, "standard input", most=4 * MAX_SIZE)
        return read(text, "<stdin>")
    path = _path(name)
    if name not in library() and path.is_dir():
        must = "a loss must be a file or the name of a built-in loss"
        remedy = "'fsmeu losses' lists these"
        raise InputError(sentence(name or "loss", must, "a folder", remedy))
    return read_spec(name)


def whereabouts(name: str) -> str:
    """Where the text of a loss stands."""
    if name == STDIN:
        return "standard input"
    built_in = grammar_folder() / f"{name}.loss"
    return str(built_in if name in library() else _path(name).resolve())


def _path(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError as error:
        raise InputError(sentence(name, "there is no such home folder")) from error


def load_loss(
    name: str, params: Sequence[str] | None, labels: str | None, types: str | None
) -> SpecLoss:
    """A loss with its parameters and, if they were given, its labels."""
    spec = read_loss_file(name)
    given = choose_params(params)
    check_known(spec, given)
    for param in spec.params:
        if param.default is None and param.name not in given:
            must = f"the parameter {param.name!r} has no default"
            remedy = f"Give it: --param {param.name}=VALUE"
            raise InputError(sentence(f"{spec.kind} {spec.name}", must, None, remedy))
    return bind_loss(spec, given, choose_labels(labels, types, spec.scheme))


def check_labels_known(loss: SpecLoss) -> None:
    """Refuses a loss over chunk tags while nothing says which tags there are."""
    if loss.spec.scheme and loss.labels_given is None:
        remedy = "Add --types NP,VP or --labels O,B-NP,I-NP"
        where = f"{loss.kind} {loss.name}"
        raise InputError(sentence(where, "the chunk tags must be given", None, remedy))


def choose_params(texts: Sequence[str] | None) -> dict[str, Any]:
    """Parameters of a loss by name, from texts NAME=VALUE."""
    return name_values(texts, _param_value, "k=2")


def name_values(
    texts: Iterable[str] | None, value_of: Callable[[str, str], Any], sample: str
) -> dict[str, Any]:
    """Values by name, from texts NAME=VALUE.

    Args:
        texts: what was typed after each --param.
        value_of: the value of a name, from its text.
        sample: what could be typed, for messages.

    Raises:
        InputError: a text is written otherwise, or a name is given twice.
    """
    given: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            must = "a parameter must be written NAME=VALUE"
            raise InputError(sentence("--param", must, text, f"For example: --param {sample}"))
        if name in given:
            raise InputError(sentence("--param", f"{name!r} may be given once", text))
        given[name] = value_of(name, value.strip())
    return given


def _param_value(name: str, text: str) -> object:
    where = f"--param {name}"
    try:
        value = json.loads(text) if text.startswith("[") else float(text)
    except (ValueError, RecursionError):
        must = "the value must be a number, or a table such as [[0, 1], [2, 0]]"
        raise InputError(sentence(where, must, text or "nothing")) from None
    real_array(value, where)
    return value


def choose_labels(
    labels: str | None, types: str | None, scheme: str = ""
) -> tuple[Label, ...] | None:
    """The labels that --labels lists, or that --types makes; None when neither is given.

    Args:
        labels: what was typed after --labels.
        types: what was typed after --types.
        scheme: the scheme of the tags that types make; IOB2 where the loss names none.
    """
    if labels is not None and types is not None:
        must = "labels are given by --labels or by --types"
        raise InputError(sentence("labels", must, "both", "Leave one out"))
    if types is not None:
        return tag_labels(_some_words(types, "--types", "NP,VP"), scheme or "bio")
    return None if labels is None else as_labels(_some_words(labels, "--labels", "A,B,C"))


def words(text: str) -> list[str]:
    """The words of a text with blanks or commas between them."""
    return text.replace(",", " ").split()


def _some_words(text: str, option: str, sample: str) -> list[str]:
    if not words(text):
        raise InputError(sentence(option, f"at least one is needed, written {option} {sample}"))
    return words(text)


def sequences(loss: SpecLoss, z: str, y: str) -> tuple[SpecLoss, list[Label], list[Label]]:
    """The loss with a pair of sequences; labels left open are those that the pair uses."""
    if loss.labels_open:
        found = labels_in((z, y), bool(loss.spec.scheme))
        if found and (loss.spec.scheme or not set(found) <= set(loss.labels)):
            loss = loss.with_labels(Alphabet(found))
    alphabet = loss.alphabet
    return loss, sequence(alphabet, z, "hypothesis z"), sequence(alphabet, y, "reference y")


def sequence(alphabet: Alphabet, text: str, where: str = "hypothesis z") -> list[Label]:
    """The labels of a sequence: separated by spaces or commas, or one character each."""
    parts = words(text)
    spelled = len(parts) == 1 and any(len(str(label)) > 1 for label in alphabet.labels)
    if spelled and not all(letter in alphabet.index for letter in parts[0]):
        return alphabet.decode(alphabet.encode(parts, where))
    return alphabet.decode(alphabet.parse(text, where))


def read_model(probs: str | None, model: str | None, loss_name: str) -> Model:
    """The model that --probs or --model describes."""
    if (probs is None) == (model is None):
        must = "the model is given by --probs P1,P2,... or by --model FILE, one of them"
        raise InputError(sentence("model", must, "neither" if probs is None else "both"))
    if probs is not None:
        return as_model([_probability(word) for word in words(probs)])
    if model != STDIN:
        return from_json(Path(str(model)))
    if loss_name == STDIN:
        must = "standard input holds the loss or the model, not both"
        raise InputError(sentence("-", must, None, "Put one of them into a file"))
    text = read_text(STDIN, "standard input")
    if text.lstrip()[:1] != "{":
        must = 'must be a JSON object, such as {"probs": [0.2, 0.9]}'
        raise InputError(sentence("model on standard input", must, text.strip() or "nothing"))
    return from_json(text)


def _probability(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        must = "must be numbers from 0 to 1 with commas between them"
        raise InputError(sentence("--probs", must, word)) from None


def given_model(model: Model, text: str | None) -> Model:
    """The model on the condition that was typed after --given; as it is where there is none."""
    from fsmeu.corpora.parse import conditioned

    return conditioned(model, read_constraint("--given", text))
