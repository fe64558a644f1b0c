"""What a loss is to everything above it, however it was written, and how it is compiled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, as_whole, message, shorten
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.layers import Layered, any_layers, pair_layers, string_layers
from fsmeu.losses.machine.machine import Machine, build_machine
from fsmeu.losses.machine.minimize import minimize as merge_states
from fsmeu.losses.machine.view import MachineView, View


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

    def over(self, sequences: Iterable[Iterable[object]]) -> Loss:
        """The same loss, over the labels of these sequences where they are open."""

    def with_labels(self, alphabet: Alphabet) -> Loss:
        """The same loss over other labels where they are open, else over its own in this order."""

    @property
    def swapped(self) -> Loss:
        """The loss whose value for (z, y) is that of this one for (y, z)."""

    def pair_values(self, z: Ints, y: Ints) -> Floats:
        """The value of each pair of rows of label indices."""


def check_loss(loss: object, where: str) -> None:
    """Refuses what has not what a loss has, such as the name of one, by an InputError."""
    parts = ("view", "compile", "alphabet", "kind")
    if not all(hasattr(type(loss), name) or hasattr(loss, name) for name in parts):
        remedy = f"Use fsmeu.load({shorten(loss)!r})" if isinstance(loss, str) else ""
        must = "a loss is needed, as load, loads or function_loss make it"
        raise InputError(message(where, must, loss, remedy))


def encoded(loss: Loss, n: object, z: Any) -> Ints | None:
    """The label indices of z for a machine of length n; an InputError if they do not suit."""
    if as_whole(n, least=0) is None:
        raise InputError(message("compile", "n must be a whole number, 0 or more", n))
    if z is None:
        return None
    given = loss.alphabet.encode(z, "hypothesis z")
    if len(given) != n:
        must = f"hypothesis z must have length n = {n}"
        raise InputError(message("compile", must, f"length {len(given)}"))
    return given


def reached_by(loss: Loss, n: int, z: Ints | None) -> Layered | None:
    """The pairs of a hypothesis with every reference, None for all pairs."""
    if z is None:
        return None
    return pair_layers(string_layers(loss.alphabet, z), any_layers(loss.alphabet, n))


def built(
    loss: Loss,
    view: MachineView,
    z: Ints | None,
    pairs: Layered | None,
    max_states: int | None,
    minimize: bool,
) -> Machine:
    """The machine of a view: of what these pairs reach, else of what z reaches with every y."""
    name = f"{loss.kind} {loss.name}, n = {view.n}"
    pairs = pairs or reached_by(loss, view.n, z)
    machine = build_machine(name, loss.alphabet, view, pairs, max_states)
    return merge_states(machine) if minimize else machine
