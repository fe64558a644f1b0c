"""The hypotheses for which a loss is defined, as an acceptor over labels of z.

A file says so by ``require CONDITION``, which holds at each position. The condition reads z and
registers of z alone, so that these registers are the states of a deterministic acceptor. Where it
is intersected with what ``decode`` is told to allow, no method has to know of it.
"""

from __future__ import annotations

import math

import numpy as np

from fsmeu.arrays import Ints
from fsmeu.fst.compose import guard_size
from fsmeu.fst.constraint import Constraint
from fsmeu.losses.language.syntax import Spec, names_read
from fsmeu.losses.machine.machine import machine_view
from fsmeu.losses.machine.view import SpecAutomaton
from fsmeu.losses.semantics.at_length import LossAtLength


def reads_length(spec: Spec) -> bool:
    """True when registers look at position or length, or count up to it."""
    for r in spec.registers:
        sides = (r.start, r.update, r.low, r.high, r.depth)
        read = frozenset[str]().union(*(names_read(side) for side in sides if side is not None))
        if read & {"i", "n"} or r.sugar == "count":
            return True
    return False


def required_hypotheses(at: LossAtLength) -> Constraint | None:
    """The acceptor of the hypotheses in which a requirement holds; None where it holds in all.

    ``at`` has the flag of the requirement among its registers, and no other register than it needs.
    Where they look at the length, the acceptor is right for sequences of length n alone.
    """
    view = machine_view(at)  # nothing is merged: what is alike at one length may not be at others
    most = at.n if reads_length(at.spec) else math.inf
    name = f"{at.spec.kind} {at.spec.name}, require"
    codes = np.array([view.start], np.int64)
    rows = list[Ints]()
    begin = depth = 0
    while begin < len(codes) and depth < most:
        targets = _targets(view, codes[begin:])
        fresh = np.setdiff1d(targets[targets >= 0], codes)
        begin = len(codes)
        codes = np.concatenate([codes, fresh])
        rows.append(targets)
        depth += 1
        guard_size(name, len(codes))
    following = np.concatenate([np.zeros((0, len(at.bound.alphabet)), np.int64), *rows])
    if (following >= 0).all():
        return None
    ends = np.full((len(codes) - len(following), following.shape[1]), -1)
    order = np.argsort(codes)
    place = order[np.searchsorted(codes[order], following) % len(codes)]
    steps = np.concatenate([np.where(following < 0, -1, place), ends])
    return Constraint(steps, 0, np.arange(len(codes)))


def _targets(view: SpecAutomaton, codes: Ints) -> Ints:
    """The codes after each label of z, (states, labels), -1 where the requirement fails."""
    labels = len(view.bound.alphabet)
    first_of_y = np.arange(labels) * labels  # what y is does not matter
    targets, _ = view.advance(1, codes, first_of_y)  # the position is a register where it is read
    return targets
