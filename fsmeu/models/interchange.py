"""Models from JSON: ``from_json`` undoes ``to_json``, and takes files written by hand.

A model is an object with the key "model" naming its kind; the other keys are the arguments of the
class or function of that kind, as nested lists. {"probs": [...]} alone is a Bernoulli model. In
potentials, for which -inf is allowed, the text "-inf" stands for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import FsmeuError, InputError, message, nearest, shorten
from fsmeu.files import read_text
from fsmeu.fst.alphabet import Alphabet, Label
from fsmeu.fst.layers import Layer, Layered
from fsmeu.models.adapters import hmm
from fsmeu.models.base import Model
from fsmeu.models.chains import Bernoulli, Independent, Markov
from fsmeu.models.checks import check_arcs, check_entries, count, labels_of, real_array
from fsmeu.models.lattices import Acceptor, Mixture, NBest
from fsmeu.models.potentials import Potentials

MAX_NESTING = 8
"""How deep mixtures of mixtures may go in a file."""


def from_json(source: Mapping[str, Any] | str | Path) -> Model:
    """The model that a JSON text describes.

    Args:
        source: what ``to_json`` gave, or JSON text of it (starting with a brace), or the path of a
            file that holds such text.

    Raises:
        InputError: the message names the file and the key.
    """
    where = "model JSON"
    if isinstance(source, str):
        source = source.removeprefix("\ufeff")
    if isinstance(source, Path) or (isinstance(source, str) and source.lstrip()[:1] != "{"):
        where = f"model file {source}"
        source = read_text(Path(source), where)
    try:
        content = parse_json(source, where) if isinstance(source, str) else source
        _check_nesting(content, where)
        return _model(content, where)
    except RecursionError:
        raise InputError(message(where, "must not be nested this deeply")) from None


def parse_json(text: str, where: str) -> object:
    """What a JSON text says, with finite numbers; an InputError if it is none."""

    def refuse(name: str) -> NoReturn:
        raise InputError(message(where, "numbers must be finite", name))

    try:
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        got = f"{error.msg} at line {error.lineno}, column {error.colno}"
        raise InputError(message(where, "must be JSON", got)) from None
    except ValueError as error:
        if isinstance(error, FsmeuError):
            raise
        raise InputError(message(where, "numbers must be of sensible length")) from None


def _check_nesting(content: object, where: str) -> None:
    """Refuses mixtures of mixtures of mixtures past ``MAX_NESTING``, level by level."""
    level, depth = [content], 0
    while level:
        if depth > MAX_NESTING:
            must = f"mixtures must be nested at most {MAX_NESTING} deep"
            raise InputError(message(where, must))
        inside = [part.get("models") for part in level if isinstance(part, Mapping)]
        level = [part for parts in inside if isinstance(parts, list) for part in parts]
        depth += 1


def _model(content: object, where: str) -> Model:
    if not isinstance(content, Mapping):
        must = 'must be an object, such as {"probs": [0.2, 0.9]} or {"model": "markov", ...}'
        raise InputError(message(where, must, shorten(content)))
    arguments = dict(content)
    kind = arguments.pop("model", "bernoulli" if "probs" in arguments else None)
    if not isinstance(kind, str) or kind not in KINDS:
        must = f"key 'model' must be one of {', '.join(KINDS)}"
        raise InputError(message(where, must, kind, nearest(shorten(kind), KINDS)))
    if kind == "bernoulli" and "probs" in arguments and "p" not in arguments:
        arguments["p"] = arguments.pop("probs")
    build, needed, optional = KINDS[kind]
    for key in arguments:
        if key not in needed + optional:
            must = f"{kind} takes the keys {', '.join(needed + optional)}"
            raise InputError(message(where, must, f"key {key!r}", nearest(key, needed + optional)))
    for key in needed:
        if key not in arguments:
            raise InputError(message(where, f"{kind} needs the key {key!r}"))
    try:
        return build(**arguments)
    except FsmeuError as error:
        text = f"{where}: {error}"
        raise type(error)(text) from None


def _potentials(unary: Any, pairwise: Any, labels: Any = None) -> Model:
    return Potentials(_with_inf(unary), _with_inf(pairwise), labels)


def _with_inf(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_inf(x) for x in value]
    return float("-inf") if value == "-inf" else value


def _mixture(models: object, weights: Any) -> Model:
    if not isinstance(models, list):
        raise InputError(message("Mixture models", "must be a list of models", models))
    parts = [_model(part, f"models[{k}]") for k, part in enumerate(models)]
    return Mixture(parts, weights)


# -- layers out of plain lists ---------------------------------------------------------------------

_KEYS = ("width", "source", "label", "target", "weight")


def _acceptor(
    labels: Sequence[Label],
    start: object,
    layers: object,
    final: object,
    normalize: bool = True,
    log_scale: float = 0.0,
) -> Acceptor:
    """The acceptor with these layers; see ``Acceptor.to_json``."""
    alphabet = labels_of(labels, "acceptor labels")
    first = _weights(start, "acceptor start")
    if not isinstance(layers, list):
        raise InputError(message("acceptor layers", "must be a list of objects", layers))
    built: list[Layer] = []
    for k, content in enumerate(layers):
        width = built[-1].width if built else len(first)
        built.append(_layer(content, f"acceptor layers[{k}]", width, alphabet))
    last = _weights(final, "acceptor final")
    width = built[-1].width if built else len(first)
    if len(last) != width:
        must = f"must have {width} weights, one per state of the last layer"
        raise InputError(message("acceptor final", must, f"{len(last)}"))
    machine = Layered(alphabet, first, tuple(built), last, unambiguous=False)
    machine = replace(machine, unambiguous=_is_deterministic(machine))
    return Acceptor(machine, normalize=normalize, log_scale=log_scale)


def _is_deterministic(layered: Layered) -> bool:
    """Whether labels lead from one start state to one state each, along arcs of positive weight."""
    if np.count_nonzero(layered.start) > 1:
        return False
    labels = len(layered.alphabet)
    for layer in layered.layers:
        pair = (layer.source * labels + layer.label)[layer.weight > 0]
        if len(np.unique(pair)) < len(pair):
            return False
    return True


def _layer(content: Any, where: str, width: int, alphabet: Alphabet) -> Layer:
    if not isinstance(content, Mapping) or set(content) != set(_KEYS):
        raise InputError(message(where, f"must be an object with keys {', '.join(_KEYS)}", content))
    after = count(content["width"], f"{where} width")
    check_arcs(f"{where} width", after, "states")
    layer = Layer(
        _numbers(content["source"], f"{where} source", width),
        _numbers(content["label"], f"{where} label", len(alphabet)),
        _numbers(content["target"], f"{where} target", after),
        _weights(content["weight"], f"{where} weight"),
        after,
    )
    lengths = {len(x) for x in (layer.source, layer.label, layer.target, layer.weight)}
    if len(lengths) > 1:
        must = "source, label, target and weight must have the same length"
        raise InputError(message(where, must, f"lengths {sorted(lengths)}"))
    return layer


def _weights(value: Any, where: str) -> Floats:
    array = real_array(value, where)
    if array.ndim != 1:
        raise InputError(message(where, "must be a list of numbers", f"shape {array.shape}"))
    must = "each weight must be a finite number, at least 0"
    check_entries(array, np.isfinite(array) & (array >= 0), where, must)
    return array


def _numbers(value: Any, where: str, limit: int) -> Ints:
    array = real_array(value, where)
    good = (array >= 0) & (array < limit) & (array == np.floor(array))
    if array.ndim != 1 or not good.all():
        must = f"must be a list of whole numbers from 0 to {limit - 1}"
        raise InputError(message(where, must, value))
    return array.astype(np.int64)


# -- kinds -----------------------------------------------------------------------------------------

_OPTIONS = ("normalize", "log_scale")

KINDS: dict[str, tuple[Callable[..., Model], tuple[str, ...], tuple[str, ...]]] = {
    "bernoulli": (Bernoulli, ("p",), ()),
    "independent": (Independent, ("probabilities",), ("labels",)),
    "markov": (Markov, ("initial", "transition"), ("n", "labels")),
    "potentials": (_potentials, ("unary", "pairwise"), ("labels",)),
    "hmm": (hmm, ("initial", "transition", "emission", "observations"), ("labels",)),
    "nbest": (NBest, ("sequences", "weights"), ("labels", "log")),
    "acceptor": (_acceptor, ("labels", "start", "layers", "final"), _OPTIONS),
    "mixture": (_mixture, ("models", "weights"), ()),
}
"""Kind of model: what builds it, the keys it needs, the keys it may have."""
