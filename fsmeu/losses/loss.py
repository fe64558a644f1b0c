"""The loss object: a spec or a Python function with its labels and parameters filled in."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, SizeLimitError, sentence
from fsmeu.fst.alphabet import BINARY, Alphabet, Label, as_alphabet
from fsmeu.fst.layers import Layered, any_layers, pair_layers, string_layers
from fsmeu.losses.analysis import linear_registers, tapes
from fsmeu.losses.bind import bind, tag_labels
from fsmeu.losses.bound import Bound
from fsmeu.losses.domains import domain_of
from fsmeu.losses.evaluate import values_of_pairs
from fsmeu.losses.function import FunctionView, SimpleFunction
from fsmeu.losses.machine import Machine, build_machine, machine_view
from fsmeu.losses.minimize import minimize as merge_states
from fsmeu.losses.syntax import Spec
from fsmeu.losses.view import SpecView, View

__all__ = ["FunctionLoss", "Loss", "SpecLoss", "bind_loss", "evaluate", "function_loss"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST_MEMOS = 64


class Loss(Protocol):
    """A loss (to be minimised) or a utility (to be maximised) over pairs of label sequences."""

    @property
    def name(self) -> str:
        """The name in the file's header."""

    @property
    def kind(self) -> str:
        """Either "loss" or "utility"."""

    @property
    def alphabet(self) -> Alphabet:
        """The labels of both tapes."""

    def view(self, n: int, z: Ints | None = None, weights: bool = False) -> View:
        """The loss as an engine walks it; ``weights`` lets linear registers ride in the weight."""

    def compile(
        self,
        n: int,
        z: Any = None,
        max_states: int | None = None,
        minimize: bool = False,
        pairs: Layered | None = None,
    ) -> Machine:
        """The explicit two-tape machine for sequences of length n."""

    def with_labels(self, alphabet: Alphabet) -> Loss:
        """The same loss over other labels, where its definition leaves them open."""

    def pair_values(self, z: Ints, y: Ints) -> Floats:
        """The value of each pair of rows of label indices."""


