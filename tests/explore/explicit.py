"""The explicit engine on a case: what it answers is enumeration's answer and the default engine's.

One check asks everything that takes an engine: expectations, a distribution on the hypothesis tape,
derivatives, decisions with and without a constraint, and cost oracles.
"""

from contextlib import suppress
from functools import partial

import numpy as np

import fsmeu
from fsmeu.decoding.explicit import EXPLICIT
from tests.explore import checks, decisions
from tests.explore.cases import Refused, ask, holds, same
from tests.explore.rounded import UNIT
from tests.explore.truth import RELATIVE, STEPS
from tests.label_models import by_name

EQUAL = 1e-10
"""How far the engines may be apart, relative to the sizes of the values."""
CANCELS = 1e6
"""Values of no more than this many times what they may be off prove nothing: their terms cancel."""
MOST_PREFIXES = 30


def explicit(case, random):
    """Every query by the explicit engine; refused where none has an answer."""
    answered = 0
    for part in (expectation, tape, derivatives, decision, constrained, methods, oracle):
        try:
            part(case, random)
            answered += 1
        except Refused:
            continue
    if not answered:
        raise Refused("no query has an answer")


def expectation(case, random):
    checks.expect(case, random, "openfst")
    z, p, truth = case.draw(random), case.chances[0], case.truth
    call, lacking = f"fsmeu.expect(loss, {list(z)}, model", truth.lacks(z, p)
    ours, theirs = (ask(case, f"{call}, engine={e!r}).value", lacking) for e in checks.ENGINES)
    same(f"{call}).value of both engines", theirs, ours, EQUAL / RELATIVE * truth.tolerance(z, p))


def derivatives(case, random):
    checks.gradient(case, random, "openfst")
    z, truth = case.draw(random), case.truth
    row = truth.row(z)
    if case.models[0].kind in ("nbest", "mixture") or np.isnan(truth.values[row]).any():
        return
    call = f"fsmeu.gradient(loss, {list(z)}, model"
    ours, theirs = (by_name(ask(case, f"{call}, engine={e!r})")) for e in checks.ENGINES)
    wide = EQUAL * np.abs(truth.values[row]).max() + STEPS * UNIT * truth.sizes[row].max()
    for name, array in ours.items():
        same(f"{call}) {name} of both engines", theirs[name], array, (1 + case.n) * wide)


tape = partial(checks.expect_model, engine="openfst")


def decision(case, random):
    decide(case, None, None)


def constrained(case, random):
    decide(case, *decisions.random_constraint(case.truth, random))


def methods(case, random):
    """Every method that applies, with a constraint or without; refused where none does."""
    text, allowed = random.choice(((None, None), decisions.random_constraint(case.truth, random)))
    rows = case.truth.allowed if allowed is None else case.truth.allowed & allowed
    p, nothing = case.chances[0], not rows.any()
    answered = 0
    for name in EXPLICIT:
        call = f"fsmeu.decode(loss, model, constraint={text!r}, method={name!r}, engine='openfst')"
        with suppress(Refused):
            made = ask(case, call, nothing, nothing or not case.truth.defined)
            decisions.check_decision(case, call, made, p, allowed)
            holds(call, made.method == name, made, f"decided by {name}")
            answered += 1
    if not answered:
        raise Refused("no method applies")


def decide(case, text, allowed):
    """The model is asked as it is, and as a lattice."""
    truth, p = case.truth, case.chances[0]
    rows = truth.allowed if allowed is None else truth.allowed & allowed
    possible = truth.values[rows][:, p > 0]
    lacking = not possible.size or bool(np.isnan(possible).any())
    call = f"fsmeu.decode(loss, model, constraint={text!r}, engine='openfst')"
    model = case.built[0]
    for one in (model, fsmeu.models.Acceptor(model.layered())):
        made = ask(case, call, lacking, model=one)
        decisions.check_decision(case, call, made, p, allowed)
        cancels = abs(made.value) <= CANCELS * truth.tolerance(made.labels, p)
        holds(call, made.exact or cancels, made, "a decision that is proven")
    default = ask(case, f"fsmeu.decode(loss, model, constraint={text!r})", False, True)
    if default.exact:
        room = max(truth.tolerance(z, p) for z in (made.labels, default.labels))
        same(f"{call}.value of both", made.value, default.value, 2 * EQUAL / RELATIVE * room)


def oracle(case, random):
    """The cost of every label after some prefixes, by both engines and by listing."""
    if case.loss.requirement:  # there are none, see tests/losses/test_require.py
        return
    truth, y = case.truth, case.draw(random)
    column = truth.values[:, truth.row(y)]
    room = EQUAL * np.abs(column) + STEPS * UNIT * truth.sizes[:, truth.row(y)]
    sign = 1.0 if case.loss.kind == "utility" else -1.0
    lacking = bool(np.isnan(column).any())
    call = f"CostOracle(loss, {list(y)}"
    made = [ask(case, f"{call}, engine={e!r})", lacking) for e in checks.ENGINES]
    prefixes = {z[:k] for z in truth.sequences for k in range(case.n)}
    for prefix in random.sample(sorted(prefixes), min(MOST_PREFIXES, len(prefixes))):
        heads = [(*prefix, label) for label in case.labels]
        after = np.array([[z[: len(head)] == head for z in truth.sequences] for head in heads])
        best = np.array([(sign * column[behind]).max() for behind in after])
        wide = float(room[after.any(axis=0)].max())
        for one in made:
            place = f"{call}).costs({list(prefix)})"
            same(place, one.costs(prefix), best.max() - best, wide)
            same(f"{call}).value({list(prefix)})", one.value(prefix), sign * best.max(), wide)


CHECKS = {"explicit": explicit}
