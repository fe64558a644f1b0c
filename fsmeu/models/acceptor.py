"""Any acyclic acceptor as a label model: a lattice, a word graph, the result of a composition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fsmeu.errors import InputError, sentence
from fsmeu.fst.alphabet import Label
from fsmeu.fst.convert import fst_from_layered, layered_from_fst
from fsmeu.fst.layers import Layered
from fsmeu.models.base import Model
from fsmeu.models.checks import check_arcs
from fsmeu.models.distances import log_total, normalize
from fsmeu.models.independent import labels_of

__all__ = ["Acceptor"]


@dataclass(frozen=True, eq=False, repr=False)
class Acceptor(Model):
    """The distribution of an acceptor: P(y) is the weight of its paths that read y, over the total.

    Attributes:
        machine: the layers as given, before normalisation.
        labels: the labels.
        n: the length of every sequence.
        normalized: whether the weights are divided by their total.
        log_total: logarithm of the weight of all paths as given.
    """

    machine: Layered
    labels: tuple[Label, ...]
    n: int
    normalized: bool
    log_total: float

    def __init__(
        self, fst: object, labels: Sequence[Label] | None = None, normalize: bool = True
    ) -> None:
        """Reads a machine.

        Args:
            fst: an acyclic, epsilon-free OpenFst acceptor (log64, log or standard arcs, weights
                being negative logarithms) whose strings have one length; or layers.
            labels: the labels; may be left out for layers, which know theirs.
            normalize: whether to divide by the total weight. If not, what is asked of the model
                comes in the given weights.
        """
        machine = fst if isinstance(fst, Layered) else _read(fst, labels)
        if labels is not None and labels_of(labels, "Acceptor labels") != machine.alphabet:
            must = f"must be those of the layers, {list(machine.alphabet.labels)}"
            raise InputError(sentence("Acceptor labels", must, list(labels)))
        _check_weights(machine)
        self._keep(
            machine=machine,
            labels=machine.alphabet.labels,
            n=machine.n,
            normalized=bool(normalize),
            log_total=log_total(machine),
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

    def _build(self) -> Layered:
        return normalize(self.machine, "Acceptor fst") if self.normalized else self.machine

    def to_json(self) -> dict[str, Any]:
        """The layers as plain lists and numbers."""
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
        }


def _read(fst: object, labels: Sequence[Label] | None) -> Layered:
    if not hasattr(fst, "write_to_string"):
        raise InputError(sentence("Acceptor fst", "must be an OpenFst machine of pynini", fst))
    if labels is None:
        raise InputError(sentence("Acceptor labels", "must be given for an OpenFst machine"))
    alphabet = labels_of(labels, "Acceptor labels")
    return layered_from_fst(fst, alphabet, "Acceptor fst")  # type: ignore[arg-type]


def _check_weights(machine: Layered) -> None:
    check_arcs("Acceptor", sum(len(layer.source) for layer in machine.layers))
    weights = [machine.start, machine.final, *(layer.weight for layer in machine.layers)]
    if not all((np.isfinite(part) & (part >= 0)).all() for part in weights):
        must = "each weight must be a finite number, at least 0, as a factor (not as a logarithm)"
        remedy = "Add a constant to the negative logarithms if they are below -700"
        raise InputError(sentence("Acceptor fst", must, remedy=remedy))
