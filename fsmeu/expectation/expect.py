"""``expect`` and ``compose``: the queries, on either engine."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence, shorten
from fsmeu.expectation.bounds import value_range
from fsmeu.expectation.composition import Composition, compose_machines, ending_masses
from fsmeu.expectation.input import Input, model_input, pair_input
from fsmeu.expectation.lattice import Final, run
from fsmeu.expectation.levels import Levels, level_sets
from fsmeu.expectation.result import Expectation
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.layers import Layered, pair_layers, string_layers
from fsmeu.losses.loss import Loss
from fsmeu.losses.view import View
from fsmeu.models import Model, as_model

__all__ = ["ENGINES", "compose", "expect", "query"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ENGINES = ("lattice", "openfst")
_ULPS_OF_LOGS = 746  # -log of the least double: p = exp(log p) is wrong by as many units at most


class Query:
    """A loss, a hypothesis and a model that fit together, checked once.

    Attributes:
        loss: the loss, over the model's labels.
        z: label indices of the hypothesis, or None when it is a distribution.
        model: the label model.
    """

    def __init__(self, loss: Loss, z: Any, model: Any, where: str = "expect") -> None:
        self.model = as_model(model)
        self.loss = over_labels(loss, self.model.alphabet, where)
        if isinstance(z, Model):
            _same_labels(self.model.alphabet, z.alphabet, where, "hypothesis")
            self.z: Ints | None = None
            self._distribution: Model | None = z
            length = z.n
        else:
            self.z = self.loss.alphabet.encode(_sequence(z, where), "hypothesis z")
            self._distribution = None
            length = len(self.z)
        if length != self.model.n:
            must = "the hypothesis and the model must have the same length"
            raise InputError(sentence(where, must, f"lengths {length} and {self.model.n}"))

    @cached_property
    def hypothesis(self) -> Layered:
        """The hypothesis as a layered acceptor: one sequence, or a distribution."""
        if self.z is not None:
            return string_layers(self.loss.alphabet, self.z)
        return self._distribution.layered()  # type: ignore[union-attr]

    @property
    def n(self) -> int:
        """The length of the sequences."""
        return self.model.n

    def view(self, weights: bool) -> View:
        """The loss as the lattice engine walks it."""
        return self.loss.view(self.n, self.z, weights)

    def input(self) -> Input:
        """What that view reads."""
        if self.z is not None:
            return model_input(self.model)
        return pair_input(self.hypothesis, self.model.layered())


def query(loss: Loss, z: Any, model: Any, where: str = "expect") -> Query:
    """The three parts of an expectation, checked against each other."""
    return Query(loss, z, model, where)


def over_labels(loss: Loss, alphabet: Alphabet, where: str) -> Loss:
    """The loss over the model's labels, where its definition leaves them open."""
    if getattr(loss, "open", False):
        return loss.with_labels(alphabet)
    _same_labels(alphabet, loss.alphabet, where, f"{loss.kind} {loss.name}")
    return loss


def _same_labels(model: Alphabet, other: Alphabet, where: str, what: str) -> None:
    if model.labels != other.labels:
        must = f"{what} and model must have the same labels in the same order"
        got = f"{shorten(other.labels)} and {shorten(model.labels)}"
        raise InputError(sentence(where, must, got, "Give labels=... when loading or building"))


def _sequence(z: Any, where: str) -> Iterable[object]:
    if isinstance(z, str | bytes) or hasattr(z, "__iter__"):
        return z  # type: ignore[no-any-return]
    raise InputError(sentence(where, "z must be a label sequence or a model", z))


def expect(
    loss: Loss,
    z: Any,
    model: Any,
    *,
    engine: str = "lattice",
    keep: int | None = None,
    max_states: int | None = None,
) -> Expectation:
    """The expected value of a loss or utility of hypothesis z when the reference follows a model.

    Args:
        loss: a loss or utility.
        z: a label sequence, or a model (a distribution on the hypothesis tape, independent of y).
        model: a label model; a sequence of probabilities stands for ``Bernoulli``.
        engine: "lattice" streams the composition layer by layer; "openfst" builds it with pynini.
        keep: expand only this many of the most probable states of each layer (Jansche 2007, section
            4); ``lower`` and ``upper`` then hold the truth between them.
        max_states: limit on the number of states that may be built.

    >>> from fsmeu.losses.library import load
    >>> round(expect(load("fscore"), "110", [0.9, 0.5, 0.3]).value, 6)
    0.731333
    """
    asked = query(loss, z, model)
    if engine not in ENGINES:
        raise InputError(sentence("expect", f"engine must be one of {', '.join(ENGINES)}", engine))
    keep = _whole(keep, "keep")
    max_states = _whole(max_states, "max_states")
    if engine == "openfst":
        return _materialised(asked, keep, max_states)
    return _streamed(asked) if keep is None else _kept(asked, _levels(asked, keep), 0)