@dataclass(frozen=True, eq=False)
class SpecLoss:
    """A loss from a file.

    Attributes:
        spec: the file's contents.
        given: parameters that were given explicitly.
        chosen: labels that were given explicitly, or None.
    """

    spec: Spec
    given: Mapping[str, Any] = field(default_factory=dict)
    chosen: Alphabet | None = None

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={v!r}" for k, v in self.given.items())
        return f"<{self.kind} {self.name}({inside})>"

    @property
    def name(self) -> str:
        """The name in the file's header."""
        return self.spec.name

    @property
    def kind(self) -> str:
        """Either "loss" or "utility"."""
        return self.spec.kind

    @property
    def open(self) -> bool:
        """True when the labels may still be chosen."""
        return self.spec.labels is None and self.chosen is None

    @cached_property
    def bound(self) -> Bound:
        """The spec with labels and parameters filled in."""
        return bind(self.spec, self.alphabet, self.given)

    @cached_property
    def alphabet(self) -> Alphabet:
        """The labels of both tapes; binary unless the file or the caller says otherwise."""
        if self.chosen is not None:
            return self.chosen
        if self.spec.labels is not None:
            return Alphabet(self.spec.labels)
        if self.spec.bio:
            must = "the tags must be given"
            remedy = 'Load it with types=["NP", ...] or labels=["O", "B-NP", ...]'
            raise InputError(sentence(f"{self.kind} {self.name}", must, None, remedy))
        tables = [
            self.given[p.name]
            for p in self.spec.params
            if p.type == "table" and isinstance(self.given.get(p.name), Sequence | np.ndarray)
        ]
        return Alphabet(tuple(range(len(tables[0])))) if tables else BINARY

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels of both tapes."""
        return self.alphabet.labels

    @property
    def params(self) -> Mapping[str, Any]:
        """The value of each parameter."""
        return self.bound.params

    def __call__(self, z: Iterable[object], y: Iterable[object]) -> float:
        """The value of one pair of sequences."""
        return evaluate(self, z, y)

    def with_labels(self, alphabet: Alphabet) -> SpecLoss:
        """The same loss over these labels, where the file leaves them open."""
        if alphabet not in self._relabelled:
            if len(self._relabelled) >= _MOST_MEMOS:
                self._relabelled.clear()
            self._relabelled[alphabet] = replace(self, chosen=alphabet)
        return self._relabelled[alphabet]

    @cached_property
    def _relabelled(self) -> dict[Alphabet, SpecLoss]:
        return {}

    def linear(self, z_given: bool) -> tuple[str, ...]:
        """The registers that may ride in the weight; with z given, z-only ones are constants."""
        return self._linear[z_given]

    @cached_property
    def _linear(self) -> dict[bool, tuple[str, ...]]:
        reach = tapes(self.spec)
        with_y = [name for name, t in reach.items() if "y" in t]
        return {True: linear_registers(self.spec, with_y), False: linear_registers(self.spec)}

    def view(self, n: int, z: Ints | None = None, weights: bool = False) -> SpecView:
        """The loss as an engine walks it."""
        linear = self.linear(z is not None) if weights else ()
        return SpecView(self.bound, n, z, linear, memo=self.memo((n, z is not None, linear)))

    def memo(self, key: Hashable) -> dict[Hashable, Any]:
        """What was found out about this loss, for views of a kind or lengths; the last few held."""
        memo = self._memos.pop(key, {})
        self._memos[key] = memo
        if len(self._memos) > _MOST_MEMOS:
            del self._memos[next(iter(self._memos))]
        return memo

    @cached_property
    def _memos(self) -> dict[Hashable, dict[Hashable, Any]]:
        return {}

    def compile(
        self,
        n: int,
        z: Any = None,
        max_states: int | None = None,
        minimize: bool = False,
        pairs: Layered | None = None,
    ) -> Machine:
        """The explicit two-tape machine for sequences of length n.

        Args:
            n: length of the sequences.
            z: a hypothesis; then registers that read z alone are left out where no step looks at
                them, and only what z can reach is built.
            max_states: limit on the number of states.
            minimize: merge what no continuation can tell apart: values of a register before the
                machine is built, states afterwards. The registers are those of one state of many.
            pairs: an acceptor of pairs of labels, z * L + y; then only what it can reach is built.
        """
        given = encoded(self, n, z)
        view = machine_view(self.bound, n, given, merge=minimize)
        try:
            return _built(self, view, given, pairs, max_states, minimize)
        except SizeLimitError as error:
            counts = ", ".join(self.linear(given is not None))
            if not counts:
                raise
            instead = f"compile_summed (compile --summed) lets {counts} ride in the weight"
            message = f"{error} Or {instead}, which takes fewer states."
            raise SizeLimitError(message) from None

    def pair_values(self, z: Ints, y: Ints) -> Floats:
        """The value of each pair of rows of label indices."""
        return values_of_pairs(self.bound, z, y)


@dataclass(frozen=True, eq=False)
class FunctionLoss:
    """A loss from a Python object with ``start``, ``step`` and ``value``."""

    function: SimpleFunction
    alphabet: Alphabet
    name: str
    kind: str

    def __call__(self, z: Iterable[object], y: Iterable[object]) -> float:
        """The value of one pair of sequences."""
        return evaluate(self, z, y)

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels of both tapes."""
        return self.alphabet.labels

    @property
    def open(self) -> bool:
        """Never: a Python loss is made for its labels."""
        return False

    def with_labels(self, alphabet: Alphabet) -> FunctionLoss:
        """The same function over other labels."""
        return replace(self, alphabet=alphabet)

    def view(self, n: int, z: Ints | None = None, weights: bool = False) -> FunctionView:
        """The loss as an engine walks it; nothing rides in the weight."""
        return FunctionView(self.function, self.alphabet, n, z)

    def compile(
        self,
        n: int,
        z: Any = None,
        max_states: int | None = None,
        minimize: bool = False,
        pairs: Layered | None = None,
    ) -> Machine:
        """The explicit two-tape machine for sequences of length n."""
        given = encoded(self, n, z)
        view = FunctionView(self.function, self.alphabet, n)
        return _built(self, view, given, pairs, max_states, minimize)

    def pair_values(self, z: Ints, y: Ints) -> Floats:
        """The value of each pair of rows of label indices."""
        labels = self.alphabet.labels
        values = np.empty(len(z))
        for row in range(len(z)):
            state = self.function.start()
            for a, b in zip(z[row], y[row], strict=True):
                state = self.function.step(state, labels[a], labels[b])
            values[row] = float(self.function.value(state))
        return values


