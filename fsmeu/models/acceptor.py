"""Any acyclic acceptor as a label model: a lattice, a word graph, the result of a composition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fsmeu.errors import InputError, sentence, truth
from fsmeu.fst.alphabet import Label
from fsmeu.fst.convert import fst_from_layered, log_layers_from_fst
from fsmeu.fst.layers import Floats, Layered, LogLayered, from_logs
from fsmeu.models.base import Model
from fsmeu.models.checks import check_arcs, real_array
from fsmeu.models.distances import log_total, normalize
from fsmeu.models.independent import labels_of
from fsmeu.models.marginals import marginals

__all__ = ["MAX_COST", "Acceptor"]

MAX_COST = 1e300
"""Greatest size of a negative logarithm in a machine, so that no sum of them overflows."""

_PLAIN = 700.0
"""Greatest size of a logarithm whose number is an ordinary double (the last are about 708)."""


@dataclass(frozen=True, eq=False, repr=False)
class Acceptor(Model):
    """The distribution of an acceptor: P(y) is the weight of its paths that read y, over the total.

    Attributes:
        machine: the layers as given, before normalisation; if a double cannot hold some weight of
            an OpenFst machine, the normalised ones.
        labels: the labels.
        n: the length of every sequence.
        normalized: whether the weights are divided by their total.
        log_total: logarithm of the weight of all paths as given.
        log_scale: logarithm of a factor of all paths that is not part of ``machine``; 0 if a double
            can hold each weight as given.
    """

    machine: Layered
    labels: tuple[Label, ...]
    n: int
    normalized: bool
    log_total: float
    log_scale: float

    def __init__(
        self,
        fst: object,
        labels: Sequence[Label] | None = None,
        normalize: bool = True,
        log_scale: float = 0.0,
    ) -> None:
        """Reads a machine.

        Args:
            fst: an acyclic, epsilon-free OpenFst acceptor (log64, log or standard arcs, weights
                being negative logarithms) whose strings have one length; or layers.
            labels: the labels; may be left out for layers, which know theirs.
            normalize: whether to divide by the total weight. If not, what is asked of the model
                comes in the given weights.
            log_scale: logarithm of one more factor of all paths.
        """
        scale = _checked_scale(log_scale)
        normalize = truth("Acceptor", "normalize", normalize)
        if isinstance(fst, Layered):
            machine = from_logs(fst) if isinstance(fst, LogLayered) else fst
        else:
            machine, beside = _read(fst, labels)
            scale += beside
        if labels is not None and labels_of(labels, "Acceptor labels") != machine.alphabet:
            must = f"must be those of the layers, {list(machine.alphabet.labels)}"
            raise InputError(sentence("Acceptor labels", must, list(labels)))
        _check_weights(machine)
        whole = log_total(machine) + scale
        if not normalize:
            machine, scale = _scaled(machine, scale), 0.0
        self._keep(
            machine=machine,
            labels=machine.alphabet.labels,
            n=machine.n,
            normalized=normalize,
            log_total=whole,
            log_scale=scale,
        )
        if normalize:
            self.layered()

    @property
    def total(self) -> float:
        """The weight of all paths as given; inf where a double cannot hold it."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_total))

    @property
    def fst(self) -> object:
        """The model as an OpenFst acceptor with log64 arcs."""
        return fst_from_layered(self.layered())

    def marginals(self) -> Floats:
        """P(y_i = l) as an array of shape (n, L), relative to the weight of all paths."""
        return marginals(normalize(self.machine, "Acceptor fst"))

    def _build(self) -> Layered:
        return normalize(self.machine, "Acceptor fst") if self.normalized else self.machine

    @property
    def title(self) -> str:
        """What kind of distribution it is, in words."""
        return "lattice"

    def to_json(self) -> dict[str, Any]:
        """The layers as plain lists and numbers."""
        scale = {"log_scale": self.log_scale} if self.log_scale else {}
        return {
            "model": "acceptor",
            "labels": list(self.labels),
            "normalize": self.normalized,
            "start": self.machine.start.tolist(),
            "layers": [
                {
                    "width": layer.width,
                    "source": layer.source.tolist(),
                    "label": layer.label.tolist(),
                    "target": layer.target.tolist(),
                    "weight": layer.weight.tolist(),
                }
                for layer in self.machine.layers
            ],
            "final": self.machine.final.tolist(),
            **scale,
        }


def _read(fst: object, labels: Sequence[Label] | None) -> tuple[Layered, float]:
    """The layers of an OpenFst machine, and the logarithm of a factor that is not part of them."""
    if not hasattr(fst, "write_to_string"):
        raise InputError(sentence("Acceptor fst", "must be an OpenFst machine of pynini", fst))
    if labels is None:
        raise InputError(sentence("Acceptor labels", "must be given for an OpenFst machine"))
    alphabet = labels_of(labels, "Acceptor labels")
    logs = log_layers_from_fst(fst, alphabet, "Acceptor fst")  # type: ignore[arg-type]
    weights = np.concatenate([logs.final, *(layer.weight for layer in logs.layers)])
    size = np.abs(weights[~np.isneginf(weights)]).max()
    if size > MAX_COST:
        must = f"each weight must be a number up to {MAX_COST:g} in size, or infinity for none"
        raise InputError(sentence("Acceptor fst", must, f"one of size {size:g}"))
    if size <= _PLAIN:
        return from_logs(logs), 0.0
    return normalize(logs, "Acceptor fst"), log_total(logs)


def _checked_scale(log_scale: object) -> float:
    array = real_array(log_scale, "Acceptor log_scale")  # type: ignore[arg-type]
    if array.ndim or not np.isfinite(array):
        raise InputError(sentence("Acceptor log_scale", "must be a finite number", log_scale))
    return float(array)


def _scaled(machine: Layered, scale: float) -> Layered:
    """The layers with a factor for all paths, given by its logarithm, in their first weights."""
    if abs(scale) > _PLAIN:
        must = "without normalisation a double must hold the weight of all paths"
        remedy = "Leave normalize=False out"
        raise InputError(sentence("Acceptor fst", must, f"exp({scale:.6g})", remedy))
    factor = float(np.exp(scale))
    return replace(machine, start=machine.start * factor) if factor != 1.0 else machine


def _check_weights(machine: Layered) -> None:
    check_arcs("Acceptor", sum(len(layer.source) for layer in machine.layers))
    weights = [machine.start, machine.final, *(layer.weight for layer in machine.layers)]
    if not all((np.isfinite(part) & (part >= 0)).all() for part in weights):
        must = "each weight must be a finite number, at least 0, as a factor (not as a logarithm)"
        raise InputError(sentence("Acceptor fst", must))