def _whole(count: Any, name: str) -> int | None:
    """An optional number of states, checked."""
    if count is None:
        return None
    if not isinstance(count, bool | np.bool_):
        try:
            number = operator.index(count)
        except TypeError:
            number = 0
        if number >= 1:
            return number
    raise InputError(sentence("expect", f"{name} must be a whole number of at least 1", count))


def _streamed(asked: Query) -> Expectation:
    view, source = asked.view(weights=True), asked.input()
    final = run(view, source)
    value = _value(view, final)
    kept = float(final.mass[0].sum())
    if view.linear and kept:
        view.check_range(np.array([value / kept]))
    return Expectation(value, value, value, kept, lambda: _levels(asked, None))


def _value(view: View, final: Final) -> float:
    held = final.mass[0] > 0
    codes, mass = final.codes[held], final.mass[:, held]
    value, slopes = view.values(codes)
    return float(mass[0] @ value + (mass[1:] * slopes).sum())


def _levels(asked: Query, keep: int | None) -> Levels:
    view = asked.view(weights=False)
    final = run(view, asked.input(), keep)
    held = final.mass[0] > 0
    return level_sets(view.values(final.codes[held])[0], final.mass[0, held])


def _kept(asked: Query, levels: Levels, lost_ulps: int) -> Expectation:
    """The kept part with bounds: what was lost is worth at least the least and at most the most.

    Args:
        asked: the query.
        levels: what was kept.
        lost_ulps: units of the last place that probabilities had lost before they were summed.
    """
    value, kept = levels.mean, float(levels.probabilities.sum())
    lost = max(0.0, float(asked.model.total_mass()) - kept)
    least, most = value_range(asked.loss, asked.n, asked.z)
    rounding = 4 * sys.float_info.epsilon * (asked.n + 1 + lost_ulps)
    size = float(np.abs(levels.values) @ levels.probabilities)
    lower = value + _left_out(lost, least, -rounding) - rounding * size
    upper = value + _left_out(lost, most, rounding) + rounding * size
    return Expectation(value, lower, upper, kept, lambda: levels)


def _left_out(lost: float, extreme: float, rounding: float) -> float:
    """What the lost mass is worth at an extreme of the value, rounded outwards."""
    if not lost and not math.isfinite(extreme):
        return 0.0
    return lost * extreme + rounding * abs(extreme)


def compose(
    loss: Loss, z: Any, model: Any, *, max_states: int | None = None, minimize: bool = False
) -> Composition:
    """The materialised machine hypothesis o loss o model.

    Args:
        loss: a loss or utility.
        z: a label sequence, or a model.
        model: a label model.
        max_states: limit on the number of states that may be built.
        minimize: merge states of the loss that no continuation can tell apart.
    """
    asked = query(loss, z, model, "compose")
    return _compose(asked, max_states, minimize)


def _compose(asked: Query, max_states: int | None, minimize: bool = False) -> Composition:
    given = None if asked.z is None else asked.loss.alphabet.decode(asked.z)
    model = asked.model.layered()
    pairs = pair_layers(asked.hypothesis, model)
    machine = asked.loss.compile(asked.n, given, max_states, minimize, pairs)
    return compose_machines(asked.hypothesis, machine, model, max_states)


def _materialised(asked: Query, keep: int | None, max_states: int | None) -> Expectation:
    whole = _compose(asked, max_states)
    ending = ending_masses(whole.table, keep)
    held = ending > 0
    levels = level_sets(whole.machine.values[whole.loss_states[held]], ending[held])
    if keep is not None:
        return _kept(asked, levels, _ULPS_OF_LOGS)
    value = levels.mean
    return Expectation(value, value, value, float(ending.sum()), lambda: levels)