def encoded(loss: Loss, n: object, z: Any) -> Ints | None:
    """The label indices of z, for a machine of length n.

    Raises:
        InputError: n is not a whole number of at least 0, or z is not of that length.
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise InputError(sentence("compile", "n must be a whole number, 0 or more", n))
    if z is None:
        return None
    given = loss.alphabet.encode(z, "hypothesis z")
    if len(given) != n:
        must = f"hypothesis z must have length n = {n}"
        raise InputError(sentence("compile", must, f"length {len(given)}"))
    return given


def reached_by(loss: Loss, n: int, z: Ints | None) -> Layered | None:
    """The pairs of a hypothesis with every reference, None for all pairs."""
    if z is None:
        return None
    return pair_layers(string_layers(loss.alphabet, z), any_layers(loss.alphabet, n))


def _built(
    loss: Loss,
    view: SpecView | FunctionView,
    z: Ints | None,
    pairs: Layered | None,
    max_states: int | None,
    minimize: bool,
) -> Machine:
    """The machine of a view, of what z or these pairs reach."""
    pairs = pairs or reached_by(loss, view.n, z)
    name = f"{loss.kind} {loss.name}, n = {view.n}"
    built = build_machine(name, loss.alphabet, view, view.registers, pairs, max_states)
    return merge_states(built) if minimize else built


def function_loss(
    function: SimpleFunction,
    labels: Alphabet | Sequence[Label] | str = (0, 1),
    *,
    kind: str = "loss",
    name: str | None = None,
) -> FunctionLoss:
    """A loss from a Python object with ``start()``, ``step(state, z, y)`` and ``value(state)``."""
    if kind not in ("loss", "utility"):
        raise InputError(sentence("function_loss", "kind must be 'loss' or 'utility'", kind))
    for method in ("start", "step", "value"):
        if not callable(getattr(function, method, None)):
            must = "the object must have the methods start, step and value"
            raise InputError(sentence("function_loss", must, f"one without {method}"))
    return FunctionLoss(function, as_alphabet(labels), name or type(function).__name__, kind)


def bind_loss(
    spec: Spec,
    params: Mapping[str, Any],
    labels: Alphabet | Sequence[Label] | str | None = None,
    types: Sequence[str] | None = None,
) -> SpecLoss:
    """A loss of a spec with parameters and, if wanted, labels (or the chunk types that make them).

    Labels given for a file that fixes its own rename those, one for one.
    """
    where = f"{spec.kind} {spec.name}"
    if types is not None:
        labels = tag_labels(types)
    chosen = as_alphabet(labels) if labels is not None else None
    if chosen is not None and spec.labels is not None and len(chosen) != len(spec.labels):
        must = f"the file has {len(spec.labels)} labels, {', '.join(map(str, spec.labels))}"
        raise InputError(sentence(where, must, f"{len(chosen)} labels"))
    loss = SpecLoss(spec, dict(params), chosen)
    if not (spec.bio and chosen is None):
        bound = loss.bound
        for register in spec.registers:
            domain_of(bound, register, n=1)
    return loss


def evaluate(loss: Loss, z: Iterable[object], y: Iterable[object]) -> float:
    """The value of one pair of sequences (Jansche 2007, Algorithm 3).

    Args:
        loss: a loss or utility.
        z: the hypothesis, a sequence of labels.
        y: the reference, of the same length.
    """
    zs = loss.alphabet.encode(z, "hypothesis z")
    ys = loss.alphabet.encode(y, "reference y")
    if len(zs) != len(ys):
        must = "hypothesis z and reference y must have the same length"
        raise InputError(sentence("evaluate", must, f"lengths {len(zs)} and {len(ys)}"))
    return float(loss.pair_values(zs[None, :], ys[None, :])[0])
