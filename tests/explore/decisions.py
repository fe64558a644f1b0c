"""What is checked of decisions: their value, their constraint, and that nothing is better."""

import re

import numpy as np

from fsmeu.decoding.choice import EXACT, METHODS
from tests.explore.cases import NAMES, ask, holds, same
from tests.explore.rounded import UNIT

TRIED = [name for name in METHODS if name not in ("nbest", "marginal")]


def check_decision(case, call, decision, p, allowed=None):
    """A decision has the value that it says and, if it says so, the best one.

    Methods that count get the probabilities of counts from transforms, whose rounding is relative
    to 1 and not to each probability: hence a few units of the hypothesis's greatest value.
    """
    truth = case.truth
    means, room = truth.means(p)
    room = room + 8 * UNIT * np.nan_to_num(np.abs(truth.values)).max(axis=1)
    everything, own = (means, room), truth.row(decision.labels)
    if np.isnan(means[own]):
        holds(call, False, decision, "an error: a possible pair of its labels has no value")
    same(f"{call}.value", decision.value, means[own], room[own])
    allowed = truth.allowed if allowed is None else allowed & truth.allowed
    holds(call, allowed[own], decision.labels, "labels that are allowed")
    means, room = means[allowed], room[allowed]
    if np.isnan(means).any():
        return
    sign = 1.0 if case.loss.kind == "utility" else -1.0
    best = int((sign * means).argmax())
    inside = decision.lower - room[best] <= means[best] <= decision.upper + room[best]
    limits = f"lower {decision.lower!r}, upper {decision.upper!r}"
    holds(call, inside, limits, f"the best value is {means[best]!r}")
    if not decision.exact:
        return
    short = sign * (means[best] - everything[0][own])
    names = [z for k, z in enumerate(truth.sequences) if allowed[k]]
    better = f"{list(names[best])} has {means[best]!r}, better by {short:.3g}"
    got = f"{decision.labels} with {decision.value!r}, exact by {decision.method}"
    width = case.loss.value_range(len(decision.labels)).width
    promised = 1e-9 * max(abs(means[best]), 1e-3 * (width if np.isfinite(width) else 1.0))
    holds(call, short <= max(promised, room[best] + everything[1][own]), got, better)


def _lacks(case, p):
    """Whether every hypothesis has a possible reference without a value."""
    missing = np.isnan(case.truth.values[:, p > 0])
    return bool(missing.any(axis=1).all())


def _decode(call):
    """A check of a decision: the first method that fits, or the one that is named."""

    def check(case, random):
        p = case.chances[0]
        made = ask(case, call, _lacks(case, p), not case.truth.defined)
        check_decision(case, call, made, p)

    return check


def constrained(case, random):
    """The best of the sequences that a regular expression allows."""
    text, allowed = random_constraint(case.truth, random)
    method = random.choice(TRIED) if random.random() < 0.4 else "auto"
    call = f"fsmeu.decode(loss, model, constraint={text!r}, method={method!r})"
    nothing = not (allowed & case.truth.allowed).any()
    decision = ask(case, call, nothing, nothing or not case.truth.defined)
    check_decision(case, call, decision, case.chances[0], allowed)


def random_constraint(truth, random):
    """A regular expression over labels, and which sequences it allows."""
    ours, theirs = [], []
    for _ in range(random.randint(1, 4)):
        times = random.choice(("", "*", "*", "?", "+"))
        chosen = random.sample(range(len(truth.labels)), random.randint(1, len(truth.labels)))
        words = " ".join(f'"{truth.labels[k]}"' for k in chosen)
        ours.append(random.choice((f"[{words}]{times}", f".{times}")))
        letters = "".join(chr(97 + k) for k in chosen)
        theirs.append(f"[{letters}]{times}" if ours[-1].startswith("[") else f".{times}")
    pattern = re.compile("".join(theirs))
    spelled = ["".join(chr(97 + truth.labels.index(a)) for a in z) for z in truth.sequences]
    return " ".join(ours), np.array([pattern.fullmatch(x) is not None for x in spelled])


def decode_many(case, random):
    """Several models at once."""
    rows = random.choice(((0, 1), (0, 1, 2), (1, 0, 0)))
    names = ", ".join(NAMES[row] for row in rows)
    call = f"fsmeu.decode_many(loss, [{names}])"
    lacking = any(_lacks(case, case.chances[row]) for row in rows)
    made = ask(case, call, lacking, not case.truth.defined)
    for k, (row, decision) in enumerate(zip(rows, made, strict=True)):
        check_decision(case, f"{call}[{k}]", decision, case.chances[row])


EXACT_METHODS = [f"decode {name}" for name in EXACT if name != "exhaustive"]
"""Checks of methods that refuse at once where their condition does not hold."""
CHECKS = {
    "decode": _decode("fsmeu.decode(loss, model)"),
    **{f"decode {m}": _decode(f"fsmeu.decode(loss, model, method={m!r})") for m in METHODS},
    "decode constrained": constrained,
    "decode_many": decode_many,
}
