"""From what was typed to losses, label sequences and models."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from fsmeu.checking.examples import labels_in
from fsmeu.cli.failures import refuse
from fsmeu.cli.options import Binding, ModelSource
from fsmeu.corpora.records import conditioned
from fsmeu.endings import LOSS, MODEL_ARRAY, ending_of
from fsmeu.errors import InputError
from fsmeu.exchange.openfst import read_constraint
from fsmeu.files import STDIN, read_array, read_text
from fsmeu.fst.alphabet import Alphabet, Label, as_labels
from fsmeu.fst.tags import tag_labels
from fsmeu.losses.language.expressions import MAX_SIZE
from fsmeu.losses.language.read import read
from fsmeu.losses.language.syntax import Spec
from fsmeu.losses.loss import SpecLoss, bind_loss, grammar_folder, library, read_spec
from fsmeu.losses.semantics.bind import is_keyed
from fsmeu.models import Model, as_model, from_json
from fsmeu.models.checks import real_array


def read_loss_file(name: str) -> Spec:
    """The spec of a built-in loss, of a file, or of standard input."""
    if name == STDIN:
        return read(read_text(STDIN, "standard input", most=4 * MAX_SIZE), "<stdin>")
    if name not in library() and _path(name).is_dir():
        must = "a loss must be a file or the name of a built-in loss"
        refuse(name or "loss", must, "a folder", "'fsmeu losses' lists these")
    return read_spec(name)


def whereabouts(name: str) -> str:
    """The path of a loss file, or "standard input"."""
    if name == STDIN:
        return "standard input"
    return str(grammar_folder() / f"{name}.{LOSS}" if name in library() else _path(name).resolve())


def _path(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError as error:
        raise InputError(name, "there is no such home folder") from error


def load_loss(name: str, binding: Binding) -> SpecLoss:
    """A loss with its parameters and, if they were given, its labels."""
    spec = read_loss_file(name)
    return bind_loss(spec, choose_params(binding.param), choose_labels(binding, spec.scheme))


def with_known_labels(loss: SpecLoss) -> SpecLoss:
    """The loss; one over chunk tags is refused while nothing says which tags there are."""
    if loss.spec.scheme and loss.labels_given is None:
        remedy = "Add --types NP,VP or --labels O,B-NP,I-NP"
        refuse(f"{loss.kind} {loss.name}", "the chunk tags must be given", None, remedy)
    return loss


def choose_params(texts: Sequence[str] | None) -> dict[str, Any]:
    """Parameters of a loss by name, from texts NAME=VALUE."""
    return name_values(texts, _param_value, "--param k=2")


def name_values(
    texts: Iterable[str] | None, value_of: Callable[[str, str], Any], sample: str
) -> dict[str, Any]:
    """Values by name, from texts NAME=VALUE; the sample is what could be typed, for messages."""
    option = sample.split()[0]
    values: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            must = "a parameter must be written NAME=VALUE"
            refuse(option, must, text, f"For example: {sample}")
        if name in values:
            refuse(option, f"{name!r} may be given once", text)
        values[name] = value_of(name, value.strip())
    return values


def _param_value(name: str, text: str) -> object:
    where = f"--param {name}"
    try:
        value = json.loads(text) if text.startswith(("[", "{")) else float(text)
    except (ValueError, RecursionError):
        if text and text[0] not in "[{":
            return text  # a label, where the file has one there
        must = 'a table must be written as [[0, 1], [2, 0]] or {"A": 1, "B": 2}'
        refuse(where, must, text or "nothing")
    if not is_keyed(value):
        real_array(value, where)
    return value


def choose_labels(binding: Binding, scheme: str = "") -> tuple[Label, ...] | None:
    """The labels of --labels, or those that --types makes in a scheme of tags; None for neither."""
    labels = binding.labels
    types = binding.types
    if labels is not None and types is not None:
        refuse("labels", "labels are given by --labels or by --types", "both", "Leave one out")
    if types is None and labels is None:
        return None
    option, sample = ("--types", "NP,VP") if labels is None else ("--labels", "A,B,C")
    names = words(types or labels or "")
    if not names:
        refuse(option, f"at least one is needed, written {option} {sample}")
    return tag_labels(names, scheme or "bio") if labels is None else as_labels(names)


def words(text: str) -> list[str]:
    """The words of a text with blanks or commas between them."""
    return text.replace(",", " ").split()


def sequences(loss: SpecLoss, z: str, y: str) -> tuple[SpecLoss, list[Label], list[Label]]:
    """The loss with a pair of sequences; labels left open are those that the pair uses."""
    loss = loss.over([labels_in((z, y), bool(loss.spec.scheme))])
    alphabet = loss.alphabet
    return loss, sequence(alphabet, z, "hypothesis z"), sequence(alphabet, y, "reference y")


def sequence(alphabet: Alphabet, text: str, where: str = "hypothesis z") -> list[Label]:
    """The labels of a sequence: separated by spaces or commas, or one character each."""
    parts = words(text)
    spelled = len(parts) == 1 and any(len(str(label)) > 1 for label in alphabet.labels)
    if spelled and not all(letter in alphabet.index for letter in parts[0]):
        return alphabet.decode(alphabet.encode(parts, where))
    return alphabet.decode(alphabet.parse(text, where))


def read_model(source: ModelSource, loss_name: str, given: str | None = None) -> Model:
    """The model that --probs or --model describes, on the condition of --given."""
    if (source.probs is None) == (source.model is None):
        must = "the model is given by --probs P1,P2,... or by --model FILE, one of them"
        refuse("model", must, "neither" if source.probs is None else "both")
    return conditioned(_read_model(source, loss_name), read_constraint("--given", given))


def _read_model(source: ModelSource, loss_name: str) -> Model:
    if source.probs is not None:
        try:
            parts = re.split(r"\s*,\s*|\s+", source.probs.strip())
            numbers = [float(part) for part in parts if parts != [""]]
        except ValueError:
            refuse("--probs", "must be numbers from 0 to 1 with commas between them", source.probs)
        return as_model(numbers)
    name = str(source.model)
    if name != STDIN:
        is_array = ending_of(name) == MODEL_ARRAY
        return as_model(read_array(name, name)) if is_array else from_json(Path(name))
    if loss_name == STDIN:
        must = "standard input holds the loss or the model, not both"
        refuse("-", must, None, "Put one of them into a file")
    text = read_text(STDIN, "standard input")
    if text.lstrip()[:1] != "{":
        must = 'must be a JSON object, such as {"probs": [0.2, 0.9]}'
        refuse("model on standard input", must, text.strip() or "nothing")
    return from_json(text)
