"""Decisions of the explicit engine at lengths that nothing can list, held against the default's.

Both engines claim that no sequence is better than theirs by more than 1e-9 of its value, or of what
changing one of its labels costs in the median. So two proven decisions are that near each other.
"""

import os
from contextlib import contextmanager

import numpy as np

from fsmeu.decoding.decision import PRECISION
from tests.explore.cases import Refused, ask, holds
from tests.label_models import random_model

LENGTHS = range(8, 41)
STATES = "200000"
"""States of a machine: with more of them a case takes longer than a few seconds."""


@contextmanager
def limited():
    """Machines of few states alone."""
    before = os.environ.get("FSMEU_MAX_STATES")
    os.environ["FSMEU_MAX_STATES"] = STATES
    try:
        yield
    finally:
        if before is None:
            del os.environ["FSMEU_MAX_STATES"]
        else:
            os.environ["FSMEU_MAX_STATES"] = before


def long(case, random):
    """A decision under a random model of a length from 8 to 40, with a constraint or without."""
    rng = np.random.default_rng(random.getrandbits(64))
    spec = random_model(rng, case.labels, random.choice(LENGTHS))
    constraint = random.choice((None, None, f'.* "{case.labels[0]}" .*'))
    compare(case, spec.build(), constraint)


def compare(case, model, constraint=None):
    """What both engines decide, if the explicit one need not list all sequences."""
    asked = f"fsmeu.decode(loss, model, constraint={constraint!r}"
    call = f"{asked}, engine='openfst')"
    with limited():
        made = ask(case, call, anywhere=True, model=model)
    if made.method == "exhaustive":
        raise Refused("all sequences were listed")
    default = ask(case, f"{asked}, method={made.method!r})", anywhere=True, model=model)
    again = ask(case, f"fsmeu.expect(loss, {made.labels}, model)", anywhere=True, model=model)
    wide = again.upper - again.lower + PRECISION * (abs(again.value) + step(case, made, model))
    near = abs(made.value - again.value) <= wide
    holds(f"{call}.value", near, made.value, f"{again.value!r}, which expect has for its labels")
    if made.exact and default.exact:
        apart = abs(made.value - default.value)
        room = 2 * PRECISION * max(abs(default.value), step(case, made, model))
        holds(call, apart <= room, made, f"{default!r}, better or worse by {apart:.3g}")
    holds(call, made.exact or not default.exact, f"{made}: {made.why}", f"proven, as {default}")


def step(case, decision, model):
    """What changing one of the labels costs in the median."""
    changed = [
        [*decision.labels[:i], label, *decision.labels[i + 1 :]]
        for i in range(len(decision.labels))
        for label in case.labels
        if label != decision.labels[i]
    ]
    if not changed:
        return 0.0
    call = "fsmeu.expect_many(loss, changed, [model] * len(changed)).values"
    values = ask(case, call, anywhere=True, model=model, changed=changed)
    return float(np.median(np.abs(values - decision.value)))


CHECKS = {"explicit long": long}
