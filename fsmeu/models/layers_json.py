"""Layers out of plain lists, every number of which is checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fsmeu.errors import InputError, sentence
from fsmeu.fst.alphabet import Alphabet, Label
from fsmeu.fst.layers import Floats, Ints, Layer, Layered
from fsmeu.models.acceptor import Acceptor
from fsmeu.models.checks import check_arcs, count, first_index, index_text, real_array
from fsmeu.models.independent import labels_of

__all__ = ["acceptor_from_json", "is_deterministic"]

_KEYS = ("width", "source", "label", "target", "weight")


def acceptor_from_json(
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
        raise InputError(sentence("acceptor layers", "must be a list of objects", layers))
    if not isinstance(normalize, bool):
        raise InputError(sentence("acceptor normalize", "must be true or false", normalize))
    built: list[Layer] = []
    for k, content in enumerate(layers):
        width = built[-1].width if built else len(first)
        built.append(_layer(content, f"acceptor layers[{k}]", width, alphabet))
    last = _weights(final, "acceptor final")
    width = built[-1].width if built else len(first)
    if len(last) != width:
        must = f"must have {width} weights, one per state of the last layer"
        raise InputError(sentence("acceptor final", must, f"{len(last)}"))
    machine = Layered(alphabet, first, tuple(built), last, unambiguous=False)
    if is_deterministic(machine):
        machine = Layered(alphabet, first, tuple(built), last, unambiguous=True)
    return Acceptor(machine, normalize=normalize, log_scale=log_scale)


def is_deterministic(layered: Layered) -> bool:
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
        raise InputError(
            sentence(where, f"must be an object with keys {', '.join(_KEYS)}", content)
        )
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
        raise InputError(sentence(where, must, f"lengths {sorted(lengths)}"))
    return layer


def _weights(value: Any, where: str) -> Floats:
    array = real_array(value, where)
    if array.ndim != 1:
        raise InputError(sentence(where, "must be a list of numbers", f"shape {array.shape}"))
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        at = first_index(bad)
        got = f"{float(array[at])!r} at {index_text(at)}"
        raise InputError(sentence(where, "each weight must be a finite number, at least 0", got))
    return array


def _numbers(value: Any, where: str, limit: int) -> Ints:
    array = real_array(value, where)
    good = (array >= 0) & (array < limit) & (array == np.floor(array))
    if array.ndim != 1 or not good.all():
        must = f"must be a list of whole numbers from 0 to {limit - 1}"
        raise InputError(sentence(where, must, value))
    return array.astype(np.int64)
