"""What is to be drawn: from what was asked for to a machine and a path through it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fsmeu.drawing.scene.names import register_texts, with_last_label
from fsmeu.drawing.scene.parts import (
    Route,
    cut,
    find_route,
    merged_automaton,
    project,
    reached,
    registers_given_z,
)
from fsmeu.errors import InputError, check_int, message
from fsmeu.exchange.automaton import Automaton, as_automaton
from fsmeu.expectation.composition import Composition, compose
from fsmeu.expectation.query import refuse_exchanged
from fsmeu.fst.alphabet import listed
from fsmeu.fst.compose import max_states as general_limit
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.machine.machine import Machine
from fsmeu.losses.protocol import Loss
from fsmeu.models import Model, as_model

MAX_BUILT = 50_000


@dataclass(frozen=True)
class Subject:
    """The arguments of ``draw`` that say what is drawn."""

    thing: Any
    n: int | None = None
    z: Any = None
    y: Iterable[object] | None = None
    model: Any = None
    given_z: bool = False
    registers: Sequence[str] | None = None
    depth: int | None = None
    max_states: int | None = None
    merged: bool = False


def find_subject(asked: Subject) -> tuple[Automaton, Route | None]:
    """The machine that was asked for, and the path of the pair (z, y) if both are given.

    In a composition that is given as such, z alone has a path for each reference.
    """
    asked = replace(asked, z=_kept(asked.z), y=_kept(asked.y))
    automaton = _of_loss(asked) if _is_loss(asked.thing) else _of_machine(asked)
    if asked.registers is not None:
        automaton = project(automaton, asked.registers)
    route = _route(automaton, asked)
    return (automaton, route) if asked.depth is None else cut(automaton, asked.depth, route)


def _is_loss(thing: Any) -> bool:
    return all(hasattr(thing, name) for name in ("compile", "alphabet", "kind", "name"))


def _kept(sequence: Any) -> Any:
    """A sequence that can be read more than once."""
    if sequence is None or isinstance(sequence, Model | str):
        return sequence
    return listed(sequence, "draw", "z and y must be label sequences")


def _of_machine(asked: Subject) -> Automaton:
    """Something compiled already: what only a loss can be asked for is refused."""
    for name in ("n", "model", "given_z", "merged"):
        if not (getattr(asked, name) is None or getattr(asked, name) is False):
            must = f"{name} goes with a loss, this is a machine already"
            remedy = "Say which registers to keep" if name == "given_z" else ""
            raise InputError(message("draw", must, type(asked.thing).__name__, remedy))
    automaton = as_automaton(asked.thing)
    if isinstance(asked.thing, Composition):
        return with_last_label(_spelled_out(automaton, asked.thing.machine))
    if isinstance(asked.thing, Machine):
        return _spelled_out(automaton, asked.thing)
    return reached(automaton) if isinstance(asked.thing, Model) else automaton


def _spelled_out(automaton: Automaton, machine: Machine) -> Automaton:
    """The automaton with named states and memories in words, where the loss is known."""
    if machine.source is None:
        return automaton
    return replace(automaton, texts=register_texts(machine.source, machine.n, automaton.registers))


def _of_loss(asked: Subject) -> Automaton:
    loss: Loss = asked.thing
    limit = asked.max_states
    if limit is None:
        limit = general_limit() if os.environ.get("FSMEU_MAX_STATES") else MAX_BUILT
    if asked.model is not None:
        return _composition(loss, asked, limit)
    if isinstance(asked.z, Model):
        must = "a hypothesis that is a model needs a model of the reference beside it"
        raise InputError(message("draw", must, None, "Give model=..., or labels for z"))
    n = _length(asked)
    alone = asked.z is not None and asked.y is None and not asked.given_z
    if asked.merged and (asked.given_z or asked.registers is not None):
        must = "states are merged by what follows, or by registers, not both"
        raise InputError(message("merged", must, None, "Leave given_z and registers out"))
    if asked.merged:
        return merged_automaton(loss, n, asked.z if alone else None, limit)
    machine = loss.compile(n, asked.z if alone else None, limit)
    automaton = _spelled_out(as_automaton(machine), machine)
    if not asked.given_z:
        return automaton
    if not isinstance(loss, SpecLoss):
        must = "what follows z alone is known of losses in files"
        raise InputError(message("given_z", must, type(loss).__name__, "Use registers=..."))
    own = {register.name for register in loss.spec.registers}
    clock = [name for name in automaton.registers if name not in own]
    return project(automaton, [*clock, *registers_given_z(loss.spec)])


def _composition(loss: Loss, asked: Subject, limit: int) -> Automaton:
    refuse_exchanged(asked.z, asked.model, "draw")
    model = as_model(asked.model)
    if asked.merged:
        must = "a composition is drawn as it is"
        raise InputError(message("merged", must, None, "Leave merged or the model out"))
    if asked.z is None:
        must = "with a model, the hypothesis z must be given: labels, or a model of its own"
        raise InputError(message("draw", must))
    if asked.n is not None and asked.n != model.n:
        raise InputError(message("draw", f"n must be that of the model, {model.n}", asked.n))
    if asked.given_z:
        must = "with a model, what follows z alone is left out already"
        raise InputError(message("given_z", must, None, "Leave given_z out"))
    composed = compose(loss, asked.z, model, max_states=limit)
    return with_last_label(_spelled_out(as_automaton(composed), composed.machine))


def _length(asked: Subject) -> int:
    given = [len(list(x)) for x in (asked.z, asked.y) if x is not None]
    if asked.n is not None:
        given.insert(0, check_int("draw", "n", asked.n, least=0))
    if not given:
        must = "the length of the sequences must be given"
        raise InputError(message("draw", must, None, "Give n=3, or sequences z and y"))
    if len(set(given)) > 1:
        must = "n, hypothesis z and reference y must have the same length"
        raise InputError(message("draw", must, f"lengths {', '.join(map(str, given))}"))
    return given[0]


def _route(automaton: Automaton, asked: Subject) -> Route | None:
    if asked.y is None:
        if asked.z is None or not isinstance(asked.thing, Composition):
            return None
        return find_route(automaton, automaton.encode(asked.z, False, "hypothesis z"), None)
    if asked.z is None or isinstance(asked.z, Model):
        if not automaton.acceptor:
            must = "to colour a path, the hypothesis z must be given as labels too"
            raise InputError(message("draw", must))
        labels = automaton.encode(asked.y, True, "reference y")
        return find_route(automaton, labels, labels)
    z = automaton.encode(asked.z, False, "hypothesis z")
    return find_route(automaton, z, automaton.encode(asked.y, True, "reference y"))
